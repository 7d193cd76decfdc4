"""Parameters of policies that theory derives from the horizon and the rate of change."""

import bisect
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import (
    DriftpeakError,
    at_least,
    at_least_integer,
    positive,
    unit_interval,
)
from driftpeak.gp.domains import Arms
from driftpeak.gp.kernels import Kernel, Scaled, Stationary
from driftpeak.gp.priors import Prior
from driftpeak.gp.sample_paths import check_sides
from driftpeak.inference.information import greedy_gain
from driftpeak.theory.bound import power
from driftpeak.theory.gains import gain_rate
from driftpeak.theory.smoothness import family, smoothness

MOST_TURNS = 100  # alternations between gain and discount
LEAST_WEIGHT = 1e-300  # a weight may be small but not 0
MOST_SIDE = 1_000_000


@checked
def markov_restart_period(kernel: Kernel, *, drift: float, horizon: int, dimension: int) -> int:
    r"""Return R-GP-UCB's period N under Markov drift.

    \(\lceil\min(T, 12\,\epsilon^{-1/4})\rceil\) for SE; for Matern
    \(\lceil\min(T, 24\,\epsilon^{-1/(4-c)})\rceil\) with \(c = d(d+1)/(2\nu + d(d+1))\). The
    constants 12 and 24 are from B16, by cross-validation.

    Raises:
        DriftpeakError: drift outside [0, 1], horizon or dimension below 1, another kernel.

    Source: B16 Corollary 4.1, section 5.1.
    """
    drift = unit_interval("drift", drift)
    horizon = at_least_integer("horizon", horizon, 1)
    dimension = at_least_integer("dimension", dimension, 1)
    nu = smoothness(kernel)
    if math.isinf(nu):
        constant, exponent = 12.0, 1 / 4
    else:
        c = dimension * (dimension + 1) / (2 * nu + dimension * (dimension + 1))
        constant, exponent = 24.0, 1 / (4 - c)
    return horizon if drift == 0 else math.ceil(min(horizon, constant * drift**-exponent))


@checked
def elimination_period(
    kernel: Kernel,
    *,
    horizon: int,
    dimension: int,
    variation: float | None = None,
    gain: float | None = None,
) -> int:
    r"""Return the restart interval H of R-PERP and of OPKB.

    \(\lceil (T/V_T)^{2/3} \log^{(d+2)/3} T\rceil\) for SE; for Matern with \(\nu > 1/2\)
    \(\lceil (T/V_T)^{\frac{2\nu+d}{3\nu+d}} \log^{\frac{4\nu+d}{6\nu+2d}} T\rceil\). An unknown
    \(V_T\) is taken as 1 (IT25 Appendix D). The interval balances the two terms of IT25 (101),
    drift \(V_T H\) and learning \(T \sqrt{\log T\,\gamma_H / H}\), and is clipped to [2, T]. If the
    formula exceeds T, the theorem's condition on \(V_T\) fails, and restarts are not useful.
    Theorem 3 states the interval for Matern only; the balance is equal for SE. With a `gain` the
    interval balances (101) with that gain: \((T/V_T)^{2/3} (\gamma_T \log T)^{1/3}\). For a linear
    kernel it is this interval with \(\gamma_T = d \log T\).

    Arguments:
        kernel: SE, Matern or linear, scaled or not; any other with a `gain`.
        horizon: T, at least 2.
        dimension: d.
        variation: V_T, the sum over time of the largest change of the function; if None, unknown.
        gain: gamma_T in nats; by default the rate of the kernel's closed form.

    Raises:
        DriftpeakError: horizon below 2, dimension below 1, variation below 0, gain not above 0;
            without a gain another kernel, or a Matern kernel with nu <= 1/2.

    Source: IT25 Theorem 3, Theorem 5, (102)-(117), (126), Appendix D.
    """
    horizon = at_least_integer("horizon", horizon, 2)
    dimension = at_least_integer("dimension", dimension, 1)
    exponent, learning = (
        _closed_form_balance(kernel, horizon, dimension)
        if gain is None
        else (2 / 3, (positive("gain", gain) * math.log(horizon)) ** (1 / 3))
    )
    # clipped before rounding: a tiny variation makes it infinite
    wanted = min(power(_steps_per_change(horizon, variation), exponent) * learning, horizon)
    return max(math.ceil(wanted), 2)


