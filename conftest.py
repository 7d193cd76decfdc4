"""Settings of all tests, and the pages' Python examples as tests: `pytest README.md docs`.

The blocks of one page share their names, from top to bottom. To leave a block out, put the
comment `<!-- skip: next -->` in front of it.
"""

import gc
import hashlib
import os
import platform
import sys
from importlib.metadata import version
from itertools import count
from pathlib import Path

# before anything loads it: more threads than one only slow OpenBLAS down on matrices this small
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("DRIFTPEAK_CACHE", "off")  # tests leave the user's cache folder alone
os.environ.setdefault("DRIFTPEAK_PRECOMPILE", "off")  # most tests end before it is of use
# the source line of each operation, which only a profile of XLA shows, takes a tenth of the time
os.environ.setdefault("JAX_TRACEBACK_IN_LOCATIONS_LIMIT", "0")
# XLA compares the processor with features that only its compiler knows, and complains in vain
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import jax
import pytest
import typechecker
from pages import SHELL, TUTORIAL, enter_folder, leave_folder
from sybil import Sybil
from sybil.parsers.myst import PythonCodeBlockParser, SkipParser
from sybil.sybil import SybilCollection

typechecker.install()  # before anything imports driftpeak

PAGES = Sybil(
    parsers=[PythonCodeBlockParser(), SkipParser()],
    patterns=["CONTRIBUTING.md", "docs/*.md", "docs/how-to/*.md"],
    excludes=["docs/how-to/command-line.md"],
    setup=enter_folder,
    teardown=leave_folder,
)
TUTORIALS = Sybil(
    parsers=TUTORIAL,
    patterns=["README.md", "docs/tutorials/*.md"],
    setup=enter_folder,
    teardown=leave_folder,
)
COMMANDS = Sybil(
    parsers=SHELL,
    patterns=["docs/how-to/command-line.md"],
    setup=enter_folder,
    teardown=leave_folder,
)
pytest_collect_file = SybilCollection([PAGES, TUTORIALS, COMMANDS]).pytest()

MAPPINGS = Path("/proc/self/maps")
MOST_MAPPINGS = 5_000  # a dozen for each compiled program, 2 GiB for all; XLA crashes at 65,530


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Between files, forget compiled programs once there are many."""
    if nextitem is not None and nextitem.path == item.path:
        return
    if MAPPINGS.exists() and MAPPINGS.read_bytes().count(b"\n") > MOST_MAPPINGS:
        if (programs := sys.modules.get("driftpeak._core.numerics.lowered")) is not None:
            programs.forget_programs()
        jax.clear_caches()
        gc.collect()


QUICK = ("not slow and not long and not browser", "browser")  # of `make test` and `test-browser`

# in these files a test stands for a policy, a name or a storage
WHOLE = ("test_live_storage", "test_policies", "test_registries")


# pages whose examples take many seconds, for `make test-slow`; and all tutorials
SLOW_PAGES = {
    *("adding-a-policy", "auto", "contexts", "from-others", "large-simulations", "live", "moving"),
    *("constraints", "fleet", "near-optimal", "optuna", "population", "side-queries", "theory"),
    "yes-or-no-and-counts",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--every",
        type=int,
        default=1,
        metavar="N",
        help="run every N-th test, and all of pages, " + ", ".join(WHOLE),
    )


def pytest_itemcollected(item: pytest.Item) -> None:
    if item.path.suffix == ".md" and (
        item.path.stem in SLOW_PAGES or item.path.parent.name == "tutorials"
    ):
        item.add_marker(pytest.mark.slow)


@pytest.hookimpl(trylast=True)  # what the markers leave
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep every N-th test, and all tests of pages and of the files in `WHOLE`."""
    every = config.getoption("every")
    number = count()
    chosen, left_out = [], []
    for item in items:
        # the blocks of a page share a namespace
        whole = item.path.stem in WHOLE or item.path.suffix == ".md"
        (chosen if whole or next(number) % every == 0 else left_out).append(item)
    items[:] = chosen
    if left_out:
        config.hook.pytest_deselected(items=left_out)


def _processor() -> str:
    """Return a name of the processor's features: another one could not run its programs."""
    told = Path("/proc/cpuinfo")
    lines = told.read_text().splitlines() if told.exists() else [platform.processor()]
    can = next((one for one in lines if one.startswith(("flags", "Features"))), lines[0])
    return hashlib.sha256(can.encode()).hexdigest()[:8]


def pytest_configure(config: pytest.Config) -> None:
    """Quick tests mostly compile: programs that are optimised less leave 0.44 of their time.

    The others run programs as users do. Before anything is compiled, and inherited by workers. All
    workers, and the next run, share what is compiled.
    """
    if config.getoption("markexpr") not in QUICK:
        return
    gc.set_threshold(100_000, 20, 50)  # there is much to look through, and little to find
    flags = ["--xla_backend_optimization_level=0"]
    release = tuple(int(part) for part in version("jaxlib").split(".")[:2])
    if release < (0, 10):  # later ones may not know them, and end a process that names such a flag
        flags.append("--xla_cpu_use_fusion_emitters=false")
        # a program in one piece: the pieces of small ones take longer than they save
        flags.append("--xla_cpu_parallel_codegen_split_count=1")
    os.environ.setdefault("XLA_FLAGS", " ".join(flags))
    assert config.cache is not None
    folder = config.cache.mkdir(f"programs-{version('jaxlib')}-{_processor()}")
    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.05)  # others store slowly
    jax.config.update("jax_persistent_cache_enable_xla_caches", "none")
