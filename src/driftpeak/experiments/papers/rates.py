r"""Rates of measured regret in T and V_T, compared with the exponents of theory.

A function on [0, 1] changes abruptly at evenly spaced times. For the rate in T, it changes twice
for every T, so that V_T is constant. For the rate in V_T, T is constant and the number of changes
grows; V_T is proportional to it. Each policy has theory's parameters for the known variation.
Slopes are fitted to log R_T.
"""

import json
import math
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from driftpeak.environments import AbruptSwitches
from driftpeak.experiments.bootstrap import Combine, in_words, interval
from driftpeak.experiments.claims import Claim, Column, Comparison
from driftpeak.experiments.experiment import Case, Experiment, Results, Setup
from driftpeak.gp.domains import Grid
from driftpeak.gp.kernels import SE
from driftpeak.gp.priors import Prior
from driftpeak.plots import COLOURS
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
from driftpeak.simulation.simulator import true_functions
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


def setup(horizon: int, changes: int) -> Setup:
    prior = Prior(Grid([0, 1], size=POINTS), KERNEL, NOISE**2)
    variation = mean_variation(prior, changes)
    bound = 2 * math.sqrt(SUPPORTS / 3)
    memory = restart_period(KERNEL, horizon=horizon, dimension=1, variation=variation)
    discount = discount_factor(KERNEL, horizon=horizon, dimension=1, variation=variation)
    perp = {"horizon": horizon, "variation": variation, "norm_bound": bound, "noise_scale": NOISE}
    reward_bound = bound + 5 * NOISE
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
        "horizon": horizon, "changes": changes, "variation": variation, "period and window": memory,
        "discount": discount, "norm_bound": bound, "noise_scale": NOISE,
        "width": "0.8, 4", "opkb": "published",
    }  # fmt: skip
    return Setup(environment(prior, horizon, changes), policies, horizon, settings)


BY_HORIZON = {f"T = {horizon}": (horizon, FIXED_CHANGES) for horizon in HORIZONS}
BY_CHANGES = {f"{n} changes": (FIXED_HORIZON, n) for n in CHANGES}


def slope(logarithms: Any) -> Combine:
    """Return the fitted slope of log(mean of the column) over `logarithms`, one per column."""
    x = np.asarray(logarithms) - np.mean(logarithms)

    def fit(samples: Any) -> Any:
        return (np.log(samples.mean(axis=-2)) * x).sum(axis=-1) / (x**2).sum()

    return fit


def theoretical(policy: str, by: str) -> float | None:
    """Return the exponent of T (`by` "T") or V_T ("V_T") in the largest term of a policy's rate."""
    setting = Setting(KERNEL, 1, FIXED_HORIZON, variation=3.0, rkhs_variation=3.0)
    measures: tuple[Measure, ...] = ("variation", "rkhs_variation")
    rows = (applicable(THEORY[policy], setting, measure) for measure in measures)
    row = next((row for row in rows if row is not None), None)
    if row is None:
        return None
    rate = row[0]
    largest = max(rate.terms, key=lambda term: term[0].at(setting))
    return largest[0 if by == "T" else 1].at(setting)


def _columns(policy: str, cases: dict[str, tuple[int, int]]) -> tuple[Column, ...]:
    return tuple(Column(case, policy) for case in cases)


def _exponent(by: str) -> Combine:
    """Return the slope of log R_T for columns of regret per step."""
    cases = BY_HORIZON if by == "T" else BY_CHANGES
    horizons = np.array([horizon for horizon, _ in cases.values()])
    fit = slope(np.log(HORIZONS if by == "T" else CHANGES))
    return lambda samples: fit(samples * horizons)


def _no_faster(policy: str, by: str) -> Comparison:
    cases = BY_HORIZON if by == "T" else BY_CHANGES
    exponent, fit = theoretical(policy, by) or 0.0, _exponent(by)
    return Comparison(
        f"{policy}: theory's exponent {exponent:.3g} minus the slope of log R_T against log {by}",
        _columns(policy, cases),
        lambda samples: exponent - fit(samples),
    )


