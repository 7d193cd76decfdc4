r"""Discount, Weights and Injection in feature space: every old observation is reweighted each step.

All that the posterior needs of the past are two sums over the observations, of information
\(\Lambda = \sum_s \phi_s \phi_s^\top / (\lambda h_s)\) and of \(\phi_s y_s / (\lambda h_s)\): the
weights' posterior precision is \(I + \Lambda\), one r x r factorisation, O(n r^2 + r^3) a step.
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
from driftpeak.numerics.precision import require_double_precision
from driftpeak.priors import Prior

Vector = Float[Array, " n"]
State = TypeVar("State")


class Gathered(NamedTuple):
    """What is known of the r weights at one time."""

    information: Float[Array, "r r"]
    weighted: Float[Array, " r"]  # sum of features times reward / noise variance
    observations: Int[Array, ""]


class Reweighted(Belief[State]):
    """The posterior from the gathered sums. Subclasses say how they are gathered."""

    prior: FeaturePrior
    forgetting: Forgetting

    @property
    def points(self) -> int:
        return len(self.prior.variance)

    @abstractmethod
    def gathered(self, state: State, time: Scalar) -> Gathered:
        """The sums over all observations, as they count at `time`."""

    def posterior(self, state: State, time: Scalar) -> Posterior:
        gathered = self.gathered(state, time)
        features = jnp.asarray(self.prior.features)
        inverse, weight_mean = _solve(gathered)
        missed = self.prior.variance - jnp.sum(features**2, axis=1)
        return Posterior(
            mean=self.prior.mean + features @ weight_mean,
            variance=missed + jnp.sum((features @ inverse.T) ** 2, axis=1),
            information=-jnp.log(inverse.diagonal()).sum(),
            observations=gathered.observations,
        )

    def sample(self, state: State, time: Scalar, key: PRNGKeyArray) -> Vector:
        inverse, weight_mean = _solve(self.gathered(state, time))
        normal = jax.random.normal(key, weight_mean.shape, dtype=float)
        return self.prior.mean + self.prior.features @ (weight_mean + inverse.T @ normal)


def _solve(gathered: Gathered) -> tuple[Float[Array, "r r"], Float[Array, " r"]]:
    """The inverse Cholesky factor of the weights' precision, and the weights' mean."""
    identity = jnp.eye(len(gathered.weighted))
    lower = jnp.linalg.cholesky(gathered.information + identity)
    inverse = jax.scipy.linalg.solve_triangular(lower, identity, lower=True)
    return inverse, inverse.T @ (inverse @ gathered.weighted)


class ScalingState(NamedTuple):
    """The sums, relative to the newest observation."""

    information: Float[Array, "r r"]
    weighted: Float[Array, " r"]
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
        rank = self.prior.features.shape[1]
        return ScalingState(
            jnp.zeros((rank, rank)), jnp.zeros(rank), jnp.zeros(()), jnp.zeros((), int)
        )

    def update(
        self, state: ScalingState, arm: Scalar, reward: Scalar, time: Scalar
    ) -> ScalingState:
        stamp = self.forgetting.stamp(time, state.observations)
        factor = self._fade(state, stamp)
        features = jnp.asarray(self.prior.features)[arm]
        residual = reward - jnp.asarray(self.prior.mean)[arm]
        noise = self.prior.noise_variance
        return ScalingState(
            information=factor * state.information + jnp.outer(features, features / noise),
            weighted=factor * state.weighted + features * (residual / noise),
            newest=stamp,
            observations=state.observations + 1,
        )

    def gathered(self, state: ScalingState, time: Scalar) -> Gathered:
        factor = self._fade(state, self.forgetting.present(state.newest, time))
        return Gathered(factor * state.information, factor * state.weighted, state.observations)

    def _fade(self, state: ScalingState, present: Scalar) -> Scalar:
        weight = self.forgetting.weight(state.newest, present)
        return jnp.where(state.observations > 0, weight, 0.0)


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

    def gathered(self, state: History, time: Scalar) -> Gathered:
        # summed by arm first: n arms are fewer than the observations of a long run
        precision = state.weights(time, self.forgetting) / self.prior.noise_variance
        zeros, features = jnp.zeros(self.points), jnp.asarray(self.prior.features)
        by_arm = zeros.at[state.arms].add(precision)
        weighted = zeros.at[state.arms].add(precision * state.residuals)
        return Gathered(
            features.T @ (by_arm[:, None] * features), features.T @ weighted, state.held
        )
