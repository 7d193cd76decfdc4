"""Population based training: driftpeak, PBT, Ray's PB2 and random search, with equal steps.

Each task (`benchmarks/_training.py`, `benchmarks/_agents.py`) runs with populations of 4 and 8 and
ten seeds. A method gets the same first weights and the same random numbers as the others. PBT
perturbs by 0.8 or 1.2 and resamples with probability 0.25 (Jaderberg and others 2017). PB2 is the
step of `ray.tune.schedulers.pb2`, with ranges as published (linear) and on the task's scales (log);
without log scales both are equal, and only one runs. First hyperparameters of PBT, PB2 and random
search are uniform on the task's scales. *Best fixed* is the best of 32 random settings, chosen in
hindsight by the mean metric at the end of the first two seeds; it is the curve of one model.

Figures are means of the best member's metric at the end, and on average over training (area), and
the differences of driftpeak and each other method, with 95 % intervals (Student's t over seeds).

PB2 needs `pip install 'driftpeak[ray]'`, and the agents need `pip install 'gymnasium[jax]'`; what
is not installed is left out. Environment variables: POPULATION_KEEP is a file in which completed
runs are stored, so that a benchmark that was stopped can be resumed. POPULATION_TASKS,
POPULATION_METHODS and POPULATION_SIZES are lists with semicolons. POPULATION_SEEDS is a number, and
POPULATION_FIRST is the first seed. The method "driftpeak, no random" is run only if it is named.
"""

import math
import os
import time
import warnings
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import scipy.stats

import driftpeak as dp
from benchmarks._kept import Kept
from benchmarks._settings import whole_number, whole_numbers
from benchmarks._training import TASKS, State, Task

SIZES, SEEDS, QUANTILE = (4, 8), 10, 0.25
FIXED, CHOSEN_BY = 32, 2
DRIFTPEAK, NO_RANDOM, BEST_FIXED = "driftpeak", "driftpeak, no random", "best fixed"
EXP3, MIX = EXP3S = "driftpeak, exp3", "driftpeak, PB2-Mix"
LINEAR, LOG = PB2S = "PB2, linear", "PB2, log"
METHODS = [BEST_FIXED, DRIFTPEAK, *EXP3S, "PBT", "random search", *PB2S]
Setting = dict[str, Any]
Moves = dict[int, tuple[int, Setting]]
"""Members that are replaced: the member to copy, and the new setting."""


class Method(Protocol):
    """A method: first settings, and the moves after each interval."""

    def first(self, metrics: list[float]) -> list[Setting]: ...
    def moves(self, step: int, metrics: list[float]) -> Moves: ...


class RandomSearch:
    """Settings that never change."""

    def __init__(self, task: Task, size: int, seed: int) -> None:
        self.ranges, self.choices, self.size = task.ranges, task.choices, size
        self.random = np.random.default_rng([seed, 2])
        self.settings: list[Setting] = []

    def draw(self) -> Setting:
        numbers = {name: _scaled(self.random.random(), *r) for name, r in self.ranges.items()}
        return numbers | {name: str(self.random.choice(c)) for name, c in self.choices.items()}

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
        numbers = {
            name: drawn[name]
            if self.random.random() < 0.25
            else float(np.clip(setting[name] * self.random.choice([0.8, 1.2]), low, high))
            for name, (low, high, _) in self.ranges.items()
        }
        return numbers | {
            name: drawn[name] if self.random.random() < 0.25 else setting[name]
            for name in self.choices
        }


