"""Regret of the live optimiser if it knows the hyperparameters of the function in advance.

On each function of `field`, the hyperparameters, the kind of drift and the scale of the rewards are
learned from 400 observations at random points, evenly spaced over the whole time, with the same
noise. An optimiser that keeps them from the first reward on then plays 200 evaluations, as does the
usual one, which learns them. The ratio shows what better learning could gain with this model.
It neither rejects outliers nor detects sudden changes.

`KNOWN_SEEDS` is the number of seeds, 2 by default.
"""

import sys
from typing import Any

import numpy as np

import driftpeak as dp
from benchmarks._moving import Moving
from benchmarks._paired import ratio
from benchmarks._settings import whole_number
from benchmarks.field import FIRST_SEED
from benchmarks.rivals.driftpeak import Rival
from benchmarks.rivals.plays import equal_evaluations, mean_regret
from driftpeak.environments.functions import FUNCTIONS
from driftpeak.live._engines.gp_engine import GPEngine

SEEDS = whole_number("KNOWN_SEEDS", 2)
EVALUATIONS, OBSERVATIONS, CLOCK = 200, 400, 600.0


class KnownHyperparameters(dp.DriftingGP):
    """A policy with given hyperparameters."""

    def __init__(self, values: dict[str, Any]) -> None:
        super().__init__(change_points=False)
        self.values = values

    def make_engine(self, setup: Any) -> Any:
        values = self.values

        class Engine(GPEngine):
            def refit(self, *, dates: bool = False) -> dict[str, Any] | None:
                return values if self.hyperparameters is None else None

        return Engine(self, setup)


class InProcess:
    """The rival `driftpeak` in this process, as `benchmarks.rivals.plays` needs it."""

    def __init__(self, policy: Any) -> None:
        self.policy = policy

    def new(self, dimension: int, seed: int, clock: float) -> None:
        self.rival = Rival(dimension, seed, clock, self.policy)

    def ask(self, time: float) -> tuple[list[float], float]:
        return list(self.rival.ask(time)), 0.0

    def tell(self, point: Any, reward: float, time: float) -> float:
        self.rival.tell(point, reward, time)
        return 0.0


def run() -> dict[str, Any]:
    """Return the regret with known hyperparameters, relative to learned ones."""
    regrets = []
    for name in FUNCTIONS:
        own = []
        for seed in range(FIRST_SEED, FIRST_SEED + SEEDS):
            policies = KnownHyperparameters(learned(name, seed)), None
            own.append([played(name, seed, policy) for policy in policies])
            print(name, seed, *np.round(own[-1], 4), file=sys.stderr, flush=True)
        regrets.append(own)
    known, usual = np.array(regrets).transpose(2, 0, 1)
    by_function = known.mean(axis=1) / usual.mean(axis=1)
    return {
        f"{EVALUATIONS} evaluations: known / learned": str(ratio(known, usual)),
        "by function": ", ".join(
            f"{name} {one:.2f}" for name, one in zip(FUNCTIONS, by_function, strict=True)
        ),
    }


def learned(name: str, seed: int) -> dict[str, Any]:
    """Return hyperparameters learned from random points over the whole time."""
    moving, generator = Moving(FUNCTIONS[name], seed), np.random.default_rng([seed, 11])
    optimizer = Rival(moving.function.dimension, seed, CLOCK)._optimizer
    for time in np.arange(OBSERVATIONS) / OBSERVATIONS:
        point = generator.uniform(size=moving.function.dimension)
        setting = {f"x{j}": float(one) for j, one in enumerate(point)}
        optimizer.tell(setting, moving.reward(point, float(time)), float(time))
    values: dict[str, Any] = dict(optimizer._engine.hyperparameters)
    return values | {"since": 0, "doubted": [], "changes": []}


def played(name: str, seed: int, policy: Any) -> float:
    """Return the regret of a policy, averaged over time."""
    moving = Moving(FUNCTIONS[name], seed)
    play = equal_evaluations(InProcess(policy), moving, seed, EVALUATIONS, CLOCK)
    return mean_regret(moving, play)
