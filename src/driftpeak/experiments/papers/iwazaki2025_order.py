"""IT25's figure 1: the error of an estimate from queries in a fixed and in a random order.

The functions are chosen against the fixed order. Measured is the first batch of R-PERP, with and
without permutation: the largest error of the average function over all points, in units of the
posterior deviation. Theorem 4 bounds it by the width (8) if the order is random.
"""

import json
from collections.abc import Mapping
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from driftpeak._core.types import AnyArray
from driftpeak.environments import AgainstQueries
from driftpeak.experiments.bootstrap import Array
from driftpeak.experiments.claims import Claim, Column, Comparison
from driftpeak.experiments.experiment import (
    Case,
    Results,
    ResultTable,
    Setup,
    described,
)
from driftpeak.experiments.papers.exponents import slope
from driftpeak.gp.domains import Arms
from driftpeak.gp.kernels import SE, Kernel, Matern
from driftpeak.gp.priors import Prior
from driftpeak.plots import COLOURS, tidy
from driftpeak.policies import RPERP
from driftpeak.simulation import true_functions

POINTS, POINTS_SEED = 400, 2025
NUMBERS = (100, 400, 1600)  # of queries in the batch
TRIALS, DELTA, NORM, QUICK = 25, 0.1, 1.0, 50
FIXED, RANDOM = "fixed order", "random order"
WORLDS: dict[str, tuple[Kernel, float]] = {
    "SE, noise sd 0.1": (SE(0.5), 0.1),
    "SE, noise sd 0.3": (SE(0.5), 0.3),
    "Matern-5/2, noise sd 0.1": (Matern(2.5, 0.5), 0.1),
}


def _prior(world: str) -> Prior:
    kernel, noise = WORLDS[world]
    # irregular points: on a grid, ties by symmetry would leave the order to rounding
    points = np.random.default_rng(POINTS_SEED).uniform(0, 1, (POINTS, 2))
    return Prior(Arms(points), kernel, noise**2)


def setup(world: str, number: int) -> Setup:
    """Return the first batch of an interval of N^2 steps, which has N queries."""
    prior, noise = _prior(world), WORLDS[world][1]
    fixed, random = (
        RPERP(
            prior,
            horizon=number**2,
            period=number**2,
            permute=permute,
            norm_bound=NORM,
            noise_scale=noise,
            delta=DELTA,
        )
        for permute in (False, True)
    )
    with jax.enable_x64(True):
        everyone = jnp.ones((1, len(prior)), bool)
        order = np.asarray(fixed.select(everyone, jnp.array([number])))[:number]
    functions = AgainstQueries(prior, queries=order, norm=NORM)
    average = true_functions(functions, steps=number)[0].mean(axis=0)
    extra = xr.Dataset({"average": ("point", average)})
    settings = {
        "kernel": str(prior.kernel), "noise_scale": noise, "queries": number, "norm_bound": NORM,
        "delta": DELTA, "C": 1.0, "width": float(fixed.width), "point": functions.point,
        "error without noise": functions.error,
    }  # fmt: skip
    return Setup(functions, {FIXED: fixed, RANDOM: random}, number, settings, extra)


def _name(world: str, number: int) -> str:
    return f"{world}, N = {number}"


class LargestError(Column):
    """The largest error of the average function over all points, in deviations, by trial."""

    def samples(self, results: Mapping[str, xr.Dataset]) -> Array:
        [case] = self.cases
        runs = results[case].sel(policy=self.policy)
        prior = _prior(case.rsplit(", N = ", 1)[0])
        return largest_errors(
            prior, runs["action"].values, runs["reward"].values, runs["average"].values
        )


def largest_errors(prior: Prior, actions: AnyArray, rewards: Array, average: Array) -> Array:
    """Return the largest error over all points in posterior deviations, one for each trial.

    Arguments:
        actions, rewards: shape `(trials, queries)`; all trials have the same queries in any order.
        average: the average function, shape `(n,)`.
    """
    arms, counts = np.unique(actions[0], return_counts=True)
    cross = prior.gram[arms]
    noisy = cross[:, arms] + np.diag(prior.noise_variance / counts)
    weights = np.linalg.solve(noisy, cross)
    deviation = np.sqrt(prior.variance - (weights * cross).sum(axis=0))
    means = np.stack([
        np.bincount(trial, reward, len(prior))[arms] / counts
        for trial, reward in zip(actions, rewards, strict=True)
    ])  # fmt: skip
    estimates = prior.mean + (means - prior.mean[arms]) @ weights
    return np.asarray((np.abs(estimates - average) / deviation).max(axis=1))


class WidthColumn(Column):
    """The width (8) with C = 1, one number for each trial."""

    def samples(self, results: Mapping[str, xr.Dataset]) -> Array:
        [case] = self.cases
        return np.full(results[case].sizes["trial"], width(results[case]))


def width(runs: xr.Dataset) -> float:
    """Return the width (8) of a case."""
    return float(json.loads(runs.attrs["settings"])["width"])


