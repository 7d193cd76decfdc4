"""Rates of correct, wrong and false periods found by learn.

Histories with a period are a daily cycle of amplitude A, with a phase per arm, plus AR(1) noise of
variance 1 and coefficient 0.9, with 336 rows of 5 arms and 60 draws for each A. The first period is
wrong if it is not within one row of 24. Histories without a period are AR(1) of several
persistences, two speeds, and oscillations of 24 rows whose correlation falls to 1/e within some
rows, with 100 draws each. The periods given as likely are 24 and 168. The lifetime is the number of
rows after which the correlation of the fitted law has fallen to 1/e, in 40 draws of 5 arms; the
true value is 99.5.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from driftpeak.offline.history import fit_history
from driftpeak.offline.history._correlation import Law

TARGETS = {
    **{f"wrong, A = {size} (of 60)": "<= 3" for size in (0.6, 0.7, 0.8, 1.0)},
    "found, A = 0.6 (of 60)": ">= 43",
    "found, A = 1.0 (of 60)": ">= 60",
    # 4 of 100 or more have a chance of 2 % at a level of 1 %
    "period found in AR(0.9)": "<= 0.03",
    "period found in AR(0.99)": "<= 0.03",
    "period found in oscillation, lifetime 12": "<= 0.03",
    "period found in oscillation, lifetime 24": "<= 0.03",
}
DAY, ROWS, ARMS = 24, 336, 5
AMPLITUDES = (0.5, 0.6, 0.7, 0.8, 1.0)
SETTINGS: dict[str, tuple[float, ...]] = {"": (), ", likely": (24.0, 168.0)}


def autoregressive(generator: Any, kept: float, rows: int = ROWS) -> Any:
    """Return AR(1) series of variance 1."""
    series = generator.normal(size=(rows, ARMS))
    for time in range(1, rows):
        series[time] = kept * series[time - 1] + np.sqrt(1 - kept**2) * series[time]
    return series


def daily(generator: Any, amplitude: float) -> Any:
    """Return a cycle of 24 rows plus AR(0.9)."""
    series = autoregressive(generator, 0.9)
    turns = np.arange(ROWS)[:, None] / DAY - generator.uniform(size=ARMS)
    return series + amplitude * np.cos(2 * np.pi * turns)


def oscillating(lifetime: float) -> Callable[[Any], Any]:
    """Return a function that draws oscillations of 24 rows with a lifetime."""
    law = Law(np.ones(1), np.array([lifetime]), 0.0, np.array([float(DAY)]))
    return lambda generator: law.draw(generator, (ROWS, ARMS))


WITHOUT: dict[str, Callable[[Any], Any]] = {
    "white noise": lambda generator: generator.normal(size=(ROWS, ARMS)),
    "AR(0.9)": lambda generator: autoregressive(generator, 0.9),
    "AR(0.99)": lambda generator: autoregressive(generator, 0.99),
    "AR(0.7) + AR(0.99)": lambda generator: (
        autoregressive(generator, 0.7) + autoregressive(generator, 0.99)
    ),
    "random walks": lambda generator: generator.normal(size=(ROWS, ARMS)).cumsum(axis=0),
    **{f"oscillation, lifetime {rows}": oscillating(rows) for rows in (6, 12, 24, 48, 72)},
}


def first_periods(draw: Callable[[Any], Any], draws: int, likely: Any = (), seed: int = 5) -> Any:
    """Return the first period of each draw, or NaN if none is found."""
    generator = np.random.default_rng(seed)
    found = np.full(draws, np.nan)
    for count in range(draws):
        rhythms = fit_history(draw(generator), likely=likely).rhythms
        if rhythms:
            found[count] = rhythms[0].period
    return found


def lifetime(law: Law) -> float:
    """Return the number of rows after which the correlation has fallen to 1/e."""
    lags = np.geomspace(0.2, 1e5, 4000)
    moving = law.correlation(lags) / max(float(law.shares.sum()), 1e-300)
    return float(lags[(moving < np.exp(-1)).argmax()])


def run() -> dict[str, float]:
    """Return counts, shares and lifetimes."""
    figures: dict[str, float] = {}
    for name, likely in SETTINGS.items():
        for size in AMPLITUDES:
            found = first_periods(partial(daily, amplitude=size), 60, likely)
            wrong = int((np.abs(found - DAY) > 1).sum())
            figures[f"found, A = {size} (of 60){name}"] = int(np.isfinite(found).sum())
            figures[f"wrong, A = {size} (of 60){name}"] = wrong
    for name, likely in SETTINGS.items():
        for world, draw in WITHOUT.items():
            share = np.isfinite(first_periods(draw, 100, likely)).mean()
            figures[f"period found in {world}{name}"] = float(share)
    for rows in (336, 600, 1000):
        generator = np.random.default_rng(5)
        each = [lifetime(fit_history(autoregressive(generator, 0.99, rows)).law) for _ in range(40)]
        near = np.abs(np.log(np.array(each) / 99.5)) <= np.log(2)
        figures[f"median lifetime of AR(0.99), {rows} rows"] = float(np.median(each))
        figures[f"  share within a factor of two, {rows} rows"] = float(near.mean())
    return figures