def _closed_form_balance(kernel: Kernel, horizon: int, dimension: int) -> tuple[float, float]:
    """Return the exponent of T / V_T and the factor of learning, with the closed-form gain."""
    if family(kernel) == "linear":
        return 2 / 3, (dimension * math.log(horizon) ** 2) ** (1 / 3)
    nu = smoothness(kernel)
    if nu <= 1 / 2:
        raise DriftpeakError(f"nu must be above 1/2 for IT25 Theorem 5; got {nu:g}")
    if math.isinf(nu):
        exponent, logarithms = 2 / 3, (dimension + 2) / 3
    else:
        exponent = (2 * nu + dimension) / (3 * nu + dimension)
        logarithms = (4 * nu + dimension) / (6 * nu + 2 * dimension)
    return exponent, power(math.log(horizon), logarithms)


@checked
def restart_period(
    kernel: Kernel,
    *,
    horizon: int,
    dimension: int,
    variation: float | None = None,
    gain: float | None = None,
) -> int:
    r"""Return R-GP-UCB's restart interval H, in 1..T.

    It is \(\lceil\gamma_T^{1/4} (T/P_T)^{1/2}\rceil\); without \(P_T\)
    \(\lceil\gamma_T^{1/4} T^{1/2}\rceil\). It balances the terms of ZS21 Theorem 1,
    \(\sqrt{\gamma} H^{3/2} P_T\) and \(\gamma T H^{-1/2}\), with the gain fixed at \(\gamma_T\).

    Arguments:
        kernel: SE, Matern or linear, for the gain.
        horizon: T.
        dimension: d.
        variation: P_T, in the RKHS norm; if None, unknown.
        gain: \(\gamma_T\); by default its rate, as in IT25's experiments
            (`driftpeak.theory.gains.gain_rate`).

    Raises:
        DriftpeakError: a number out of range, or no gain given and no rate for the kernel.

    Source: ZS21 Remarks 2-3.
    """
    horizon = at_least_integer("horizon", horizon, 2)
    gain = _gain(kernel, horizon, dimension, gain)
    ratio = _steps_per_change(horizon, variation)
    wanted = min(gain**0.25 * math.sqrt(ratio), horizon)
    return max(math.ceil(wanted), 1)


@checked
def window_length(
    kernel: Kernel,
    *,
    horizon: int,
    dimension: int,
    variation: float | None = None,
    gain: float | None = None,
) -> int:
    """Return SW-GP-UCB's window w, equal to R-GP-UCB's period.

    Arguments and errors as for `restart_period`.

    Source: ZS21 Remarks 2-3.
    """
    return restart_period(
        kernel, horizon=horizon, dimension=dimension, variation=variation, gain=gain
    )


@checked
def discount_factor(
    kernel: Kernel,
    *,
    horizon: int,
    dimension: int,
    variation: float | None = None,
    gain: float | None = None,
) -> float:
    r"""Return WGP-UCB's discount.

    It is \(1 - \gamma_T^{-1/4} B_T^{1/2} T^{-1/2}\); an unknown \(B_T\) is taken as 1.

    Arguments:
        variation: B_T, in the RKHS norm; if None, unknown.
        gain: combined weighted gain, at most \(\gamma_T\), whose rate is the default.

    Raises:
        DriftpeakError: a number out of range, no gain given and no rate for the kernel, or a
            variation so large that the discount would not be positive.

    Source: D22 Corollary 5, Lemmas 22-23.
    """
    horizon = at_least_integer("horizon", horizon, 2)
    gain = _gain(kernel, horizon, dimension, gain)
    discount = 1 - gain**-0.25 / math.sqrt(_steps_per_change(horizon, variation))
    if discount <= 0:
        raise DriftpeakError(
            f"variation must be below sqrt(gain) T = {math.sqrt(gain) * horizon:.4g}, so that the "
            f"discount of D22 Corollary 5 is above 0; got {variation:g}"
        )
    return discount


@dataclass(frozen=True)
class CombinedGain:
    """The combined weighted gain of D22 and the discount that belongs to it.

    Attributes:
        gain: upper bound of the gain, in nats.
        discount: discount of D22 Corollary 5 with this gain.
    """

    gain: float
    discount: float


