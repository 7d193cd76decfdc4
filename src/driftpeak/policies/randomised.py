"""Functions shared by policies that draw their queries from a distribution."""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from driftpeak.gp.priors import Prior
from driftpeak.policies.player import Query


def draw(key: PRNGKeyArray, weights: Float[Array, " n"]) -> Query:
    """Draw a point with probability proportional to `weights`; never one of weight 0."""
    cumulative = jnp.cumsum(weights)
    place = jax.random.uniform(key, dtype=float) * cumulative[-1]
    return jnp.searchsorted(cumulative, place, side="right")


def default_reward_bound(prior: Prior) -> float:
    """Return three standard deviations of a reward, noise included."""
    return 3 * math.sqrt(prior.variance.max() + prior.noise_variance)
