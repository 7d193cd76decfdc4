r"""Function space in time: a Cholesky factor of all observations that grows by a row at each step.

This form is for rules whose correlation is not a power of the elapsed time (`SpaceTime`). The
covariance of the observations does not depend on the time of the decision, so its factor is kept.
Over the points, the features of the prior replace the n columns where they are fewer.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from driftpeak._core.numerics.conditionals import in_room, on_demand
from driftpeak._core.numerics.precision import require_double_precision
from driftpeak._core.types import Scalar, Values
from driftpeak.gp.feature_matrix import FeatureMatrix
from driftpeak.gp.features import Features
from driftpeak.gp.forgetting import Forgetting
from driftpeak.gp.priors import Prior
from driftpeak.inference.beliefs.function_space import FunctionPrior, draw_values
from driftpeak.inference.beliefs.posterior import Belief, Posterior
from driftpeak.inference.beliefs.weights import draw

SHARES = (0.5, 1.0)
"""Fractions of the factor that a step computes with: the smallest that holds all observations."""


class GrowingState(NamedTuple):
    """Observations in a ring, the inverse factor of their covariance, and whitened residuals.

    Rows of the inverse factor are zero where there is no observation yet.
    """

    arms: Int[Array, " c"]
    residuals: Float[Array, " c"]  # reward minus prior mean, in standard deviations of the noise
    times: Float[Array, " c"]
    whiten: Float[Array, "c c"]  # L^-1: products are several times as fast as triangular solves
    surprises: Float[Array, " c"]  # L^-1 residuals
    observations: Int[Array, ""]


class Growing(Belief[GrowingState]):
    r"""A posterior under a space-time covariance, \(O(c^2 r)\) a step.

    The observations have \(\tilde K_{ij} = k(x_i, x_j)\,c(|t_i - t_j|)\). With
    \(L L^\top = I + \tilde K / \lambda\) and \(V = L^{-1} \tilde k(A, \cdot) / \sqrt\lambda\)
    at the time of the decision, the mean is \(V^\top L^{-1} y / \sqrt\lambda\) and the covariance
    \(K - V^\top V\). A new observation adds a row to L in \(O(c^2)\). Once the ring is full, it
    replaces the oldest observation, and L is recomputed in \(O(c^3)\).

    Arguments:
        prior: domain, kernel, mean and noise variance.
        forgetting: a rule that reduces correlations and weights all observations equally.
        capacity: c, the number of newest observations that are kept.
        decisions: largest number of decisions.
        features: features of the prior, used instead of the columns of its covariance.
    """

    prior: FunctionPrior
    features: FeatureMatrix | None
    forgetting: Forgetting
    capacity: int = eqx.field(static=True)
    replaces: bool = eqx.field(static=True)

    def __init__(
        self,
        prior: Prior,
        forgetting: Forgetting,
        capacity: int,
        decisions: int,
        features: Features | None,
    ) -> None:
        self.prior = FunctionPrior(prior)
        self.features = None if features is None else features.loadings
        self.forgetting = forgetting
        self.capacity = capacity
        self.replaces = decisions > capacity

    def init(self) -> GrowingState:
        require_double_precision()
        zeros = jnp.zeros(self.capacity)
        square = jnp.zeros((self.capacity, self.capacity))
        return GrowingState(
            jnp.zeros(self.capacity, int), zeros, zeros, square, zeros, jnp.zeros((), int)
        )

    def posterior(self, state: GrowingState, time: Scalar) -> Posterior:
        given = (self, state, jnp.asarray(time))
        mean, known = in_room(self._stored(state), self._sizes, _moments, given)
        used = jnp.arange(self.capacity) < state.observations
        return Posterior(
            mean=self.prior.mean + self._values(mean),
            variance=self.prior.variance - known,
            information=-jnp.log(jnp.where(used, state.whiten.diagonal(), 1.0)).sum(),
            observations=self._stored(state),
        )

    def update(
        self, state: GrowingState, arm: Scalar, reward: Scalar, time: Scalar
    ) -> GrowingState:
        noise = self.prior.noise_variance
        residual = (reward - jnp.asarray(self.prior.mean)[arm]) / jnp.sqrt(noise)
        slot = state.observations % self.capacity
        arms, times = state.arms.at[slot].set(arm), state.times.at[slot].set(time)
        residuals = state.residuals.at[slot].set(residual)
        near = self.forgetting.correlation(jnp.abs(times - time)) / noise
        cross = near * self._with_point(arms, arm)

        def extended(size: int, given: tuple[Any, Any]) -> tuple[Values, Values]:
            whiten, cross = (x[:size] for x in given)
            row = whiten[:, :size] @ cross
            whole = jnp.zeros(self.capacity)
            return whole.at[:size].set(row), whole.at[:size].set(row @ whiten[:, :size])

        inputs = (state.whiten, cross)
        row, back = in_room(self._stored(state), self._sizes, extended, inputs)
        scale = jnp.sqrt(1 + cross[slot] - row @ row)
        whiten = state.whiten.at[slot].set((-back).at[slot].set(1.0) / scale)
        surprise = (residual - row @ state.surprises) / scale
        surprises = state.surprises.at[slot].set(surprise)
        if self.replaces:
            factored, given = (whiten, surprises), (self, arms, times, residuals)
            full = state.observations >= self.capacity
            whiten, surprises = on_demand(full, _factored, factored, given, together=True)
        return GrowingState(arms, residuals, times, whiten, surprises, state.observations + 1)

    def persistence(self, state: GrowingState, time: Scalar, ahead: Scalar) -> Values:
        given = (self, state, jnp.asarray(time), jnp.asarray(ahead))
        shared = in_room(self._stored(state), self._sizes, _shared, given)
        return self.forgetting.correlation(ahead) * self.prior.variance - shared

    def sample(self, state: GrowingState, time: Scalar, key: PRNGKeyArray) -> Values:
        whitened = self._whiten(self.capacity, state, time)
        mean, known = state.surprises @ whitened, whitened.T @ whitened
        if self.features is None:
            covariance = self.prior.gram.matrix - known
            return draw_values(self.prior.mean + mean, covariance, self.prior, key)
        weights = draw(mean, jnp.eye(len(mean)) - known, key)
        return self.prior.mean + self.features.values(weights)

    @property
    def _sizes(self) -> tuple[int, ...]:
        return tuple(sorted({max(round(share * self.capacity), 1) for share in SHARES}))

    def _stored(self, state: GrowingState) -> Int[Array, ""]:
        return jnp.minimum(state.observations, self.capacity)

    def _whiten(self, size: int, state: GrowingState, time: Scalar) -> Float[Array, "k r"]:
        """Return V, over features or points, of the first `size` places."""
        used = jnp.arange(size) < state.observations
        elapsed = jnp.maximum(time - state.times[:size], 0.0)
        near = self.forgetting.correlation(elapsed) / jnp.sqrt(self.prior.noise_variance)
        cross = self._columns(state.arms[:size]) * jnp.where(used, near, 0.0)[:, None]
        return state.whiten[:size, :size] @ cross

    def _columns(self, arms: Any) -> Any:
        """Return the features of some points, or their covariances with all points."""
        return self.prior.gram.rows(arms) if self.features is None else self.features.rows(arms)

    def _with_point(self, arms: Any, arm: Scalar) -> Any:
        """Return the covariances of some points with one point."""
        if self.features is None:
            return self.prior.gram.rows(arm)[arms]
        return self.features.rows(arms) @ self.features.rows(arm)

    def _among(self, arms: Any) -> Any:
        columns = self._columns(arms)
        return columns[:, arms] if self.features is None else columns @ columns.T

    def _values(self, mean: Any) -> Values:
        return mean if self.features is None else self.features.values(mean)

    def _squared(self, whitened: Any) -> Values:
        if self.features is None:
            return jnp.sum(whitened**2, axis=0)
        return self.features.squared_sums(whitened)

    def _products(self, left: Any, right: Any) -> Values:
        if self.features is None:
            return jnp.sum(left * right, axis=0)
        return self.features.quadratic_forms(left.T @ right)


# These are module functions because what `in_room` runs may not close over traced arrays.


def _moments(size: int, given: tuple[Growing, GrowingState, Scalar]) -> tuple[Values, Values]:
    """Return the mean over features or points, and the variance explained by the observations."""
    belief, state, time = given
    whitened = belief._whiten(size, state, time)
    return state.surprises[:size] @ whitened, belief._squared(whitened)


def _shared(size: int, given: tuple[Growing, GrowingState, Scalar, Scalar]) -> Values:
    """Return the part of each point's covariance with its later value that data explain."""
    belief, state, time, ahead = given
    now = belief._whiten(size, state, time)
    return belief._products(now, belief._whiten(size, state, time + ahead))


def _factored(_: Any, given: tuple[Growing, Any, Any, Any]) -> tuple[Any, Any]:
    """Return the inverse factor and the whitened residuals of a full ring."""
    belief, arms, times, residuals = given
    near = belief.forgetting.correlation(jnp.abs(times[:, None] - times[None, :]))
    among = belief._among(arms) * near / belief.prior.noise_variance
    identity = jnp.eye(belief.capacity)
    lower = jnp.linalg.cholesky(identity + among)
    whiten = jax.scipy.linalg.solve_triangular(lower, identity, lower=True)
    return whiten, whiten @ residuals
