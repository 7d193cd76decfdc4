"""Division of a run into chunks of trials and blocks of steps.

The trials of a chunk are simulated together. The steps of a block are one call of a program.
"""

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import jax
import numpy as np

from driftpeak._core.errors import DriftpeakError
from driftpeak.simulation._programs import random_keys, start

MEMORY_BUDGET = 2**30
BLOCK = 1024  # steps in one compiled call, at most
MOST_IN_A_CHUNK = 256  # trials; larger chunks are not much faster
CACHE = 12 * 2**20
"""Bytes of a policy's states that should fit into the processor's cache."""
LEAST_BEYOND = 24  # trials in a chunk whose states exceed the cache: smaller chunks are slower
MOST_TRIALS = 2**32  # trial numbers have 32 bits
MOST_CHUNKS = 10**6
RECORDED = 64  # bytes per policy and step, for the record and for computing summaries


class Chunk(NamedTuple):
    """Trials that are simulated together: `trials` trials from number `first_trial` on."""

    number: int
    first_trial: int
    trials: int


class Plan(NamedTuple):
    """Division of a run. Results depend on it by rounding, so it identifies a run."""

    first_trial: int
    trials: int  # in all
    chunk: int  # trials in one chunk; the last may have fewer
    steps: int  # in one block
    blocks: int

    @property
    def chunks(self) -> tuple[Chunk, ...]:
        """All chunks of the run; they do not depend on the executor."""
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
    """Compute chunks and blocks that fit into a memory budget.

    Arguments:
        parts: the environment and the players.
        chunk: trials in a chunk. The default is the number that the budget and the cache allow, at
            most `MOST_IN_A_CHUNK`, chosen so that chunks have about equal sizes.
        budget: memory in bytes.

    Raises:
        DriftpeakError: a budget too small for one trial, or for the requested chunk; more than
            `MOST_CHUNKS` chunks.
    """
    sizes = [_bytes(start.eval_shape(part, one_key())) for part in parts]
    # the states, the next states, and temporary arrays: for auto about twice the size of its states
    per_trial = 4 * sum(sizes)
    per_step = 2 * 8 * points
    recorded = RECORDED * policies * steps
    wanted = chunk or 1
    needed = wanted * (per_trial + min(steps, 16) * per_step)
    if needed > budget:
        what = "one trial" if wanted == 1 else f"chunks of {wanted:,} trials"
        raise DriftpeakError(
            f"memory_budget must be at least {needed:,} bytes for {what}; got {budget:,}. Give a "
            "larger budget"
        )
    if chunk is None:
        comfortable = per_trial + recorded + min(steps, 64) * per_step
        cached = max(LEAST_BEYOND, CACHE // max(*sizes, 1))
        most = min(trials, MOST_IN_A_CHUNK, cached, max(1, budget // comfortable))
        chunk = math.ceil(trials / math.ceil(trials / most))
    chunk = min(chunk, trials)
    if (chunks := math.ceil(trials / chunk)) > MOST_CHUNKS:
        raise DriftpeakError(
            f"trials and chunk must give at most {MOST_CHUNKS:,} chunks; got {trials:,} trials in "
            f"{chunks:,} chunks of {chunk:,}. Give a larger chunk, or simulate parts of the run "
            "separately (first_trial)"
        )
    block = max((budget // chunk - per_trial - recorded) // per_step, 16)
    blocks = math.ceil(steps / min(steps, BLOCK, block))
    return Plan(first_trial, trials, chunk, math.ceil(steps / blocks), blocks)


def one_key() -> Any:
    """Return the key of one trial, to evaluate shapes."""
    return random_keys.eval_shape(0, np.arange(1)).world


def _bytes(shapes: Any) -> int:
    return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(shapes))
