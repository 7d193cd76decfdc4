r"""Discount, Weights and Injection in feature space: each step reweights every old observation.

The posterior depends on the past only through rows \(\phi_s / \sqrt{\lambda h_s}\) and targets. Any
number of rows is equivalent to r rows (`driftpeak.inference.beliefs.weights`). A step takes one
factorisation of r x r or slightly more; O(n r^2 + r^3).
"""

from abc import abstractmethod
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from driftpeak._core.numerics.conditionals import on_demand
from driftpeak._core.numerics.precision import require_double_precision
from driftpeak._core.types import Scalar, Values
from driftpeak.gp.features import Features
from driftpeak.gp.forgetting import Forgetting
from driftpeak.gp.priors import Prior
from driftpeak.inference.beliefs.history import History
from driftpeak.inference.beliefs.posterior import Belief, FeaturePrior, Posterior, State
from driftpeak.inference.beliefs.weights import condense, draw, weight_posterior


class Gathered(NamedTuple):
    """Observations of unit noise that are equivalent to all observations, at one time."""

    rows: Float[Array, "c r"]
    targets: Float[Array, " c"]
    observations: Int[Array, ""]


class Reweighted(Belief[State]):
    """A posterior computed from reweighted observations. Subclasses define `gathered`."""

    prior: FeaturePrior
    forgetting: Forgetting

    @abstractmethod
    def gathered(self, state: State, time: Scalar) -> Gathered:
        """Return all observations with their weights at `time`."""

    def posterior(self, state: State, time: Scalar) -> Posterior:
        gathered = self.gathered(state, time)
        features = self.prior.features
        learned = weight_posterior(gathered.rows, gathered.targets)
        return Posterior(
            mean=self.prior.mean + features.values(learned.mean),
            variance=self.prior.variance - features.squared_sums(learned.known),
            information=learned.information,
            observations=gathered.observations,
        )

    def sample(self, state: State, time: Scalar, key: PRNGKeyArray) -> Values:
        gathered = self.gathered(state, time)
        learned = weight_posterior(gathered.rows, gathered.targets)
        weights = draw(learned.mean, learned.covariance, key)
        return self.prior.mean + self.prior.features.values(weights)


class ScalingState(NamedTuple):
    """Rows and targets, relative to the newest observation: r condensed rows, then b recent."""

    rows: Float[Array, "c r"]
    targets: Float[Array, " c"]
    newest: Float[Array, ""]
    observations: Int[Array, ""]


RECENT = 8
"""b: the number of rows collected before they are condensed into the r others."""


class Scaling(Reweighted[ScalingState]):
    """A posterior for Discount and Weights, whose weights all shrink by one factor at each step.

    The rows are kept relative to the newest observation, so nothing can overflow.
    """

    def __init__(self, prior: Prior, forgetting: Forgetting, features: Features) -> None:
        self.prior = FeaturePrior(prior, features)
        self.forgetting = forgetting

    def init(self) -> ScalingState:
        require_double_precision()
        rank = self.prior.features.shape[1]
        count = rank + RECENT
        return ScalingState(
            jnp.zeros((count, rank)), jnp.zeros(count), jnp.zeros(()), jnp.zeros((), int)
        )

    def update(
        self, state: ScalingState, arm: Scalar, reward: Scalar, time: Scalar
    ) -> ScalingState:
        stamp = self.forgetting.stamp(time, state.observations)
        factor = self._fade(state, stamp)
        root = 1 / jnp.sqrt(self.prior.noise_variance)
        residual = reward - jnp.asarray(self.prior.mean)[arm]
        features = self.prior.features
        number = state.observations % RECENT
        place = features.shape[1] + number
        rows = (state.rows * factor).at[place].set(root * features.rows(arm))
        targets = (state.targets * factor).at[place].set(root * residual)
        full = number == RECENT - 1
        rows, targets = on_demand(full, _condensed, (rows, targets), None, together=True)
        return ScalingState(rows, targets, stamp, state.observations + 1)

    def gathered(self, state: ScalingState, time: Scalar) -> Gathered:
        factor = self._fade(state, self.forgetting.present(state.newest, time))
        return Gathered(state.rows * factor, state.targets * factor, state.observations)

    def _fade(self, state: ScalingState, present: Scalar) -> Scalar:
        """Return the square root of the weight of the last observation."""
        weight = self.forgetting.weight(state.newest, present)
        return jnp.where(state.observations > 0, jnp.sqrt(weight), 0.0)


def _condensed(known: tuple[Any, Any], _: Any) -> tuple[Any, Any]:
    rows, targets = condense(*known)
    return jnp.pad(rows, ((0, RECENT), (0, 0))), jnp.pad(targets, (0, RECENT))


class Remembering(Reweighted[History]):
    """A posterior for any reweighting rule, from all observations; Injection has no summary."""

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
        precision = state.weights(time, self.forgetting) / self.prior.noise_variance
        residuals = state.residuals
        if self.capacity > self.points:
            # sum by arm first: a long run has more observations than arms
            total = jnp.zeros(self.points).at[state.arms].add(precision)
            weighted = jnp.zeros(self.points).at[state.arms].add(precision * residuals)
            precision, residuals = total, weighted / jnp.where(total > 0, total, 1.0)
            features = jnp.asarray(self.prior.features.matrix)
        else:
            features = self.prior.features.rows(state.arms)
        root = jnp.sqrt(precision)
        return Gathered(root[:, None] * features, root * residuals, state.stored)
