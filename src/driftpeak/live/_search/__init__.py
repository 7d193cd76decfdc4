"""Maximisation of the acquisition function."""
