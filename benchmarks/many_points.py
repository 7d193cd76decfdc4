"""A million points: features, and steps of policies, in memory linear in points times rank.

SE, l = 0.2, on square grids, noise variance 0.01. Peak memory is the whole process's, less what it
had after importing, in units of one feature matrix (8 bytes x points x rank); a run holds three of
them: the prior's, the world's and the policy's.
"""

import gc
import resource
import sys
import time
from typing import Any

import driftpeak as dp

SIDES = (100, 316, 1000)
STEPS = 3
TARGETS = {
    "1,000,000 points: peak memory of the features, in feature matrices": "<= 3",
    "1,000,000 points: peak memory of all, in feature matrices": "<= 8",
}


def run() -> dict[str, Any]:
    """Seconds and peak memory; smaller domains first, for the peak can only grow."""
    figures: dict[str, Any] = {}
    before = _peak()
    for side in SIDES:
        prior = dp.Prior(dp.Grid([0, 1], [0, 1], size=side), dp.SE(lengthscale=0.2), 0.01)
        points = f"{len(prior):,} points"
        started = time.perf_counter()
        rank = prior.features.rank
        matrix = 8 * len(prior) * rank
        figures[f"{points}: features"] = rank
        figures[f"{points}: seconds for the features"] = time.perf_counter() - started
        figures[f"{points}: peak memory of the features, in feature matrices"] = (
            _peak() - before
        ) / matrix
        world = dp.MarkovDrift(prior, drift=0.01)
        for name, make in {
            "TV": lambda prior: dp.TVGPUCB(prior, drift=0.01),
            "SW": lambda prior: dp.SWGPUCB(prior, window=50),
            "Auto": dp.Auto,
        }.items():
            runs = dp.simulate(
                {name: make(prior)}, world, steps=STEPS, progress=False, memory_budget=2**32
            )
            seconds = float(runs["seconds"].sum()) / STEPS
            figures[f"{points}: seconds a step, {name}"] = seconds
            del runs
            gc.collect()
        figures[f"{points}: peak memory of all, in feature matrices"] = (_peak() - before) / matrix
    return figures


def _peak() -> int:
    unit = 1 if sys.platform == "darwin" else 2**10  # Linux counts in KiB
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
