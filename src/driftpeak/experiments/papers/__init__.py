"""Experiments that reproduce figures of the papers, one module per paper and kind of data."""
