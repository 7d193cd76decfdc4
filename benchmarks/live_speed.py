"""Time of an ask and a tell, at any history length.

The function has four parameters, drift and noise, and the memory of 500 observations is full.
Figures are medians over 200 rounds of ask and tell, separately for rounds that refit the
hyperparameters. The same rounds are measured with constraints, alternating with rounds without
them. Further figures are the tell of an old optimiser relative to a new one, and an ask with 450 to
500 pending suggestions. The import and the first suggestions, including compilation, are measured
in fresh processes.
"""

import resource
import subprocess
import sys
import time
from typing import Any

import numpy as np

import driftpeak as dp

DIMENSION, CAPACITY, ROUNDS = 4, 500, 200
YOUNG, OLD, TELLS = 1_000, 100_000, 500
OUT = 500  # pending suggestions
LIMITS: dict[str, dict[str, Any]] = {
    "no limits": {},
    "a sum": {"sum": dp.WeightedSum({"x0": 1, "x1": 1}, at_most=1.6)},
    "a measured limit": {"heat": dp.Limit(at_most=75)},
    "two measured limits": {"heat": dp.Limit(at_most=75), "load": dp.Limit(at_most=80)},
}
TARGETS = {
    "ask + tell (ms)": "<= 20",
    "ask + tell + learning (ms)": "<= 200",
    "ask + tell, a sum / no limits": "<= 2",
    "ask + tell, a measured limit / no limits": "<= 2",
    "tell: late / early": "<= 1.1",
    "ask, 500 out, 60 held (ms)": "<= 20",
    "ask, 500 out, memory full (ms)": "<= 20",
    "memory grown from early to late (MiB)": "<= 50",
    "fresh process: import (s)": "<= 1.5",
    "fresh process: first ask (s)": "<= 5",
}
FRESH = """
import time
started = time.perf_counter()
import driftpeak as dp
imported = time.perf_counter()
optimizer = dp.Optimizer(dp.Box({f"x{j}": dp.Float(0, 1) for j in range(4)}), maximize=True)
suggestion = optimizer.ask()
asked = time.perf_counter()
for step in range(8):
    optimizer.tell(suggestion, 0.1 * step)
    suggestion = optimizer.ask()
print(imported - started, asked - imported, time.perf_counter() - imported)
"""


def run() -> dict[str, Any]:
    """Return milliseconds of a round, ratios of late to early, and seconds in a fresh process."""
    import_seconds, first, ninth = np.median([fresh() for _ in range(3)], axis=0)
    plain, learning = rounds()
    limited = limits()
    early, ratio, grown = ages()
    few, full = many(60), many(CAPACITY)
    return {
        "ask + tell (ms)": 1e3 * float(np.median(plain)),
        "  95 % of them below (ms)": 1e3 * float(np.quantile(plain, 0.95)),
        "ask + tell + learning (ms)": 1e3 * float(np.median(learning)),
        "  slowest (ms)": 1e3 * float(np.max(learning)),
        **{f"ask + tell, {name} / no limits": ratio for name, ratio in limited.items()},
        "tell (ms)": 1e3 * early,
        "tell: late / early": ratio,
        "ask, 500 out, 60 held (ms)": few,
        "ask, 500 out, memory full (ms)": full,
        "memory grown from early to late (MiB)": grown,
        "fresh process: import (s)": float(import_seconds),
        "fresh process: first ask (s)": float(first),
        "fresh process: nine asks, eight tells, all compiled (s)": float(ninth),
    }