def _sublinear(policy: str) -> Comparison:
    fit = _exponent("T")
    return Comparison(
        f"{policy}: 1 minus the slope of log R_T against log T",
        _columns(policy, BY_HORIZON),
        lambda samples: 1 - fit(samples),
    )


def _samples(results: Results, policy: str, cases: dict[str, tuple[int, int]]) -> Any:
    """Return R_T of every trial and case, shape `(trial, case)`."""
    return np.stack(
        [
            results[case]["regret"].sel(policy=policy).sum("step").values
            for case in cases
        ],
        axis=-1,
    )  # fmt: skip


def variations(results: Results) -> list[float]:
    """Return V_T of the cases with fixed T, as given to the policies."""
    return [float(json.loads(results[case].attrs["settings"])["variation"]) for case in BY_CHANGES]


def picture(results: Results, title: str) -> Figure:
    """Draw R_T over T and over V_T, log-log, with slopes, intervals and theory's exponents."""
    figure = Figure(figsize=(12.0, 6.0), layout="constrained")
    panels = figure.subplots(1, 2)
    sides = (
        (panels[0], BY_HORIZON, list(HORIZONS), "T", "horizon T"),
        (panels[1], BY_CHANGES, variations(results), "V_T", "variation $V_T$"),
    )
    for axes, cases, values, by, xlabel in sides:
        for number, policy in enumerate(["random", *THEORY]):
            samples = _samples(results, policy, cases)
            fit = slope(np.log(values))
            low, high = interval(samples, fit)
            theory = None if policy == "random" else theoretical(policy, by)
            exponent = "" if theory is None else f"; theory {theory:.2f}"
            label = f"{policy}: {in_words(float(fit(samples)), low, high, '.2f')}{exponent}"
            mean = samples.mean(axis=0)
            error = samples.std(axis=0, ddof=min(1, len(samples) - 1)) / len(samples) ** 0.5
            axes.errorbar(values, mean, error, fmt="o-", ms=4, color=COLOURS[number], label=label)
        axes.set(xscale="log", yscale="log", xlabel=xlabel)
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(
            frameon=False, fontsize=8, title="slope [95 % interval]; theory's exponent",
            loc="upper center", bbox_to_anchor=(0.5, -0.14),
        )  # fmt: skip
    panels[0].set_ylabel("regret $R_T$, mean and standard error")
    panels[0].set_title(f"{FIXED_CHANGES} changes")
    panels[1].set_title(f"T = {FIXED_HORIZON:,}")
    figure.suptitle(title, fontsize=11)
    return figure


EXPERIMENTS = (
    Experiment(
        "rates",
        "Regret by horizon and variation; abrupt changes on [0, 1], SE kernel",
        "IT25 Tables 1-2",
        tuple(
            Case(name, partial(setup, *given), TRIALS, totals_only=True)
            for name, given in (BY_HORIZON | BY_CHANGES).items()
        ),
        tuple(
            Claim(text, (comparison,), whose="ours")
            for policy in THEORY
            for text, comparison in (
                (f"{policy} is sublinear in T", _sublinear(policy)),
                (
                    f"{policy}'s slope against T at these horizons is at most theory's exponent",
                    _no_faster(policy, "T"),
                ),
                (
                    f"{policy}'s slope against V_T at this horizon is at most theory's exponent",
                    _no_faster(policy, "V_T"),
                ),
            )
        ),
        picture,
        choices=(
            "50 points on [0, 1], SE l = 0.2, M = 20, noise sd 0.1, 10 trials. Changes are evenly "
            "spaced in time: two for every T, and 1 to 32 at T = 10,000.",
            "V_T is the mean over 200 other trials, in the supremum norm.",
            "R-, SW- and WGP-UCB have B16's width. With the confidence width, which is valid but "
            "wide, they mostly explore at these T.",
        ),
        notes=(
            "Bounds hold for the worst case and up to logarithms. A measured slope may lie well "
            "below the exponent, or above it if the constant of the bound is large. No slope "
            "contradicts a theorem. A slope near 1 means that T is too small for the policy to "
            "learn.",
        ),
    ),
)
