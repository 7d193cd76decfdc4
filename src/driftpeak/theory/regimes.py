r"""M25's regimes of change, and what side queries cost and buy.

An observation of age a has noise variance \(\sigma^2 (1 + a^\alpha)\). Below \(\alpha = 1/3\)
GP-UCB with that noise needs no help; from \(\alpha = 1\) on, no policy has sublinear regret without
re-querying the present function (side queries).
"""

from typing import Literal

from driftpeak.errors import at_least, at_least_integer
from driftpeak.theory.bound import Bound, Condition, conclude
from driftpeak.theory.side_queries import side_query_budget, side_query_windows

Regime = Literal["slow", "moderate", "fast"]


def regime(exponent: float) -> Regime:
    r"""Slow for \(\alpha < 1/3\), moderate up to 1, fast from 1 on (M25 Table 1).

    The text has \(\alpha = 1\) moderate, Table 1 and (18), whose lower bound is linear there, fast.

    Raises:
        DriftpeakError: exponent below 0.
    """
    exponent = at_least("exponent", exponent, 0)
    return "slow" if exponent < 1 / 3 else "moderate" if exponent < 1 else "fast"


def sparq_queries(horizon: int, *, dimension: int, rate: float = 1.0) -> int:
    r"""Side queries of SparQ in T steps: the sum of `theory.side_queries.side_query_budget`.

    As many as the policy asks for; it asks for fewer while it has visited fewer distinct points.

    Raises:
        DriftpeakError: horizon or dimension below 1, rate not positive.
    """
    return int(side_query_budget(horizon, rate=rate, dimension=dimension).sum())


def w_sparq_queries(
    horizon: int, *, dimension: int, exponent: float, a: float = 1 / 4, rate: float = 1.0
) -> int:
    r"""Side queries of W-SparQ in T steps: the budget at each window start.

    Of order \(T^{1 - a/\alpha} \log^d T\) (M25 Theorem 3.10), while it has points to ask about.

    Raises:
        DriftpeakError: as for `side_query_windows` and `side_query_budget`.
    """
    budget = side_query_budget(horizon, rate=rate, dimension=dimension)
    return int(budget[side_query_windows(horizon, exponent=exponent, a=a)].sum())


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
