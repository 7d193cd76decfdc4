"""What policies that draw their queries from a distribution share."""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from driftpeak.gp.priors import Prior
from driftpeak.policies.player import Query


def draw(key: PRNGKeyArray, weights: Float[Array, " n"]) -> Query:
    """A point drawn with probabilities proportional to `weights`; never one of weight 0."""
    cumulative = jnp.cumsum(weights)
    place = jax.random.uniform(key, dtype=float) * cumulative[-1]
    return jnp.searchsorted(cumulative, place, side="right")


def default_reward_bound(prior: Prior) -> float:
    """Three deviations of a reward, noise included, around the prior mean."""
    return 3 * math.sqrt(prior.variance.max() + prior.noise_variance)
