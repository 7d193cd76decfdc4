"""Steps of a policy as one compiled program, and time measurement."""

import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

import driftpeak as dp

BLOCK, BLOCKS = 32, 3


@jax.jit
def play(policy: Any, state: Any, values: Any, noise: Any, times: Any) -> Any:
    """Return the state after a step at each of `times` on a static function."""

    def step(state: Any, inputs: Any) -> tuple[Any, None]:
        error, time = inputs
        state, query = policy.ask(state, time)
        return policy.tell(state, query, values[query] + error, time), None

    return jax.lax.scan(step, state, (noise, times))[0]


def seconds(act: Callable[[], Any]) -> float:
    """Return the seconds until the result of a call is computed."""
    started = time.perf_counter()
    jax.block_until_ready(act())
    return time.perf_counter() - started


def step_seconds(policy: Any, prior: dp.Prior) -> float:
    """Return the seconds of a step: the mean of a block, the least of several blocks.

    A block before them compiles.

    Arguments:
        policy: policy prepared for `(BLOCKS + 1) * BLOCK` steps.
    """
    policy = jax.device_put(policy)
    generator = np.random.default_rng(0)
    values = np.cos(5 * prior.domain.points).sum(axis=1)
    state, spent = policy.init(jax.random.key(0)), []
    for number in range(BLOCKS + 1):
        noise = 0.1 * generator.normal(size=BLOCK)
        times = number * BLOCK + np.arange(1.0, BLOCK + 1)
        started = time.perf_counter()
        state = jax.block_until_ready(play(policy, state, values, noise, times))
        spent.append((time.perf_counter() - started) / BLOCK)
    return min(spent[1:])
