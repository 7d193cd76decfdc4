"""What XLA is told, where a program takes longer to be compiled than to be run."""

from functools import cache

import jax
import jax.numpy as jnp


@cache
def soon() -> dict[str, str | bool]:
    """Options with which XLA compiles in two thirds of the time; results may differ by rounding.

    No emitters for fusions, and one piece: what the pieces of a small program spare another core
    they cost twice. Nothing for a version of XLA that does not know them, as that of jaxlib from
    0.10 on.
    """
    options: dict[str, str | bool] = {
        "xla_cpu_use_fusion_emitters": False,
        "xla_cpu_parallel_codegen_split_count": "1",
    }
    try:
        jax.jit(jnp.negative).lower(0.0).compile(options)
    except jax.errors.JaxRuntimeError:
        return {}
    return options
