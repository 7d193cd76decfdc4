"""Speed and exactness, measured: `python -m benchmarks [NAME...] [--list] [--json FILE]`.

One file per benchmark. Its docstring says what is claimed (first line: a title), `run()` returns
figures by name, and `TARGETS` gives the bound of those that have one: "<= 60" or ">= 100". Each
benchmark runs in a Python process of its own, so that imports, compilation and memory count.
"""
