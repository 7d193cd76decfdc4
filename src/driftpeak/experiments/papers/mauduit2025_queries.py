r"""Regret against the number of side queries, and operations (M25 section 5, Theorem 3.10).

W-SparQ's windows grow as \(t^{1-b}\), so that it makes of order \(T^b\) side queries, up to
logarithms: with b below, at and above \(\alpha/(\alpha+1)\), up to which Theorem 5.3 has linear
regret for some functions of its class. The functions here are M25's moving coefficients, with
\(\alpha = 2\), so that the measurements are no test of the theorem.
"""

from collections.abc import Mapping
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import xarray as xr

from driftpeak.environments import MovingCoefficients
from driftpeak.experiments.bootstrap import Array
from driftpeak.experiments.claims import Claim, Column, Comparison, lower
from driftpeak.experiments.experiment import (
    Case,
    Results,
    ResultTable,
    Setup,
    described,
)
from driftpeak.experiments.papers.exponents import Series, Theory, curves, exponents, table
from driftpeak.experiments.papers.rates_side_queries import (
    CENTRES,
    KERNEL,
    NOISE,
    NORM,
    POINTS,
    SPEED,
    SQUARE,
)
from driftpeak.gp.domains import Grid
from driftpeak.gp.forgetting import Injection
from driftpeak.gp.priors import Prior
from driftpeak.policies import GPUCB, UIGPUCB, Policy, SparQ
from driftpeak.policies.query_times import Windows
from driftpeak.policies.side_queries import SideQueryPolicy

HORIZONS, TRIALS, A = (250, 1_000, 4_000), 10, 1 / 4
THRESHOLD = SQUARE / (SQUARE + 1)
BUDGETS = {"T^0.4": 0.4, "T^(2/3)": THRESHOLD, "T^(7/8)": 1 - A / SQUARE}
NONE, ALL, STATIC = "none (UI-GP-UCB)", "every step (SparQ)", "GP-UCB"
QUERIES = (NONE, *BUDGETS, ALL)


def setup(horizon: int) -> Setup:
    """Return policies that differ in the number of side queries."""
    prior = Prior(Grid([0, 1], size=POINTS), KERNEL, NOISE**2)
    world = MovingCoefficients(prior, centres=CENTRES, norm=NORM, speed=SPEED)
    published: dict[str, Any] = {"asks": "after", "multiplicity": True}
    policies: dict[str, Policy] = {
        STATIC: GPUCB(prior),
        NONE: UIGPUCB(prior, exponent=SQUARE),
        **{
            name: SideQueryPolicy(prior, Injection(SQUARE), Windows(A / (1 - b), A), **published)
            for name, b in BUDGETS.items()
        },
        ALL: SparQ(prior, **published),
    }
    settings = {"exponent": SQUARE, "width": "0.8, 4", "norm": NORM, "b": list(BUDGETS.values())}
    return Setup(world, policies, horizon, settings)


CASES = {f"T = {horizon}": horizon for horizon in HORIZONS}
LAST = tuple(CASES)[-1]


def _bound(policy: str) -> Theory | None:
    if policy == ALL:
        return Theory(1 / 2, "M25 Theorem 3.3")
    if policy == "T^(7/8)":
        return Theory((3 * A + 1) / 2, "M25 Theorem 3.10")
    return None if policy == STATIC else Theory(1.0, "M25 Theorem 5.3", lower=True)


SERIES = (
    Series(
        r"Moving coefficients, $\alpha$ = 2", "T", "horizon T",
        {case: float(horizon) for case, horizon in CASES.items()}, CASES,
        {policy: _bound(policy) for policy in QUERIES},
    ),
)  # fmt: skip


def sizes(asked: Array) -> Array:
    """Return the number of observations at each decision, from the side queries of each step.

    The answers replace all earlier observations; each step adds its reward. Without side queries it
    is the number of steps before. Answers that follow the reward of a step count from the next.
    """
    intervals = np.zeros(asked.shape)
    for step in range(1, asked.shape[-1]):
        before = asked[..., step - 1]
        intervals[..., step] = np.where(before > 0, before, intervals[..., step - 1] + 1)
    return intervals


class Operations(Column):
    r"""Operations of the regressions per step, \(\frac1T \sum_t t\, n_t^2\), by trial.

    This is M25's count: n_t observations, and predictions at the t points sampled so far.
    """

    def samples(self, results: Mapping[str, xr.Dataset]) -> Array:
        [case] = self.cases
        asked = results[case]["side_queries"].sel(policy=self.policy).values
        times = np.arange(1.0, asked.shape[-1] + 1)
        return np.asarray((times * sizes(asked) ** 2).mean(axis=-1))


def _cheaper(case: str, policy: str) -> Comparison:
    columns = (Operations(case, STATIC), Operations(case, policy))
    return Comparison(f"{STATIC} minus {policy}, operations per step", columns)


CLAIMS = (
    Claim(
        "More side queries, less regret: each number of side queries has less regret than the next "
        "smaller number",
        {
            case: tuple(lower((case, more), (case, fewer)) for fewer, more in pairwise(QUERIES))
            for case in CASES
        },
        whose="ours",
    ),
    Claim(
        "W-SparQ's regressions need fewer operations than those of GP-UCB on all observations",
        {case: (_cheaper(case, "T^(7/8)"),) for case in CASES},
    ),
)


def tables(results: Results) -> tuple[ResultTable, ...]:
    """Return the numbers of side queries and the regret by horizon, and the exponents."""
    rows = []
    for case, runs in results.items():
        for policy in (STATIC, *QUERIES):
            selected = runs.sel(policy=policy)
            cost = Operations(case, policy).samples(results).mean() * runs.attrs["steps"]
            asked = float(selected["side_queries"].sum("step").mean())
            regret = float(selected["regret"].mean())
            rows.append((case, policy, f"{asked:,.0f}", f"{regret:.3f}", f"{cost:.2g}"))
    columns = ("horizon", "side queries", "N_T", "regret per step", "operations")
    return (
        ResultTable("Regret and operations by number of side queries", columns, tuple(rows)),
        *table(SERIES)(results),
    )


EXPERIMENTS = (
    described(
        "m25-queries",
        tuple(
            Case(case, partial(setup, horizon), TRIALS, quick=partial(setup, horizon // 10))
            for case, horizon in CASES.items()
        ),
        CLAIMS,
        partial(exponents, series=SERIES),
        further={"curves": partial(curves, series=SERIES)},
        tables=tables,
        values={
            "CENTRES": CENTRES,
            "NOISE": NOISE,
            "NORM": NORM,
            "POINTS": POINTS,
            "TRIALS": TRIALS,
        },
    ),
)
