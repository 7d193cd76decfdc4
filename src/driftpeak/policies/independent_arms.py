"""Parts of policies for independent arms: discounted sums, upper bounds, forced exploration."""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from driftpeak._core.types import Scalar
from driftpeak.policies.player import Query


class DiscountedState(NamedTuple):
    """The discounted number of observations of each arm, and their discounted sums."""

    counts: Float[Array, " n"]
    sums: Float[Array, " n"]


def discounted(
    counts: Float[Array, " n"],
    sums: Float[Array, " n"],
    discount: Scalar,
    query: Query,
    reward: Scalar,
) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
    """Return counts and sums after a reward of `query`, with all earlier ones discounted."""
    return (
        jnp.asarray(discount * counts).at[query].add(1.0),
        jnp.asarray(discount * sums).at[query].add(reward),
    )


def upper_bounds(
    counts: Float[Array, " n"],
    sums: Float[Array, " n"],
    total: Scalar,
    width: Any,
    exploration: Any,
) -> Float[Array, " n"]:
    r"""Return \(S_i / N_i + w \sqrt{\xi \log(n) / N_i}\); infinity for an arm with \(N_i = 0\).

    Arguments:
        counts, sums: \(N_i\) and \(S_i\). total: n; values below 1 count as 1.
        width: w, in units of the reward. exploration: \(\xi\).
    """
    played = jnp.where(counts > 0, counts, 1.0)
    bonus = width * jnp.sqrt(exploration * jnp.log(jnp.maximum(total, 1.0)) / played)
    return jnp.where(counts > 0, sums / played + bonus, jnp.inf)


def with_forced(best: Query, step: Array, cycle: Array, arms: int) -> Query:
    """Return arm `step` modulo `cycle` if this is one of 1, ..., `arms`, and otherwise `best`."""
    forced = step % cycle
    return jnp.where((forced >= 1) & (forced <= arms), forced - 1, best)
