"""Recorded data: reading tables, fitting a history, replaying policies."""
