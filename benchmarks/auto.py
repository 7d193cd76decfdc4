"""Run time of auto relative to TV-GP-UCB, about ten on 2,500 points.

Figures are the run times of `dp.Auto(prior)` relative to TV-GP-UCB in the same simulation, without
compilation, the smallest of three. The domains are B16's grid with SE (rank 219 to 1e-10), 100
points of [0, 1], and 50 arms with a full-rank covariance.
"""

import numpy as np

import driftpeak as dp

TARGETS = {"2,500 points (x TV-GP-UCB)": "<= 10"}


def run() -> dict[str, float]:
    """Return ratios, and microseconds per step and trial."""
    arms = dp.Arms(np.random.default_rng(0).random((50, 3)))
    settings = {
        "2,500 points": (dp.Grid([0, 1], [0, 1], size=50), dp.SE(0.2), 100, 40),
        "100 points": (dp.Grid([0, 1], size=100), dp.SE(0.2), 500, 60),
        "50 arms": (arms, dp.Matern(1.5, 0.3), 200, 20),
    }
    figures = {}
    for name, (domain, kernel, steps, trials) in settings.items():
        prior = dp.Prior(domain, kernel, noise_variance=0.01)
        policies = {"auto": dp.Auto(prior), "tv": dp.TVGPUCB(prior, drift=0.01)}
        world = dp.MarkovDrift(prior, drift=0.01)
        seconds = [
            dp.simulate(policies, world, steps=steps, trials=trials, seed=seed)["seconds"].values
            for seed in range(3)
        ]
        auto, tv = np.min(seconds, axis=0)
        figures[f"{name} (x TV-GP-UCB)"] = auto / tv
        figures[f"  a step of auto ({name}, us)"] = 1e6 * auto / (steps * trials)
    return figures
