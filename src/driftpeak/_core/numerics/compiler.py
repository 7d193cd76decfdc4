"""What XLA is told, where a program takes longer to be compiled than to be run. Loads no JAX."""

from functools import cache
from importlib.metadata import version

_OPTIONS: dict[str, bool | str] = {
    "xla_cpu_use_fusion_emitters": False,
    # what the pieces of a small program spare another core they cost twice
    "xla_cpu_parallel_codegen_split_count": "1",
}


@cache
def soon() -> dict[str, bool | str]:
    """Options with which XLA compiles in two thirds of the time; results may differ by rounding.

    Nothing for jaxlib from 0.10 on, whose XLA knows them no more.
    """
    release = tuple(int(part) for part in version("jaxlib").split(".")[:2])
    return dict(_OPTIONS) if release < (0, 10) else {}
