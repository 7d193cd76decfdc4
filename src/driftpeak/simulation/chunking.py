"""How a run is cut: chunks of trials that are played together, blocks of steps in one program."""

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import jax
import numpy as np

from driftpeak._core.errors import DriftpeakError
from driftpeak.simulation.programs import random_keys, start

MEMORY_BUDGET = 2**30
BLOCK = 1024  # steps in one compiled call, at most
MOST_IN_A_CHUNK = 256  # trials; more at once are hardly faster
CACHE = 12 * 2**20
"""Bytes of a policy's states that are hoped to stay in a cache from one step to the next."""
LEAST_BEYOND = 24  # trials in a chunk whose states are larger: fewer at once are slower
MOST_TRIALS = 2**32  # that are told apart by a number of 32 bits
MOST_CHUNKS = 10**6
RECORDED = 64  # bytes for a policy's step: what is recorded of it, and what summaries work with


class Chunk(NamedTuple):
    """Trials that are played together: `trials` of them from number `first_trial` on."""

    number: int
    first_trial: int
    trials: int


class Plan(NamedTuple):
    """How a run is cut. What is played depends on it by rounding, so it is a part of the run."""

    first_trial: int
    trials: int  # in all
    chunk: int  # trials in one chunk; the last may have fewer
    steps: int  # in one block
    blocks: int

    @property
    def chunks(self) -> tuple[Chunk, ...]:
        """All of them; they do not depend on who plays them."""
        return tuple(
            Chunk(number, self.first_trial + done, min(self.chunk, self.trials - done))
            for number, done in enumerate(range(0, self.trials, self.chunk))
        )


def make_plan(
    parts: Iterable[Any],
    *,
    policies: int,
    points: int,
    steps: int,
    first_trial: int,
    trials: int,
    chunk: int | None,
    budget: int,
) -> Plan:
    """Chunks and blocks that keep to a budget.

    Arguments:
        parts: the world and the players.
        chunk: trials in one; by default as many as the budget has room for, at most
            `MOST_IN_A_CHUNK`, no more than have their states in a cache, and all about as many.
        budget: bytes.

    Raises:
        DriftpeakError: a budget too small for one trial, or for the chunk that was asked for; more
            than `MOST_CHUNKS` chunks.
    """
    sizes = [_bytes(start.eval_shape(part, one_key())) for part in parts]
    # the states, the next ones, and what is computed on the way: of auto about as much again twice
    per_trial = 4 * sum(sizes)
    per_step = 2 * 8 * points
    recorded = RECORDED * policies * steps
    wanted = chunk or 1
    needed = wanted * (per_trial + min(steps, 16) * per_step)
    if needed > budget:
        what = "one trial" if wanted == 1 else f"chunks of {wanted:,} trials"
        raise DriftpeakError(
            f"memory_budget must be at least {needed:,} bytes for {what}; got {budget:,}"
        )
    if chunk is None:
        comfortable = per_trial + recorded + min(steps, 64) * per_step
        cached = max(LEAST_BEYOND, CACHE // max(*sizes, 1))
        most = min(trials, MOST_IN_A_CHUNK, cached, max(1, budget // comfortable))
        chunk = math.ceil(trials / math.ceil(trials / most))
    chunk = min(chunk, trials)
    if (chunks := math.ceil(trials / chunk)) > MOST_CHUNKS:
        raise DriftpeakError(
            f"{trials:,} trials are {chunks:,} chunks of {chunk:,}, and at most {MOST_CHUNKS:,} "
            "are accepted: give a larger chunk, or play parts of the run apart (first_trial)"
        )
    block = max((budget // chunk - per_trial - recorded) // per_step, 16)
    blocks = math.ceil(steps / min(steps, BLOCK, block))
    return Plan(first_trial, trials, chunk, math.ceil(steps / blocks), blocks)


def one_key() -> Any:
    """The key of one trial, for shapes."""
    return random_keys(0, np.arange(1)).world


def _bytes(shapes: Any) -> int:
    return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(shapes))