def _above(high: Column, low: Column, label: str) -> tuple[Comparison, ...]:
    return (Comparison(f"{label}, in deviations", (high, low)),)


def _growth(world: str, policy: str, sign: int) -> tuple[Comparison, ...]:
    fit = slope(np.log(NUMBERS))
    label = "slope minus 1/4" if sign > 0 else "1/4 minus slope"
    columns = tuple(LargestError(_name(world, number), policy) for number in NUMBERS)
    return (
        Comparison(
            f"{policy}: {label}, of log error against log N",
            columns,
            lambda samples: sign * (fit(samples) - 0.25),
        ),
    )


CASES = {_name(world, number): (world, number) for world in WORLDS for number in NUMBERS}
LARGEST = tuple(_name(world, NUMBERS[-1]) for world in WORLDS)


def _claims() -> tuple[Claim, ...]:
    against = {
        case: _above(
            LargestError(case, FIXED), LargestError(case, RANDOM), f"{FIXED} minus {RANDOM}, error"
        )
        for case in CASES
    }
    below = {
        case: _above(
            WidthColumn(case, RANDOM), LargestError(case, RANDOM), f"width minus error, {RANDOM}"
        )
        for case in CASES
    }
    beyond = {
        case: _above(
            LargestError(case, FIXED), WidthColumn(case, FIXED), f"error minus width, {FIXED}"
        )
        for case in LARGEST
    }
    return (
        Claim(
            "The environment can choose functions for which a fixed order has a larger error than "
            "a random order of the same queries",
            against,
        ),
        Claim(
            "With a random order the error stays below the width (8) with C = 1 (Theorem 4)",
            below,
            whose="ours",
        ),
        Claim(
            f"With a fixed order the error exceeds the width (8) with C = 1 at N = {NUMBERS[-1]}",
            beyond,
            whose="ours",
        ),
        Claim(
            "With a fixed order the error grows faster than the fourth root of N",
            {world: _growth(world, FIXED, 1) for world in WORLDS},
            whose="ours",
        ),
        Claim(
            "With a random order the error grows more slowly than the fourth root of N",
            {world: _growth(world, RANDOM, -1) for world in WORLDS},
            whose="ours",
        ),
    )


def picture(results: Results, title: str) -> Figure:
    """Draw the error over N for both orders, mean and range over trials, and the width (8)."""
    figure = Figure(figsize=(11.0, 4.4), layout="constrained")
    panels = figure.subplots(1, len(WORLDS), sharey=True)
    for axes, world in zip(panels, WORLDS, strict=True):
        runs = [results[_name(world, number)] for number in NUMBERS]
        steps = [run.attrs["steps"] for run in runs]
        for number, policy in enumerate((FIXED, RANDOM)):
            errors = np.stack([
                LargestError(_name(world, each), policy).samples(results) for each in NUMBERS
            ])  # fmt: skip
            mean = errors.mean(axis=1)
            spread = np.stack([mean - errors.min(axis=1), errors.max(axis=1) - mean])
            axes.errorbar(
                steps, mean, spread, fmt="o-", ms=4, capsize=3, color=COLOURS[number], label=policy
            )
        widths = [width(run) for run in runs]
        axes.plot(steps, widths, "--", color="black", label="width (8) with C = 1, norm bound 1")
        axes.set(xscale="log", yscale="log", xlabel="queries in the batch, N", title=world)
        axes.set_xticks(steps, [f"{step:,}" for step in steps])
        axes.minorticks_off()
        tidy(axes)
    panels[0].set_ylabel("largest error of the average function,\nin posterior deviations")
    lines, names = panels[0].get_legend_handles_labels()
    figure.legend(
        lines, names, loc="outside lower center", ncols=3, frameon=False,
        title="mean over trials; bars: smallest and largest",
    )  # fmt: skip
    figure.suptitle(title, fontsize=11)
    return figure


def tables(results: Results) -> tuple[ResultTable, ...]:
    """Return the errors of both orders and the width, by case."""
    rows = []
    for case in CASES:
        errors = [LargestError(case, policy).samples(results) for policy in (FIXED, RANDOM)]
        numbers = [number for error in errors for number in (error.mean(), error.max())]
        rows.append((case, *(f"{number:.1f}" for number in (*numbers, width(results[case])))))
    columns = tuple(f"{policy}, {what}" for policy in (FIXED, RANDOM) for what in ("mean", "max"))
    title = "Largest error in posterior deviations, over trials"
    return (ResultTable(title, ("case", *columns, "width (8), C = 1"), tuple(rows)),)


EXPERIMENTS = (
    described(
        "it25-fig1",
        tuple(
            Case(
                name,
                partial(setup, *given),
                TRIALS,
                quick=partial(setup, given[0], QUICK),
            )
            for name, given in CASES.items()
        ),
        _claims(),
        picture,
        tables=tables,
        values={"POINTS": POINTS},
    ),
)
