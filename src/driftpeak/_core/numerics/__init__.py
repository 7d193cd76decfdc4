"""Numerical basics: double precision, threads, compilation, conditionals under vmap."""
