"""XLA options for programs that take longer to compile than to run. Does not import JAX."""

import os
from functools import cache
from importlib.metadata import version

LEVEL = "xla_backend_optimization_level"

_OLDER: dict[str, bool | str] = {  # of jaxlib before 0.10
    "xla_cpu_use_fusion_emitters": False,
    # splitting a small program costs twice the time that another core saves
    "xla_cpu_parallel_codegen_split_count": "1",
}


def soon() -> dict[str, bool | str]:
    """Return options with which XLA compiles in less than half of the time.

    Results may differ by rounding. The programs are about as fast as those of the default level 2.
    To compare, run `python -m benchmarks live_speed` with the environment variable
    XLA_FLAGS=--xla_backend_optimization_level=2: options in this variable are left out here.
    """
    flags = os.environ.get("XLA_FLAGS", "")
    options = {LEVEL: "1"} | (_OLDER if _has_older() else {})
    return {name: value for name, value in options.items() if name not in flags}


@cache
def _has_older() -> bool:
    return tuple(int(part) for part in version("jaxlib").split(".")[:2]) < (0, 10)
