r"""Keep, Restart, Window and Drift in feature space, where a step costs the same at any t.

\(f = m_0 + \Phi \theta\) with r weights \(\theta \sim N(0, I)\), and a Kalman filter on the
weights: rank-one updates, O(n r + r^2) a step.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from driftpeak.beliefs.posterior import Belief, FeaturePrior, Posterior, Scalar, fade
from driftpeak.features import Features
from driftpeak.forgetting import Forgetting, Window
from driftpeak.numerics.precision import require_double_precision
from driftpeak.priors import Prior

Vector = Float[Array, " n"]


LEAST_RING = 64


class KalmanState(NamedTuple):
    """Moments of the r weights and, kept beside them, of the function's n values."""

    weight_mean: Float[Array, " r"]
    weight_covariance: Float[Array, "r r"]
    mean: Vector
    variance: Vector
    information: Float[Array, ""]
    observations: Int[Array, ""]
    time: Float[Array, ""]
    arms: Int[Array, " w"]  # the window's observations, a ring; empty without a window
    residuals: Float[Array, " w"]


class Kalman(Belief[KalmanState]):
    r"""Keep, Restart, Drift and Window as a Kalman filter on the weights.

    Between observations, with correlation c (0 at a restart),
    \(m \leftarrow c\,m\), \(P \leftarrow c^2 P + (1 - c^2) I\); an observation of features
    \(\phi\) has gain \(g = P\phi\), \(s = \phi^\top g + \lambda\),
    \(m \leftarrow m + g (y - \phi^\top m)/s\), \(P \leftarrow P - g g^\top / s\). Dropping the
    window's oldest observation is the same step with \(-\lambda\) for \(\lambda\).
    """

    prior: FeaturePrior
    forgetting: Forgetting
    ring: int = eqx.field(static=True)

    def __init__(
        self, prior: Prior, forgetting: Forgetting, features: Features, capacity: int
    ) -> None:
        self.prior = FeaturePrior(prior, features)
        self.forgetting = forgetting
        # room in powers of two: one compiled program serves many windows
        most = max(LEAST_RING, 1 << (capacity - 1).bit_length())
        self.ring = most if isinstance(forgetting, Window) else 0

    @property
    def window(self) -> Any:
        """The observations that count; None where the rule is no window."""
        return self.forgetting.length if isinstance(self.forgetting, Window) else None

    @property
    def points(self) -> int:
        return len(self.prior.variance)

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
            arms=jnp.zeros(self.ring, int),
            residuals=jnp.zeros(self.ring),
        )

    def posterior(self, state: KalmanState, time: Scalar) -> Posterior:
        c, kept = self._elapse(state, time)
        return Posterior(
            mean=self.prior.mean + c * state.mean,
            variance=fade(c, state.variance, self.prior.variance),
            information=jnp.where(kept, state.information, 0.0),
            observations=jnp.where(kept, self._held(state.observations), 0),
        )

    def update(self, state: KalmanState, arm: Scalar, reward: Scalar, time: Scalar) -> KalmanState:
        c, kept = self._elapse(state, time)
        features, noise = jnp.asarray(self.prior.features), self.prior.noise_variance
        residual = reward - jnp.asarray(self.prior.mean)[arm]
        mean, variance = c * state.mean, fade(c, state.variance, self.prior.variance)
        weight_mean, covariance = c * state.weight_mean, state.weight_covariance
        information = jnp.where(kept, state.information, 0.0)
        count = jnp.where(kept, state.observations, 0)
        new = features[arm]
        # (I - c^2 I) is added to P below, together with the rank-one terms: one pass over P
        gain = fade(c, covariance @ new, new)
        arms, residuals = state.arms, state.residuals
        drop = jnp.zeros_like(covariance)
        if self.window is not None:
            slot = state.observations % self.window
            full = state.observations >= self.window
            oldest = features[arms[slot]]
            out = covariance @ oldest
            scale = jnp.where(full, noise - oldest @ out, 1.0)
            surprise = residuals[slot] - oldest @ weight_mean
            factor = jnp.where(full, 1 / scale, 0.0)
            weight_mean = weight_mean - out * factor * surprise
            cross = features @ out
            mean = mean - cross * factor * surprise
            variance = variance + cross**2 * factor
            gain = gain + out * factor * (out @ new)
            drop = factor * jnp.outer(out, out)
            information = information - jnp.where(full, 0.5 * jnp.log(noise / scale), 0.0)
            arms, residuals = arms.at[slot].set(arm), residuals.at[slot].set(residual)
        scale = new @ gain + noise
        surprise = residual - new @ weight_mean
        cross = features @ gain
        return KalmanState(
            weight_mean=weight_mean + gain * (surprise / scale),
            weight_covariance=fade(c, covariance, jnp.eye(len(gain)))
            + drop
            - jnp.outer(gain, gain) / scale,
            mean=mean + cross * (surprise / scale),
            variance=variance - cross**2 / scale,
            information=information + 0.5 * jnp.log(scale / noise),
            observations=count + 1,
            time=jnp.asarray(time, dtype=float),
            arms=arms,
            residuals=residuals,
        )

    def sample(self, state: KalmanState, time: Scalar, key: PRNGKeyArray) -> Vector:
        c, _ = self._elapse(state, time)
        covariance = fade(c, state.weight_covariance, jnp.eye(len(state.weight_mean)))
        normal = jax.random.normal(key, state.weight_mean.shape, dtype=float)
        weights = c * state.weight_mean + jnp.linalg.cholesky(covariance) @ normal
        return self.prior.mean + self.prior.features @ weights

    def refresh(self, state: KalmanState) -> KalmanState:
        """Recompute a window's moments from its observations, and the values from the weights.

        Adding and dropping leaves the rounding error of every step behind for good, so a window's
        weights are computed afresh; the other rules forget their errors or add too few to matter.
        """
        features = jnp.asarray(self.prior.features)
        if self.window is not None:
            held = jnp.arange(self.ring) < self._held(state.observations)
            rows = features[state.arms] * held[:, None]
            precision = rows.T @ rows / self.prior.noise_variance + jnp.eye(rows.shape[1])
            inverse = jnp.linalg.inv(jnp.linalg.cholesky(precision))
            covariance = inverse.T @ inverse
            weight_mean = covariance @ (rows.T @ state.residuals) / self.prior.noise_variance
            state = state._replace(
                weight_mean=weight_mean,
                weight_covariance=covariance,
                information=-jnp.log(inverse.diagonal()).sum(),
            )
        explained = jnp.eye(len(state.weight_mean)) - state.weight_covariance
        return state._replace(
            mean=features @ state.weight_mean,
            variance=self.prior.variance - jnp.sum((features @ explained) * features, axis=1),
        )

    def _elapse(self, state: KalmanState, time: Scalar) -> tuple[Scalar, Scalar]:
        kept = self.forgetting.same_epoch(state.time, time)
        faded = self.forgetting.correlation(jnp.maximum(time - state.time, 0.0))
        return jnp.where(kept, faded, 0.0), kept

    def _held(self, count: Scalar) -> Scalar:
        return count if self.window is None else jnp.minimum(count, self.window)
