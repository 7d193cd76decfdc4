"""Functions shared by policies that draw their queries from a distribution."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from driftpeak._core.types import Scalar
from driftpeak.policies.player import Query


def draw(key: PRNGKeyArray, weights: Float[Array, " n"]) -> Query:
    """Draw a point with probability proportional to `weights`; never one of weight 0."""
    cumulative = jnp.cumsum(weights)
    place = jax.random.uniform(key, dtype=float) * cumulative[-1]
    return jnp.searchsorted(cumulative, place, side="right")


def sometimes_uniform(key: PRNGKeyArray, best: Query, probability: Scalar, points: int) -> Query:
    """Return a point drawn uniformly with this probability, and otherwise `best`."""
    explores, where = jax.random.split(key)
    anywhere = jax.random.randint(where, (), 0, points)
    return jnp.where(jax.random.uniform(explores) < probability, anywhere, best)


def mixed(log_weights: Float[Array, " n"], share: Scalar) -> Float[Array, " n"]:
    """Return probabilities: those of the weights, mixed with a `share` of the uniform ones."""
    uniform = share / len(log_weights)
    return jnp.asarray((1 - share) * jax.nn.softmax(log_weights) + uniform)
