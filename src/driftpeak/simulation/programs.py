"""The compiled programs of a simulation: one block of steps, all trials of a group at once."""

import time as clock
from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from driftpeak._core.numerics.compiler import soon
from driftpeak.environments import Environment
from driftpeak.environments.noise import Noise
from driftpeak.policies import Player
from driftpeak.policies.player import Prediction

TOGETHER = 256
"""Functions that a world makes of its states at once, about: more are hardly sooner made."""


class Keys(NamedTuple):
    """Each trial's sources of randomness."""

    world: PRNGKeyArray
    noise: PRNGKeyArray
    policy: PRNGKeyArray  # the same for all policies
    expert: PRNGKeyArray  # of the noise on answers to side queries


@jax.jit
def random_keys(seed: Any, trials: Any) -> Keys:
    """The keys of the trials with these numbers."""
    each = jax.vmap(jax.random.fold_in, in_axes=(None, 0))
    return Keys(*(each(key, trials) for key in jax.random.split(jax.random.key(seed), 4)))


@jax.jit
def start(part: Any, keys: Any) -> Any:
    """The states of a policy or an environment before the first step, one for each key."""
    return jax.vmap(part.init)(keys)


@partial(jax.jit, donate_argnums=1)
def advance(
    world: Environment[Any], state: Any, times: Float[Array, " t"]
) -> tuple[Any, Float[Array, "t trials n"], Float[Array, "t trials"]]:
    """The functions of all trials over a block of steps, and their maxima."""

    def step(state: Any, time: Any) -> tuple[Any, Any]:
        return jax.vmap(world.move, in_axes=(0, None))(state, time)

    def some(state: Any, times: Any) -> tuple[Any, Any]:
        state, moved = jax.lax.scan(step, state, times)
        values = world.values(moved)
        return state, (values, _maximum(values))

    trials = len(jax.tree.leaves(state)[0])
    together = min(max(1, TOGETHER // trials), len(times))
    whole = len(times) // together * together
    state, found = jax.lax.scan(some, state, times[:whole].reshape(-1, together))
    values, best = (one.reshape(whole, *one.shape[2:]) for one in found)
    if whole < len(times):
        state, rest = some(state, times[whole:])
        values, best = (jnp.concatenate(both) for both in zip((values, best), rest, strict=True))
    return state, values, best


def _maximum(values: Array) -> Array:
    """The largest of n values each; NaN where any of them is NaN or infinite."""
    return jnp.where(jnp.isfinite(values).all(axis=-1), values.max(axis=-1), jnp.nan)


@partial(jax.jit, donate_argnums=1)
def foretell(player: Player[Any], state: Any, values: Array, here: Array) -> Any:
    """Show a policy the true functions of a block; `here` is false on padding."""

    def step(state: Any, seen: Any) -> tuple[Any, None]:
        now, counts = seen
        after = jax.vmap(player.inform)(state, now)
        return jax.tree.map(partial(jnp.where, counts), after, state), None

    return jax.lax.scan(step, state, (values, here))[0]


class Block(NamedTuple):
    """Steps that are played in one go; numbers from the run's length on are padding."""

    values: Float[Array, "t trials n"]
    best: Float[Array, "t trials"]
    times: Float[Array, " t"]
    numbers: Int[Array, " t"]  # from 0


class Chance(NamedTuple):
    """The noise on rewards and, drawn apart, on an expert's answers."""

    reward_keys: PRNGKeyArray
    answer_keys: PRNGKeyArray
    noise: Noise


class Outcome(NamedTuple):
    """What one policy did in one block, each of shape `(steps, trials)`; None if it never does."""

    action: Array
    reward: Array
    regret: Array
    restarts: Array
    side_queries: Array | None = None
    squared_error: Array | None = None
    readings: dict[str, Array] | None = None  # by name, further axes last


class Played(NamedTuple):
    """A policy after a block of steps, what it did there, and how it erred in sum.

    `error_sums` has shape `(trials, n)`: squared errors of what it expected of every point, summed
    over the steps of the block; None where predictions are not wanted or there are none.
    `least_variance` is the least that it expects anything to vary at the end of the block, in units
    of the noise variance, over trials and points; None where it expects nothing.
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
    """One player, one block of a run of `steps` steps, all trials of the group."""

    def trial(
        state: Any,
        now: Array,
        top: Array,
        key: PRNGKeyArray,
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
        normal = jax.random.normal(jax.random.fold_in(key, number), dtype=float)
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
        now, top, time, number = inputs
        trials = jax.vmap(trial, in_axes=(0, 0, 0, 0, 0, None, None))
        state, outcome, errors = trials(
            state, now, top, chance.reward_keys, chance.answer_keys, time, number
        )
        return (state, sums if errors is None else sums + errors), outcome

    sums = jnp.zeros(block.values.shape[1:]) if predictions else None
    (state, sums), outcome = jax.lax.scan(step, (state, sums), tuple(block))
    sums = None if outcome.squared_error is None else sums
    expected = jax.vmap(player.predict, in_axes=(0, None))(state, block.times[-1])
    return Played(state, outcome, sums, None if expected is None else _least_variance(expected))


def _least_variance(expected: Prediction) -> Array:
    return jnp.min(expected.variance / jnp.reshape(expected.noise_variance, (-1, 1)))


@cache
def playing(*, predictions: bool, readings: bool) -> Callable[..., Played]:
    """`play`, recording more or less; equal wishes give the same function."""
    return partial(play, predictions=predictions, readings=readings)


@partial(jax.jit, donate_argnums=0)
def refresh(state: Any, player: Player[Any]) -> Any:
    return jax.vmap(player.refresh)(state)


@jax.jit
def expect(state: Any, player: Player[Any], time: Any) -> Prediction | None:
    """What a policy expects of every point at `time`, one row for each trial; None if nothing."""
    return jax.vmap(player.predict, in_axes=(0, None))(state, time)


MOST_PROGRAMS = 256
LITTLE = 2**23
"""Values of functions; a run that sees fewer takes longer to be compiled than to be played."""
_programs: dict[Any, Any] = {}


def compiled(
    function: Callable[..., Any], arguments: tuple[Any, ...], *, little: bool = False
) -> tuple[Any, float]:
    """The compiled program for arguments like these, and the seconds it took if it is new.

    `jax.jit` keeps such a table too, but compiles inside the first call, where it cannot be timed.

    Arguments:
        little: there is little to compute (`LITTLE`), so that it should be compiled soon. Results
            are the same but for rounding.
    """
    leaves, structure = jax.tree.flatten(arguments)
    # a program is compiled for the device on which its arguments are
    devices = frozenset[Any]().union(*(leaf.devices() for leaf in leaves))
    shapes = tuple((leaf.shape, leaf.dtype) for leaf in leaves)
    key = (function, structure, shapes, devices, little)
    if key in _programs:
        return _programs[key], 0.0
    started = clock.perf_counter()
    lowered = jax.jit(function, donate_argnums=0).lower(*arguments)
    program = lowered.compile(soon() if little else None)
    if len(_programs) >= MOST_PROGRAMS:
        _programs.pop(next(iter(_programs)))
    _programs[key] = program
    return program, clock.perf_counter() - started


def forget_programs() -> None:
    """Let go of the compiled programs; those that are wanted again are compiled again."""
    _programs.clear()
