r"""Sums over the points of a domain: what observations or a design tell of r weights of features.

Up to `MANY` points in one piece, with temporary arrays of the size of the features, n r. Of more,
features are looked at a piece at a time, and only those of points that count: beside them there are
matrices of r x r and vectors of length n.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from driftpeak._core.types import Scalar, Values
from driftpeak.gp.feature_matrix import CHUNK, Loadings
from driftpeak.gp.features import MANY


class Ridge(NamedTuple):
    r"""Ridge regression on the features; with \(A = I + \Phi^\top N \Phi / \lambda\), N the counts:

    Arguments:
        mean: of the function at every point.
        known: \(\phi^\top A^{-1} \phi\), what is left of the variance that the features have.
        square: \(\lVert A^{-1} \phi \rVert^2\).
    """

    mean: Values
    known: Values
    square: Values


def ridge(
    features: Loadings, counts: Float[Array, " n"], sums: Float[Array, " n"], noise: Scalar
) -> Ridge:
    """From `counts` observations of each point with these `sums`, and their noise variance."""
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


def information(features: Loadings, weights: Float[Array, " n"]) -> Float[Array, "r r"]:
    r"""\(\sum_x w_x \phi(x) \phi(x)^\top\), at the cost of the points whose weight is not 0."""
    points, rank = features.shape
    if points <= MANY:
        matrix = jnp.asarray(features.matrix)
        return (matrix.T * weights[None, :]) @ matrix
    found = jnp.nonzero(weights, size=points, fill_value=0)[0]
    count = (weights != 0).sum()
    piece = min(points, max(1, min(CHUNK // rank, 1024)))

    def add(number: Any, total: Any) -> Any:
        places = number * piece + jnp.arange(piece)
        arms = found[jnp.minimum(places, points - 1)]
        rows = features.rows(arms)
        return total + (rows.T * jnp.where(places < count, weights[arms], 0.0)[None, :]) @ rows

    return jax.lax.fori_loop(0, (count + piece - 1) // piece, add, jnp.zeros((rank, rank)))


def leverages(features: Loadings, inverse: Float[Array, "r r"]) -> Values:
    r"""Of every point, \(\phi^\top S^{-1} \phi\)."""
    if features.shape[0] <= MANY:
        matrix = jnp.asarray(features.matrix)
        return ((matrix @ inverse) * matrix).sum(axis=1)
    return features.quadratic_forms(inverse)