@checked
def combined_gain(prior: Prior, *, horizon: int, variation: float | None = None) -> CombinedGain:
    r"""Compute D22's combined weighted gain together with the discount, as a fixed point.

    \(\dot\gamma_T\) is the larger of the double-weighted and the single-weighted gain. The weights
    depend on the discount, and the discount of Corollary 5 on \(\dot\gamma_T\). The
    single-weighted gain is the larger one, since weights are at most 1. From the gain without a
    discount, gain and discount are computed in turn until they no longer decrease. The result is
    the largest fixed point, because a larger gain gives a larger discount, and this a larger gain.
    The error of the quadrature features is not included.

    Arguments:
        prior: covariance and noise variance.
        horizon: T, from 2.
        variation: \(B_T\), in the RKHS norm; if None, unknown, and taken as 1.

    Raises:
        DriftpeakError: a number out of range, or a variation so large that the discount would not
            be positive.

    Source: D22 Corollary 5, section 5.
    """
    horizon = at_least_integer("horizon", horizon, 2)
    gain = most = float(greedy_gain(prior, horizon, upper=True)[-1])
    for _ in range(MOST_TURNS):
        discount = discount_factor(
            prior.kernel, horizon=horizon, dimension=1, variation=variation, gain=gain
        )
        weight = np.maximum(discount ** np.arange(float(horizon)), LEAST_WEIGHT)
        lower = min(float(greedy_gain(prior, horizon, weights=weight, upper=True)[-1]), most)
        if lower > gain * (1 - 1e-6):
            break
        gain = lower
    return CombinedGain(gain, discount)


@checked
def grid_size(kernel: Kernel, extents: Any, *, norm_bound: float, error: float) -> int:
    r"""Return the number of grid points per side for a given error of discretisation.

    On a grid of n points a side in \(\prod_j [0, r_j]\), every point has a grid point with a lag h
    of at most half a spacing in each dimension. For \(\|f\|_{\mathcal H} \le B\) the values differ
    by at most \(B \sqrt{2 (k(0) - k(h))}\). IT25 section 5 assumes a finite domain for this reason.

    Arguments:
        kernel: SE, Matern or rational quadratic, scaled or not.
        extents: \(r_j\), one per dimension.
        norm_bound: B.
        error: largest difference, above 0, in units of the reward.

    Returns:
        n, from 2.

    Raises:
        DriftpeakError: a number out of range, another kernel, or more than a million points a side.

    Source: IT25 section 5.
    """
    sides, error = check_sides(extents), positive("error", error)
    norm_bound, radial = at_least("norm_bound", norm_bound, 0), kernel
    while isinstance(radial, Scaled):
        radial = radial.kernel
    if not isinstance(radial, Stationary):
        raise DriftpeakError(
            "kernel must be SE, Matern or RationalQuadratic, which decrease with the distance; got "
            f"{type(radial).__name__}"
        )
    kernel.check(Arms(np.zeros((2, len(sides)))))

    def enough(size: int) -> bool:
        points = np.stack([np.zeros(len(sides)), sides / (2 * (size - 1))])
        row = np.asarray(kernel.rows(Arms(points), [0]))[0]
        return norm_bound * math.sqrt(max(2 * float(row[0] - row[1]), 0.0)) <= error

    if not enough(MOST_SIDE):
        raise DriftpeakError(f"error must allow at most {MOST_SIDE:,} points a side; got {error:g}")
    return 2 + bisect.bisect_left(range(2, MOST_SIDE), True, key=enough)


def _steps_per_change(horizon: int, variation: float | None) -> float:
    """Return T / V_T; T if V_T is unknown, as if it were 1; infinite without change."""
    if variation is None:
        return horizon
    variation = at_least("variation", variation, 0)
    return horizon / variation if variation > 0 else math.inf


def _gain(kernel: Kernel, horizon: int, dimension: int, gain: float | None) -> float:
    if gain is not None:
        return positive("gain", gain)
    return gain_rate(kernel, count=horizon, dimension=dimension).number


@checked
def rexp3_batch_length(points: int, *, horizon: int, variation: float) -> int:
    r"""Return the steps between restarts of RExp3 (Besbes, Gur and Zeevi 2014, Theorem 2).

    \(\lceil (n \log n)^{1/3} (T / V_T)^{2/3} \rceil\), at most T; rewards lie in [0, 1].

    Raises:
        DriftpeakError: points below 2, horizon below 1, variation not positive.
    """
    points = at_least_integer("points", points, 2)
    horizon = at_least_integer("horizon", horizon, 1)
    wanted = (points * math.log(points)) ** (1 / 3) * (
        horizon / positive("variation", variation)
    ) ** (2 / 3)
    return math.ceil(min(wanted, horizon))
