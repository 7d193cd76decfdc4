"""Benchmarks of speed and accuracy: `python -m benchmarks [NAME...] [--list] [--json FILE]`.

Each benchmark is a module. Its docstring describes the claim (the first line is the title), `run()`
returns figures by name, and `TARGETS` holds bounds of figures, such as "<= 60" or ">= 100". Each
benchmark runs in a separate Python process, so that imports, compilation and memory count.
"""
