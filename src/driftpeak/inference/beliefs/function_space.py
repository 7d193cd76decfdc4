r"""Posteriors in function space: the cost grows with the observations in memory, not with a rank.

Function space is the better choice for a short memory or a rough kernel (many features).
`Triangular` supports the rules that only add to their memory or empty it; `Dense` supports every
rule.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from driftpeak._core.numerics.conditionals import on_demand
from driftpeak._core.numerics.precision import require_double_precision
from driftpeak._core.types import Scalar, Values
from driftpeak.gp.forgetting import Forgetting
from driftpeak.gp.gram import Pairs
from driftpeak.gp.priors import Prior
from driftpeak.inference.beliefs.history import History
from driftpeak.inference.beliefs.posterior import AFRESH, Belief, Fading, Posterior, fade

JITTER = 1e-10  # in units of the largest prior variance; allows draws from a singular covariance


class FunctionPrior(eqx.Module):
    """The arrays of a prior that a function-space belief needs."""

    gram: Pairs
    variance: Any  # (n,)
    mean: Any  # (n,)
    noise_variance: Any

    def __init__(self, prior: Prior) -> None:
        self.gram = prior.pairs
        self.variance = prior.variance
        self.mean = prior.mean
        self.noise_variance = np.float64(prior.noise_variance)


class TriangularState(NamedTuple):
    """Rows of \\(L^{-1} k(A, \\cdot)\\), one for each observation since the last restart."""

    rows: Float[Array, "c n"]
    surprises: Float[Array, " c"]  # of unit variance
    times: Float[Array, " c"]
    mean: Values
    variance: Values
    information: Float[Array, ""]
    observations: Int[Array, ""]
    time: Float[Array, ""]


class Triangular(Fading[TriangularState]):
    r"""A posterior for Keep, Restart and Drift, with covariance \(K - V^\top V\).

    V has one row for each observation: with \(L L^\top = \tilde K_A + \lambda I\),
    \(V = L^{-1} \tilde k(A, \cdot)\). Under drift each row is multiplied by its correlation with
    the present. A new row needs no triangular solve, since \(L^{-1} \tilde k(A, x)\) is the column
    of V at x: O(c n) a step.
    """

    prior: FunctionPrior
    forgetting: Forgetting
    capacity: int = eqx.field(static=True)

    def __init__(self, prior: Prior, forgetting: Forgetting, capacity: int) -> None:
        self.prior = FunctionPrior(prior)
        self.forgetting = forgetting
        self.capacity = capacity

    def init(self) -> TriangularState:
        require_double_precision()
        return TriangularState(
            rows=jnp.zeros((self.capacity, self.points)),
            surprises=jnp.zeros(self.capacity),
            times=jnp.zeros(self.capacity),
            mean=jnp.zeros(self.points),
            variance=jnp.asarray(self.prior.variance),
            information=jnp.zeros(()),
            observations=jnp.zeros((), int),
            time=jnp.zeros(()),
        )

    def update(
        self, state: TriangularState, arm: Scalar, reward: Scalar, time: Scalar
    ) -> TriangularState:
        c, same_epoch = self._elapse(state, time)
        mean, variance = state.mean * c, fade(c, state.variance, self.prior.variance)
        count = jnp.where(same_epoch, state.observations, 0)
        noise, prior_mean = self.prior.noise_variance, jnp.asarray(self.prior.mean)
        correlation = self._correlation(state, time)
        column = correlation * state.rows[:, arm]
        scale = jnp.asarray(self.prior.variance)[arm] - column @ column + noise
        cross = self.prior.gram.rows(arm) - (correlation * column) @ state.rows
        row = cross / jnp.sqrt(scale)
        surprise = (reward - prior_mean[arm] - mean[arm]) / jnp.sqrt(scale)
        rows, surprises = state.rows.at[count].set(row), state.surprises.at[count].set(surprise)
        inputs = (rows, surprises, correlation.at[count].set(1.0), self.prior.variance)
        values = (mean + row * surprise, variance - row**2)
        # updated step by step, the moments accumulate rounding errors
        due = (count + 1) % AFRESH == 0
        mean, variance = on_demand(due, _values, values, inputs, together=True)
        return TriangularState(
            rows=rows,
            surprises=surprises,
            times=state.times.at[count].set(time),
            mean=mean,
            variance=variance,
            information=jnp.where(same_epoch, state.information, 0.0)
            + 0.5 * jnp.log(scale / noise),
            observations=count + 1,
            time=jnp.asarray(time, dtype=float),
        )

    def sample(self, state: TriangularState, time: Scalar, key: PRNGKeyArray) -> Values:
        posterior = self.posterior(state, time)
        rows = self._correlation(state, time)[:, None] * state.rows
        return draw_values(posterior.mean, self.prior.gram.matrix - rows.T @ rows, self.prior, key)

    def _correlation(self, state: TriangularState, time: Scalar) -> Float[Array, " c"]:
        """Return the correlation of the time of each row with `time`; 0 for unused rows."""
        current = self.forgetting.same_epoch(state.time, time)
        used = current & (jnp.arange(self.capacity) < state.observations)
        elapsed = jnp.maximum(time - state.times, 0.0)
        return jnp.where(used, self.forgetting.correlation(elapsed), 0.0)


def _values(_: Any, inputs: tuple[Any, Any, Any, Any]) -> tuple[Values, Values]:
    """Return the moments of the values, computed from the rows."""
    rows, surprises, correlation, prior = inputs
    rows = correlation[:, None] * rows
    return surprises @ rows, prior - jnp.sum(rows**2, axis=0)


class Dense(Belief[History]):
    """A posterior for every rule, by the textbook formula.

    A step takes a c x c factorisation and c^2 n multiplications. Late observations are supported:
    the posterior does not depend on the order of `update` calls, except that a full ring drops the
    observation that was passed first.
    """

    prior: FunctionPrior
    forgetting: Forgetting
    capacity: int = eqx.field(static=True)

    def __init__(self, prior: Prior, forgetting: Forgetting, capacity: int) -> None:
        self.prior = FunctionPrior(prior)
        self.forgetting = forgetting
        self.capacity = capacity

    def init(self) -> History:
        require_double_precision()
        return History.empty(self.capacity)

    def update(self, state: History, arm: Scalar, reward: Scalar, time: Scalar) -> History:
        residual = reward - jnp.asarray(self.prior.mean)[arm]
        return state.append(arm, residual, time, self.forgetting)

    def posterior(self, state: History, time: Scalar) -> Posterior:
        whitened, residuals, information = self._whiten(state, time)
        return Posterior(
            mean=self.prior.mean + residuals @ whitened,
            variance=self.prior.variance - jnp.sum(whitened**2, axis=0),
            information=information,
            observations=self._counted(state, time),
        )

    def sample(self, state: History, time: Scalar, key: PRNGKeyArray) -> Values:
        whitened, residuals, _ = self._whiten(state, time)
        mean = self.prior.mean + residuals @ whitened
        return draw_values(mean, self.prior.gram.matrix - whitened.T @ whitened, self.prior, key)

    def _counted(self, state: History, time: Scalar) -> Int[Array, ""]:
        # An observation whose discounted weight is negligible still counts, though the ring may
        # have dropped it: the number, and any width that depends on it, is equal in every form.
        if self.forgetting.reweighting == "scaling":
            return state.observations
        return (state.weights(time, self.forgetting) > 0).sum()

    def _whiten(
        self, state: History, time: Scalar
    ) -> tuple[Float[Array, "c n"], Float[Array, " c"], Float[Array, ""]]:
        """Return cross-covariances and residuals times the inverse Cholesky factor; information.

        K + S is factored as S^(1/2) (I + S^(-1/2) K S^(-1/2)) S^(1/2): an observation of weight 0
        (infinite S), and an empty place, is then a row of zeros.
        """
        root = jnp.sqrt(state.weights(time, self.forgetting) / self.prior.noise_variance)
        gap = jnp.abs(state.times[:, None] - state.times[None, :])
        to_now = jnp.maximum(time - state.times, 0.0)
        cross = self.prior.gram.rows(state.arms)
        among = cross[:, state.arms] * self.forgetting.correlation(gap)
        cross = cross * self.forgetting.correlation(to_now)[:, None]
        lower = jnp.linalg.cholesky(jnp.eye(self.capacity) + root[:, None] * among * root[None, :])
        joined = jnp.concatenate([cross, state.residuals[:, None]], axis=1) * root[:, None]
        solved = jax.scipy.linalg.solve_triangular(lower, joined, lower=True)
        return solved[:, :-1], solved[:, -1], jnp.log(lower.diagonal()).sum()


def draw_values(
    mean: Values, covariance: Float[Array, "n n"], prior: FunctionPrior, key: PRNGKeyArray
) -> Values:
    """Draw the values once from their joint posterior."""
    # the covariance is a difference: its rounding errors scale with the prior variance
    jitter = JITTER * jnp.maximum(jnp.max(prior.variance), 1e-300)
    lower = jnp.linalg.cholesky(covariance + jitter * jnp.eye(len(mean)))
    return mean + lower @ jax.random.normal(key, mean.shape, dtype=float)
