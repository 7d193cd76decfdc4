"""Population based training: driftpeak, PBT, Ray's PB2 and random search, with equal steps.

Each of four tasks (`benchmarks/_training.py`) runs with populations of 4 and 8 and ten seeds. A
method gets the same first weights and training noise as the others. PBT perturbs by 0.8 or 1.2
and resamples with probability 0.25 (Jaderberg and others 2017). PB2 is the step of
`ray.tune.schedulers.pb2`, with ranges as published (linear) and on the task's scales (log), and
is left out if Ray is not installed. First hyperparameters of PBT, PB2 and random search are
uniform on the task's scales. *Best fixed* is the best of 64 random settings, trained by every seed
for the whole time and chosen in hindsight.

Figures are means of the best member's metric at the end, and on average over training (area), and
the differences of driftpeak and each other method, with 95 % intervals (Student's t over seeds).
"""

import math
import warnings
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np
import scipy.stats

import driftpeak as dp
from benchmarks._training import TASKS, Ranges, State, Task

SIZES, SEEDS, QUANTILE, FIXED = (4, 8), 10, 0.25, 64
Setting = dict[str, Any]
Moves = dict[int, tuple[int, Setting]]
"""Members that are replaced: the member to copy, and the new setting."""


class Method(Protocol):
    """A method: first settings, and the moves after each interval."""

    def first(self, metrics: list[float]) -> list[Setting]: ...
    def moves(self, step: int, metrics: list[float]) -> Moves: ...


class RandomSearch:
    """Settings that never change."""

    def __init__(self, ranges: Ranges, size: int, seed: int) -> None:
        self.ranges, self.size = ranges, size
        self.random = np.random.default_rng([seed, 2])
        self.settings: list[Setting] = []

    def draw(self) -> Setting:
        return {name: _scaled(self.random.random(), *r) for name, r in self.ranges.items()}

    def first(self, metrics: list[float]) -> list[Setting]:
        self.settings = [self.draw() for _ in range(self.size)]
        return self.settings

    def moves(self, step: int, metrics: list[float]) -> Moves:
        return {}


class PBT(RandomSearch):
    """Population based training."""

    def moves(self, step: int, metrics: list[float]) -> Moves:
        ranked = sorted(range(self.size), key=lambda member: metrics[member])
        count = math.ceil(self.size * QUANTILE)
        moves = {}
        for member in ranked[:count]:
            source = int(self.random.choice(ranked[-count:]))
            self.settings[member] = self.explored(member, source)
            moves[member] = source, self.settings[member]
        return moves

    def explored(self, member: int, source: int) -> Setting:
        setting, drawn = self.settings[source], self.draw()
        return {
            name: drawn[name]
            if self.random.random() < 0.25
            else float(np.clip(setting[name] * self.random.choice([0.8, 1.2]), low, high))
            for name, (low, high, _) in self.ranges.items()
        }


