r"""Functions chosen against a known sequence of queries (IT25 Figure 1).

Kernel ridge regression estimates the average of N functions \(f_1, \ldots, f_N\) at a point x from
one noiseless value of each, \(f_m(x_m)\). Its weights are
\(w = (K + \lambda I)^{-1} k(X, x)\), so that the average minus the estimate is

\[\bar f(x) - \hat\mu(x) = \sum_m \langle f_m, g_m \rangle, \qquad
  g_m = \frac{k(x, \cdot)}{N} - w_m k(x_m, \cdot).\]

Among functions of RKHS norm at most B it is largest for \(f_m = B\,g_m/\|g_m\|\). These functions
depend on the order of the queries.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DriftpeakError, at_least_integer, indices, positive
from driftpeak._core.types import AnyArray, Scalar
from driftpeak.environments.catalogue import environment
from driftpeak.environments.protocol import Environment
from driftpeak.gp.gram import Gram
from driftpeak.gp.priors import Prior

TINY = np.finfo(float).tiny


@environment("is chosen at every step against a known sequence of queries")
class AgainstQueries(Environment[Int[Array, ""]]):
    r"""The functions for which an estimate from known queries is as low as possible at one point.

    Minus the prior mean, every function has RKHS norm `norm`. The attribute `error` is the average
    of the functions at `point` minus its estimate without noise. No functions of this norm have a
    larger error. It occurs if the queries are made in the given order; for queries in random
    order, Theorem 4 of IT25 bounds the error.

    Step t has function number \(1 + (t - 1) \bmod N\) of the N functions.

    Arguments:
        prior: domain, kernel, mean and noise variance; the estimate is its posterior mean.
        queries: indices of the points in the order of the queries, for example the actions of a
            policy that does not use rewards.
        point: index of the point; by default the point with the largest error in units of its
            posterior deviation.
        norm: B, the RKHS norm of each function minus the prior mean.

    Raises:
        DriftpeakError: no queries, a query or point that is no index of a point, norm that is not
            positive, or more points than `gp.priors.MOST_PAIRED`.

    Example:
        >>> import driftpeak as dp
        >>> prior = dp.Prior(dp.Grid([0, 1], size=20), dp.SE(lengthscale=0.2), noise_variance=0.1)
        >>> world = dp.AgainstQueries(prior, queries=[0, 19, 9, 10], point=10)
        >>> round(float(world.error), 2)
        0.98

    Source: IT25 Figure 1, section 5.1.
    """

    gram: Gram
    mean: AnyArray
    noise_variance: Scalar
    queries: AnyArray
    coefficients: AnyArray  # of k(point, .) and of k(query, .), by query
    point: Scalar
    error: Scalar

    @checked
    def __init__(
        self, prior: Prior, *, queries: Any, point: int | None = None, norm: float = 1.0
    ) -> None:
        self.gram, self.mean = Gram(prior.gram), prior.mean
        self.noise_variance = np.float64(prior.noise_variance)
        self.queries = indices("queries", queries, len(prior))
        if len(self.queries) == 0:
            raise DriftpeakError("queries must have at least one index; got none")
        steps, norm = len(self.queries), positive("norm", norm)
        # equal queries have equal weights: solve for the distinct points only
        arms, which, counts = np.unique(self.queries, return_inverse=True, return_counts=True)
        cross, variance = prior.gram[arms], prior.variance
        noisy = cross[:, arms] + np.diag(prior.noise_variance / counts)
        weights = np.linalg.solve(noisy, cross) / counts[:, None]
        squares = weights**2 * variance[arms, None] - 2 / steps * weights * cross
        norms = np.sqrt(np.maximum(squares + variance / steps**2, TINY))
        errors = norm * counts @ norms
        if point is None:
            remaining = variance - counts @ (weights * cross)
            point = int(np.argmax(errors / np.sqrt(np.maximum(remaining, TINY))))
        self.point = np.int64(at_least_integer("point", point, 0, len(prior) - 1))
        self.error = np.float64(errors[self.point])
        scale = norm / norms[:, self.point]
        signs = np.stack([scale / steps, -scale * weights[:, self.point]], axis=1)
        self.coefficients = signs[which]

    def init(self, key: PRNGKeyArray) -> Int[Array, ""]:
        return jnp.zeros((), int)

    def step(
        self, state: Int[Array, ""], time: Scalar
    ) -> tuple[Int[Array, ""], Float[Array, " n"]]:
        number = state % len(self.queries)
        arms = jnp.stack([jnp.asarray(self.point), jnp.asarray(self.queries)[number]])
        values = jnp.asarray(self.coefficients)[number] @ self.gram.rows(arms)
        return state + 1, jnp.asarray(self.mean) + values
