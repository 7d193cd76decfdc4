"""Double precision without touching the caller's global JAX setting.

JAX computes in single precision unless told otherwise, and a Gaussian-process posterior in single
precision is wrong long before it looks wrong. Every public entry point of driftpeak therefore runs
under `jax.enable_x64(True)`, which is local to the thread and ends with the call.
"""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import jax

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def double_precision(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Run `function` in double precision; the caller's own setting returns afterwards."""

    @wraps(function)
    def in_double_precision(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        with jax.enable_x64(True):
            return function(*args, **kwargs)

    return in_double_precision


def require_double_precision() -> None:
    """Refuse to start a belief in single precision, which would go wrong silently.

    Raises:
        RuntimeError: called outside `jax.enable_x64(True)`.
    """
    if not jax.config.read("jax_enable_x64"):
        raise RuntimeError(
            "driftpeak's policies and beliefs compute in double precision: call them inside "
            "`with jax.enable_x64(True):`"
        )