def many(held: int) -> float:
    """Return the median milliseconds of the last 50 of 500 asks without rewards in between."""
    generator, optimizer, spent = np.random.default_rng(0), make(), []
    for t in range(held):
        tell(optimizer, generator, t)
    for _ in range(OUT):
        started = time.perf_counter()
        optimizer.ask(float(held))
        spent.append(time.perf_counter() - started)
    return 1e3 * float(np.median(spent[-OUT // 10 :]))


def make(constraints: dict[str, Any] | None = None) -> dp.Optimizer:
    box = dp.Box({f"x{j}": dp.Float(0, 1) for j in range(DIMENSION)})
    policy = dp.DriftingGP(capacity=CAPACITY)
    return dp.Optimizer(box, maximize=True, policy=policy, constraints=constraints)


def rounds() -> tuple[list[float], list[float]]:
    """Return the seconds of rounds without and with learning, with a full memory."""
    generator, optimizer = np.random.default_rng(0), make()
    hyperparameters: list[Any] = []
    optimizer.on_event = lambda event: hyperparameters.append(event) if _is_lesson(event) else None
    for t in range(CAPACITY + 60):
        tell(optimizer, generator, t)
    plain: list[float] = []
    learning: list[float] = []
    for t in range(CAPACITY + 60, CAPACITY + 60 + ROUNDS + 20):
        known = len(hyperparameters)
        started = time.perf_counter()
        suggestion = optimizer.ask(float(t))
        optimizer.tell(suggestion, value(np.array(list(suggestion.values())), generator, t))
        spent = time.perf_counter() - started
        if t >= CAPACITY + 80:  # all programs are compiled by now
            (learning if len(hyperparameters) > known else plain).append(spent)
    return plain, learning


def limits() -> dict[str, float]:
    """Return the relative time of a round with constraints, without learning, by kind."""
    generator = np.random.default_rng(0)
    each = {name: make(constraints) for name, constraints in LIMITS.items()}
    spent: dict[str, list[float]] = {name: [] for name in each}
    hyperparameters: list[Any] = []
    for optimizer in each.values():
        optimizer.on_event = lambda event: (
            hyperparameters.append(event) if _is_lesson(event) else None
        )
    for t in range(CAPACITY + 60 + ROUNDS // 2 + 20):
        for name, optimizer in each.items():
            known, started = len(hyperparameters), time.perf_counter()
            place = optimizer.ask(float(t)) if t >= CAPACITY + 60 else None
            x = generator.uniform(size=DIMENSION) if place is None else np.array([*place.values()])
            heat = {"heat": 40 + 30 * x[0] + 20 * x[1], "load": 50 + 40 * x[2]}
            watched = optimizer.rules.limits
            measured = {name: heat[name] + 0.5 * generator.normal() for name in watched}
            setting = {f"x{j}": float(x[j]) for j in range(DIMENSION)} if place is None else place
            reward = value(x, generator, t)
            optimizer.tell(setting, reward, float(t), constraints=measured or None)
            if (
                t >= CAPACITY + 80 and len(hyperparameters) == known
            ):  # all programs are compiled by now
                spent[name].append(time.perf_counter() - started)
    plain = np.median(spent.pop("no limits"))
    return {name: float(np.median(seconds) / plain) for name, seconds in spent.items()}


def ages() -> tuple[float, float, float]:
    """Return the seconds of a tell to a new optimiser, its ratio to an old one, and MiB of growth.

    The two optimisers alternate, TELLS times. The ratio is the median over the pairs.
    """
    generator, young, old = np.random.default_rng(0), make(), make()
    for t in range(YOUNG):
        tell(young, generator, t)
        tell(old, generator, t)
    before = _mebibytes()
    for t in range(YOUNG, OLD):
        # learning, 150 ms every 50 tells, would prolong this benchmark by five minutes
        old._engine.since_fit = 0  # type: ignore[attr-defined]
        tell(old, generator, t)
    grown = _mebibytes() - before
    seconds = np.zeros((TELLS, 2))
    for turn in range(TELLS):
        for column, (optimizer, start) in enumerate(((young, YOUNG), (old, OLD))):
            started = time.perf_counter()
            tell(optimizer, generator, start + turn)
            seconds[turn, column] = time.perf_counter() - started
    return float(np.median(seconds[:, 0])), float(np.median(seconds[:, 1] / seconds[:, 0])), grown


def _mebibytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def tell(optimizer: dp.Optimizer, generator: Any, t: int) -> None:
    """Report the reward of a random point."""
    x = generator.uniform(size=DIMENSION)
    point = {f"x{j}": float(x[j]) for j in range(DIMENSION)}
    optimizer.tell(point, value(x, generator, t), float(t))


def value(x: Any, generator: Any, t: int) -> float:
    """Return a noisy reward of a function with a moving peak."""
    bowl = np.cos(3 * (x[0] - 0.3 * np.sin(t / 40))) + np.sin(4 * x[1]) - (x[2] - 0.5) ** 2
    return float(bowl + 0.1 * generator.normal())


def fresh() -> list[float]:
    """Return the seconds to import, to the first and to the ninth suggestion in a new process."""
    output = subprocess.run([sys.executable, "-c", FRESH], stdout=subprocess.PIPE, text=True)
    return [float(number) for number in output.stdout.split()]


def _is_lesson(event: Any) -> bool:
    return isinstance(event, dp.live.events.Learned)
