"""Schedules, rates and bounds from the papers."""