class PB2(PBT):
    """Ray's PB2, with linear ranges, or on the scales of the task."""

    def __init__(self, ranges: Ranges, size: int, seed: int, *, scaled: bool) -> None:
        super().__init__(ranges, size, seed)
        self.log = {name: scaled and log for name, (_, _, log) in ranges.items()}
        self.bounds = {
            name: tuple(self.coded(name, end) for end in ends)
            for name, (*ends, _) in ranges.items()
        }
        self.rows: Any = None
        self.current: Any = None

    def coded(self, name: str, value: float) -> float:
        return math.log(value) if self.log[name] else value

    def first(self, metrics: list[float]) -> list[Setting]:
        settings = super().first(metrics)
        self.add(0, metrics)
        return settings

    def add(self, step: int, metrics: list[float]) -> None:
        import pandas as pd

        rows = [
            [str(member), float(step), *(self.coded(n, v) for n, v in setting.items()), metric]
            for member, (setting, metric) in enumerate(zip(self.settings, metrics, strict=True))
        ]
        made = pd.DataFrame(rows, columns=["Trial", "Time", *self.ranges, "Reward"])
        self.rows = made if self.rows is None else pd.concat([self.rows, made], ignore_index=True)

    def moves(self, step: int, metrics: list[float]) -> Moves:
        self.add(step, metrics)
        self.current = None
        return super().moves(step, metrics)

    def explored(self, member: int, source: int) -> Setting:
        from ray.tune.schedulers.pb2 import _explore

        config = {name: self.coded(name, v) for name, v in self.settings[source].items()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of scikit-learn's optimiser
            new, self.rows = _explore(
                self.rows, self.bounds, self.current, str(source), str(member), config
            )
        row = np.array([[new[name] for name in self.bounds]])
        self.current = row if self.current is None else np.concatenate([self.current, row])
        return {
            name: float(np.clip(math.exp(new[name]) if self.log[name] else new[name], low, high))
            for name, (low, high, _) in self.ranges.items()
        }


class Driftpeak:
    """`dp.PopulationBasedBandit`."""

    def __init__(self, ranges: Ranges, size: int, seed: int) -> None:
        box = {name: dp.Float(low, high, log=log) for name, (low, high, log) in ranges.items()}
        self.population = dp.PopulationBasedBandit(
            dp.Box(box), maximize=True, quantile=QUANTILE, seed=seed
        )

    def first(self, metrics: list[float]) -> list[Setting]:
        return [self.population.add(m, metric=metric) for m, metric in enumerate(metrics)]

    def moves(self, step: int, metrics: list[float]) -> Moves:
        for member, metric in enumerate(metrics):
            self.population.report(member, metric, time=step)
        moves = {member: self.population.exploit(member) for member in range(len(metrics))}
        return {member: (move.source, move.setting) for member, move in moves.items() if move}


def run() -> dict[str, Any]:
    """Return metrics at the end and on average, and differences of driftpeak and the others."""
    figures: dict[str, Any] = {}
    for name, make in TASKS.items():
        task = make()
        fixed = best_fixed(task)
        for size in SIZES:
            curves = {
                method: np.array([train(task, size, method, seed) for seed in range(SEEDS)])
                for method in methods()
            }
            curves["best fixed"] = fixed
            summary = {
                "at the end": {method: curve[:, -1] for method, curve in curves.items()},
                "area": {method: curve.mean(axis=1) for method, curve in curves.items()},
            }
            for part, values in summary.items():
                for method, each in values.items():
                    figures[f"{name}, {size} members, {part}: {method}"] = round(each.mean(), 3)
                    if method != "driftpeak":
                        figures[f"{name}, {size} members, {part}: driftpeak minus {method}"] = (
                            _difference(values["driftpeak"] - each)
                        )
    return figures


def methods() -> list[str]:
    ray = ["PB2, linear", "PB2, log"] if find_spec("ray") else []
    return ["driftpeak", "PBT", "random search", *ray]


def make_method(name: str, ranges: Ranges, size: int, seed: int) -> Method:
    if name.startswith("PB2"):
        return PB2(ranges, size, seed, scaled=name == "PB2, log")
    made: dict[str, Any] = {"driftpeak": Driftpeak, "PBT": PBT, "random search": RandomSearch}
    return made[name](ranges, size, seed)


def train(task: Task, size: int, name: str, seed: int) -> list[float]:
    """Return the metric of the best member after each interval."""
    random = np.random.default_rng([seed, 1])
    np.random.seed(seed)  # noqa: NPY002 - Ray's PB2 uses it
    method = make_method(name, task.ranges, size, seed)
    states: list[State] = [task.start(random) for _ in range(size)]
    metrics = [task.metric(state) for state in states]
    settings = list(method.first(metrics))
    best = []
    for step in range(task.intervals):
        for member in range(size):
            states[member] = task.train(states[member], settings[member], step, random)
            metrics[member] = task.metric(states[member])
        best.append(max(metrics))
        before = list(states), list(metrics)
        for member, (source, setting) in method.moves(step + 1, list(metrics)).items():
            states[member], metrics[member] = before[0][source], before[1][source]
            settings[member] = setting
    return best


def best_fixed(task: Task) -> np.ndarray:
    """Return the curves of the fixed setting with the best mean metric at the end."""
    search = RandomSearch(task.ranges, FIXED, seed=1_000)
    curves = []
    for setting in search.first([0.0] * FIXED):
        curve = []
        for seed in range(SEEDS):
            random = np.random.default_rng([seed, 1])
            state = task.start(random)
            metrics = []
            for step in range(task.intervals):
                state = task.train(state, setting, step, random)
                metrics.append(task.metric(state))
            curve.append(metrics)
        curves.append(curve)
    every = np.array(curves)
    return every[every[:, :, -1].mean(axis=1).argmax()]


def _scaled(share: float, low: float, high: float, log: bool) -> float:
    return float(low * (high / low) ** share if log else low + share * (high - low))


def _difference(values: np.ndarray) -> str:
    low, high = scipy.stats.t.interval(
        0.95, len(values) - 1, values.mean(), scipy.stats.sem(values)
    )
    return f"{values.mean():.3f} [{low:.3f}, {high:.3f}]"
