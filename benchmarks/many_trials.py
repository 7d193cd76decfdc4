"""Memory and time of a hundred thousand trials with summaries, with and without a folder.

TV-GP-UCB and R-GP-UCB run on a line of 100 points under Markov drift, with 200 steps. Figures are
trials per second with `keep="summaries"`, including compilation, without and with a folder, and the
size of the folder. The runner adds the peak resident memory of the whole process. A full record of
these trials would take 0.9 GiB.

    TRIALS=1000 python -m benchmarks many_trials
"""

import os
import tempfile
import time
from pathlib import Path
from typing import Any

import driftpeak as dp
from benchmarks._settings import whole_number

os.environ["DRIFTPEAK_CACHE"] = "off"  # figures include compilation

TRIALS, STEPS = whole_number("TRIALS", 100_000), 200
TARGETS = {"peak memory (GiB)": "<= 2"}


def run() -> dict[str, Any]:
    """Return trials per second and the size of the folder."""
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
