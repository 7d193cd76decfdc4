"""XLA options for programs that take longer to compile than to run. Does not import JAX."""

from functools import cache
from importlib.metadata import version

_OPTIONS: dict[str, bool | str] = {
    "xla_cpu_use_fusion_emitters": False,
    # splitting a small program costs twice the time that another core saves
    "xla_cpu_parallel_codegen_split_count": "1",
}


@cache
def soon() -> dict[str, bool | str]:
    """Return options with which XLA compiles in two thirds of the time.

    Results may differ by rounding. There are no options for jaxlib 0.10 or later, which removed
    them.
    """
    release = tuple(int(part) for part in version("jaxlib").split(".")[:2])
    return dict(_OPTIONS) if release < (0, 10) else {}
