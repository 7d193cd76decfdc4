"""A hundred thousand trials: the memory that a run of summaries takes, and what a folder costs.

TV-GP-UCB and R-GP-UCB on a line of 100 points under Markov drift, 200 steps. Figures: trials per
second with `keep="summaries"`, compilation included, without a folder and with one; the size of the
folder; and, by the runner, the largest resident memory of the whole process. Everything about these
trials would take 0.9 GiB.

    TRIALS=1000 python -m benchmarks many_trials
"""

import os
import tempfile
import time
from pathlib import Path
from typing import Any

import driftpeak as dp

TRIALS, STEPS = int(os.environ.get("TRIALS", "100000")), 200
TARGETS = {"peak memory (GiB)": "<= 2"}


def run() -> dict[str, Any]:
    """Trials per second, and bytes."""
    prior = dp.Prior(dp.Grid([0, 1], size=100), dp.SE(lengthscale=0.2), noise_variance=0.01)
    policies = {"TV": dp.TVGPUCB(prior, drift=0.01), "R": dp.RGPUCB(prior, period=38)}
    world = dp.MarkovDrift(prior, drift=0.01)

    def seconds(**how: Any) -> float:
        started = time.perf_counter()
        dp.simulate(
            policies,
            world,
            steps=STEPS,
            trials=TRIALS,
            keep="summaries",
            progress=False,
            **how,
        )
        return time.perf_counter() - started

    with tempfile.TemporaryDirectory() as folder:
        here, there = seconds(), seconds(folder=folder)
        size = sum(path.stat().st_size for path in Path(folder).iterdir())
    return {
        "trials": TRIALS,
        "trials per second": TRIALS / here,
        "trials per second, with a folder": TRIALS / there,
        "folder (MiB)": size / 2**20,
    }
