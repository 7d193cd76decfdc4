"""Warm starts: learning curves with and without a schedule, for 1, 2, 4 and 8 parameters.

The result of an hour is 100 - 560/d |x - b|^2 with d parameters in [0, 1]. The best setting b is
the sum of a daily cycle, of random amplitudes from 0.05 to 0.25 and phases, and of a random walk
with steps of 0.01 per hour. The schedule has one setting for each hour of the day: the cycle plus
constant errors with standard deviation 0.08. Measurements have noise with standard deviation 2.
Times are dates, one suggestion per hour for six days.

Figures are means over the plants: the result as a share of the schedule's on the first two days, on
days 3 and 4, and on days 5 and 6, and the hour from which the sum of all results stays above the
schedule's (the median; None if this is not the case for half of the plants after six days).

`WARM_SEEDS` sets the number of plants, 20 by default, and `WARM_DIMENSIONS` the numbers of
parameters, "1 2 4 8" by default. `benchmarks/measured/warm_start.jsonl` holds the plays; delete it
to repeat them.
"""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

import driftpeak as dp
from benchmarks._kept import Kept
from benchmarks._settings import whole_number, whole_numbers

FILE = Path(__file__).parent / "measured" / "warm_start.jsonl"
SEEDS = whole_number("WARM_SEEDS", 20)
DIMENSIONS = whole_numbers("WARM_DIMENSIONS", (1, 2, 4, 8))
WAYS = ("without", "from the schedule")
HOURS, BLOCK, MIDNIGHT = 144, 12, datetime(2026, 3, 2)
DAYS = {"days 1 and 2": slice(0, 4), "days 3 and 4": slice(4, 8), "days 5 and 6": slice(8, 12)}
TARGETS = {f"{d} parameters, from the schedule: days 1 and 2": ">= 0.95" for d in DIMENSIONS}


def run() -> dict[str, Any]:
    """Return shares of the schedule's result, and hours until driftpeak pays off."""
    kept, figures = Kept(FILE), dict[str, Any]()
    for dimension in DIMENSIONS:
        for way in WAYS:
            for seed in range(SEEDS):
                if kept.get((dimension, way, seed)) is None:
                    kept.keep((dimension, way, seed), summary(*play(dimension, seed, way)))
            rows = [kept.get((dimension, way, seed)) for seed in range(SEEDS)]
            figures |= {f"{dimension} parameters, {way}: {k}": v for k, v in table(rows).items()}
    return figures


def summary(own: Any, other: Any) -> dict[str, Any]:
    """Return means of 12 hours, and the hour from which the sum of `own` stays above `other`'s."""
    behind = np.flatnonzero(np.cumsum(own - other) <= 0)
    hour = int(behind.max(initial=-1)) + 1
    each = {"own": own, "schedule": other}
    means = {name: values.reshape(-1, BLOCK).mean(axis=1).round(3) for name, values in each.items()}
    return {name: values.tolist() for name, values in means.items()} | {
        "pays_after": hour if hour < HOURS else None
    }


def table(rows: list[Any]) -> dict[str, float | None]:
    """Return the figures of the plants of one number of parameters and one way."""
    figures: dict[str, float | None] = {}
    own, other = (np.array([row[name] for row in rows]) for name in ("own", "schedule"))
    for part, blocks in DAYS.items():
        shares = own[:, blocks].mean(axis=1) / other[:, blocks].mean(axis=1)
        figures[part] = float(shares.mean())
        figures[f"{part}, standard error"] = float(shares.std(ddof=1) / np.sqrt(len(rows)))
    hours = [np.inf if row["pays_after"] is None else row["pays_after"] for row in rows]
    middle = float(np.median(hours))
    return figures | {"hours until it pays off": middle if np.isfinite(middle) else None}


def play(dimension: int, seed: int, way: str) -> tuple[Any, Any]:
    """Return the results of driftpeak and of the schedule by hour, without measurement errors."""
    generator = np.random.default_rng([seed, dimension, 9])
    middle, swing = generator.uniform([[0.4], [0.05]], [[0.6], [0.25]], (2, dimension))
    phase = generator.uniform(0, 24, dimension)
    hours = np.arange(HOURS)
    walk = np.cumsum(0.01 * generator.normal(size=(HOURS, dimension)), axis=0)
    cycle = middle + swing * np.cos(np.pi * (hours[:, None] - phase) / 12)
    wrong, errors = 0.08 * generator.normal(size=dimension), 2.0 * generator.normal(size=HOURS)
    plans = np.clip(cycle[:24] + wrong, 0, 1)
    names = [f"x{j}" for j in range(dimension)]
    schedule = dp.Schedule([dict(zip(names, map(float, plan), strict=True)) for plan in plans])
    optimizer = dp.Optimizer(
        dp.Box({name: dp.Float(0, 1) for name in names}),
        maximize=True,
        seed=seed,
        schedule=schedule if way == WAYS[1] else None,
    )
    own, other = np.zeros(HOURS), np.zeros(HOURS)
    for hour in range(HOURS):
        setting: Any = optimizer.ask(MIDNIGHT + timedelta(hours=hour))
        each = np.array([[setting[name] for name in names], plans[hour % 24]])
        losses = 560 / dimension * ((each - cycle[hour] - walk[hour]) ** 2).sum(axis=1)
        own[hour], other[hour] = 100 - losses
        optimizer.tell(setting, float(own[hour] + errors[hour]))
    return own, other
