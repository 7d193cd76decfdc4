"""The state of a player as one row of numbers, so that the states of a fleet are one array."""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from driftpeak.policies import Player


class Leaf(NamedTuple):
    """One array of a state: its place in the row, its shape and its type."""

    first: int
    last: int
    shape: tuple[int, ...]
    dtype: Any
    key: bool  # whether it is a random key, stored as its two words
    changed: bool  # whether `ask` may change it


class Layout(NamedTuple):
    """The places of all arrays of a state in a row.

    Integers and the words of random keys are stored as doubles, which represent them exactly.
    """

    leaves: tuple[Leaf, ...]
    tree: Any

    @property
    def width(self) -> int:
        """Number of doubles of a row."""
        return self.leaves[-1].last if self.leaves else 0

    @property
    def changed(self) -> list[int]:
        """Columns of the leaves that `ask` may change."""
        return [c for leaf in self.leaves if leaf.changed for c in range(leaf.first, leaf.last)]

    def pack(self, states: Any, *, changed_only: bool = False) -> Float[Array, "b w"]:
        """Return the states of a batch as rows, or only the leaves that `ask` may change."""
        columns = [
            (jax.random.key_data(x) if leaf.key else x).reshape(len(x), -1).astype(float)
            for leaf, x in zip(self.leaves, jax.tree.leaves(states), strict=True)
            if leaf.changed or not changed_only
        ]
        return jnp.concatenate(columns, axis=1)

    def unpack(self, rows: Float[Array, "b w"]) -> Any:
        """Return the states of rows."""
        leaves = []
        for leaf in self.leaves:
            x = rows[:, leaf.first : leaf.last].reshape(len(rows), *leaf.shape).astype(leaf.dtype)
            leaves.append(jax.random.wrap_key_data(x) if leaf.key else x)
        return jax.tree.unflatten(self.tree, leaves)


def layout_of(player: Player[Any]) -> Layout:
    """Return the layout of a player's state."""
    state = jax.eval_shape(player.init, jax.random.key(0))
    arrays, tree = jax.tree.flatten(state)
    leaves, first = [], 0
    for x, changed in zip(arrays, _changed_by_ask(player, arrays, tree), strict=True):
        key = jnp.issubdtype(x.dtype, jax.dtypes.prng_key)
        words = jax.eval_shape(jax.random.key_data, x) if key else x
        size = math.prod(words.shape)
        leaves.append(Leaf(first, first + size, words.shape, words.dtype, bool(key), changed))
        first += size
    return Layout(tuple(leaves), tree)


def _changed_by_ask(player: Player[Any], inputs: list[Any], tree: Any) -> list[bool]:
    """Return which leaves of the state `ask` may change.

    The others are outputs of its program that are also its inputs. Most policies change only the
    number of decisions and the random key, so that few numbers are written back.
    """

    def ask(leaves: Any, time: Any) -> Any:
        return jax.tree.leaves(player.ask(jax.tree.unflatten(tree, leaves), time)[0])

    program = jax.make_jaxpr(ask)(inputs, jnp.zeros(())).jaxpr
    pairs = zip(program.outvars, program.invars[: len(inputs)], strict=True)
    return [after is not before for after, before in pairs]