class PB2(PBT):
    """Ray's PB2, with linear ranges, or on the scales of the task.

    Categories, which it does not choose, are random at first and copied with the weights.
    """

    def __init__(self, task: Task, size: int, seed: int, *, scaled: bool) -> None:
        super().__init__(task, size, seed)
        self.log = {name: scaled and log for name, (_, _, log) in self.ranges.items()}
        self.bounds = {
            name: tuple(self.coded(name, end) for end in ends)
            for name, (*ends, _) in self.ranges.items()
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
            [str(member), float(step), *(self.coded(n, setting[n]) for n in self.ranges), metric]
            for member, (setting, metric) in enumerate(zip(self.settings, metrics, strict=True))
        ]
        made = pd.DataFrame(rows, columns=["Trial", "Time", *self.ranges, "Reward"])
        self.rows = made if self.rows is None else pd.concat([self.rows, made], ignore_index=True)

    def moves(self, step: int, metrics: list[float]) -> Moves:
        self.add(step, metrics)
        self.current = None
        return super().moves(step, metrics)

    def explored(self, member: int, source: int) -> Setting:
        from benchmarks._ray_pb2 import explore

        setting = self.settings[source]
        config = {name: self.coded(name, setting[name]) for name in self.ranges}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of scikit-learn's optimiser
            new, self.rows = explore(
                self.rows, self.bounds, self.current, str(source), str(member), config
            )
        row = np.array([[new[name] for name in self.bounds]])
        self.current = row if self.current is None else np.concatenate([self.current, row])
        numbers = {
            name: float(np.clip(math.exp(new[name]) if self.log[name] else new[name], low, high))
            for name, (low, high, _) in self.ranges.items()
        }
        return numbers | {name: setting[name] for name in self.choices}


class Driftpeak:
    """`dp.PopulationBasedBandit`."""

    def __init__(self, task: Task, seed: int, **options: Any) -> None:
        box = {name: dp.Float(low, high, log=log) for name, (low, high, log) in task.ranges.items()}
        kinds = {name: dp.Categorical(*values) for name, values in task.choices.items()}
        self.population = dp.PopulationBasedBandit(
            dp.Box({**box, **kinds}), maximize=True, quantile=QUANTILE, seed=seed, **options
        )

    def first(self, metrics: list[float]) -> list[Setting]:
        return [self.population.add(m, metric=metric) for m, metric in enumerate(metrics)]

    def moves(self, step: int, metrics: list[float]) -> Moves:
        for member, metric in enumerate(metrics):
            self.population.report(member, metric, time=step)
        moves = {member: self.population.exploit(member) for member in range(len(metrics))}
        return {member: (move.source, move.setting) for member, move in moves.items() if move}


