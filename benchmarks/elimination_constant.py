"""Regret of R-PERP with the proved constant C = sqrt(8) of its width, and with smaller ones.

The domain is a grid of 30 points with an SE kernel of lengthscale 0.3 and noise variance 0.1. The
function changes once, in the middle of the run, where R-PERP restarts. B is the largest norm of
the functions. Figures are the mean regret of the trials with its standard error, and the mean
number of points that survive the last batch in which points are eliminated.
"""

from typing import Any

import numpy as np

import driftpeak as dp
from driftpeak.theory.variation import rkhs_norm

HORIZONS, TRIALS = (20_000, 80_000), 8
CONSTANTS: dict[str, Any] = {"sqrt(8)": "proved", "1": 1.0, "0.1": 0.1, "0.03": 0.03}


def run() -> dict[str, Any]:
    """Return regrets and numbers of surviving points for every horizon and constant."""
    prior = dp.Prior(dp.Grid([0, 1], size=30), dp.SE(lengthscale=0.3), noise_variance=0.1)
    figures: dict[str, Any] = {}
    for horizon in HORIZONS:
        world = dp.AbruptSwitches(prior, changes=[horizon // 2], supports=10)
        functions = dp.true_functions(world, steps=horizon, trials=TRIALS, seed=0)
        norm = max(rkhs_norm(prior, trial[[0, -1]]).max() for trial in functions)
        policies: dict[str, Any] = {
            f"C = {name}": dp.RPERP(
                prior, horizon=horizon, period=horizon // 2, norm_bound=norm, constant=constant
            )
            for name, constant in CONSTANTS.items()
        }
        runs = dp.simulate(
            {**policies, "random": dp.UniformRandom(prior)},
            world, steps=horizon, trials=TRIALS, seed=0, progress=False,
        )  # fmt: skip
        for name in runs["policy"].values:
            totals = runs["regret"].sel(policy=name).sum("step").values
            error = totals.std(ddof=1) / np.sqrt(TRIALS)
            figures[f"T = {horizon:,}, {name}"] = f"{totals.mean():,.0f} ± {error:,.0f}"
            if name in policies:
                figures[f"  points left, {name}, T = {horizon:,}"] = np.mean(
                    [left(policies[name], runs.sel(policy=name, trial=i)) for i in runs["trial"]]
                ).item()
    return figures


def left(policy: Any, trial: Any) -> int:
    """Return the number of points that survive the last batch of a trial."""
    sets = policy.surviving_sets(trial["action"], trial["reward"])
    return int(sets.isel(batch=-1).sum())
