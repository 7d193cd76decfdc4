"""Compiled programs of a simulation: one block of steps, all trials of a chunk at once."""

from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from driftpeak.environments import Environment
from driftpeak.environments.noise import Noise
from driftpeak.policies import Player
from driftpeak.policies.player import Prediction

TOGETHER = 256
"""Approximate number of functions evaluated at once; larger batches are not much faster."""
LITTLE = 2**23
"""Number of function values below which compilation takes longer than the run."""


class Keys(NamedTuple):
    """Random keys of each trial."""

    world: PRNGKeyArray
    noise: PRNGKeyArray
    policy: PRNGKeyArray  # shared by all policies
    expert: PRNGKeyArray  # for the noise on answers to side queries


@jax.jit
def random_keys(seed: Any, trials: Any) -> Keys:
    """Return the keys of the trials with these numbers."""
    of_trial = jax.vmap(jax.random.fold_in, in_axes=(None, 0))
    return Keys(
        *jax.vmap(of_trial, in_axes=(0, None))(jax.random.split(jax.random.key(seed), 4), trials)
    )


@jax.jit
def standard_normals(keys: Any, numbers: Int[Array, " t"]) -> Float[Array, "t trials"]:
    """Return the number from which the noise on a reward is computed, for each step and trial."""

    def one(key: PRNGKeyArray, number: Array) -> Array:
        return jax.random.normal(jax.random.fold_in(key, number), dtype=float)

    return jax.vmap(jax.vmap(one, in_axes=(0, None)), in_axes=(None, 0))(keys, numbers)


@partial(jax.jit, keep_unused=True)
def start(part: Any, keys: Any) -> Any:
    """Return the states of a policy or environment before the first step, one for each key."""
    return jax.vmap(part.init)(keys)


