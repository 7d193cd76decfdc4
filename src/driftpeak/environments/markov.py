"""B16's model of drift: a Gaussian process that forgets itself a little at every step."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from driftpeak._types import AnyArray, Scalar
from driftpeak.environments.protocol import Environment
from driftpeak.forgetting import Drift
from driftpeak.priors import Prior


class MarkovState(NamedTuple):
    """The weights of the features, when, and how many steps were made."""

    weights: Float[Array, " r"]
    time: Float[Array, ""]
    step: Int[Array, ""]
    key: PRNGKeyArray


class MarkovDrift(Environment[MarkovState]):
    r"""A Gaussian process under Markov drift (B16 (3)-(4)).

    \(f_1 \sim GP(m, k)\) and \(f_{t+1} - m = \sqrt{1-\epsilon}(f_t - m) + \sqrt\epsilon\,g_{t+1}\)
    with independent \(g_t \sim GP(0, k)\).

    Over a time of length v the correlation falls to \((1-\epsilon)^{v/2}\), for any real v.

    Arguments:
        prior: domain, kernel, mean and noise variance of the world. Its functions are drawn through
            features exact to 1e-10 of the prior variance.
        drift: epsilon in [0, 1].

    Raises:
        DriftpeakError: drift outside [0, 1].
    """

    features: AnyArray
    mean: AnyArray
    noise_variance: Scalar
    rule: Drift

    def __init__(self, prior: Prior, *, drift: float) -> None:
        self.features = prior.features.matrix
        self.mean = prior.mean
        self.noise_variance = np.float64(prior.noise_variance)
        self.rule = Drift(drift)

    def init(self, key: PRNGKeyArray) -> MarkovState:
        zeros = jnp.zeros(self.features.shape[1])
        return MarkovState(zeros, jnp.zeros(()), jnp.zeros((), int), key)

    def step(self, state: MarkovState, time: Scalar) -> tuple[MarkovState, Float[Array, " n"]]:
        c = jnp.where(state.step == 0, 0.0, self.rule.correlation(time - state.time))
        key = jax.random.fold_in(state.key, state.step)
        fresh = jax.random.normal(key, state.weights.shape, dtype=float)
        weights = c * state.weights + jnp.sqrt(1 - c**2) * fresh
        values = jnp.asarray(self.mean) + jnp.asarray(self.features) @ weights
        return MarkovState(weights, jnp.asarray(time, float), state.step + 1, state.key), values
