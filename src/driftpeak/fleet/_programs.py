"""Compiled programs of a fleet: one step of a batch of members, which differ in everything.

A batch has a fixed size and is run in chunks of `CHUNK` members, whose states fit the processor's
cache. Conditionals for rare work remain conditionals in each chunk in which all members agree.
"""

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from driftpeak._core.numerics.conditionals import out_of_step
from driftpeak._core.numerics.lowered import call
from driftpeak.fleet._layout import Layout
from driftpeak.policies import Player

CHUNK = 128
SIZES = (16, CHUNK, 4 * CHUNK)
"""Sizes of batches: a batch is padded to the next of them, so that few programs are compiled."""
ASK, TELL = 0, 1
"""Kinds of steps that are replayed."""
StepArrays = tuple[Int[Array, "b s"], Int[Array, "b s"], Float[Array, "b s"], Float[Array, "b s"]]
"""Kinds, arms, rewards and times of s steps of b members."""


def _program(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function whose first argument is static; its programs are cached on disk."""
    jitted = jax.jit(function, static_argnums=0, keep_unused=True)

    @wraps(function)
    def run(layout: Layout, *arrays: Any) -> Any:
        return call(jitted, *arrays, static=(layout,))

    return run


@_program
def start(layout: Layout, player: Player[Any], keys: Any, resets: Int[Array, " b"]) -> Array:
    """Return the states of new members; `resets` is the number of resets of each."""

    def one(key: Any, resets: Any) -> Any:
        again = jax.random.fold_in(key, resets)
        words = jnp.where(resets > 0, jax.random.key_data(again), jax.random.key_data(key))
        return player.init(jax.random.wrap_key_data(words))

    return layout.pack(jax.vmap(one)(keys, resets))


def _by_chunk(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function of the members of a batch, and apply it to chunks, one after another."""

    @_program
    @wraps(function)
    def run(layout: Layout, player: Player[Any], *arrays: Any) -> Any:
        size = len(arrays[0])
        with out_of_step():
            if size <= CHUNK:
                return function(layout, player, *arrays)
            cut = jax.tree.map(lambda x: x.reshape(-1, CHUNK, *x.shape[1:]), arrays)
            found = jax.lax.map(lambda chunk: function(layout, player, *chunk), cut)
        return jax.tree.map(lambda x: x.reshape(size, *x.shape[2:]), found)

    return run


@_by_chunk
def ask(
    layout: Layout,
    player: Player[Any],
    rows: Float[Array, "b w"],
    times: Float[Array, " b"],
    pending: tuple[Array, Array, Array],
    among: Bool[Array, "b n"] | None,
) -> tuple[Float[Array, "b c"], Int[Array, " b"]]:
    """Return the changed leaves after a decision of each member, and the points to sample.

    Arguments:
        pending: points and times of pending suggestions, shape `(b, p)`, in the order of time and
            not before the latest step, and their number, shape `(b,)`. They are fantasised at their
            posterior mean.
        among: points that each member may choose; None for all.
    """
    states = layout.unpack(rows)
    after, query = _decide(player, states, times, among)
    most = pending[2].max()

    def with_fantasies() -> Any:
        assumed = _fantasised(player, states, pending, most)
        return jnp.where(pending[2] > 0, _decide(player, assumed, times, among)[1], query)

    query = jax.lax.cond(most > 0, with_fantasies, lambda: query)
    changed = layout.pack(after, changed_only=True) if layout.changed else jnp.zeros((len(rows), 0))
    return changed, query


@_by_chunk
def tell(
    layout: Layout,
    player: Player[Any],
    rows: Float[Array, "b w"],
    arms: Int[Array, " b"],
    rewards: Float[Array, " b"],
    times: Float[Array, " b"],
) -> Float[Array, "b w"]:
    """Return the states after an observation of each member."""
    return layout.pack(jax.vmap(player.tell)(layout.unpack(rows), arms, rewards, times))


def _advance(player: Player[Any], state: Any, kind: Any, arm: Any, reward: Any, time: Any) -> Any:
    """Return the state of one member after a decision, or an observation if `kind` is `TELL`."""
    asked = player.ask(state, time)[0]
    told = player.tell(state, arm, reward, time)
    return jax.tree.map(partial(jnp.where, kind == TELL), told, asked)


@_by_chunk
def replay(
    layout: Layout,
    player: Player[Any],
    rows: Float[Array, "b w"],
    steps: StepArrays,
    counts: Int[Array, " b"],
) -> Float[Array, "b w"]:
    """Return the states after the first `counts` steps of each member."""
    advance = jax.vmap(partial(_advance, player))

    def step(number: Any, states: Any) -> Any:
        seen = [x[:, number] for x in steps]
        return _where(number < counts, advance(states, *seen), states)

    return layout.pack(jax.lax.fori_loop(0, counts.max(), step, layout.unpack(rows)))


@_by_chunk
def errors(
    layout: Layout,
    player: Player[Any],
    rows: Float[Array, "b w"],
    steps: StepArrays,
    counts: Int[Array, " b"],
) -> tuple[Float[Array, " b"], Int[Array, " b"]]:
    """Return the sum of squared standardised errors of one-step forecasts, and their number.

    The forecasts are those of the rewards among the first `counts` steps of each member.
    """

    def one(state: Any, kind: Any, arm: Any, reward: Any, time: Any) -> Any:
        found = player.predict(state, time)
        assert found is not None
        total = jnp.maximum(found.variance[arm], 0.0) + found.noise_variance
        after = _advance(player, state, kind, arm, reward, time)
        return after, (reward - found.mean[arm]) ** 2 / total

    def step(number: Any, before: Any) -> Any:
        states, squares, count = before
        seen = [x[:, number] for x in steps]
        after, error = jax.vmap(one)(states, *seen)
        due = number < counts
        told = due & (seen[0] == TELL)
        return _where(due, after, states), squares + jnp.where(told, error, 0.0), count + told

    size = len(counts)
    first = layout.unpack(rows), jnp.zeros(size), jnp.zeros(size, int)
    return jax.lax.fori_loop(0, counts.max(), step, first)[1:]


@_by_chunk
def read(layout: Layout, player: Player[Any], rows: Float[Array, "b w"]) -> dict[str, Any]:
    """Return the reported quantities of each member."""
    return jax.vmap(player.read)(layout.unpack(rows))


@_by_chunk
def refresh(layout: Layout, player: Player[Any], rows: Float[Array, "b w"]) -> Float[Array, "b w"]:
    """Return the states without accumulated rounding errors."""
    return layout.pack(jax.vmap(player.refresh)(layout.unpack(rows)))


@_by_chunk
def predict(
    layout: Layout, player: Player[Any], rows: Float[Array, "b w"], times: Float[Array, " b"]
) -> Any:
    """Return the prediction of each member at every point, or None."""
    return jax.vmap(player.predict)(layout.unpack(rows), times)


def _decide(player: Player[Any], states: Any, times: Any, among: Any) -> tuple[Any, Any]:
    if among is None:
        return jax.vmap(player.ask)(states, times)
    return jax.vmap(player.ask_among)(states, times, among)


def _fantasised(player: Player[Any], states: Any, pending: Any, most: Any) -> Any:
    """Return the states as if pending suggestions had the rewards that are expected."""
    points, times, counts = pending

    def one(state: Any, point: Any, time: Any) -> Any:
        expected = player.predict(state, time)
        return state if expected is None else player.tell(state, point, expected.mean[point], time)

    def step(number: Any, states: Any) -> Any:
        after = jax.vmap(one)(states, points[:, number], times[:, number])
        return _where(number < counts, after, states)

    return jax.lax.fori_loop(0, most, step, states)


def _where(mask: Any, after: Any, before: Any) -> Any:
    """Return the states after where the mask is true, and the states before elsewhere."""

    def leaf(x: Any, y: Any) -> Any:
        return jnp.where(mask.reshape(-1, *(1,) * (x.ndim - 1)), x, y)

    return jax.tree.map(leaf, after, before)
