"""A million points: preparations and steps of policies, and their memory.

Square grids, noise variance 0.01. SE, l = 0.2, whose features are a Kronecker product on more than
10,000 points: peak memory is the whole process's, less what it had after importing; beside it the
feature matrix (8 bytes x points x rank), which is not made on so many points. Matern, nu = 3/2,
l = 0.2, with too many features for that: function space, and 128 steps in memory.
"""

import gc
import resource
import sys
import time
from typing import Any

import driftpeak as dp
from benchmarks._stepping import BLOCK, BLOCKS, step_seconds
from driftpeak.numerics.precision import double_precision

SIDES = (100, 316, 1000)
STEPS = 3
TARGETS = {
    "1,000,000 points: peak memory with the features (GiB)": "<= 1.5",
    "1,000,000 points: peak memory with all (GiB)": "<= 3",
}


@double_precision
def run() -> dict[str, Any]:
    """Seconds and peak memory; smaller domains first, for the peak can only grow."""
    figures: dict[str, Any] = {}
    before = _peak()
    for side in SIDES:
        prior = dp.Prior(dp.Grid([0, 1], [0, 1], size=side), dp.SE(lengthscale=0.2), 0.01)
        points = f"{len(prior):,} points"
        started = time.perf_counter()
        rank = prior.features.rank
        figures[f"{points}: features"] = rank
        figures[f"{points}: their matrix (GiB)"] = 8 * len(prior) * rank / 2**30
        figures[f"{points}: seconds for the features"] = time.perf_counter() - started
        figures[f"{points}: peak memory with the features (GiB)"] = _peak() - before
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
        figures[f"{points}: peak memory with all (GiB)"] = _peak() - before
    for side in SIDES:
        prior = dp.Prior(dp.Grid([0, 1], [0, 1], size=side), dp.Matern(1.5, 0.2), 0.01)
        points = f"Matern, {len(prior):,} points"
        started = time.perf_counter()
        policy = dp.TVGPUCB(prior, drift=0.01).prepare((BLOCKS + 1) * BLOCK)
        figures[f"{points}: seconds to prepare"] = time.perf_counter() - started
        figures[f"{points}: seconds a step, TV"] = step_seconds(policy, prior)
    return figures


def _peak() -> float:
    unit = 2**-30 if sys.platform == "darwin" else 2**-20  # Linux counts in KiB
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
