"""Conditionals for rare, expensive work inside a loop over steps that runs many trials at once.

Under `jax.vmap`, a `lax.cond` whose predicate differs between trials becomes a `select`, which
computes both branches at every step for every trial. The functions here remain conditionals.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
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

_out_of_step: ContextVar[bool] = ContextVar("_out_of_step", default=False)


@contextmanager
def out_of_step() -> Iterator[None]:
    """Trace `lockstep` for batches in which the shared values may differ, as in a fleet.

    Where they are equal in a whole batch, its conditionals are still decided once.
    """
    before = _out_of_step.set(True)
    try:
        yield
    finally:
        _out_of_step.reset(before)


def lockstep(function: Callable[[Given, State], Result], shared: Given, own: State) -> Result:
    """Return `function(shared, own)` for a `shared` that is equal in all trials of a batch.

    An example is the number of the step: each trial has it in its state, so JAX assumes that it
    differs between trials. This function uses the value of the first trial for all of them.
    Conditionals and loop bounds that depend on `shared` only are then decided once.

    Arguments:
        function: pure; all arrays that it needs are arguments.
        shared: pytree of arrays. Results are wrong if it differs between trials, unless the program
            is traced inside `out_of_step`.
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
        differing = [
            x
            for differs, x in zip(jax.tree.leaves(batched[0]), jax.tree.leaves(shared), strict=True)
            if differs
        ]
        if _out_of_step.get() and differing:
            own_axes = jax.tree.map(lambda differs: 0 if differs else None, batched[0])
            each = jax.vmap(function, in_axes=(own_axes, axes), axis_size=size)
            equal = jnp.stack([(x == x[:1]).all() for x in differing]).all()
            result = jax.lax.cond(equal, lambda: mapped(first, own), lambda: each(shared, own))
        else:
            result = mapped(first, own)
        return result, jax.tree.map(lambda _: True, result)

    return call(shared, own)


def in_room(
    count: Scalar,
    sizes: Sequence[int],
    function: Callable[[int, State], Result],
    own: State,
) -> Result:
    """Return `function(size, own)` with the smallest of `sizes` that is at least `count`.

    The trials of a batch share one size, the smallest that is enough for their largest count.

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
    """Return `function(current, inputs)` if `needed`, else `current`.

    The function is computed only for trials that need it. A step at which no trial needs it costs
    one comparison.

    Arguments:
        needed: whether this trial needs the function.
        function: pure; returns a pytree with the structure of `current`.
        current: pytree of arrays that the function replaces.
        inputs: pytree of arrays that the function only reads.
        together: whether to compute all trials at once if any needs it, which suits work that most
            trials need at the same steps. By default, the trials that need it run one by one.
    """

    if not isinstance(needed, jax.core.Tracer):  # a concrete value, as when steps run one by one
        return function(current, inputs) if needed else current

    @custom_vmap
    def call(needed: Array, current: State, inputs: Given) -> State:
        return jax.lax.cond(needed, function, _keep, current, inputs)

    @call.def_vmap
    def rule(size: int, batched: Any, needed: Array, current: State, inputs: Given) -> Any:
        def spread(differs: bool, x: Array) -> Array:
            return x if differs else jnp.broadcast_to(x, (size, *jnp.shape(x)))

        need = spread(batched[0], needed)
        states = jax.tree.map(spread, batched[1], current)
        serve = _together if together else _in_turn
        result = jax.lax.cond(
            need.any(),
            lambda s: serve(function, need, s, inputs, batched[2]),
            lambda s: s,
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

    def trial(needed: Array, state: State, read: Given) -> State:
        after = function(state, read)
        return jax.tree.map(lambda new, old: jnp.where(needed, new, old), after, state)

    return jax.vmap(trial, in_axes=(0, 0, axes))(needed, states, inputs)


def _keep(current: State, inputs: Given) -> State:
    return current
