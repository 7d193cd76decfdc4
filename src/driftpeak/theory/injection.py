r"""M25's uncertainty injection: orders of regret and cost, and the information of side queries.

An observation of age a has noise variance \(\sigma^2 (1 + a^\alpha)\). Orders are stated for the SE
kernel, with all unknown constants 1.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import (
    DriftpeakError,
    at_least,
    at_least_integer,
    numbers,
    positive,
    shown,
    unit_interval,
)
from driftpeak._core.types import Vector
from driftpeak.theory.bound import power
from driftpeak.theory.side_queries import checked_share

Orders = np.ndarray[Any, np.dtype[np.float64]]


@checked
def ui_gp_ucb_regret_order(horizons: Any, *, exponent: float, dimension: int = 1) -> Orders:
    r"""Return the order of UI-GP-UCB's regret, \(d T^{(3\alpha+1)/2} \log^{d+1} T\).

    Arguments:
        horizons: T, at least 3, of any shape; the result has this shape.
        exponent: \(\alpha\).
        dimension: d.

    Raises:
        DriftpeakError: a number out of range.

    Source: M25 Proposition 2.2, (13).
    """
    horizon, d = _checked_horizons(horizons), at_least_integer("dimension", dimension, 1)
    alpha = at_least("exponent", exponent, 0)
    return np.asarray(d * horizon ** ((3 * alpha + 1) / 2) * np.log(horizon) ** (d + 1))


@checked
def sparq_regret_order(horizons: Any, *, dimension: int = 1, delta: float = 0.1) -> Orders:
    r"""Return the order of SparQ's regret, with logarithms, as M25 states it.

    \(\sqrt{(\log\frac1\delta + d \log^{d+1}(d \log T))\, T d \log^{d+1} T}\), independent of
    \(\alpha\). The first factor is the gain of the \(\log^d T\) answers of a step. The proof uses
    the deviations given all virtual observations in place of those given the answers, by (19); see
    `driftpeak.theory.sparse.posterior_divergence`.

    Arguments:
        horizons: T, at least 3, of any shape; the result has this shape.
        dimension: d.
        delta: failure probability, in (0, 1).

    Raises:
        DriftpeakError: a number out of range.

    Source: M25 Theorem 3.3, (23).
    """
    horizon, d = _checked_horizons(horizons), at_least_integer("dimension", dimension, 1)
    delta = unit_interval("delta", delta, low_open=True, high_open=True)
    log = np.log(horizon)
    width = np.log(1 / delta) + d * np.log(d * log) ** (d + 1)
    return np.asarray(np.sqrt(width * horizon * d * log ** (d + 1)))


@checked
def sparq_cost_order(horizons: Any, *, dimension: int = 1) -> Orders:
    r"""Return the order of SparQ's operations in step T, \(T^2 \log T \log^{3d}(T / \log T)\).

    Arguments:
        horizons: T, at least 3, of any shape; the result has this shape.
        dimension: d.

    Raises:
        DriftpeakError: a number out of range.

    Source: M25 Theorem 3.6.
    """
    horizon, d = _checked_horizons(horizons), at_least_integer("dimension", dimension, 1)
    log = np.log(horizon)
    return np.asarray(horizon**2 * log * np.log(horizon / log) ** (3 * d))


@checked
def w_sparq_cost_order(
    horizons: Any, *, exponent: float, dimension: int = 1, a: float = 0.25
) -> Orders:
    r"""Return the order of W-SparQ's operations in T steps, \(T^2 (\log^d T + T^{a/\alpha})^2\).

    It increases with a, while the number of side queries decreases
    (`driftpeak.theory.regimes.w_sparq_queries`): the trade-off of M25 Remark 3.12.

    Arguments:
        horizons: T, at least 3, of any shape; the result has this shape.
        exponent: \(\alpha > 0\).
        dimension: d.
        a: in (0, 1/3).

    Raises:
        DriftpeakError: a number out of range.

    Source: M25 Remark 3.12.
    """
    horizon, d = _checked_horizons(horizons), at_least_integer("dimension", dimension, 1)
    share = checked_share(a) / positive("exponent", exponent)
    return np.asarray(horizon**2 * (np.log(horizon) ** d + horizon**share) ** 2)


@checked
def information_sum(queries: Any, *, exponent: float, noise_variance: float) -> Vector:
    r"""Compute the information sum of the side queries at each step, shape `(steps,)`.

    \(S_\tau = \sum_{t \le \tau} \frac{n_t}{\sigma^2 (1 + (\tau - t)^\alpha)}\), in units of one
    over the squared reward. With \(n_t = 1\) it is the sum of the policy's own observations. Its
    limit is \(C_2\) of (39) and (41) for \(\alpha > 1\).

    Arguments:
        queries: \(n_t\), the number of side queries in each step, at least 0.
        exponent: \(\alpha\).
        noise_variance: \(\sigma^2\).

    Raises:
        DriftpeakError: a number out of range.

    Source: M25 (40)-(41).
    """
    counts = np.atleast_1d(numbers("queries", queries))
    if counts.ndim != 1 or len(counts) == 0 or not (np.isfinite(counts) & (counts >= 0)).all():
        raise DriftpeakError(
            f"queries must be one or more numbers of at least 0; got {shown(queries)}"
        )
    alpha = at_least("exponent", exponent, 0)
    noise = positive("noise_variance", noise_variance)
    with np.errstate(over="ignore"):
        weight = 1 / (noise * (1 + np.arange(float(len(counts))) ** alpha))
    return np.asarray(np.convolve(counts, weight)[: len(counts)], np.float64)


@dataclass(frozen=True)
class QuietWindow:
    r"""The window of steps with few side queries, from the proof of M25 Theorem 5.3.

    Attributes:
        length: \(L^*\), in steps.
        share: \(F(L^*)\). For windows of any integer length L, the information sum is at most
            \(N_T F(L) / \sigma^2\) at the end of at least half of them.
    """

    length: float
    share: float


@checked
def quiet_window(horizon: int, *, exponent: float) -> QuietWindow:
    r"""Return the window length that minimises \(F(L) = L^{-\alpha} + 4L/T\), and F there.

    \(L^* = (\alpha T / 4)^{1/(\alpha+1)}\), at most T/2. M25 prints \(\alpha/8\) in place of
    \(\alpha/4\), which does not solve \(F'(L) = -\alpha L^{-\alpha-1} + 4/T = 0\); the order
    \(T^{-\alpha/(\alpha+1)}\) of F is the same.

    Arguments:
        horizon: T, from 2.
        exponent: \(\alpha > 0\).

    Raises:
        DriftpeakError: a number out of range.

    Source: M25 Theorem 5.3, corrected.
    """
    horizon = at_least_integer("horizon", horizon, 2)
    alpha = positive("exponent", exponent)
    length = min(max(power(alpha * horizon / 4, 1 / (alpha + 1)), 1.0), horizon / 2)
    return QuietWindow(length, power(length, -alpha) + 4 * length / horizon)


@checked
def uniform_walk_noise(ages: Any, *, noise_variance: float) -> Orders:
    r"""Return the noise variance of old observations under uniform steps (M25 Example 2.1).

    If every step adds a uniform number in \([-\sigma^2, \sigma^2]\), of variance \(\sigma^4/3\), an
    observation of age a has noise of variance \(\sigma^2 + \sigma^4 a / 3\). M25 prints
    \(\sigma^2 (1 + a/3)\), which is equal for \(\sigma^2 = 1\). This is the case \(\alpha = 1\).

    Arguments:
        ages: a, in steps, at least 0, of any shape; the result has this shape.
        noise_variance: \(\sigma^2\).

    Raises:
        DriftpeakError: a number out of range.

    Source: M25 Example 2.1, corrected.
    """
    noise, age = positive("noise_variance", noise_variance), numbers("ages", ages)
    if not (np.isfinite(age) & (age >= 0)).all():
        raise DriftpeakError(f"ages must be finite and at least 0; got {shown(ages)}")
    return np.asarray(noise + noise**2 * age / 3)


def _checked_horizons(horizons: Any) -> Orders:
    horizon = numbers("horizons", horizons)
    if not (np.isfinite(horizon).all() and (horizon >= 3).all()):
        raise DriftpeakError(f"horizons must be finite and at least 3; got {shown(horizons)}")
    return horizon
