"""Trials per second of one process, local processes and a dask cluster.

TV-GP-UCB and R-GP-UCB run on a line of 100 points under Markov drift, with 200 steps,
`keep="summaries"` and one thread of XLA per process (`NPROC=1`). The cluster is a `LocalCluster` of
this machine. It has the overhead of a cluster of many machines, serialisation and scheduling, but
not of the network. Each executor runs twice, and only the second run counts, without start and
compilation.

    TRIALS=2000 python -m benchmarks cluster
"""

import os

os.environ["NPROC"] = "1"  # for XLA, in this process and in workers, before its first computation

import time
from typing import Any

from distributed import LocalCluster

import driftpeak as dp
from benchmarks._settings import whole_number
from driftpeak.simulation.executors import local_workers

TRIALS, STEPS = whole_number("TRIALS", 16_384), 200
WORKERS = (1, 2)


def run() -> dict[str, Any]:
    """Return trials per second, and their ratios to one process."""
    prior = dp.Prior(dp.Grid([0, 1], size=100), dp.SE(lengthscale=0.2), noise_variance=0.01)
    policies = {"TV": dp.TVGPUCB(prior, drift=0.01), "R": dp.RGPUCB(prior, period=38)}
    world = dp.MarkovDrift(prior, drift=0.01)

    def per_second(executor: Any) -> float:
        def play() -> float:
            started = time.perf_counter()
            dp.simulate(
                policies, world, steps=STEPS, trials=TRIALS, keep="summaries", chunk=256,
                executor=executor, progress=False,
            )  # fmt: skip
            return time.perf_counter() - started

        play()
        return TRIALS / play()

    rates = {"this process": per_second(None)}
    with local_workers(2) as executor:
        rates["2 local processes"] = per_second(executor)
    for workers in WORKERS:
        with (
            LocalCluster(
                n_workers=workers, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            cluster.get_client() as client,
        ):
            rates[f"dask, {workers} workers"] = per_second(client)
    alone = rates["this process"]
    return {
        "trials": TRIALS,
        **{f"trials per second: {name}": rate for name, rate in rates.items()},
        **{f"  of this process: {name}": rate / alone for name, rate in rates.items()},
    }
