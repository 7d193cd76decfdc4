"""Gaussian processes with linear dynamics: Markov drift, momentum, oscillation, or sums."""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DriftpeakError, increasing, unit_interval
from driftpeak._core.types import AnyArray, Scalar
from driftpeak.environments.catalogue import environment
from driftpeak.environments.protocol import Environment
from driftpeak.gp.dynamics import MarkovMotion, Motion
from driftpeak.gp.feature_matrix import FeatureMatrix
from driftpeak.gp.features import Features
from driftpeak.gp.priors import Prior


class Weights(NamedTuple):
    """Weights of the features in each component of the motion; time and number of steps."""

    components: Float[Array, "r d"]
    time: Float[Array, ""]
    step: Int[Array, ""]
    key: PRNGKeyArray


@environment(
    "has momentum, a period, several rates of change or abrupt changes, with dynamics from "
    ":mod:`driftpeak.gp.dynamics`"
)
class Moving(Environment[Weights]):
    r"""A Gaussian process with the prior's covariance in space and linear dynamics in time.

    \(f_t = m + \Phi Z_t h\) with the features \(\Phi\) of the prior. Over a time v,
    \(Z \leftarrow Z A^\top + G\), where the rows of G are drawn from \(N(0, I - A A^\top)\), with A
    and h of the motion (`driftpeak.gp.dynamics`). So
    \(\mathrm{cov}(f_s(x), f_t(x')) = k(x, x')\,c(|t - s|)\) with the motion's correlation c.

    Arguments:
        prior: domain, kernel, mean and noise variance of the environment.
        motion: the dynamics, a single motion.
        changes: increasing times after each of which the whole function is drawn again.
        features: a factor of the covariance from which functions are drawn; by default with an
            error of at most 1e-10 of the prior variance. Other features give other functions of the
            same distribution.

    Raises:
        DriftpeakError: several motions, changes that do not increase, or features for another
            number of points.
    """

    features: FeatureMatrix
    mean: AnyArray
    noise_variance: Scalar
    motion: Motion
    changes: AnyArray

    @checked
    def __init__(
        self,
        prior: Prior,
        motion: Motion,
        *,
        changes: Sequence[float] = (),
        features: Features | None = None,
    ) -> None:
        if motion.count != 1:
            raise DriftpeakError(f"motion must be a single motion; got {motion.count}")
        self.features = prior.features_or(features).loadings_of_several
        self.mean = prior.mean
        self.noise_variance = np.float64(prior.noise_variance)
        self.motion = motion
        self.changes = increasing("changes", changes)

    def init(self, key: PRNGKeyArray) -> Weights:
        zeros = jnp.zeros((self.features.shape[1], self.motion.order))
        return Weights(zeros, jnp.zeros(()), jnp.zeros((), int), key)

    def step(self, state: Weights, time: Scalar) -> tuple[Weights, Float[Array, " n"]]:
        state, weights = self.move(state, time)
        return state, self.values(weights)

    def values(self, moved: Float[Array, "*some r"]) -> Float[Array, "*some n"]:
        values = self.features.values(moved)
        return jnp.broadcast_to(self.mean, values.shape) + values

    def move(self, state: Weights, time: Scalar) -> tuple[Weights, Float[Array, " r"]]:
        changed = (state.time <= self.changes) & (self.changes < time)
        redrawn = (state.step == 0) | changed.any()
        a = jnp.where(redrawn, 0.0, self.motion.transition(time - state.time)[0])
        root = semidefinite_root(jnp.eye(len(a)) - a @ a.T)
        key = jax.random.fold_in(state.key, state.step)
        fresh = jax.random.normal(key, state.components.shape, dtype=float)
        components = state.components @ a.T + fresh @ root.T
        after = Weights(components, jnp.asarray(time, float), state.step + 1, state.key)
        return after, components @ self.motion.observed[0]


@environment(
    "replaces a share of its variance at every step",
    name="markov",
    build=lambda prior, drift, steps: MarkovDrift(prior, drift=drift),
)
class MarkovDrift(Moving):
    r"""A Gaussian process under Markov drift.

    \(f_1 \sim GP(m, k)\) and \(f_{t+1} - m = \sqrt{1-\epsilon}(f_t - m) + \sqrt\epsilon\,g_{t+1}\)
    with independent \(g_t \sim GP(0, k)\).

    Over a time of length v the correlation falls to \((1-\epsilon)^{v/2}\), for any real v.

    Arguments:
        prior: domain, kernel, mean and noise variance of the environment.
        drift: epsilon in [0, 1].
        features: features from which functions are drawn, as for `Moving`.

    Raises:
        DriftpeakError: drift outside [0, 1], or features for another number of points.

    Example:
        >>> import driftpeak as dp
        >>> prior = dp.Prior(dp.Grid([0, 1], size=20), dp.SE(lengthscale=0.2), noise_variance=0.01)
        >>> world = dp.MarkovDrift(prior, drift=0.01)

    Source: B16 (3)-(4), section 2.
    """

    @checked
    def __init__(self, prior: Prior, *, drift: float, features: Features | None = None) -> None:
        super().__init__(prior, MarkovMotion([unit_interval("drift", drift)]), features=features)


def semidefinite_root(matrix: Float[Array, "d d"]) -> Float[Array, "d d"]:
    """Return the lower Cholesky factor of a small matrix, which may be singular."""
    size = len(matrix)
    rows: list[list[Array]] = []
    for i in range(size):
        row: list[Array] = []
        for j in range(i):
            left = matrix[i, j] - sum(row[k] * rows[j][k] for k in range(j))
            pivot = rows[j][j]
            row.append(jnp.where(pivot > 0, left / jnp.where(pivot > 0, pivot, 1.0), 0.0))
        row.append(jnp.sqrt(jnp.maximum(matrix[i, i] - sum(entry**2 for entry in row), 0.0)))
        rows.append(row)
    zero = jnp.zeros(())
    return jnp.stack([jnp.stack(row + [zero] * (size - len(row))) for row in rows])
