"""Double precision without touching the caller's global JAX setting.

JAX computes in single precision unless told otherwise, and a Gaussian-process posterior in single
precision is wrong long before it looks wrong. Every public entry point of driftpeak therefore runs
under `jax.enable_x64(True)`, which is local to the thread and ends with the call.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import jax

from driftpeak._core.errors import DriftpeakError

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


LOST = -0.01
"""Least posterior variance, in units of the noise variance, that rounding may be forgiven."""


def check_digits(whose: str, least_variance: Any) -> None:
    """Refuse a posterior whose least variance, in units of the noise variance, is far below zero.

    Double precision leaves a variance an error of some 1e-15 of the prior's; where that is not
    small beside the noise variance, neither variances nor means have any digits left.

    Raises:
        DriftpeakError: it is below -0.01, or NaN.
    """
    if least_variance is None or float(least_variance) >= LOST:
        return
    raise DriftpeakError(
        f"{whose}: rounding has used up the digits of its posterior, which has a variance of "
        f"{float(least_variance):.2g} times the noise variance; give a noise variance of at least "
        "1e-12 times the prior variance, and features, if any, that are no longer than the prior "
        "deviation"
    )
