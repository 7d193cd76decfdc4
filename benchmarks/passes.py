"""Time of a step of a policy, in passes over its feature matrix at memory bandwidth.

The kernel is SE, l = 0.2, on square grids of 2,500 to a million points, with noise variance 0.01. A
pass is the time to read the matrix (8 bytes x points x rank) at the bandwidth of a copy of equal
size in the same run on all cores. The time of a step is the mean of a block of steps, the least of
several blocks. It includes the recomputation of the means every 32 steps, but not the recomputation
of the variances every 4,096 steps.

On grids of more than 10,000 points the features of this kernel are a Kronecker product that is not
expanded (`driftpeak.gp.features.kronecker`). A step then takes less than one pass. The figures
"written out" are for expanded features, which other kernels have.

    PASSES_SIDES=50,316 python -m benchmarks passes    # without the million points
"""

import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

import driftpeak as dp
from benchmarks._settings import whole_numbers
from benchmarks._stepping import BLOCK, BLOCKS, seconds, step_seconds
from driftpeak._core.numerics.precision import double_precision
from driftpeak.gp.features import TOLERANCE, pivoted_cholesky
from driftpeak.policies.auto import FEATURE_SHARE

SIDES = whole_numbers("PASSES_SIDES", (50, 316, 1000))
POLICIES = {"TV-GP-UCB": partial(dp.TVGPUCB, drift=0.01), "auto": dp.Auto}
TARGETS = {f"{side**2:,} points: passes a step, TV-GP-UCB": "<= 3" for side in SIDES}
TARGETS |= {f"{name}, written out": most for name, most in TARGETS.items()}


@double_precision
def run() -> dict[str, Any]:
    """Return bandwidth, milliseconds of a pass, and passes of a step, by number of points."""
    figures: dict[str, Any] = {}
    for side in SIDES:
        prior = dp.Prior(dp.Grid([0, 1], [0, 1], size=side), dp.SE(lengthscale=0.2), 0.01)
        points, size = f"{side**2:,} points", 8 * side**2 * prior.features.rank
        figures[f"{points}: features"] = prior.features.rank
        bandwidth = _bandwidth(size)
        one_pass = size / bandwidth
        figures[f"{points}: bandwidth (GB/s)"] = bandwidth / 1e9
        figures[f"{points}: a pass (ms)"] = 1e3 * one_pass
        for name, make in POLICIES.items():
            figure = f"{points}: passes a step, {name}"
            figures[figure] = _step(make(prior), prior) / one_pass
            if prior.features.method == "Kronecker":
                tolerance = FEATURE_SHARE * prior.noise_variance if name == "auto" else TOLERANCE
                listed = pivoted_cholesky(prior.kernel, prior.domain, tolerance=tolerance)
                figures[f"{figure}, written out"] = (
                    _step(make(prior, features=listed), prior) / one_pass
                )
    return figures


def _step(policy: Any, prior: dp.Prior) -> float:
    """Return the seconds of a step."""
    return step_seconds(policy.prepare((BLOCKS + 1) * BLOCK), prior)


def _bandwidth(size: int) -> float:
    """Return the bytes per second, read and written, of a copy of `size` bytes on all cores."""
    cores = os.cpu_count() or 1
    parts = [(np.zeros(size // 8 // cores), np.ones(size // 8 // cores)) for _ in range(cores)]
    with ThreadPoolExecutor(cores) as threads:
        copies = [seconds(lambda: list(threads.map(_copy, parts))) for _ in range(10)]
    return 2 * size / min(copies)  # without the first copy, which allocates all pages


def _copy(arrays: tuple[Any, Any]) -> None:
    np.copyto(*arrays)
