r"""Sums over the points of a domain: the information of observations or designs about r weights.

Up to `MANY` points, one piece is computed, with temporary arrays of the size of the features, n r.
Above, the features are processed in pieces, and only at points with a weight; the memory is then
that of r x r matrices and vectors of length n.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from driftpeak._core.types import Scalar, Values
from driftpeak.gp.feature_matrix import CHUNK, FeatureMatrix
from driftpeak.gp.features import MANY


class Ridge(NamedTuple):
    r"""Ridge regression on the features, with \(A = I + \Phi^\top N \Phi / \lambda\), N the counts.

    Arguments:
        mean: posterior mean of the function at each point.
        known: \(\phi^\top A^{-1} \phi\), the variance that remains of that of the features.
        square: \(\lVert A^{-1} \phi \rVert^2\).
    """

    mean: Values
    known: Values
    square: Values


def ridge(
    features: FeatureMatrix, counts: Float[Array, " n"], sums: Float[Array, " n"], noise: Scalar
) -> Ridge:
    """Fit to `counts` observations of each point with the given `sums` and noise variance."""
    rank = features.shape[1]
    if features.shape[0] <= MANY:
        matrix = jnp.asarray(features.matrix)
        precision = (matrix.T * counts[None, :] / noise) @ matrix + jnp.eye(rank)
        factor = jnp.linalg.cholesky(precision)
        half = jax.scipy.linalg.solve_triangular(factor, matrix.T, lower=True)
        whole = jax.scipy.linalg.solve_triangular(factor, half, lower=True, trans=1)
        mean = half.T @ (half @ sums) / noise
        return Ridge(mean, (half**2).sum(axis=0), (whole**2).sum(axis=0))
    factor = jnp.linalg.cholesky(information(features, counts) / noise + jnp.eye(rank))
    half = jax.scipy.linalg.solve_triangular(factor, jnp.eye(rank), lower=True)
    whole = half.T @ half
    return Ridge(
        features.values(whole @ features.combined(sums) / noise),
        features.squared_sums(half),
        features.squared_sums(whole),
    )


def information(features: FeatureMatrix, weights: Float[Array, " n"]) -> Float[Array, "r r"]:
    r"""Return \(\sum_x w_x \phi(x) \phi(x)^\top\), at the cost of the points of nonzero weight."""
    points, rank = features.shape
    if points <= MANY:
        matrix = jnp.asarray(features.matrix)
        return (matrix.T * weights[None, :]) @ matrix
    weighted = jnp.nonzero(weights, size=points, fill_value=0)[0]
    count = (weights != 0).sum()
    piece = min(points, max(1, min(CHUNK // rank, 1024)))

    def add(number: Any, total: Any) -> Any:
        places = number * piece + jnp.arange(piece)
        arms = weighted[jnp.minimum(places, points - 1)]
        rows = features.rows(arms)
        return total + (rows.T * jnp.where(places < count, weights[arms], 0.0)[None, :]) @ rows

    return jax.lax.fori_loop(0, (count + piece - 1) // piece, add, jnp.zeros((rank, rank)))


def leverages(features: FeatureMatrix, inverse: Float[Array, "r r"]) -> Values:
    r"""Return \(\phi^\top S^{-1} \phi\) of each point."""
    if features.shape[0] <= MANY:
        matrix = jnp.asarray(features.matrix)
        return ((matrix @ inverse) * matrix).sum(axis=1)
    return features.quadratic_forms(inverse)
