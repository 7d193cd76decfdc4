r"""The drift that uncertainty injection assumes: past and present values differ by a variance of
\(\lambda\,c\,(t_2 - t_1)^\alpha\) (M25 Assumption 2)."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DriftpeakError, at_least, finite
from driftpeak._core.times import Times
from driftpeak._core.types import AnyArray, Scalar
from driftpeak.environments.catalogue import environment
from driftpeak.environments.protocol import Environment
from driftpeak.gp.feature_matrix import FeatureMatrix
from driftpeak.gp.features import Features
from driftpeak.gp.priors import Prior


class Paths(NamedTuple):
    """The weights of the features at every step of the run, and the number of steps taken."""

    weights: Float[Array, "t r"]
    step: Int[Array, ""]


@environment("has increments whose variance grows as a power of the elapsed time")
class InjectedDrift(Environment[Paths]):
    r"""A Gaussian process that drifts as fractional Brownian motion in time.

    \(f_{t_1} \sim GP(m, k)\) at the first step. Then, at every point x,

    \(f_{t_1}(x) - f_{t_2}(x) \sim N(0, \lambda\,c\,\lvert t_2 - t_1 \rvert^\alpha)\)

    for all pairs of times, with the correlation of k between points. This is M25's Assumption 2
    with Gaussian noise. alpha = 1 is Brownian motion (Example 2.1, where the increments are
    uniform); at alpha = 2 every point moves on a straight line. Larger exponents are impossible: by
    the triangle inequality a standard deviation can at most double when the time doubles, so no
    function of time satisfies Assumption 2 with alpha > 2.

    Two further assumptions of M25 do not hold. Differences over disjoint intervals are independent
    only if alpha = 1. The RKHS norm does not stay bounded (Assumption 1) as time goes to infinity.

    Arguments:
        prior: domain, kernel, mean and noise variance, lambda.
        exponent: alpha in (0, 2].
        slope: c >= 0, 1 in M25.
        features: features from which functions are drawn, as for `Moving`.

    Raises:
        DriftpeakError: exponent outside (0, 2], slope negative, a point of variance 0, or features
            for another number of points.

    Source: M25 Assumption 2, (7).
    """

    features: FeatureMatrix
    deviation: AnyArray  # of the prior
    mean: AnyArray
    noise_variance: Scalar
    exponent: Scalar
    slope: Scalar
    factor: AnyArray  # (t, t) of the covariance of the drift at the times of the run

    @checked
    def __init__(
        self,
        prior: Prior,
        *,
        exponent: float = 1.0,
        slope: float = 1.0,
        features: Features | None = None,
    ) -> None:
        alpha = finite("exponent", exponent)
        if not 0 < alpha <= 2:
            raise DriftpeakError(
                f"exponent must lie in (0, 2]; got {exponent}. By the triangle inequality no "
                "process has a larger exponent"
            )
        if (prior.variance <= 0).any():
            raise DriftpeakError("every point must have a positive prior variance")
        self.features = prior.features_or(features).loadings
        self.deviation = np.sqrt(prior.variance)
        self.mean = prior.mean
        self.noise_variance = np.float64(prior.noise_variance)
        self.exponent, self.slope = np.float64(alpha), np.float64(at_least("slope", slope, 0))
        self.factor = np.zeros((0, 0))

    def prepare(self, times: Times) -> "InjectedDrift":
        age, power = np.asarray(times) - times[0], self.exponent
        gaps = np.abs(age[:, None] - age[None, :])
        covariance = (age[:, None] ** power + age[None, :] ** power - gaps**power) / 2
        # singular at alpha = 2, and at equal times: a Cholesky factor would fail
        values, vectors = np.linalg.eigh(covariance)
        factor = vectors * np.sqrt(np.maximum(values, 0.0) * self.slope * self.noise_variance)
        return eqx.tree_at(lambda world: world.factor, self, factor)

    def init(self, key: PRNGKeyArray) -> Paths:
        start, drift = jax.random.split(key)
        rank = self.features.shape[1]
        shape = (len(self.factor), rank)
        drifted = self.factor @ jax.random.normal(drift, shape, dtype=float)
        return Paths(
            jnp.concatenate([jax.random.normal(start, (1, rank), dtype=float), drifted]),
            jnp.zeros((), int),
        )

    def step(self, state: Paths, time: Scalar) -> tuple[Paths, Float[Array, " n"]]:
        first, drifted = state.weights[0], state.weights[state.step + 1]
        drift = self.features.values(drifted) / jnp.asarray(self.deviation)  # of variance one
        values = jnp.asarray(self.mean) + self.features.values(first) + drift
        return Paths(state.weights, state.step + 1), values