@partial(jax.jit, donate_argnums=1, keep_unused=True)
def advance(
    world: Environment[Any], state: Any, times: Float[Array, " t"]
) -> tuple[Any, Float[Array, "t trials n"], Float[Array, "t trials"]]:
    """Return the new states, and the functions of all trials and their maxima in a block."""

    def step(state: Any, time: Any) -> tuple[Any, Any]:
        return jax.vmap(world.move, in_axes=(0, None))(state, time)

    def some(state: Any, times: Any) -> tuple[Any, Any]:
        state, moved = jax.lax.scan(step, state, times)
        values = world.values(moved)
        return state, (values, _maximum(values))

    trials = len(jax.tree.leaves(state)[0])
    most = min(max(1, TOGETHER // trials), len(times))
    even = next(steps for steps in range(most, 0, -1) if len(times) % steps == 0)
    together = even if 2 * even > most else most  # a remainder has to be compiled, too
    whole = len(times) // together * together
    state, moved = jax.lax.scan(some, state, times[:whole].reshape(-1, together))
    values, best = (array.reshape(whole, *array.shape[2:]) for array in moved)
    if whole < len(times):
        state, rest = some(state, times[whole:])
        values, best = (jnp.concatenate(both) for both in zip((values, best), rest, strict=True))
    return state, values, best


def _maximum(values: Array) -> Array:
    """Return the maximum over the last axis; NaN if a value is NaN or infinite."""
    return jnp.where(jnp.isfinite(values).all(axis=-1), values.max(axis=-1), jnp.nan)


@partial(jax.jit, donate_argnums=1)
def inform(player: Player[Any], state: Any, values: Array, here: Array) -> Any:
    """Give a policy the true functions of a block; `here` is false on padding."""

    def step(state: Any, seen: Any) -> tuple[Any, None]:
        now, counts = seen
        after = jax.vmap(player.inform)(state, now)
        return jax.tree.map(partial(jnp.where, counts), after, state), None

    return jax.lax.scan(step, state, (values, here))[0]


class Block(NamedTuple):
    """Steps of one call of a program; step numbers from the run's length on are padding."""

    values: Float[Array, "t trials n"]
    best: Float[Array, "t trials"]
    times: Float[Array, " t"]
    numbers: Int[Array, " t"]  # from 0
    normals: Float[Array, "t trials"]  # of the noise on the rewards


class Chance(NamedTuple):
    """Noise on rewards and, with keys of its own, on an expert's answers."""

    answer_keys: PRNGKeyArray
    noise: Noise


class Outcome(NamedTuple):
    """Results of one policy in one block, each of shape `(steps, trials)`, or None if unused."""

    action: Array
    reward: Array
    regret: Array
    restarts: Array
    side_queries: Array | None = None
    squared_error: Array | None = None
    readings: dict[str, Array] | None = None  # by name, further axes last


class Played(NamedTuple):
    """State of a policy after a block of steps, with its results in the block.

    `error_sums` has shape `(trials, n)`: squared errors of the one-step forecasts of every point,
    summed over the steps of the block. It is None if predictions are not recorded or not made.
    `least_variance` is the smallest predictive variance at the end of the block over trials and
    points, in units of the noise variance. It is None if the policy makes no predictions.
    """

    state: Any
    outcome: Outcome
    error_sums: Array | None
    least_variance: Array | None


def play(
    state: Any,
    player: Player[Any],
    block: Block,
    chance: Chance,
    steps: Array,
    *,
    predictions: bool = False,
    readings: bool = False,
) -> Played:
    """Run one player on one block of a run of `steps` steps, for all trials of the chunk."""

    def trial(
        state: Any,
        now: Array,
        top: Array,
        normal: Array,
        expert_key: PRNGKeyArray,
        time: Array,
        number: Array,
    ) -> Any:
        if player.foresight == "present":
            state = player.inform(state, now)
        restarts = player.restarts(state)
        side_queries = squared_error = errors = None

        def consulted(state: Any) -> Any:
            state, arms, wanted = player.consult(state, time)
            own = jax.random.fold_in(expert_key, number)
            normal = jax.random.normal(own, arms.shape, dtype=float)
            answers = now[arms] + jax.vmap(chance.noise)(now[arms], normal)
            state = player.hear(state, arms, answers, wanted, time)
            return state, wanted.sum().astype(jnp.int32)

        asks = player.consults if player.side_capacity > 0 else "never"
        if asks == "before":
            state, side_queries = consulted(state)
        if predictions and (expected := player.predict(state, time)) is not None:
            errors = (expected.mean - now) ** 2
            squared_error = jnp.mean(errors)
            errors = jnp.where(number < steps, errors, 0.0)
        state, query = player.ask(state, time)
        value = now[query]
        reward = value + chance.noise(value, normal)
        state = player.tell(state, query, reward, time)
        if asks == "after":
            state, side_queries = consulted(state)
        restarts = (player.restarts(state) - restarts).astype(jnp.uint8)
        action = query.astype(jnp.int32)
        thoughts = player.read(state) if readings else None
        outcome = Outcome(
            action, reward, top - value, restarts, side_queries, squared_error, thoughts
        )
        return state, outcome, errors

    def step(carry: Any, inputs: Any) -> Any:
        state, sums = carry
        now, top, time, number, normal = inputs
        trials = jax.vmap(trial, in_axes=(0, 0, 0, 0, 0, None, None))
        state, outcome, errors = trials(state, now, top, normal, chance.answer_keys, time, number)
        return (state, sums if errors is None else sums + errors), outcome

    sums = jnp.zeros(block.values.shape[1:]) if predictions else None
    (state, sums), outcome = jax.lax.scan(step, (state, sums), tuple(block))
    sums = None if outcome.squared_error is None else sums
    expected = jax.vmap(player.predict, in_axes=(0, None))(state, block.times[-1])
    return Played(state, outcome, sums, None if expected is None else _least_variance(expected))


def _least_variance(expected: Prediction) -> Array:
    return jnp.min(expected.variance / jnp.reshape(expected.noise_variance, (-1, 1)))


@cache
def playing(*, predictions: bool, readings: bool) -> Any:
    """Compile `play` with these recordings; equal arguments return the same function object."""
    function = partial(play, predictions=predictions, readings=readings)
    return jax.jit(function, donate_argnums=0, keep_unused=True)


@partial(jax.jit, donate_argnums=0)
def refresh(state: Any, player: Player[Any]) -> Any:
    return jax.vmap(player.refresh)(state)


@jax.jit
def expect(state: Any, player: Player[Any], time: Any) -> Prediction | None:
    """Return a policy's forecast of every point at `time`, one row for each trial, or None."""
    return jax.vmap(player.predict, in_axes=(0, None))(state, time)
