"""Policies against environments, all trials at once."""
