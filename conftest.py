"""Runs the Python examples of the pages as tests: `pytest README.md CONTRIBUTING.md docs`.

The blocks of one page share their names, from top to bottom. To leave a block out, put the
comment `<!-- skip: next -->` in front of it.
"""

import os

# before anything loads it: more threads than one only slow OpenBLAS down on matrices this small
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from sybil import Sybil
from sybil.parsers.myst import PythonCodeBlockParser, SkipParser

pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser(), SkipParser()],
    patterns=["README.md", "CONTRIBUTING.md", "docs/*.md"],
).pytest()
