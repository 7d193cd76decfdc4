"""Shared basics: errors, argument checks, files, times, progress, numerics."""