def run(settings: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """Return metrics at the end and on average, and differences of driftpeak and the others."""
    kept = Kept(Path(settings["POPULATION_KEEP"]) if settings.get("POPULATION_KEEP") else None)
    every = all_tasks()
    names = _chosen(settings, "POPULATION_TASKS", list(every))
    sizes = whole_numbers("POPULATION_SIZES", SIZES, settings=settings)
    first = whole_number("POPULATION_FIRST", 0, least=0, settings=settings)
    seeds = range(first, first + whole_number("POPULATION_SEEDS", SEEDS, settings=settings))
    tasks = {name: every[name]() for name in names}
    wanted = _chosen(settings, "POPULATION_METHODS", METHODS)
    # by seed, so that a benchmark that is stopped has the same seeds of everything
    for seed in seeds:
        for name, task in tasks.items():
            if BEST_FIXED in wanted:
                first_seeds = seeds[:CHOSEN_BY]
                every_one = (
                    range(FIXED) if seed in first_seeds else [_best(kept, name, first_seeds)]
                )
                for setting in every_one:
                    key = name, BEST_FIXED, setting, seed
                    if kept.get(key) is None:
                        kept.keep(key, {"curve": fixed_curve(task, setting, seed)})
            for size in sizes:
                for method in methods(task, wanted):
                    key = name, size, method, seed
                    if kept.get(key) is None:
                        start = time.perf_counter()
                        curve = train(task, size, method, seed)
                        spent = time.perf_counter() - start
                        kept.keep(key, {"curve": curve, "seconds": round(spent, 2)})
    figures: dict[str, Any] = {}
    for name, task in tasks.items():
        for size in sizes:
            figures |= dict(_figures(kept, name, size, methods(task, wanted), seeds))
    return figures


def _chosen(settings: Mapping[str, str], name: str, every: list[str]) -> list[str]:
    """Return the items of a list with semicolons, or all."""
    chosen = settings.get(name)
    return every if not chosen else [item.strip() for item in chosen.split(";")]


def all_tasks() -> dict[str, Any]:
    """Return the tasks by name; the agents only if gymnasium is installed."""
    if not (find_spec("gymnasium") and find_spec("flax")):
        return dict(TASKS)
    from benchmarks._agents import AGENTS

    return {**TASKS, **AGENTS}


def methods(task: Task, wanted: list[str]) -> list[str]:
    """Return the methods that can run on a task."""
    scaled = any(log for _, _, log in task.ranges.values())
    missing = set() if find_spec("ray") else {LINEAR, LOG}
    missing |= {BEST_FIXED} | (set() if scaled else {LOG})
    missing |= set() if task.choices else set(EXP3S)
    return [method for method in wanted if method not in missing]


def _best(kept: Kept, name: str, seeds: range) -> int:
    """Return the number of the fixed setting with the best mean at the end over some seeds."""
    ends = np.zeros(FIXED)
    for setting in range(FIXED):
        for seed in seeds:
            row = kept.get((name, BEST_FIXED, setting, seed))
            assert row is not None
            ends[setting] += row["curve"][-1]
    return int(ends.argmax())


def _figures(
    kept: Kept, name: str, size: int, names: list[str], seeds: range
) -> Iterator[tuple[str, Any]]:
    def rows(*key: Any) -> np.ndarray:
        found = [kept.get((name, *key, seed)) for seed in seeds]
        return np.array([row["curve"] for row in found if row])

    curves = {method: rows(size, method) for method in names}
    if kept.get((name, BEST_FIXED, 0, seeds[0])):
        curves[BEST_FIXED] = rows(BEST_FIXED, _best(kept, name, seeds[:CHOSEN_BY]))
    summary = {
        "at the end": {method: curve[:, -1] for method, curve in curves.items()},
        "area": {method: curve.mean(axis=1) for method, curve in curves.items()},
    }
    for part, values in summary.items():
        what = f"{name}, {size} members, {part}"
        for method, each in values.items():
            yield f"{what}: {method}", round(float(each.mean()), 3)
            if method != DRIFTPEAK and DRIFTPEAK in values:
                yield f"{what}: driftpeak minus {method}", _difference(values[DRIFTPEAK] - each)


def make_method(name: str, task: Task, size: int, seed: int) -> Method:
    if name in PB2S:
        return PB2(task, size, seed, scaled=name == LOG)
    options: dict[str, dict[str, Any]] = {
        DRIFTPEAK: {},
        NO_RANDOM: {"resample_probability": 0.0},
        EXP3: {"categories": "exp3"},
        MIX: {"categories": "exp3", "resample_probability": 0.0},
    }
    if name in options:
        return Driftpeak(task, seed, **options[name])
    made: dict[str, Any] = {"PBT": PBT, "random search": RandomSearch}
    return made[name](task, size, seed)


def train(task: Task, size: int, name: str, seed: int) -> list[float]:
    """Return the metric of the best member after each interval."""
    random = np.random.default_rng([seed, 1])
    np.random.seed(seed)  # noqa: NPY002 - Ray's PB2 uses it
    method = make_method(name, task, size, seed)
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


def fixed_curve(task: Task, number: int, seed: int) -> list[float]:
    """Return the metric of a member whose setting never changes, after each interval."""
    setting = RandomSearch(task, FIXED, seed=1_000).first([])[number]
    random = np.random.default_rng([seed, 1])
    state = task.start(random)
    curve = []
    for step in range(task.intervals):
        state = task.train(state, setting, step, random)
        curve.append(task.metric(state))
    return curve


def _scaled(share: float, low: float, high: float, log: bool) -> float:
    return float(low * (high / low) ** share if log else low + share * (high - low))


def _difference(values: np.ndarray) -> str:
    if len(values) < 2:
        return f"{values.mean():.3f}"
    low, high = scipy.stats.t.interval(
        0.95, len(values) - 1, values.mean(), scipy.stats.sem(values)
    )
    return f"{values.mean():.3f} [{low:.3f}, {high:.3f}]"
