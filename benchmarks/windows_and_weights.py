"""Run times of policies that discard observations, relative to GP-UCB.

The setting is that of Deng et al. 2022, figure 1a: 100 points on [0, 1], SE l = 0.2, changes after
steps 100 and 200 of 500, 100 trials. The form (feature space or function space) is "auto".
"""

import os
from typing import Any

import numpy as np

import driftpeak as dp

os.environ["DRIFTPEAK_CACHE"] = "off"  # figures include compilation

STEPS, TRIALS, REPEATS = 500, 100, 5


def run() -> dict[str, Any]:
    """Return the seconds of each policy (median over repeated runs), and the ratio to GP-UCB."""
    prior = dp.Prior(dp.Grid([0, 1], size=100), dp.SE(lengthscale=0.2), noise_variance=0.01)
    policies = {
        "GP": dp.GPUCB(prior),
        "R, period 50": dp.RGPUCB(prior, period=50),
        "SW, window 50": dp.SWGPUCB(prior, window=50),
        "TV, drift 0.01": dp.TVGPUCB(prior, drift=0.01),
        "W, discount 0.98": dp.WGPUCB(prior, discount=0.98),
        "UI, exponent 1": dp.UIGPUCB(prior, exponent=1.0),
    }
    world = dp.AbruptSwitches(prior, changes=[100, 200])
    every = [_simulate(policies, world) for _ in range(REPEATS)]
    seconds = np.median([runs["seconds"] for runs in every], axis=0)
    ratios = np.median([runs["seconds"] / runs["seconds"][0] for runs in every], axis=0)
    figures: dict[str, Any] = {"features": prior.features.rank}
    for index, (name, policy) in enumerate(policies.items()):
        figures[f"{name}: belief"] = type(policy.prepare(STEPS).belief).__name__
        figures[f"{name}: seconds"] = float(seconds[index])
        figures[f"{name}: seconds / GP's"] = float(ratios[index])
        figures[f"{name}: compiling (s)"] = float(every[0]["compile_seconds"][index])
    return figures


def _simulate(policies: Any, world: Any) -> Any:
    return dp.simulate(policies, world, steps=STEPS, trials=TRIALS, seed=0, progress=False)
