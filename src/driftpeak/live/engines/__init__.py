"""Engines: what turns observations into suggestions."""
