"""A step of a policy, in passes over its feature matrix at the speed of memory.

SE, l = 0.2, on square grids of 2,500 to a million points, noise variance 0.01. A pass is the time
in which the matrix (8 bytes x points x rank) could be read at the bandwidth that a copy of as many
bytes reaches in the same run, on all cores. The time of a step is the mean of a block of steps,
least of some blocks; that every 32nd step computes the means afresh is included, that every 4,096th
computes the variances afresh is not.

    PASSES_SIDES=50,316 python -m benchmarks passes    # without the million points
"""

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

import driftpeak as dp
from benchmarks._stepping import BLOCK, BLOCKS, seconds, step_seconds
from driftpeak.numerics.precision import double_precision

SIDES = tuple(map(int, os.environ.get("PASSES_SIDES", "50,316,1000").split(",")))
POLICIES = {"TV-GP-UCB": lambda prior: dp.TVGPUCB(prior, drift=0.01), "auto": dp.Auto}
TARGETS = {f"{side**2:,} points: passes a step, TV-GP-UCB": "<= 3" for side in SIDES}


@double_precision
def run() -> dict[str, Any]:
    """Per number of points: bandwidth, milliseconds of a pass, and passes of a step."""
    figures: dict[str, Any] = {}
    for side in SIDES:
        prior = dp.Prior(dp.Grid([0, 1], [0, 1], size=side), dp.SE(lengthscale=0.2), 0.01)
        points, size = f"{side**2:,} points", prior.features.matrix.nbytes
        figures[f"{points}: features"] = prior.features.rank
        bandwidth = _bandwidth(size)
        one_pass = size / bandwidth
        figures[f"{points}: bandwidth (GB/s)"] = bandwidth / 1e9
        figures[f"{points}: a pass (ms)"] = 1e3 * one_pass
        for name, make in POLICIES.items():
            step = step_seconds(make(prior).prepare((BLOCKS + 1) * BLOCK), prior)
            figures[f"{points}: passes a step, {name}"] = step / one_pass
    return figures


def _bandwidth(size: int) -> float:
    """Bytes a second, read and written, by a copy of `size` bytes with all cores."""
    cores = os.cpu_count() or 1
    parts = [(np.zeros(size // 8 // cores), np.ones(size // 8 // cores)) for _ in range(cores)]
    with ThreadPoolExecutor(cores) as threads:
        copies = [seconds(lambda: list(threads.map(_copy, parts))) for _ in range(10)]
    return 2 * size / min(copies)  # not the first, which touches all pages


def _copy(arrays: tuple[Any, Any]) -> None:
    np.copyto(*arrays)
