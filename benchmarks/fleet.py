"""Throughput and memory of a fleet of 10,000 members with 20 arms.

Members are asked and answered in batches of 1,000, each at its own random time, in memory. The
figures are pairs of ask and tell per second after compilation, for TV-GP-UCB and `auto`, and their
ratio to the speed of as many `Optimizer` objects (extrapolated from 100). `simulate` with 1,000
trials of the same policies is measured for comparison: it has no separate calls. The speed of a
shared machine varies; the processor time of one pair varies less. TV-GP-UCB then runs with a
journal until it holds OBSERVATIONS observations, and the fleet is opened again. Last, both policies
run as a `ShardedFleet` with journals on two Dask workers of this machine, one thread each, and all
members are asked and answered at once. The first ask and tell of a fleet with `auto` are timed in
new processes: without cached programs, and with those of an earlier process.

    MEMBERS=2000 OBSERVATIONS=20000 python -m benchmarks fleet
"""

import os
import subprocess
import sys
import tempfile
import time
from typing import Any

import numpy as np
from distributed import Client, LocalCluster

import driftpeak as dp
from benchmarks._settings import whole_number
from driftpeak.fleet import ShardedFleet

MEMBERS = whole_number("MEMBERS", 10_000)
OBSERVATIONS = whole_number("OBSERVATIONS", 1_000_000)
BATCH, ARMS = 1_000, 20
FIRST = """
import time
import numpy as np
import driftpeak as dp
prior = dp.Prior(dp.Arms(np.linspace(0, 1, 20)), dp.SE(lengthscale=0.2), noise_variance=0.1)
fleet = dp.Fleet(prior.domain, 100, policy=dp.Auto(prior))
started = time.perf_counter()
asked = fleet.ask(time=0.0)
fleet.tell(asked.ids, np.zeros(100))
print(time.perf_counter() - started)
"""
TARGETS = {
    "TV-GP-UCB: pairs per second": ">= 200000",
    "auto: pairs per second": ">= 25000",
    "TV-GP-UCB: times the speed of optimizers": ">= 50",
    "auto: times the speed of optimizers": ">= 50",
    "TV-GP-UCB: with a journal, share": ">= 0.5",
    "open a stored fleet (s)": "<= 10",
    "auto: first ask and tell, cached / not": "<= 0.5",
    "peak memory (GiB)": "<= 2",
}


def run() -> dict[str, Any]:
    """Return pairs per second, processor time and memory per member of both policies."""
    prior = dp.Prior(dp.Arms(np.linspace(0, 1, ARMS)), dp.SE(lengthscale=0.2), noise_variance=0.1)
    figures: dict[str, Any] = {}
    rounds = {"TV-GP-UCB": (dp.TVGPUCB(prior, drift=0.02), 12), "auto": (dp.Auto(prior), 3)}
    for name, (policy, passes) in rounds.items():
        fleet = dp.Fleet(prior.domain, MEMBERS, policy=policy)
        generator = np.random.default_rng(0)
        play(fleet, generator, 1)
        wall, processor = play(fleet, generator, passes)
        pairs = passes * MEMBERS
        alone = optimizers(prior, policy)
        figures |= {
            f"{name}: pairs per second": pairs / wall,
            f"{name}: processor time of a pair (us)": 1e6 * processor / pairs,
            f"{name}: times the speed of optimizers": pairs / wall * alone,
            f"{name}: processor time of a step of simulate (us)": simulated(prior, policy),
            f"{name}: KiB per member": fleet.bytes_per_member / 1024,
        }
    policy = rounds["TV-GP-UCB"][0]
    figures |= stored(prior, policy, figures["TV-GP-UCB: pairs per second"])
    for name, (policy, passes) in rounds.items():
        figures[f"{name}: pairs per second on two workers"] = sharded(prior, policy, passes)
    return figures | first_calls()


def first_calls() -> dict[str, float]:
    """Return the seconds of the first calls without and with cached programs, and their ratio."""
    with tempfile.TemporaryDirectory() as folder:
        alone, _, cached = (
            float(subprocess.check_output(
                [sys.executable, "-c", FIRST], env=os.environ | {"DRIFTPEAK_CACHE": cache}
            ))
            for cache in ("off", folder, folder)
        )  # fmt: skip
    return {
        "auto: first ask and tell, not cached (s)": alone,
        "auto: first ask and tell, cached (s)": cached,
        "auto: first ask and tell, cached / not": cached / alone,
    }


def sharded(prior: dp.Prior, policy: Any, passes: int) -> float:
    """Return the pairs per second of a fleet on two workers, with journals."""
    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(**settings, silence_logs=50) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        fleet = ShardedFleet(client, prior.domain, MEMBERS, policy=policy, storage=folder, shards=2)
        play(fleet, np.random.default_rng(0), 1, MEMBERS)
        wall, _ = play(fleet, np.random.default_rng(0), passes, MEMBERS)
    return passes * MEMBERS / wall


def stored(prior: dp.Prior, policy: Any, in_memory: float) -> dict[str, Any]:
    """Return the speed with a journal, and the seconds to open the fleet."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/fleet"
        fleet = dp.Fleet(prior.domain, MEMBERS, policy=policy, storage=path)
        passes = max(1, OBSERVATIONS // MEMBERS)
        wall, _ = play(fleet, np.random.default_rng(0), passes)
        started = time.perf_counter()
        again = dp.Fleet.load(path)
        opened = time.perf_counter() - started
        assert again.observations.sum() == passes * MEMBERS
        size = os.path.getsize(path) / 2**20
    speed = passes * MEMBERS / wall
    return {
        "TV-GP-UCB: pairs per second with a journal": speed,
        "TV-GP-UCB: with a journal, share": speed / in_memory,
        "open a stored fleet (s)": opened,
        "stored observations": passes * MEMBERS,
        "journal (MiB)": size,
    }


def play(
    fleet: Any, generator: np.random.Generator, passes: int, batch: int = BATCH
) -> tuple[float, float]:
    """Ask and answer all members in batches, and return the seconds, and those of processors."""
    spent = np.zeros(2)
    for _ in range(passes):
        for some in generator.permutation(MEMBERS).reshape(-1, batch):
            rewards = generator.normal(size=batch)
            times = fleet.observations[some] + generator.random(batch)
            started = np.array([time.perf_counter(), time.process_time()])
            asked = fleet.ask(some, time=times)
            fleet.tell(asked.ids, rewards)
            spent += np.array([time.perf_counter(), time.process_time()]) - started
    return float(spent[0]), float(spent[1])


def optimizers(prior: dp.Prior, policy: Any) -> float:
    """Return the seconds of an ask and a tell of one of 100 optimizers."""
    each = [dp.Optimizer(prior.domain, maximize=True, policy=policy, seed=s) for s in range(100)]
    for one in each:
        one.tell(one.ask(), 0.5)
    started = time.perf_counter()
    for one in each:
        one.tell(one.ask(), 0.5)
    return (time.perf_counter() - started) / len(each)


def simulated(prior: dp.Prior, policy: Any) -> float:
    """Return the processor time of a step of `simulate` in microseconds, after compilation."""
    world = dp.MarkovDrift(prior, drift=0.02)
    for _ in range(2):
        started = time.process_time()
        dp.simulate({"policy": policy}, world, steps=30, trials=BATCH, progress=False)
    return 1e6 * (time.process_time() - started) / (30 * BATCH)
