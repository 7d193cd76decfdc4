r"""Discount, Weights and Injection in feature space: every old observation is reweighted each step.

All that the posterior needs of the past is each arm's summed precision
\(p_x = \sum_{s: x_s = x} 1/(\lambda h_s)\) and its precision-weighted reward: the weights'
precision is \(I + \Phi^\top \mathrm{diag}(p) \Phi\), an r x r factorisation, O(n r^2 + r^3).
"""

from abc import abstractmethod
from typing import NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from driftpeak.beliefs.history import History
from driftpeak.beliefs.posterior import Belief, FeaturePrior, Posterior, Scalar
from driftpeak.features import Features
from driftpeak.forgetting import Forgetting
from driftpeak.precision import require_double_precision
from driftpeak.priors import Prior

Vector = Float[Array, " n"]
State = TypeVar("State")


class Reweighted(Belief[State]):
    """The posterior from each arm's precision. Subclasses say how the precisions are gathered."""

    prior: FeaturePrior
    forgetting: Forgetting

    @property
    def points(self) -> int:
        return len(self.prior.variance)

    @abstractmethod
    def gathered(self, state: State, time: Scalar) -> tuple[Vector, Vector, Int[Array, ""]]:
        """Each arm's precision and precision-weighted reward at `time`; observations in memory."""

    def posterior(self, state: State, time: Scalar) -> Posterior:
        precision, weighted, count = self.gathered(state, time)
        features = jnp.asarray(self.prior.features)
        inverse, weight_mean = _solve(features, precision, weighted)
        missed = self.prior.variance - jnp.sum(features**2, axis=1)
        return Posterior(
            mean=self.prior.mean + features @ weight_mean,
            variance=missed + jnp.sum((features @ inverse.T) ** 2, axis=1),
            information=-jnp.log(inverse.diagonal()).sum(),
            observations=count,
        )

    def sample(self, state: State, time: Scalar, key: PRNGKeyArray) -> Vector:
        precision, weighted, _ = self.gathered(state, time)
        features = jnp.asarray(self.prior.features)
        inverse, weight_mean = _solve(features, precision, weighted)
        normal = jax.random.normal(key, weight_mean.shape, dtype=float)
        return self.prior.mean + features @ (weight_mean + inverse.T @ normal)


def _solve(
    features: Float[Array, "n r"], precision: Vector, weighted: Vector
) -> tuple[Float[Array, "r r"], Float[Array, " r"]]:
    """The inverse Cholesky factor of the weights' precision, and the weights' mean."""
    matrix = features.T @ (precision[:, None] * features) + jnp.eye(features.shape[1])
    lower = jnp.linalg.cholesky(matrix)
    inverse = jax.scipy.linalg.solve_triangular(lower, jnp.eye(len(lower)), lower=True)
    return inverse, inverse.T @ (inverse @ (features.T @ weighted))


class ScalingState(NamedTuple):
    """Sums over each arm's observations, relative to the newest observation."""

    precision: Vector
    weighted: Vector
    newest: Float[Array, ""]
    observations: Int[Array, ""]


class Scaling(Reweighted[ScalingState]):
    """Discount and Weights, whose weights all shrink by one factor from step to step.

    The sums are kept relative to the newest observation, so that nothing can overflow.
    """

    def __init__(self, prior: Prior, forgetting: Forgetting, features: Features) -> None:
        self.prior = FeaturePrior(prior, features)
        self.forgetting = forgetting

    def init(self) -> ScalingState:
        require_double_precision()
        zeros = jnp.zeros(len(self.prior.variance))
        return ScalingState(zeros, zeros, jnp.zeros(()), jnp.zeros((), int))

    def update(
        self, state: ScalingState, arm: Scalar, reward: Scalar, time: Scalar
    ) -> ScalingState:
        stamp = self.forgetting.stamp(time, state.observations)
        factor = jnp.where(state.observations > 0, self.forgetting.weight(state.newest, stamp), 0.0)
        noise = self.prior.noise_variance
        residual = reward - jnp.asarray(self.prior.mean)[arm]
        return ScalingState(
            precision=(factor * state.precision).at[arm].add(1 / noise),
            weighted=(factor * state.weighted).at[arm].add(residual / noise),
            newest=stamp,
            observations=state.observations + 1,
        )

    def gathered(self, state: ScalingState, time: Scalar) -> tuple[Vector, Vector, Scalar]:
        present = self.forgetting.present(state.newest, time)
        factor = jnp.where(
            state.observations > 0, self.forgetting.weight(state.newest, present), 0.0
        )
        return factor * state.precision, factor * state.weighted, state.observations


class Remembering(Reweighted[History]):
    """Any reweighting rule, from a list of the observations: Injection has no shorter summary."""

    capacity: int = eqx.field(static=True)

    def __init__(
        self, prior: Prior, forgetting: Forgetting, features: Features, capacity: int
    ) -> None:
        self.prior = FeaturePrior(prior, features)
        self.forgetting = forgetting
        self.capacity = capacity

    def init(self) -> History:
        require_double_precision()
        return History.empty(self.capacity)

    def update(self, state: History, arm: Scalar, reward: Scalar, time: Scalar) -> History:
        residual = reward - jnp.asarray(self.prior.mean)[arm]
        return state.append(arm, residual, time, self.forgetting)

    def gathered(self, state: History, time: Scalar) -> tuple[Vector, Vector, Scalar]:
        precision = state.weights(time, self.forgetting) / self.prior.noise_variance
        zeros = jnp.zeros(len(self.prior.variance))
        return (
            zeros.at[state.arms].add(precision),
            zeros.at[state.arms].add(precision * state.residuals),
            state.held,
        )
