"""The live optimiser on moving test functions, against a static one and against W-DBO.

The dynamic test functions of `driftpeak.environments.functions`, minimised with equal numbers of
evaluations at equal times, by `dp.Optimizer` without any knob, by bayesian-optimization (static: it
is told nothing of time; its defaults, UCB with kappa 2.576) and by W-DBO (Matern 5/2 in space, 3/2
in time, else its defaults: 15 random points first, alpha 0.25). Noise: 5 % of the function's
standard deviation over the box. "markov" and "momentum" are driftpeak with one kind of drift.

Figures: time-weighted regret, mean over the seeds, divided by that of holding random points; and,
of driftpeak's regret as a multiple of each other's, paired by function and seed, the geometric mean
with its 95 % interval: 10,000 bootstrap draws of functions and, within each, of seeds.

W-DBO takes seconds for each evaluation. Parts can be chosen, and what has been played is kept in a
file if one is named, so that a run can be stopped and continued:

    LIVE_SEEDS=1 LIVE_PLAYERS=driftpeak,wdbo LIVE_FUNCTIONS=Shekel LIVE_KEEP=played.jsonl \\
        python -m benchmarks live_functions
"""

import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import driftpeak as dp
from benchmarks._moving import Moving
from benchmarks._paired import ratio
from driftpeak.environments.functions import FUNCTIONS, DynamicFunction, time_weighted_regret

EVALUATIONS = int(os.environ.get("LIVE_EVALUATIONS", "50"))
SEEDS = range(100, 100 + int(os.environ.get("LIVE_SEEDS", "2")))  # lower ones: for development
NAMES = os.environ.get("LIVE_FUNCTIONS", ",".join(FUNCTIONS)).split(",")
PLAYERS = os.environ.get("LIVE_PLAYERS", "driftpeak,markov,momentum,bayes_opt,wdbo").split(",")
KEEP = os.environ.get("LIVE_KEEP")
if "bayes_opt" in PLAYERS:
    from bayes_opt import BayesianOptimization
if "wdbo" in PLAYERS:
    import gpytorch
    import torch
    from wdbo_algo.optimizer import WDBOOptimizer
Reward = Callable[[Any, float], float]  # of a point of the unit cube, at a time


def run() -> dict[str, Any]:
    """Relative regret of each optimiser on each function; seconds for each evaluation."""
    warnings.filterwarnings("ignore")  # the others' warnings about their own fits
    everyone = [*PLAYERS, "uniform"]
    figures: dict[str, Any] = {"evaluations": EVALUATIONS, "seeds": len(SEEDS)}
    regrets = np.zeros((len(everyone), len(NAMES), len(SEEDS)))
    for number, name in enumerate(NAMES):
        played = np.array([[kept(name, player, seed) for seed in SEEDS] for player in everyone])
        regrets[:, number] = played[:, :, 0]
        values, seconds = played.mean(axis=1).T
        for player, value, spent in zip(PLAYERS, values, seconds, strict=False):
            figures[f"{name}: {player}"] = float(value / values[-1])
            figures[f"{name}: {player} (ms)"] = 1e3 * float(spent)
    for player, own in zip(PLAYERS, regrets, strict=False):
        if player != "driftpeak" and "driftpeak" in PLAYERS:
            middle, low, high = ratio(regrets[PLAYERS.index("driftpeak")], own)
            figures[f"driftpeak / {player}"] = middle
            figures[f"driftpeak / {player}, 95 %"] = f"{low:.3f} to {high:.3f}"
    return figures


def kept(name: str, player: str, seed: int) -> tuple[float, float]:
    """Regret and seconds for each evaluation: as played before, or played now."""
    key = [name, player, seed, EVALUATIONS]
    file = Path(KEEP) if KEEP else None
    for line in file.read_text().splitlines() if file and file.exists() else []:
        *before, found = json.loads(line)
        if before == key:
            return found
    found = regret(FUNCTIONS[name], globals()[player], seed)
    print(*key, *found, file=sys.stderr, flush=True)  # it takes long
    if file:
        with file.open("a") as target:
            target.write(json.dumps([*key, found]) + "\n")
    return found


def regret(function: DynamicFunction, play: Any, seed: int) -> tuple[float, float]:
    """Time-weighted regret, and seconds for each evaluation."""
    moving, points = Moving(function, seed), []

    def reward(u: Any, t: float) -> float:
        points.append(moving.points(u))
        return moving.reward(u, t)

    times = np.arange(EVALUATIONS) / EVALUATIONS
    started = time.perf_counter()
    play(function.dimension, reward, times, seed)
    spent = (time.perf_counter() - started) / EVALUATIONS
    return time_weighted_regret(function, times, np.array(points), between=2), spent


def driftpeak(
    dimension: int, reward: Reward, times: Any, seed: int, forgetting: Any = "auto"
) -> None:
    box = dp.Box({f"x{j}": dp.Float(0, 1) for j in range(dimension)})
    policy = dp.DriftingGP(forgetting=forgetting)  # "auto" is the default
    optimizer = dp.Optimizer(box, maximize=True, policy=policy, seed=seed)
    for t in map(float, times):
        suggestion = optimizer.ask(t)
        optimizer.tell(suggestion, reward(list(suggestion.values()), t))


markov = partial(driftpeak, forgetting="markov")
momentum = partial(driftpeak, forgetting="momentum")


def bayes_opt(dimension: int, reward: Reward, times: Any, seed: int) -> None:
    bounds = {f"x{j}": (0.0, 1.0) for j in range(dimension)}
    optimizer = BayesianOptimization(
        f=None, pbounds=bounds, random_state=seed, verbose=0, allow_duplicate_points=True
    )
    for t in map(float, times):
        point = optimizer.suggest()
        optimizer.register(params=point, target=reward([point[name] for name in bounds], t))


def wdbo(dimension: int, reward: Reward, times: Any, seed: int) -> None:
    torch.set_default_dtype(torch.float64)
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
