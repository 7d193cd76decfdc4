"""Mean regret per step of the example policies of "Writing a policy" and of others.

The setting is 100 points on [0, 1], SE l = 0.2, noise variance 0.01, 300 steps, 20 trials, seed 0.
One environment has a Markov drift of 0.01, the other a new function after steps 100 and 200.
R-GP-UCB has B16's period for this drift, and TV-GP-UCB the true drift. ABO has the lengthscale that
gives the same half-life. Figures are means and standard errors over trials.
"""

import math
from typing import Any

import driftpeak as dp
from driftpeak.simulation.results import summarise
from driftpeak.theory.schedules import markov_restart_period

DRIFT, STEPS, TRIALS = 0.01, 300, 20


def run() -> dict[str, Any]:
    """Return the mean regret per step of every policy in both environments."""
    kernel = dp.SE(lengthscale=0.2)
    prior = dp.Prior(dp.Grid([0, 1], size=100), kernel, noise_variance=0.01)
    period = markov_restart_period(kernel, drift=DRIFT, horizon=STEPS, dimension=1)
    half_life = 2 * math.log(2) / -math.log1p(-DRIFT)  # half-life of the correlation
    lengthscale = half_life / math.sqrt(2 * math.log(2))
    policies = {
        f"TV-GP-UCB, drift {DRIFT:g}": dp.TVGPUCB(prior, drift=DRIFT),
        f"R-GP-UCB, period {period}": dp.RGPUCB(prior, period=period),
        "ET-GP-UCB, delta 0.1": dp.ETGPUCB(prior, delta=0.1),
        f"ABO, lengthscale {lengthscale:.0f}": dp.ABO(prior, lengthscale=lengthscale),
        "auto": dp.Auto(prior),
    }
    worlds = {
        f"Markov {DRIFT:g}": dp.MarkovDrift(prior, drift=DRIFT),
        "abrupt": dp.AbruptSwitches(prior, changes=[100, 200]),
    }
    figures: dict[str, Any] = {}
    for name, world in worlds.items():
        runs = dp.simulate(policies, world, steps=STEPS, trials=TRIALS, seed=0, progress=False)
        results = summarise(runs, independent_trials=True)
        for policy in policies:
            mean, error = results[policy].mean_regret, results[policy].stderr
            figures[f"{policy} ({name})"] = f"{mean:.3f} +- {error:.3f}"
    return figures
