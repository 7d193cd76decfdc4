r"""M25's regimes of change, and the numbers of side queries.

An observation of age a has noise variance \(\sigma^2 (1 + a^\alpha)\). Below \(\alpha = 1/3\)
GP-UCB with that noise needs no side queries. From \(\alpha = 1\) on, no policy has sublinear regret
without side queries of the present function.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import at_least, at_least_integer, positive
from driftpeak._core.types import Vector
from driftpeak.theory.bound import Bound, Condition, conclude, power
from driftpeak.theory.injection import ui_gp_ucb_regret_order
from driftpeak.theory.side_queries import checked_share, side_query_windows, unlimited_budget

COUNTED, POINTS = 100_000, 20_001
Regime = Literal["slow", "moderate", "fast"]


@checked
def regime(exponent: float) -> Regime:
    r"""Return "slow" for \(\alpha < 1/3\), "moderate" up to 1 and "fast" from 1 on.

    M25's text calls \(\alpha = 1\) moderate. Table 1 and (18), a linear lower bound, call it fast.

    Raises:
        DriftpeakError: exponent below 0.

    Source: M25 Table 1.
    """
    exponent = at_least("exponent", exponent, 0)
    return "slow" if exponent < 1 / 3 else "moderate" if exponent < 1 else "fast"


@checked
def sparq_queries(horizon: int, *, dimension: int, rate: float = 1.0) -> float:
    r"""Return the number of SparQ's side queries in T steps, the sum of `side_query_budget`.

    The policy uses fewer queries while it has visited fewer distinct points. The sum is exact up to
    100,000 steps and an integral beyond, to 0.1 %. It is a float, since counts overflow 64 bits (at
    T = 10^5 from d = 14 on), and infinite if it overflows floats.

    Raises:
        DriftpeakError: horizon or dimension below 1, rate not positive.

    Source: M25 Theorem 3.3.
    """
    horizon, dimension, rate = _checked(horizon, dimension, rate)
    counted = min(horizon, COUNTED)
    total = float(unlimited_budget(np.arange(1.0, counted + 1), rate, dimension).sum())
    return total + _beyond(horizon, lambda times: unlimited_budget(times, rate, dimension))


@checked
def w_sparq_queries(
    horizon: int, *, dimension: int, exponent: float, a: float = 1 / 4, rate: float = 1.0
) -> float:
    r"""Return the number of W-SparQ's side queries in T steps: the budget at each window start.

    It is of order \(T^{1 - a/\alpha} \log^d T\) (M25 Theorem 3.10), while there are enough points
    to query. The sum is computed as in `sparq_queries`.

    Raises:
        DriftpeakError: as for `side_query_windows` and `side_query_budget`.

    Source: M25 Theorem 3.10.
    """
    horizon, dimension, rate = _checked(horizon, dimension, rate)
    counted = min(horizon, COUNTED)
    windows = side_query_windows(counted, exponent=exponent, a=a)
    starts = np.asarray(np.flatnonzero(windows) + 1, np.float64)
    growth = a / exponent

    def density(times: Vector) -> Vector:
        with np.errstate(over="ignore"):
            return unlimited_budget(times, rate, dimension) / (np.floor(times**growth) + 1)

    total = float(unlimited_budget(starts, rate, dimension).sum())
    return total + _beyond(horizon, density)


def _checked(horizon: int, dimension: int, rate: float) -> tuple[int, int, float]:
    horizon = at_least_integer("horizon", horizon, 1)
    return horizon, at_least_integer("dimension", dimension, 1), positive("rate", rate)


def _beyond(horizon: int, density: Callable[[Vector], Vector]) -> float:
    """Return the sum of `density` over the steps beyond `COUNTED`, as an integral over log t."""
    if horizon <= COUNTED:
        return 0.0
    logarithms = np.linspace(math.log(COUNTED), math.log(horizon), POINTS)
    times = np.asarray(np.exp(logarithms), np.float64)
    return float(np.trapezoid(density(times) * times, logarithms))


@checked
def side_queries_needed(horizon: int, *, exponent: float) -> Bound:
    r"""Return the number of side queries below which regret is linear.

    It is \(T^{\alpha/(\alpha+1)}\) without constants, proved for the SE kernel and \(\alpha > 1\)
    (M25 Remark 5.6).

    Raises:
        DriftpeakError: horizon below 1, exponent below 0.

    Source: M25 Theorem 5.3, Remark 5.6.
    """
    horizon = at_least_integer("horizon", horizon, 1)
    alpha = at_least("exponent", exponent, 0)
    return conclude(
        "M25 Theorem 5.3",
        [Condition("alpha > 1", alpha > 1, f"alpha = {alpha:g}")],
        lambda: power(horizon, alpha / (alpha + 1)),
    )


@dataclass(frozen=True)
class Landscape:
    r"""M25's bounds of the regret for a number of side queries.

    Attributes:
        regime: "slow", "moderate" or "fast" change.
        few: \(T^{\alpha/(\alpha+1)}\); up to here the queries do not improve the lower bound.
        many: \(T^{1-a/\alpha} \log^d T\); from here on W-SparQ has enough queries. Between
            `few` and `many`, M25's bounds leave a gap.
        lower: order of the lower bound; no value where M25 states an open question.
        upper: order of the upper bound, with logarithms; no value where M25 has none.
    """

    regime: Regime
    few: float
    many: float
    lower: Bound
    upper: Bound


@checked
def landscape(
    horizon: int, *, exponent: float, queries: float, dimension: int = 1, a: float = 1 / 4
) -> Landscape:
    r"""Return M25's bounds by regime of change and number of side queries, all constants 1.

    For \(\alpha > 1\) the lower bound is T up to `few` queries, open between, and \(\sqrt T\) from
    `many` on. From 1/3 to 1 it is \(T^{(\alpha+1)/2}\) up to `few`, else \(\sqrt T\).
    From `many` queries on, the upper bound is W-SparQ's, \(d\, T^{(3a+1)/2} \log^{d+1} T\); with
    fewer there is none.

    For \(\alpha < 1/3\) the upper bound is UI-GP-UCB's, \(d\, T^{(3\alpha+1)/2} \log^{d+1} T\),
    with any number of queries. The lower bound is (17), \(T^{(\alpha+1)/2}\), without side queries
    and \(\sqrt T\) with them. Table 1 prints \(\sqrt T\), which is weaker than (17).

    Arguments:
        horizon: T, from 3.
        exponent: \(\alpha\).
        queries: \(N_T\), the number of side queries in all steps.
        dimension: d.
        a: W-SparQ's parameter, in (0, 1/3); M25's Table 2 has 1/4.

    Raises:
        DriftpeakError: a number out of range.

    Source: M25 Tables 1-2, Proposition 2.6, Theorem 5.3, Remark 5.5, (13), (17)-(18).
    """
    horizon, d = (
        at_least_integer("horizon", horizon, 3),
        at_least_integer("dimension", dimension, 1),
    )
    alpha, asked = at_least("exponent", exponent, 0), at_least("queries", queries, 0)
    share = checked_share(a)
    few = power(horizon, alpha / (alpha + 1))
    many = 0.0 if alpha == 0 else power(horizon, 1 - share / alpha) * math.log(horizon) ** d
    value = f"N_T = {asked:.4g}"
    enough = Condition(f"N_T >= {many:.4g}", asked >= many, value)
    bandit, static = power(horizon, (alpha + 1) / 2), math.sqrt(horizon)

    def order(exponent: float) -> float:
        return float(ui_gp_ucb_regret_order(horizon, exponent=exponent, dimension=d))

    if alpha < 1 / 3:
        lower = Bound(bandit, "M25 (17)") if asked == 0 else Bound(static, "M25 Table 2")
        upper = Bound(order(alpha), "M25 Proposition 2.2")
    else:
        upper = conclude("M25 Theorem 3.10", [enough], lambda: order(share))
        if alpha <= 1:
            lower = Bound(bandit if asked <= few else static, "M25 Table 2")
        elif asked <= few:
            lower = Bound(float(horizon), "M25 Theorem 5.3")
        else:
            lower = conclude("M25 Table 2", [enough], lambda: static)
    return Landscape(regime(alpha), few, many, lower, upper)
