"""Experiments of the papers, one module per paper, and the code that runs and reports them."""
