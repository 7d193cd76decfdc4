"""Integrations into other optimisation frameworks; each module needs its own extra."""
