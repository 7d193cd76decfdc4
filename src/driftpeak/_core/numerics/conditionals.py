"""Rare heavy work inside a loop over steps that runs many trials at once.

Under `jax.vmap` a `lax.cond` whose predicate differs between trials becomes a `select`: both
branches are computed at every step, for every trial. The functions here stay conditionals.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_batching import custom_vmap
from jaxtyping import Array

from driftpeak._core.types import Scalar

State = TypeVar("State")
Given = TypeVar("Given")
Result = TypeVar("Result")


def lockstep(function: Callable[[Given, State], Result], shared: Given, own: State) -> Result:
    """`function(shared, own)`, for a `shared` that is equal in all trials that run together.

    Such is the number of the step: every trial carries it in its state, so JAX takes it for
    different from trial to trial. Here the first trial's stands for all, and conditionals and loop
    bounds that depend on `shared` alone are decided once.

    Arguments:
        function: pure; whatever arrays it needs come as arguments.
        shared: pytree of arrays. Whoever runs trials with different ones gets wrong results.
        own: pytree of arrays.
    """

    @custom_vmap
    def call(shared: Given, own: State) -> Result:
        return function(shared, own)

    @call.def_vmap
    def rule(size: int, batched: Any, shared: Given, own: State) -> Any:
        first = jax.tree.map(lambda differs, x: x[0] if differs else x, batched[0], shared)
        axes = jax.tree.map(lambda differs: 0 if differs else None, batched[1])
        mapped = jax.vmap(function, in_axes=(None, axes), axis_size=size)
        result = mapped(first, own)
        return result, jax.tree.map(lambda _: True, result)

    return call(shared, own)


def in_room(
    count: Scalar,
    sizes: Sequence[int],
    function: Callable[[int, State], Result],
    own: State,
) -> Result:
    """`function(size, own)` with the smallest of `sizes` that is at least `count`.

    Trials that run together share the size that the largest of their counts needs.

    Arguments:
        count: at most the last size.
        sizes: increasing; a program is compiled for each.
        function: pure; returns arrays whose shapes do not depend on the size.
        own: pytree of arrays.
    """

    @custom_vmap
    def call(count: Array, own: State) -> Result:
        number = jnp.searchsorted(jnp.asarray(sizes), count)
        return jax.lax.switch(number, [partial(function, size) for size in sizes], own)

    @call.def_vmap
    def rule(trials: int, batched: Any, count: Array, own: State) -> Any:
        axes = jax.tree.map(lambda differs: 0 if differs else None, batched[1])

        def mapped(size: int, own: State) -> Result:
            return jax.vmap(partial(function, size), in_axes=(axes,), axis_size=trials)(own)

        result = in_room(count.max(), sizes, mapped, own)
        return result, jax.tree.map(lambda _: True, result)

    return call(count, own)


def on_demand(
    needed: Scalar | np.bool,
    function: Callable[[State, Given], State],
    current: State,
    inputs: Given,
    *,
    together: bool = False,
) -> State:
    """`function(current, inputs)` if `needed`, else `current`, at the cost of what is needed.

    A step at which no trial needs it costs one comparison.

    Arguments:
        needed: whether this trial needs it.
        function: pure; returns what has the structure of `current`.
        current: pytree of arrays that the work replaces.
        inputs: pytree of arrays that it only reads.
        together: serve all trials at once as soon as one is in need, for work that most need at the
            same steps; by default those in need are served one after another.
    """

    if not isinstance(needed, jax.core.Tracer):  # known here and now, as when steps go one by one
        return function(current, inputs) if needed else current

    @custom_vmap
    def call(needed: Array, current: State, inputs: Given) -> State:
        return jax.lax.cond(needed, function, _keep, current, inputs)

    @call.def_vmap
    def rule(size: int, batched: Any, needed: Array, current: State, inputs: Given) -> Any:
        def spread(differs: bool, x: Array) -> Array:
            return x if differs else jnp.broadcast_to(x, (size, *jnp.shape(x)))

        everyone = spread(batched[0], needed)
        states = jax.tree.map(spread, batched[1], current)
        serve = _together if together else _in_turn
        result = jax.lax.cond(
            everyone.any(),
            lambda s: serve(function, everyone, s, inputs, batched[2]),
            _same,
            states,
        )
        return result, jax.tree.map(lambda _: True, result)

    return call(needed, current, inputs)


def _in_turn(
    function: Callable[[State, Given], State],
    needed: Array,
    states: State,
    inputs: Given,
    batched: Any,
) -> State:
    def serve(state: State, trial: Array) -> tuple[State, None]:
        mine = jax.tree.map(lambda x: x[trial], state)
        read = jax.tree.map(lambda differs, x: x[trial] if differs else x, batched, inputs)
        after = jax.lax.cond(needed[trial], function, _keep, mine, read)
        return jax.tree.map(lambda x, y: x.at[trial].set(y), state, after), None

    return jax.lax.scan(serve, states, jnp.arange(len(needed)))[0]


def _together(
    function: Callable[[State, Given], State],
    needed: Array,
    states: State,
    inputs: Given,
    batched: Any,
) -> State:
    axes = jax.tree.map(lambda differs: 0 if differs else None, batched)

    def one(needed: Array, state: State, read: Given) -> State:
        after = function(state, read)
        return jax.tree.map(lambda new, old: jnp.where(needed, new, old), after, state)

    return jax.vmap(one, in_axes=(0, 0, axes))(needed, states, inputs)


def _keep(current: State, inputs: Given) -> State:
    return current


def _same(states: State) -> State:
    return states
