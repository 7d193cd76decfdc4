"""Settings of all tests, and the pages' Python examples as tests: `pytest README.md docs`.

The blocks of one page share their names, from top to bottom. To leave a block out, put the
comment `<!-- skip: next -->` in front of it.
"""

import gc
import os
import sys
from collections import Counter
from importlib.metadata import version
from pathlib import Path

# before anything loads it: more threads than one only slow OpenBLAS down on matrices this small
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("DRIFTPEAK_CACHE", "off")  # tests leave the user's cache folder alone

import jax
import pytest
from pages import TUTORIAL, enter_folder, leave_folder
from sybil import Sybil
from sybil.parsers.myst import PythonCodeBlockParser, SkipParser

PAGES = Sybil(
    parsers=[PythonCodeBlockParser(), SkipParser()],
    patterns=["README.md", "CONTRIBUTING.md", "docs/*.md", "docs/how-to/*.md"],
)
TUTORIALS = Sybil(
    parsers=TUTORIAL, patterns=["docs/tutorials/*.md"], setup=enter_folder, teardown=leave_folder
)
pytest_collect_file = (PAGES + TUTORIALS).pytest()

MAPPINGS = Path("/proc/self/maps")
MOST_MAPPINGS = 25_000  # a process may have 65,530, and a compiled program takes a dozen


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Between files, forget compiled programs once there are many: at the limit, XLA crashes."""
    if nextitem is not None and nextitem.path == item.path:
        return
    if MAPPINGS.exists() and MAPPINGS.read_bytes().count(b"\n") > MOST_MAPPINGS:
        if (programs := sys.modules.get("driftpeak.simulation.programs")) is not None:
            programs.forget_programs()
        jax.clear_caches()
        gc.collect()


# in these files a test stands for a policy, a name or a storage
WHOLE = ("test_live_storage", "test_policies", "test_registries")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--every",
        type=int,
        default=1,
        metavar="N",
        help="of every file's tests the first and every N-th after it, but for " + ", ".join(WHOLE),
    )


@pytest.hookimpl(trylast=True)  # what the markers leave
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A second interpreter changes no formula: it plays a part, and all that stand for a name."""
    every = config.getoption("every")
    seen: Counter[Path] = Counter()
    chosen, left_out = [], []
    for item in items:
        whole = item.path.stem in WHOLE
        (chosen if whole or seen[item.path] % every == 0 else left_out).append(item)
        seen[item.path] += 1
    items[:] = chosen
    if left_out:
        config.hook.pytest_deselected(items=left_out)


def pytest_configure(config: pytest.Config) -> None:
    """Quick tests mostly compile: programs that are optimised less leave 0.44 of their time.

    The others run programs as users do. Before anything is compiled, and inherited by workers.
    """
    flags = ["--xla_backend_optimization_level=0"]
    release = tuple(int(part) for part in version("jaxlib").split(".")[:2])
    if release < (0, 10):  # later ones know it no more, and end a process that names such a flag
        flags.append("--xla_cpu_use_fusion_emitters=false")
    if config.getoption("markexpr") in ("not slow and not long and not browser", "browser"):
        os.environ.setdefault("XLA_FLAGS", " ".join(flags))
