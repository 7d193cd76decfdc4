"""Coverage of the 95 % interval of a drift that is estimated with noise and covariance from rows.

Markov drift with an SE covariance over [0, 1], a mean per arm, noise as a share of the signal's
variance, 10 seeds of every setting. Seconds are processor time per table.
"""

import itertools
import math
import time
from typing import Any

import numpy as np

from driftpeak.inference.fitting.recorded_drift import recorded_drift

DRIFTS, NOISES = (0.001, 0.01, 0.05, 0.3), (0.01, 0.1, 0.3)
SIZES = ((4, 200, 0.3), (6, 250, 0.3))  # arms, rows, lengthscale
LARGER = ((5, 1500, 0.3), (8, 300, 0.3), (12, 300, 0.2), (30, 400, 0.2))
WORLDS = tuple((*size, drift, noise) for size in SIZES for drift in DRIFTS for noise in NOISES)
SEEDS = 10
TARGETS = {"covered, of all": ">= 0.9"}


def world(
    arms: int, rows: int, lengthscale: float, drift: float, noise: float, *, seed: int
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return a table of Markov drift, shape `(rows, arms)`."""
    random = np.random.default_rng(seed)
    points = np.linspace(0, 1, arms)
    gram = np.exp(-((points[:, None] - points) ** 2) / (2 * lengthscale**2))
    spectrum, axes = np.linalg.eigh(gram)
    draws = random.normal(size=(rows, arms)) @ (axes * np.sqrt(np.maximum(spectrum, 0))).T
    functions = np.empty_like(draws)
    functions[0] = draws[0]
    for t in range(1, rows):
        functions[t] = math.sqrt(1 - drift) * functions[t - 1] + math.sqrt(drift) * draws[t]
    noisy = functions + math.sqrt(noise) * random.normal(size=functions.shape)
    return noisy + 3 * random.normal(size=arms)


def covered(table: np.ndarray[Any, np.dtype[np.float64]], drift: float) -> bool:
    """Return whether the interval contains the true drift."""
    estimate = recorded_drift(table)
    return estimate.low <= drift <= estimate.high


def run() -> dict[str, Any]:
    """Return coverage over all settings and by size."""
    figures: dict[str, Any] = {}
    everything = []
    for size in (*SIZES, *LARGER):
        started = time.process_time()
        hits = [
            covered(world(*size, drift, noise, seed=seed), drift)
            for drift, noise, seed in itertools.product(DRIFTS, NOISES, range(SEEDS))
        ]
        everything += hits
        name = f"{size[0]} arms, {size[1]} rows"
        figures[f"  covered, {name}"] = float(np.mean(hits))
        figures[f"  seconds a table, {name}"] = (time.process_time() - started) / len(hits)
    figures["covered, of all"] = float(np.mean(everything))
    return figures
