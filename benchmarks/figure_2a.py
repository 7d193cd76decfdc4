"""Figure 2a of Bogunovic, Scarlett, Cevher 2016 at full size, in under a minute.

TV-GP-UCB and R-GP-UCB run on 2,500 points with three drifts and 200 trials of 200 steps, including
the draws of the functions. B16 claims that TV-GP-UCB has the lower regret at every drift.

The time is divided into loading modules, compilation by XLA, and running policies. Drawing the
functions is measured again separately. The rest is features, tracing and results. A second process
then reads the programs that the first one has stored.
"""

import math
import os
import subprocess
import sys
import tempfile
import time
from typing import Any

import driftpeak as dp

DRIFTS = (0.001, 0.01, 0.03)
STEPS = TRIALS = 200
TOGETHER = 25
"""Number of trials whose functions are drawn at once; about the number simulated together."""
COMPILED = "/jax/core/compile/backend_compile_duration"
TARGETS = {"total without import (s)": "<= 60", "peak memory (GiB)": "<= 4"}
CACHED = "total without import, programs of an earlier process (s)"
LATER = "from benchmarks import figure_2a; print(figure_2a.played()['total without import (s)'])"


def run() -> dict[str, float]:
    """Return seconds, and mean regrets with their standard errors."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["DRIFTPEAK_CACHE"] = folder
        figures = played()
        later = subprocess.run(
            [sys.executable, "-c", LATER], stdout=subprocess.PIPE, text=True, check=True
        )
    return {**figures, CACHED: float(later.stdout)}


def played(*, by_axis: bool = False) -> dict[str, float]:
    """Return the figures; with `by_axis`, for Kronecker features and other draws of functions."""
    started = time.perf_counter()
    import jax  # imported in the function, so that its time counts

    from driftpeak.simulation import simulate

    loading, compiling = time.perf_counter() - started, []
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, seconds, **_: compiling.append(seconds) if event == COMPILED else None
    )
    prior = dp.Prior(dp.Grid([0, 1], [0, 1], size=50), dp.SE(lengthscale=0.2), noise_variance=0.01)
    features = dp.features.kronecker(prior.kernel, prior.domain) if by_axis else None
    figures, running, worlds = {}, 0.0, []
    for drift in DRIFTS:
        period = math.ceil(min(STEPS, 12 * drift**-0.25))
        policies = {
            "TV": dp.TVGPUCB(prior, drift=drift, features=features),
            "R": dp.RGPUCB(prior, period=period, features=features),
        }
        worlds.append(dp.MarkovDrift(prior, drift=drift, features=features))
        runs = simulate(policies, worlds[-1], steps=STEPS, trials=TRIALS, seed=0, progress=False)
        running += float(runs["seconds"].sum())
        regret = runs["regret"].mean("step")
        for name in policies:
            of_policy = regret.sel(policy=name)
            error = of_policy.std("trial", ddof=1) / math.sqrt(TRIALS)
            figures[f"regret of {name}, drift {drift}"] = float(of_policy.mean())
            figures[f"  its standard error ({name}, {drift})"] = float(error)
    total = time.perf_counter() - started
    parts = {
        "  loading modules (s)": loading,
        "  compiling (s)": sum(compiling),
        "  running policies (s)": running,
        "  drawing the worlds (s)": sum(map(_drawing, worlds)),
    }
    rest = {"  features, tracing, the rest (s)": total - sum(parts.values())}
    return {"total without import (s)": total, **parts, **rest, **figures}


def _drawing(world: Any) -> float:
    """Return the seconds in which the functions of all trials are drawn, without compilation."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    from driftpeak.simulation._chunk_runner import to_device
    from driftpeak.simulation._programs import advance, random_keys, start

    with jax.enable_x64(True):
        world, times = to_device(world), jnp.arange(1.0, STEPS + 1)
        for first in (0, *range(0, TRIALS, TOGETHER)):  # the first one compiles
            if first == 0:
                started = time.perf_counter()
            keys = random_keys(0, first + np.arange(TOGETHER)).world
            jax.block_until_ready(advance(world, start(world, keys), times))
        return time.perf_counter() - started
