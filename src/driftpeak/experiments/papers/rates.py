r"""Rates of measured regret in T and V_T, compared with the exponents of theory.

A function on [0, 1] changes abruptly at evenly spaced times. For the rate in T, it changes twice
for every T, so that V_T is constant. For the rate in V_T, T is constant and the number of changes
grows; V_T is proportional to it. Each policy has theory's parameters for the known variation.
Slopes are fitted to log R_T. They are measurements at these horizons, not tests of the bounds: a
bound holds up to constants and logarithms and for the worst case, so no slope contradicts it.
"""

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from driftpeak.environments import AbruptSwitches
from driftpeak.experiments.experiment import Case, Setup, described
from driftpeak.experiments.papers.exponents import Series, Theory, curves, exponents, table
from driftpeak.gp.domains import Grid
from driftpeak.gp.kernels import SE
from driftpeak.gp.priors import Prior
from driftpeak.policies import (
    ADAOPKB,
    RGPUCB,
    ROPKB,
    RPERP,
    SWGPUCB,
    WGPUCB,
    Policy,
    UniformRandom,
)
from driftpeak.policies.widths import ScaledLog
from driftpeak.simulation._simulator import true_functions
from driftpeak.theory.rates import applicable
from driftpeak.theory.schedules import discount_factor, restart_period
from driftpeak.theory.setting import Measure, Setting
from driftpeak.theory.variation import supremum_variation

HORIZONS = (1_000, 3_162, 10_000, 31_623, 100_000)
CHANGES = (1, 2, 4, 8, 16, 32)
FIXED_CHANGES, FIXED_HORIZON = 2, 10_000
SUPPORTS, NOISE, POINTS, TRIALS = 20, 0.1, 50, 10
KERNEL = SE(0.2)
SMALLER = 0.03
THEORY = {
    "R-GP-UCB": "r-gp-ucb", "SW-GP-UCB": "sw-gp-ucb", "WGP-UCB": "w-gp-ucb", "R-PERP": "r-perp",
    f"R-PERP, C = {SMALLER:g}": "r-perp", "OPKB with restarts": "opkb", "ADA-OPKB": "ada-opkb",
}  # fmt: skip
"""Name of each policy in the tables of exponents."""


def environment(prior: Prior, horizon: int, changes: int) -> AbruptSwitches:
    times = [round(horizon * (number + 1) / (changes + 1)) for number in range(changes)]
    return AbruptSwitches(prior, changes=times, supports=SUPPORTS)


def mean_variation(prior: Prior, changes: int) -> float:
    """Return V_T of `changes` changes in the supremum norm, the mean over 200 other trials."""
    world = environment(prior, changes + 1, changes)
    pieces = true_functions(world, steps=changes + 1, trials=200, seed=2025)
    return float(np.mean([supremum_variation(functions) for functions in pieces]))


def policies_for(
    prior: Prior, *, horizon: int, variation: float, bound: float
) -> tuple[dict[str, Policy], dict[str, Any]]:
    """Return the policies with theory's parameters, and the parameters."""
    kernel, noise = prior.kernel, math.sqrt(prior.noise_variance)
    memory = restart_period(kernel, horizon=horizon, dimension=1, variation=variation)
    discount = discount_factor(kernel, horizon=horizon, dimension=1, variation=variation)
    perp = {"horizon": horizon, "variation": variation, "norm_bound": bound, "noise_scale": noise}
    reward_bound = bound + 5 * noise
    policies: dict[str, Policy] = {
        "random": UniformRandom(prior),
        "R-GP-UCB": RGPUCB(prior, period=memory, width=ScaledLog()),
        "SW-GP-UCB": SWGPUCB(prior, window=memory, width=ScaledLog()),
        "WGP-UCB": WGPUCB(prior, discount=discount, width=ScaledLog()),
        "R-PERP": RPERP(prior, **perp),  # type: ignore[arg-type]
        f"R-PERP, C = {SMALLER:g}": RPERP(prior, constant=SMALLER, **perp),  # type: ignore[arg-type]
        "OPKB with restarts": ROPKB(
            prior, horizon=horizon, variation=variation, reward_bound=reward_bound
        ),
        "ADA-OPKB": ADAOPKB(prior, horizon=horizon, reward_bound=reward_bound),
    }
    settings = {
        "horizon": horizon, "variation": variation, "period and window": memory,
        "discount": discount, "norm_bound": bound, "noise_scale": noise,
        "width": "0.8, 4", "opkb": "published",
    }  # fmt: skip
    return policies, settings


def setup(horizon: int, changes: int) -> Setup:
    """Return the setup of abrupt changes."""
    prior = Prior(Grid([0, 1], size=POINTS), KERNEL, NOISE**2)
    policies, settings = policies_for(
        prior,
        horizon=horizon,
        variation=mean_variation(prior, changes),
        bound=2 * math.sqrt(SUPPORTS / 3),
    )
    world = environment(prior, horizon, changes)
    return Setup(world, policies, horizon, settings | {"changes": changes})


BY_HORIZON = {f"T = {horizon}": (horizon, FIXED_CHANGES) for horizon in HORIZONS}
BY_CHANGES = {f"{n} changes": (FIXED_HORIZON, n) for n in CHANGES}


def theoretical(policy: str, by: str) -> Theory | None:
    """Return the exponent of T (`by` "T") or V_T ("V_T") in the largest term of a policy's rate."""
    setting = Setting(KERNEL, 1, FIXED_HORIZON, variation=3.0, rkhs_variation=3.0)
    measures: tuple[Measure, ...] = ("variation", "rkhs_variation")
    rows = (applicable(THEORY.get(policy, policy), setting, measure) for measure in measures)
    row = next((row for row in rows if row is not None), None)
    if row is None:
        return None
    rate = row[0]
    largest = max(rate.terms, key=lambda term: term[0].at(setting))
    return Theory(largest[0 if by == "T" else 1].at(setting), rate.source)


def _series(title: str, by: str, cases: Mapping[str, tuple[int, int]], xlabel: str) -> Series:
    """Return the series of cases (T and the number of changes) with all policies."""
    return Series(
        title, by, xlabel,
        {case: float(given[by == "V_T"]) for case, given in cases.items()},
        {case: given[0] for case, given in cases.items()},
        {policy: theoretical(policy, by) for policy in ("random", *THEORY)},
    )  # fmt: skip


T_SERIES = _series(f"{FIXED_CHANGES} abrupt changes", "T", BY_HORIZON, "horizon T")
V_SERIES = _series(
    f"Abrupt changes, T = {FIXED_HORIZON:,}",
    "V_T",
    BY_CHANGES,
    "number of changes, proportional to $V_T$",
)
SERIES = (T_SERIES, V_SERIES)


EXPERIMENTS = (
    described(
        "rates",
        tuple(
            Case(name, partial(setup, *given), TRIALS, totals_only=True)
            for name, given in (BY_HORIZON | BY_CHANGES).items()
        ),
        (),
        partial(exponents, series=SERIES),
        further={"curves": partial(curves, series=SERIES)},
        tables=table(SERIES),
    ),
)
