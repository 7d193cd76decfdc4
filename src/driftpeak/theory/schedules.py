"""Parameters that theory sets from the horizon and the rate of change."""

import math

from driftpeak.errors import DriftpeakError, at_least_integer, unit_interval
from driftpeak.kernels import SE, Kernel, Matern, Scaled


def markov_restart_period(kernel: Kernel, *, drift: float, horizon: int, dimension: int) -> int:
    r"""R-GP-UCB's period N under Markov drift (B16 section 5.1, from Corollary 4.1).

    \(\lceil\min(T, 12\,\epsilon^{-1/4})\rceil\) for SE; for Matern
    \(\lceil\min(T, 24\,\epsilon^{-1/(4-c)})\rceil\) with \(c = d(d+1)/(2\nu + d(d+1))\). The
    constants 12 and 24 are B16's, found by cross-validation.

    Raises:
        DriftpeakError: drift outside [0, 1], horizon or dimension below 1, another kernel.
    """
    drift = unit_interval("drift", drift)
    horizon = at_least_integer("horizon", horizon, 1)
    dimension = at_least_integer("dimension", dimension, 1)
    while isinstance(kernel, Scaled):
        kernel = kernel.kernel
    if isinstance(kernel, SE):
        constant, exponent = 12.0, 1 / 4
    elif isinstance(kernel, Matern):
        c = dimension * (dimension + 1) / (2 * kernel.nu + dimension * (dimension + 1))
        constant, exponent = 24.0, 1 / (4 - c)
    else:
        raise DriftpeakError(
            f"B16 gives a restart period for SE and Matern; got {type(kernel).__name__}"
        )
    return horizon if drift == 0 else math.ceil(min(horizon, constant * drift**-exponent))
