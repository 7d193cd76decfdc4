"""Policies that react to changes of the data, and policies for independent arms: regret per step.

Two environments have 100 points on [0, 1], SE l = 0.2 and 300 steps: Markov drift of 0.01, and a
new function after steps 100 and 200. One has 5 independent arms and 1,000 steps, with a new
function after steps 400 and 700. Noise variance 0.01, 20 trials, seed 0. R-GP-UCB has B16's period
for the drift, TV-GP-UCB the drift itself, and ABO the lengthscale at which its correlation halves
after as many steps as that of the drift. Policies for independent arms have the parameters of their
papers for two changes; a second row of some has a far smaller exploration bonus or a step size.
ABO, whose cost grows with the square of the steps, is left out on independent arms. Mean and
standard error over trials.
"""

import math
from typing import Any

import numpy as np

import driftpeak as dp
from driftpeak.simulation import summarise
from driftpeak.theory.schedules import markov_restart_period

DRIFT, TRIALS, CHANGES = 0.01, 20, 2
KERNEL = dp.SE(lengthscale=0.2)
LINE = dp.Prior(dp.Grid([0, 1], size=100), KERNEL, noise_variance=0.01)
INDEPENDENT = dp.Prior(dp.Arms(5), dp.kernels.Table(np.eye(5)), noise_variance=0.01)


def run() -> dict[str, Any]:
    """Return the mean regret per step of every policy in every environment."""
    environments = {
        f"Markov {DRIFT:g}": (LINE, dp.MarkovDrift(LINE, drift=DRIFT), 300),
        "abrupt": (LINE, dp.AbruptSwitches(LINE, changes=[100, 200]), 300),
        "independent arms": (
            INDEPENDENT,
            dp.AbruptSwitches(INDEPENDENT, changes=[400, 700]),
            1000,
        ),
    }
    figures: dict[str, Any] = {}
    for name, (prior, environment, steps) in environments.items():
        compared = policies(prior, steps)
        if prior is INDEPENDENT:
            compared = {name: made for name, made in compared.items() if "ABO" not in name}
        runs = dp.simulate(
            compared, environment, steps=steps, trials=TRIALS, seed=0, progress=False
        )
        for policy, result in summarise(runs, independent_trials=True).items():
            figures[f"{policy} ({name})"] = f"{result.mean_regret:.3f} +- {result.stderr:.3f}"
    return figures


def policies(prior: dp.Prior, steps: int) -> dict[str, dp.Policy]:
    """Return the policies that are compared."""
    period = markov_restart_period(KERNEL, drift=DRIFT, horizon=steps, dimension=1)
    half_life = 2 * math.log(2) / -math.log1p(-DRIFT)  # of the correlation
    lengthscale = half_life / math.sqrt(2 * math.log(2))
    discount = 1 - math.sqrt(CHANGES / steps) / 4
    window = math.ceil(2 * math.sqrt(steps * math.log(steps) / CHANGES))
    return {
        "TV-GP-UCB, drift 0.01": dp.TVGPUCB(prior, drift=DRIFT),
        "R-GP-UCB": dp.RGPUCB(prior, period=period),
        "ET-GP-UCB, delta 0.1": dp.ETGPUCB(prior, delta=0.1),
        f"ABO, lengthscale {lengthscale:.0f}": dp.ABO(prior, lengthscale=lengthscale),
        "epsilon-greedy, epsilon 0.1": dp.EpsilonGreedy(prior, epsilon=0.1),
        "epsilon-greedy, epsilon 0.05, step size 1": dp.EpsilonGreedy(
            prior, epsilon=0.05, step_size=1.0
        ),
        "UCB1": dp.UCB1(prior),
        "UCB1, exploration 0.002": dp.UCB1(prior, exploration=0.002),
        f"SW-UCB, window {window}": dp.SWUCB(prior, window=window),
        "D-UCB": dp.DUCB(prior, discount=discount),
        "D-UCB, exploration 0.0005": dp.DUCB(prior, discount=discount, exploration=0.0005),
        "discounted TS": dp.DiscountedTS(prior, discount=1 - math.sqrt(CHANGES / steps)),
        "Exp3.S": dp.Exp3S(prior, horizon=steps, hardness=CHANGES + 1),
        "RExp3": dp.RExp3(prior, horizon=steps),
        "CUSUM-UCB": dp.CUSUMUCB(prior, horizon=steps, changes=CHANGES),
        "M-UCB": dp.MUCB(prior, horizon=steps, changes=CHANGES),
        "GLR-klUCB": dp.GLRKLUCB(prior, horizon=steps),
        "LinUCB": dp.LinUCB(prior),
        "LinUCB, alpha 0.3": dp.LinUCB(prior, alpha=0.3),
        "auto": dp.Auto(prior),
        "random": dp.UniformRandom(prior),
    }
