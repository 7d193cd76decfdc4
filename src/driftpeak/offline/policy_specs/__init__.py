"""Policies, widths and settings by name, as on the command line."""
