"""Steps of a policy as one compiled program, and how long something takes."""

import time
from collections.abc import Callable
from typing import Any

import jax


@jax.jit
def play(policy: Any, state: Any, values: Any, noise: Any, times: Any) -> Any:
    """The state after a step at each of `times`, of a function that does not move."""

    def step(state: Any, inputs: Any) -> tuple[Any, None]:
        error, time = inputs
        state, query = policy.ask(state, time)
        return policy.tell(state, query, values[query] + error, time), None

    return jax.lax.scan(step, state, (noise, times))[0]


def seconds(act: Callable[[], Any]) -> float:
    """How long it takes until what is returned is there."""
    started = time.perf_counter()
    jax.block_until_ready(act())
    return time.perf_counter() - started
