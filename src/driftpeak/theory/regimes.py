r"""M25's regimes of change, and what side queries cost and buy.

An observation of age a has noise variance \(\sigma^2 (1 + a^\alpha)\). Below \(\alpha = 1/3\)
GP-UCB with that noise needs no help; from \(\alpha = 1\) on, no policy has sublinear regret without
re-querying the present function (side queries).
"""

import math
from typing import Literal

from driftpeak.errors import DriftpeakError, at_least, at_least_integer, positive
from driftpeak.theory.bound import Bound, Condition, conclude

Regime = Literal["slow", "moderate", "fast"]


def regime(exponent: float) -> Regime:
    r"""Slow for \(\alpha < 1/3\), moderate up to 1, fast from 1 on (M25 Table 1).

    The text has \(\alpha = 1\) moderate, Table 1 and (18), whose lower bound is linear there, fast.

    Raises:
        DriftpeakError: exponent below 0.
    """
    exponent = at_least("exponent", exponent, 0)
    return "slow" if exponent < 1 / 3 else "moderate" if exponent < 1 else "fast"


def window_starts(horizon: int, *, exponent: float, window: float = 1 / 4) -> tuple[int, ...]:
    r"""When W-SparQ asks its expert.

    \(t_1 = 1\), \(t_{j+1} = t_j + \lfloor t_j^{a/\alpha}\rfloor + 1\), from M25 (32): the only
    whole lengths with \(t_j^{a/\alpha} < t_{j+1} - t_j \le t_j^{a/\alpha} + 1\).

    Arguments:
        horizon: T; the starts up to it.
        exponent: \(\alpha\).
        window: a (M25's \(\tilde\alpha\)), 1/4 in the experiments.

    Raises:
        DriftpeakError: horizon below 1, alpha = 0 (windows without end), a outside (0, 1/3).
    """
    horizon = at_least_integer("horizon", horizon, 1)
    exponent = positive("exponent", exponent)
    power = _window(window) / exponent
    starts = [1]
    # compared as logarithms: at small alpha the next window may be too long for a float
    while power * math.log(starts[-1]) <= math.log(horizon):
        following = starts[-1] + math.floor(starts[-1] ** power) + 1
        if following > horizon:
            break
        starts.append(following)
    return tuple(starts)


def sparq_queries(horizon: int, *, dimension: int, scale: float = 1.0) -> int:
    r"""Side queries of SparQ in T steps: \(\sum_t \lceil c \log^d t \rceil\), at least 1 each.

    As many as the policy asks for; it asks for fewer while it has visited fewer distinct points.

    Raises:
        DriftpeakError: horizon or dimension below 1, scale not positive.
    """
    horizon = at_least_integer("horizon", horizon, 1)
    return sum(_batch(t, dimension, scale) for t in range(1, horizon + 1))


def w_sparq_queries(
    horizon: int, *, dimension: int, exponent: float, window: float = 1 / 4, scale: float = 1.0
) -> int:
    r"""Side queries of W-SparQ in T steps: \(\lceil c \log^d t_j \rceil\) at each window start.

    Of order \(T^{1 - a/\alpha} \log^d T\) (M25 Theorem 3.10), while it has points to ask about.

    Raises:
        DriftpeakError: as for `window_starts`, dimension below 1, scale not positive.
    """
    starts = window_starts(horizon, exponent=exponent, window=window)
    return sum(_batch(t, dimension, scale) for t in starts)


def side_queries_needed(horizon: int, *, exponent: float) -> Bound:
    r"""Fewer than \(T^{\alpha/(\alpha+1)}\) side queries mean linear regret (M25 Theorem 5.3).

    Constants are left out. Proved for the SE kernel and \(\alpha > 1\) (M25 Remark 5.6).

    Raises:
        DriftpeakError: horizon below 1, exponent below 0.
    """
    horizon = at_least_integer("horizon", horizon, 1)
    alpha = at_least("exponent", exponent, 0)
    return conclude(
        "M25 Theorem 5.3",
        [Condition("alpha > 1", alpha > 1, f"alpha = {alpha:g}")],
        lambda: horizon ** (alpha / (alpha + 1)),
    )


def _batch(step: int, dimension: int, scale: float) -> int:
    dimension = at_least_integer("dimension", dimension, 1)
    return max(1, math.ceil(positive("scale", scale) * math.log(step) ** dimension))


def _window(window: float) -> float:
    window = positive("window", window)
    if window >= 1 / 3:
        raise DriftpeakError(f"window must lie in (0, 1/3) (M25 Theorem 3.10); got {window:g}")
    return window
