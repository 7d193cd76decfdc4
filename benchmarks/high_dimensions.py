"""Boxes of 10, 20 and 40 parameters, beside Xopt, TuRBO and CMA-ES: regret over 300 evaluations.

The best setting c of each parameter moves along a sine with its own rate, at most one and a half
periods per run, amplitude (at most 0.25) and phase. Rewards, which are at most 0, in a unit cube of
d parameters:

- additive: the mean over all parameters of exp(-(x - c)^2 / (2 0.2^2)) - 1;
- few: exp(-r^2 / (2 0.3^2)) - 1, where r is the distance to c in three of the parameters;
- full: -|A (x - c)|^2 / d, where A is a random rotation times a diagonal from 1 to 3.

The noise is 5 % of the reward's standard deviation over box and time. Regrets per evaluation are
relative to random points: geometric means over the seeds, and driftpeak's relative to each other
optimiser with 95 % intervals over all problems and seeds of one number of parameters, if
there are at least five. Response times are medians over the calls from the 250th on.

`HIGH_DIMENSIONS` ("10 20 40"), `HIGH_SEEDS` (3), `HIGH_RIVALS` ("optuna_cmaes turbo turbo_windowed
xopt") and `HIGH_EVALUATIONS` (300) select parts. `HIGH_KEEP` names a file of plays, so that the
benchmark can be resumed. Interpreters are those of `python -m benchmarks field`.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks._kept import Kept
from benchmarks._paired import ratio
from benchmarks._settings import whole_number, whole_numbers
from benchmarks.rivals.process import Process, RivalMissingError

OURS, REFERENCE = "driftpeak", "random"
OTHERS = os.environ.get("HIGH_RIVALS", "optuna_cmaes turbo turbo_windowed xopt").split()
DIMENSIONS = whole_numbers("HIGH_DIMENSIONS", (10, 20, 40), least=3)
SEEDS = whole_number("HIGH_SEEDS", 3)
EVALUATIONS = whole_number("HIGH_EVALUATIONS", 300)
KINDS = ("additive", "few", "full")
NOISE, CLOCK, LATE = 0.05, 600.0, 250
TARGETS = {
    **{f"{d} parameters: {OURS} / best other": "<= 0.8" for d in DIMENSIONS},
    **{f"{d} parameters, {OURS}: response (ms)": "<= 30" for d in DIMENSIONS},
}
Reward = Callable[[Any, float], float]


def run() -> dict[str, Any]:
    """Return regrets relative to random points, ratios with intervals, and response times."""
    kept = Kept(Path(os.environ["HIGH_KEEP"]) if os.environ.get("HIGH_KEEP") else None)
    figures: dict[str, Any] = {}
    for d in DIMENSIONS:
        rows = {}
        for rival in (OURS, REFERENCE, *OTHERS):
            try:
                rows[rival] = played(kept, d, rival)
            except RivalMissingError as missing:
                figures[f"{rival}: skipped"] = str(missing)
        figures |= {f"{d} parameters, {name}": value for name, value in compared(rows).items()}
    return figures


def compared(rows: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """Return the figures of one number of parameters."""
    figures: dict[str, Any] = {}
    logs = {
        rival: np.log([row["regret"] for row in own]).reshape(len(KINDS), -1)
        for rival, own in rows.items()
    }
    for rival, own in logs.items():
        relative = np.exp((own - logs[REFERENCE]).mean(axis=1))
        for kind, value in zip(KINDS, relative, strict=True):
            figures[f"{kind}: {rival} / {REFERENCE}"] = float(value)
        if rival not in (OURS, REFERENCE):
            figures[f"{OURS} / {rival}"] = str(ratio(*np.exp([logs[OURS], own]).reshape(2, -1, 1)))
        figures[f"{rival}: response (ms)"] = 1e3 * median(r["response"] for r in rows[rival])
    others = [own.mean() for rival, own in logs.items() if rival not in (OURS, REFERENCE)]
    if others:
        figures[f"{OURS} / best other"] = float(np.exp(logs[OURS].mean() - min(others)))
    return figures


def played(kept: Kept, dimension: int, rival: str) -> list[dict[str, Any]]:
    """Return the plays of one rival; missing ones are run.

    Raises:
        RivalMissingError: a play is missing, and the rival is not installed.
        RivalFailedError: the rival raised an error.
    """
    process, rows = None, []
    try:
        for key in [(dimension, kind, rival, seed) for kind in KINDS for seed in range(SEEDS)]:
            row = kept.get((*key, EVALUATIONS))
            if row is None:
                process = process or Process(rival)
                row = kept.keep((*key, EVALUATIONS), play(process, *key))
                print(*key, row, file=sys.stderr, flush=True)
            rows.append(row)
    finally:
        if process is not None:
            process.close()
    return rows


def play(process: Process, dimension: int, kind: str, rival: str, seed: int) -> dict[str, Any]:
    """Return the regret per evaluation and the response time of one play."""
    reward = problem(kind, dimension, np.random.default_rng([KINDS.index(kind), dimension, seed]))
    noise = np.random.default_rng([seed, 7])
    sample = [reward(noise.uniform(size=dimension), noise.uniform()) for _ in range(2000)]
    deviation, lost, spent = NOISE * float(np.std(sample)), 0.0, []
    process.new(dimension, seed, CLOCK)
    for time in map(float, np.arange(EVALUATIONS) / EVALUATIONS):
        point, asked = process.ask(time)
        value = reward(np.array(point), time)
        lost -= value
        told = process.tell(point, value + deviation * float(noise.normal()), time)
        spent.append(asked + told)
    late = spent[LATE:] or spent
    return {"regret": lost / EVALUATIONS, "response": median(late), "seconds": sum(spent)}


def problem(kind: str, dimension: int, generator: np.random.Generator) -> Reward:
    """Return a reward of a point and a time in [0, 1]."""
    middle = generator.uniform(0.35, 0.65, dimension)
    swing = generator.uniform(0.05, 0.25, dimension)
    rate = 2 * np.pi * generator.uniform(0.3, 1.5, dimension)
    phase = generator.uniform(0, 2 * np.pi, dimension)
    chosen = generator.choice(dimension, 3, replace=False)
    rotation = np.linalg.qr(generator.normal(size=(dimension, dimension)))[0]
    stretched = np.linspace(1, 3, dimension)[:, None] * rotation

    def best(time: float) -> Any:
        return middle + swing * np.sin(rate * time + phase)

    def additive(x: Any, time: float) -> float:
        return float(np.expm1(-((x - best(time)) ** 2) / (2 * 0.2**2)).mean())

    def few(x: Any, time: float) -> float:
        distance = ((x - best(time))[chosen] ** 2).sum()
        return float(np.expm1(-distance / (2 * 0.3**2)))

    def full(x: Any, time: float) -> float:
        return -float(((stretched @ (x - best(time))) ** 2).sum()) / dimension

    return {"additive": additive, "few": few, "full": full}[kind]
