"""Double precision that does not change the caller's global JAX setting.

JAX computes in single precision by default. A Gaussian-process posterior in single precision can
be wrong without any visible sign. Every public entry point of driftpeak therefore runs under
`jax.enable_x64(True)`, which is local to the thread and ends with the call.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import jax

from driftpeak._core.errors import DriftpeakError

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def double_precision(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Run `function` in double precision, and restore the caller's setting afterwards."""

    @wraps(function)
    def in_double_precision(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        with jax.enable_x64(True):
            return function(*args, **kwargs)

    return in_double_precision


def require_double_precision() -> None:
    """Refuse to build a posterior in single precision, whose errors would not be noticed.

    Raises:
        RuntimeError: the call is outside `jax.enable_x64(True)`.
    """
    if not jax.config.read("jax_enable_x64"):
        raise RuntimeError(
            "driftpeak's policies and posteriors need double precision. Call them inside "
            "`with jax.enable_x64(True):`."
        )


LOST = -0.01
"""Smallest accepted posterior variance, in units of the noise variance: it allows for rounding."""


def check_digits(whose: str, least_variance: Any) -> None:
    """Refuse a posterior whose smallest variance is far below zero.

    In double precision, a variance has an error of about 1e-15 times the prior variance. If that is
    not small compared with the noise variance, no digit of variances and means is correct.

    Arguments:
        whose: the posterior's owner, for the message.
        least_variance: the smallest variance, in units of the noise variance; None if not known.

    Raises:
        DriftpeakError: the variance is below -0.01, or NaN.
    """
    if least_variance is None or float(least_variance) >= LOST:
        return
    raise DriftpeakError(
        f"{whose}: posterior variances must not be negative; got {float(least_variance):.2g} times "
        "the noise variance, by rounding. Set a noise variance of at least 1e-12 times the prior "
        "variance. Features, if any, must have norms of at most the prior standard deviation."
    )
