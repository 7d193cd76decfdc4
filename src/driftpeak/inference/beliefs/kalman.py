r"""Keep, Restart and Drift in feature space, where the cost of a step does not depend on t.

\(f = m_0 + \Phi \theta\) with r weights \(\theta \sim N(0, I)\). A Kalman filter updates the
weights with rank-one updates, O(n r + r^2) a step.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from driftpeak._core.numerics.conditionals import on_demand
from driftpeak._core.numerics.precision import require_double_precision
from driftpeak._core.types import Scalar, Values
from driftpeak.gp.features import Features
from driftpeak.gp.forgetting import Forgetting
from driftpeak.gp.priors import Prior
from driftpeak.inference.beliefs.posterior import AFRESH, Fading, FeaturePrior, fade
from driftpeak.inference.beliefs.weights import draw


class KalmanState(NamedTuple):
    """Moments of the r weights and of the n values of the function."""

    weight_mean: Float[Array, " r"]
    weight_covariance: Float[Array, "r r"]
    mean: Values
    variance: Values
    information: Float[Array, ""]
    observations: Int[Array, ""]
    time: Float[Array, ""]


class Kalman(Fading[KalmanState]):
    r"""A posterior for Keep, Restart and Drift, as a Kalman filter on the weights.

    Between observations, with correlation c (0 at a restart),
    \(m \leftarrow c\,m\), \(P \leftarrow c^2 P + (1 - c^2) I\). An observation of features
    \(\phi\) has gain \(g = P\phi\), \(s = \phi^\top g + \lambda\),
    \(m \leftarrow m + g (y - \phi^\top m)/s\), \(P \leftarrow P - g g^\top / s\).
    """

    prior: FeaturePrior
    forgetting: Forgetting

    def __init__(self, prior: Prior, forgetting: Forgetting, features: Features) -> None:
        self.prior = FeaturePrior(prior, features)
        self.forgetting = forgetting

    def init(self) -> KalmanState:
        require_double_precision()
        rank = self.prior.features.shape[1]
        return KalmanState(
            weight_mean=jnp.zeros(rank),
            weight_covariance=jnp.eye(rank),
            mean=jnp.zeros(self.points),
            variance=jnp.asarray(self.prior.variance),
            information=jnp.zeros(()),
            observations=jnp.zeros((), int),
            time=jnp.zeros(()),
        )

    def update(self, state: KalmanState, arm: Scalar, reward: Scalar, time: Scalar) -> KalmanState:
        c, same_epoch = self._elapse(state, time)
        features, noise = self.prior.features, self.prior.noise_variance
        residual = reward - jnp.asarray(self.prior.mean)[arm]
        variance = fade(c, state.variance, self.prior.variance)
        covariance, new = state.weight_covariance, features.rows(arm)
        gain = fade(c, covariance @ new, new)
        scale = new @ gain + noise
        weight_mean = c * state.weight_mean
        surprise = (residual - new @ weight_mean) / scale
        weight_mean, cross = weight_mean + gain * surprise, features.values(gain)
        count = jnp.where(same_epoch, state.observations, 0) + 1
        # updated separately from the weights, the values accumulate rounding errors
        mean = c * state.mean + cross * surprise
        inputs = (features, weight_mean)
        mean = on_demand(count % AFRESH == 0, _values, mean, inputs, together=True)
        return KalmanState(
            weight_mean=weight_mean,
            weight_covariance=fade(c, covariance, jnp.eye(len(gain)))
            - jnp.outer(gain, gain) * (1 / scale),
            mean=mean,
            variance=variance - cross**2 * (1 / scale),
            information=jnp.where(same_epoch, state.information, 0.0)
            + 0.5 * jnp.log(scale / noise),
            observations=count,
            time=jnp.asarray(time, dtype=float),
        )

    def sample(self, state: KalmanState, time: Scalar, key: PRNGKeyArray) -> Values:
        c, _ = self._elapse(state, time)
        covariance = fade(c, state.weight_covariance, jnp.eye(len(state.weight_mean)))
        weights = draw(state.weight_mean * c, covariance, key)
        return self.prior.mean + self.prior.features.values(weights)

    def refresh(self, state: KalmanState) -> KalmanState:
        """Recompute the values from the weights."""
        features = self.prior.features
        explained = jnp.eye(len(state.weight_mean)) - state.weight_covariance
        return state._replace(
            mean=features.values(state.weight_mean),
            variance=self.prior.variance - features.quadratic_forms(explained),
        )


def _values(_: Values, inputs: tuple[Any, Any]) -> Values:
    features, weights = inputs
    return features.values(weights)
