r"""Regret on a bump that moves before it can be located, compared with IT25 Theorem 1.

The functions of the theorem's proof: the bump is so low that no policy locates it within a period,
and it moves as often as V_T allows. Every policy then has regret of order T^(2/3) V_T^(1/3) (SE
kernel), in T and in V_T.
"""

import math
from collections.abc import Mapping
from functools import partial

from driftpeak.environments import MovingBump
from driftpeak.experiments.bootstrap import Combine
from driftpeak.experiments.claims import Claim, Column, Comparison
from driftpeak.experiments.experiment import Case, Setup, described
from driftpeak.experiments.papers.exponents import Series, Theory, curves, exponents, table
from driftpeak.experiments.papers.rates import SMALLER, policies_for
from driftpeak.gp.domains import Grid
from driftpeak.gp.kernels import SE
from driftpeak.gp.priors import Prior

KERNEL, NOISE, NORM, POINTS, CELLS, TRIALS = SE(0.1), 1.0, 1.0, 64, 8, 10
HORIZONS, FIXED_HORIZON = (1_000, 3_162, 10_000), 10_000
VARIATIONS, FIXED_VARIATION = (5.0, 10.0, 20.0), 10.0
FAINT = 0.25
"""Half height of a bump in units of the noise times sqrt(cells / period)."""
LEAST = 1 - 1 / CELLS - FAINT
r"""Smallest regret per step of any policy, in units of half the height.

Sampling the peak of a bump of height 2 e in all H steps of a block has the Kullback-Leibler
divergence 2 H e^2 / noise^2 from a zero function; averaged over M cells it is 2 FAINT^2. By
Pinsker's inequality the cell of the bump gets at most 1/M + FAINT of the steps on average, and
each step elsewhere costs at least e. The tails of the bumps in other cells are ignored.
"""
POLICIES = ("random", "R-GP-UCB", "SW-GP-UCB", f"R-PERP, C = {SMALLER:g}", "ADA-OPKB")


def half_height(period: int) -> float:
    """Return half the height of a bump that is not located within `period` steps."""
    return FAINT * NOISE * math.sqrt(CELLS / period)


def move_period(horizon: int, variation: float) -> int:
    """Return the shortest period H with 4 T / H times `half_height(H)` at most V_T (IT25 (13))."""
    return math.ceil((4 * horizon * half_height(1) / variation) ** (2 / 3))


def setup(horizon: int, variation: float) -> Setup:
    """Return the setup of a bump that moves before it can be located."""
    prior = Prior(Grid([0, 1], size=POINTS), KERNEL, NOISE**2)
    period = move_period(horizon, variation)
    unit = MovingBump(prior, period=period, cells=CELLS)
    norm = 2 * half_height(period) / unit.height
    world = MovingBump(prior, period=period, cells=CELLS, norm=norm)
    made, settings = policies_for(prior, horizon=horizon, variation=variation, bound=NORM)
    policies = {name: made[name] for name in POLICIES}
    settings |= {"bump moves every": period, "height": world.height, "norm": norm}
    return Setup(world, policies, horizon, settings)


BY_HORIZON = {f"T = {horizon}": (horizon, FIXED_VARIATION) for horizon in HORIZONS}
BY_VARIATION = {
    f"T = {FIXED_HORIZON}" if v == FIXED_VARIATION else f"V_T = {v:g}": (FIXED_HORIZON, v)
    for v in VARIATIONS
}
CASES = BY_HORIZON | BY_VARIATION


def _series(
    title: str, by: str, exponent: float, cases: Mapping[str, tuple[int, float]], xlabel: str
) -> Series:
    lower = Theory(exponent, "IT25 Theorem 1", lower=True)
    return Series(
        title, by, xlabel,
        {case: float(given[by == "V_T"]) for case, given in cases.items()},
        {case: given[0] for case, given in cases.items()},
        dict.fromkeys(POLICIES, lower),
    )  # fmt: skip


SERIES = (
    _series(f"$V_T$ = {FIXED_VARIATION:g}", "T", 2 / 3, BY_HORIZON, "horizon T"),
    _series(f"T = {FIXED_HORIZON:,}", "V_T", 1 / 3, BY_VARIATION, "variation $V_T$"),
)


def _above(floor: float) -> Combine:
    return lambda samples: samples[..., 0].mean(axis=-1) - floor


def _at_least(policy: str, case: str) -> Comparison:
    """Return the comparison that a policy has the regret of the lower bound's proof or more."""
    floor = LEAST * half_height(move_period(*CASES[case]))
    return Comparison(
        f"{policy} ({case}): regret per step minus {LEAST:.3g} of half the height, {floor:.3g}",
        (Column(case, policy),),
        _above(floor),
    )


EXPERIMENTS = (
    described(
        "rates-bump",
        tuple(
            Case(name, partial(setup, *given), TRIALS, totals_only=True)
            for name, given in CASES.items()
        ),
        (
            Claim(
                "No policy has less regret than the proof of the lower bound allows",
                tuple(_at_least(policy, case) for policy in POLICIES for case in CASES),
                whose="ours",
            ),
        ),
        partial(exponents, series=SERIES),
        further={"curves": partial(curves, series=SERIES)},
        tables=table(SERIES),
        values={
            "CELLS": CELLS,
            "FAINT": FAINT,
            "LEAST": LEAST,
            "NOISE": NOISE,
            "NORM": NORM,
            "POINTS": POINTS,
            "TRIALS": TRIALS,
        },
    ),
)
