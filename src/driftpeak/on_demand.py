"""Work that few steps need, done only at the steps that need it, also when trials run together.

Under `vmap` a `lax.cond` computes both branches for every lane of the batch, at every step. What is
rare but dear would be paid for always; here the batch as a whole decides.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap
from jaxtyping import Array, Bool

State = TypeVar("State")


def on_demand(function: Callable[[State, Any], State]) -> Callable[..., State]:
    """`function(state, arguments)` as `apply(wanted, state, arguments)`: skipped unless wanted.

    Where `wanted` is false the state stays as it is. In a batch the function is computed for all
    lanes as soon as one wants it, and not at all otherwise. `function` must return a state of the
    same structure and close over nothing that JAX is tracing.
    """

    @custom_vmap
    def apply(wanted: Bool[Array, ""], state: State, arguments: Any) -> State:
        return jax.lax.cond(wanted, function, _keep, state, arguments)

    @apply.def_vmap
    def _(lanes: int, batched: Any, wanted: Any, state: Any, arguments: Any) -> Any:
        wanted, state = jax.tree.map(
            lambda leaf, own: leaf if own else jnp.broadcast_to(leaf, (lanes, *jnp.shape(leaf))),
            (wanted, state),
            tuple(batched[:2]),
        )
        axes = jax.tree.map(lambda own: 0 if own else None, batched[2])

        def for_all(state: Any, arguments: Any) -> Any:
            after = jax.vmap(function, in_axes=(0, axes))(state, arguments)
            return jax.vmap(
                lambda wanted, new, old: jax.tree.map(
                    lambda a, b: jnp.where(wanted, a, b), new, old
                )
            )(wanted, after, state)

        result = jax.lax.cond(wanted.any(), for_all, _keep, state, arguments)
        return result, jax.tree.map(lambda _: True, result)

    return apply


def _keep(state: Any, arguments: Any) -> Any:
    return state
