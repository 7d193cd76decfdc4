"""Effect of one extreme reward on the live optimiser: distance to the peak in the next 100 steps.

There are three functions with a moving peak (a parabola in one dimension, a bump and a cone in
two). The noise is about a tenth of their range. After 60 normal steps, one reward is replaced by an
extreme value. 100 steps follow, with the same noise as without the replacement.

Figures are the mean squared distance to the peak over functions and seeds, and its ratio to the
distance without an extreme reward, with a 95 % bootstrap interval over the seeds of each function.
The criterion is 1.5.
"""

import sys
from typing import Any

import numpy as np

import driftpeak as dp
from benchmarks._settings import whole_number

LARGEST = sys.float_info.max
ABSURD = (None, -1e3, -1e6, -1e9, -1e12, -LARGEST, 1e3, 1e12, LARGEST)
SEEDS = range(whole_number("LIVE_SEEDS", 6))
WARM, AFTER = 60, 100


def parabola(squared: float) -> float:
    """Return a parabola of the squared distance to the peak."""
    return -8 * squared


def bump(squared: float) -> float:
    """Return a bump that is flat far from the peak."""
    return float(np.exp(-squared / 0.08))


def cone(squared: float) -> float:
    """Return a cone in other units, not differentiable at the peak."""
    return 100 - 30 * float(np.sqrt(squared))


WORLDS = ((parabola, 1, 0.1), (bump, 2, 0.05), (cone, 2, 1.0))


def run() -> dict[str, Any]:
    """Return mean squared distances and their ratios."""
    return summary(np.array([[distances(*world, seed) for seed in SEEDS] for world in WORLDS]))


def summary(squared: np.ndarray) -> dict[str, Any]:
    """Return figures from squared distances of shape `(functions, seeds, rewards)`."""
    worlds, seeds, _ = squared.shape
    drawn = np.random.default_rng(0).integers(seeds, size=(10_000, worlds, seeds))
    again = squared[np.arange(worlds)[None, :, None], drawn].mean(axis=(1, 2))
    low, high = np.quantile(again / again[:, :1], (0.025, 0.975), axis=0)
    mean, figures = squared.mean(axis=(0, 1)), {}
    for number, reward in enumerate(ABSURD):
        name = "none" if reward is None else f"{reward:.3g}"
        figures[f"{name}: squared distance"] = round(float(mean[number]), 5)
        ratio = mean[number] / mean[0]
        figures[f"{name}: over none"] = f"{ratio:.2f} ({low[number]:.2f} to {high[number]:.2f})"
    return figures


def distances(function: Any, dimension: int, noise: float, seed: int) -> list[float]:
    """Return the mean squared distance for each extreme reward."""
    errors = noise * np.random.default_rng(seed).normal(size=WARM + AFTER)
    space = dp.Box({name: dp.Float(0, 1) for name in "ab"[:dimension]})
    optimizer, means = dp.Optimizer(space, maximize=True, seed=seed), []

    def play(step: int, absurd: float | None = None) -> float:
        setting = optimizer.ask()
        peak = 0.5 + 0.3 * np.array([np.sin(step / 40), np.cos(step / 55)])[:dimension]
        squared = float(((np.array(list(setting.values())) - peak) ** 2).sum())
        reward = function(squared) + float(errors[step])
        optimizer.tell(setting, reward if absurd is None else absurd)
        return squared

    for step in range(WARM):
        play(step)
    start = optimizer.snapshot()
    for absurd in ABSURD:
        optimizer.restore(start)
        play(WARM, absurd)
        means.append(float(np.mean([play(step) for step in range(WARM + 1, WARM + AFTER)])))
    return means
