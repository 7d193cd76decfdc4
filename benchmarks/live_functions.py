"""On moving test functions the live optimiser loses less than a static one and than W-DBO.

The dynamic test functions of `driftpeak.environments.functions`, minimised with equal numbers of
evaluations at equal times, by `dp.Optimizer` without any knob, by bayesian-optimization (static: it
is told nothing of time; its defaults, UCB with kappa 2.576) and by W-DBO (Matern 5/2 in space, 3/2
in time, else its defaults: 15 random points first, alpha 0.25). Noise: 5 % of the function's
standard deviation over the box. Figures: time-weighted regret, mean over the seeds, divided by that
of holding random points.

W-DBO takes seconds for each evaluation, hours for all of this, so that parts can be chosen:

    LIVE_SEEDS=1 LIVE_PLAYERS=driftpeak,wdbo LIVE_FUNCTIONS=Shekel,Powell python -m benchmarks ...
"""

import os
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import gpytorch
import numpy as np
import torch
from bayes_opt import BayesianOptimization
from wdbo_algo.optimizer import WDBOOptimizer

import driftpeak as dp
from driftpeak.environments.functions import FUNCTIONS, DynamicFunction, time_weighted_regret

EVALUATIONS = int(os.environ.get("LIVE_EVALUATIONS", "100"))
SEEDS = int(os.environ.get("LIVE_SEEDS", "3"))
NAMES = os.environ.get("LIVE_FUNCTIONS", ",".join(FUNCTIONS)).split(",")
PLAYERS = os.environ.get("LIVE_PLAYERS", "driftpeak,bayes_opt,wdbo").split(",")
NOISE = 0.05
Reward = Callable[[Any, float], float]  # of a point of the unit cube, at a time


def run() -> dict[str, Any]:
    """Relative regret of each optimiser on each function; seconds for each evaluation."""
    torch.set_default_dtype(torch.float64)
    warnings.filterwarnings("ignore")  # the others' warnings about their own fits
    everyone = [*(globals()[name] for name in PLAYERS), uniform]
    figures: dict[str, Any] = {"evaluations": EVALUATIONS, "seeds": SEEDS}
    ratios: dict[str, list[float]] = {name: [] for name in PLAYERS}
    for name in NAMES:
        played = [[regret(FUNCTIONS[name], play, s) for play in everyone] for s in range(SEEDS)]
        regrets, seconds = np.array(played).mean(axis=0).T
        for player, value, spent in zip(PLAYERS, regrets, seconds, strict=False):
            ratios[player].append(value / regrets[-1])
            figures[f"{name}: {player}"] = float(value / regrets[-1])
            note = f"{name}: {player} {value / regrets[-1]:.3f}, {1e3 * spent:.0f} ms"
            print(note, file=sys.stderr, flush=True)  # it takes long
    for player, values in ratios.items():
        figures[f"geometric mean: {player}"] = float(np.exp(np.mean(np.log(values))))
    return figures


def regret(function: DynamicFunction, play: Any, seed: int) -> tuple[float, float]:
    """Time-weighted regret, and seconds for each evaluation."""
    generator = np.random.default_rng([seed, 7])
    low, span = function.low, function.high - function.low
    sample = low + span * generator.uniform(size=(2000, function.dimension))
    scale = NOISE * float(np.std([function(x[None], generator.uniform())[0] for x in sample]))
    points = []

    def reward(u: Any, t: float) -> float:
        x = low + span * np.asarray(u, float)
        points.append(x)
        return -float(function(x[None], t)[0]) + scale * float(generator.normal())

    times = np.arange(EVALUATIONS) / EVALUATIONS
    started = time.perf_counter()
    play(function.dimension, reward, times, seed)
    spent = (time.perf_counter() - started) / EVALUATIONS
    return time_weighted_regret(function, times, np.array(points), between=2), spent


def driftpeak(dimension: int, reward: Reward, times: Any, seed: int) -> None:
    box = dp.Box({f"x{j}": dp.Float(0, 1) for j in range(dimension)})
    optimizer = dp.Optimizer(box, maximize=True, seed=seed)
    for t in map(float, times):
        suggestion = optimizer.ask(t)
        optimizer.tell(suggestion, reward(list(suggestion.values()), t))


def bayes_opt(dimension: int, reward: Reward, times: Any, seed: int) -> None:
    bounds = {f"x{j}": (0.0, 1.0) for j in range(dimension)}
    optimizer = BayesianOptimization(
        f=None, pbounds=bounds, random_state=seed, verbose=0, allow_duplicate_points=True
    )
    for t in map(float, times):
        point = optimizer.suggest()
        optimizer.register(params=point, target=reward([point[name] for name in bounds], t))


def wdbo(dimension: int, reward: Reward, times: Any, seed: int) -> None:
    np.random.seed(seed)  # noqa: NPY002  it draws its first points from there
    torch.manual_seed(seed)
    matern = gpytorch.kernels.MaternKernel
    optimizer = WDBOOptimizer(np.array([[0.0, 1.0]] * dimension), matern, matern, [2.5], [1.5])
    for t in map(float, times):
        point = optimizer.next_query(t)
        optimizer.tell(point, t, reward(point, t))
        optimizer.clean(t)


def uniform(dimension: int, reward: Reward, times: Any, seed: int) -> None:
    generator = np.random.default_rng(seed)
    for t in map(float, times):
        reward(generator.uniform(size=dimension), t)
