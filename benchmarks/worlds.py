"""Time to evaluate functions of several steps in one matrix product instead of one per step.

There are two trials of 1,000 steps of Markov drift under Matern-5/2, lengthscale 0.2, on 2,500
points. This prior has 2,500 features, 50 MB, which each product reads from memory. The compiled
program of `simulate` is compared with the same program with `Environment.step` at every step.
Figures are medians over alternating runs.
"""

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import driftpeak as dp
from driftpeak._core.numerics.precision import double_precision
from driftpeak.simulation._chunk_runner import to_device
from driftpeak.simulation._programs import advance, random_keys, start

TRIALS, STEPS, TURNS = 2, 1000, 3
TARGETS = {"step after step / together": ">= 5"}


@jax.jit
def one_by_one(world: Any, state: Any, times: Any) -> Any:
    """Return the functions and their maxima, computed with one product per step."""

    def step(state: Any, time: Any) -> Any:
        state, values = jax.vmap(world.step, in_axes=(0, None))(state, time)
        return state, (values, values.max(axis=-1))

    return jax.lax.scan(step, state, times)[1]


@double_precision
def run() -> dict[str, float]:
    """Return the seconds of each program without compilation, and their ratio."""
    prior = dp.Prior(dp.Grid([0, 1], [0, 1], size=50), dp.Matern(2.5, 0.2), noise_variance=0.01)
    times = np.arange(1.0, STEPS + 1)
    world = to_device(dp.MarkovDrift(prior, drift=0.01).prepare(times))

    def seconds(make: Callable[..., Any]) -> float:
        state = start(world, random_keys(0, np.arange(TRIALS)).world)
        started = time.perf_counter()
        jax.block_until_ready(make(world, state, jnp.asarray(times)))
        return time.perf_counter() - started

    ways = (advance, one_by_one)
    for way in ways:
        seconds(way)
    together, alone = (
        median(column)
        for column in zip(*([seconds(way) for way in ways] for _ in range(TURNS)), strict=True)
    )
    return {
        "together (s)": together,
        "step after step (s)": alone,
        "step after step / together": alone / together,
    }
