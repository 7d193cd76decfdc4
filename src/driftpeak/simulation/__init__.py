"""Simulation of policies on environments, all trials at once."""
