"""An experiment small enough for tests, and a driftpeak that knows it.

`python tiny_experiment.py reproduce tiny` is `driftpeak reproduce tiny`; a dask worker learns
of it by `dask worker --preload tiny_experiment.py`. Its data set, if any, is `stocks`.
"""

import signal
from functools import partial
from pathlib import Path

import driftpeak as dp
from driftpeak.environments import RecordedRewards
from driftpeak.experiments.claims import Claim, lower
from driftpeak.experiments.experiment import Case, Experiment, Setup
from driftpeak.experiments.figures import regret_panels
from driftpeak.experiments.running import registry
from driftpeak.offline.data import read_table

CASES = ("slow", "fast")


def tiny_setup(drift: float, steps: int = 12) -> Setup:
    prior = dp.Prior(dp.Grid([0, 1], size=8), dp.SE(0.3), noise_variance=0.01)
    policies = {"random": dp.UniformRandom(prior), "TV": dp.TVGPUCB(prior, drift=drift)}
    return Setup(dp.MarkovDrift(prior, drift=drift), policies, steps, {"drift": drift})


def recorded_setup(path: Path) -> Setup:
    table = read_table(path)
    prior = dp.Prior(dp.Grid([0, 1], size=2), dp.SE(0.3), noise_variance=0.01)
    policies = {"random": dp.UniformRandom(prior)}
    return Setup(RecordedRewards(table.values), policies, len(table.values), {"arms": table.arms})


TINY = Experiment(
    "tiny",
    "A tiny experiment",
    "nowhere",
    tuple(
        Case(name, partial(tiny_setup, drift), trials=30, chunk=3)
        for name, drift in zip(CASES, (0.01, 0.1), strict=True)
    ),
    (
        Claim("TV beats random", tuple(lower((c, "TV"), (c, "random")) for c in CASES)),
        Claim("random beats TV", (lower(("slow", "random"), ("slow", "TV")),), whose="ours"),
    ),
    regret_panels,
)
RECORDED = Experiment(
    "recorded",
    "Two arms, as recorded",
    "nowhere",
    (Case("days", recorded_setup, trials=2, chunk=1, data="stocks"),),
    (),
    regret_panels,
)


def register() -> None:
    for one in (TINY, RECORDED):
        registry.EXPERIMENTS[one.id] = one


def dask_setup(worker: object) -> None:
    """What dask calls in a worker that preloads this file."""
    register()


if __name__ == "__mp_main__":  # in a process of `--workers 2`
    register()

if __name__ == "__main__":
    from driftpeak.cli.app import main

    # what a shell runs in the background ignores Ctrl-C, and so would its children
    signal.signal(signal.SIGINT, signal.default_int_handler)
    register()
    main()
