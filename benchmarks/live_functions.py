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

import os
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import driftpeak as dp
from benchmarks._kept import Kept
from benchmarks._moving import Moving
from benchmarks._paired import ratio
from benchmarks.rivals import RIVALS
from benchmarks.rivals.driftpeak import Rival as Driftpeak
from driftpeak.environments.functions import FUNCTIONS, time_weighted_regret

EVALUATIONS = int(os.environ.get("LIVE_EVALUATIONS", "50"))
SEEDS = range(100, 100 + int(os.environ.get("LIVE_SEEDS", "2")))  # lower ones: for development
NAMES = os.environ.get("LIVE_FUNCTIONS", ",".join(FUNCTIONS)).split(",")
PLAYERS = os.environ.get("LIVE_PLAYERS", "driftpeak,markov,momentum,bayes_opt,wdbo").split(",")
KEEP = os.environ.get("LIVE_KEEP")
CLOCK = 600.0  # seconds that all evaluations are said to take; none of these players looks at it


class Uniform:
    """A random point at each call."""

    def __init__(self, dimension: int, seed: int, clock: float) -> None:
        self._dimension, self._generator = dimension, np.random.default_rng(seed)

    def ask(self, time: float) -> Sequence[float]:
        return self._generator.uniform(size=self._dimension)

    def tell(self, point: Sequence[float], reward: float, time: float) -> None:
        """There is nothing to learn."""


MAKE: dict[str, Callable[..., Any]] = {
    "markov": partial(Driftpeak, policy=dp.DriftingGP(forgetting="markov")),
    "momentum": partial(Driftpeak, policy=dp.DriftingGP(forgetting="momentum")),
    "uniform": Uniform,
}
MAKE |= {name: import_module(RIVALS[name]).Rival for name in PLAYERS if name in RIVALS}


def run() -> dict[str, Any]:
    """Relative regret of each optimiser on each function; seconds for each evaluation."""
    warnings.filterwarnings("ignore")  # the others' warnings about their own fits
    kept = Kept(Path(KEEP) if KEEP else None)
    everyone = [*PLAYERS, "uniform"]
    figures: dict[str, Any] = {"evaluations": EVALUATIONS, "seeds": len(SEEDS)}
    regrets = np.zeros((len(everyone), len(NAMES), len(SEEDS)))
    for number, name in enumerate(NAMES):
        played = np.array(
            [[play(kept, name, player, seed) for seed in SEEDS] for player in everyone]
        )
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


def play(kept: Kept, name: str, player: str, seed: int) -> tuple[float, float]:
    """Time-weighted regret, and seconds for each evaluation: as played before, or played now."""
    key = (name, player, seed, EVALUATIONS)
    row = kept.get(key)
    if row is None:
        regret, seconds = played_now(Moving(FUNCTIONS[name], seed), MAKE[player], seed)
        row = kept.keep(key, {"regret": regret, "seconds": seconds})
        print(*key, regret, seconds, file=sys.stderr, flush=True)  # it takes long
    return row["regret"], row["seconds"]


def played_now(moving: Moving, make: Callable[..., Any], seed: int) -> tuple[float, float]:
    times, points = np.arange(EVALUATIONS) / EVALUATIONS, []
    started = time.perf_counter()
    player = make(moving.function.dimension, seed, CLOCK)
    for t in map(float, times):
        point = player.ask(t)
        points.append(moving.points(point))
        player.tell(point, moving.reward(point, t), t)
    seconds = (time.perf_counter() - started) / EVALUATIONS
    return time_weighted_regret(moving.function, times, np.array(points), between=2), seconds
