r"""Bayesian regression on the r weights of the features, in square-root information form.

An observation of features \(\phi\), noise variance \(\lambda\) and reward y is a *row*
\(\phi/\sqrt\lambda\) with the *target* \(y/\sqrt\lambda\), of unit noise. Rows H and targets z give

\[L L^\top = I + H H^\top, \quad V = L^{-1} H, \quad m = V^\top L^{-1} z, \quad P = I - V^\top V.\]

The sum \(H^\top H\) is never formed: it squares the signal-to-noise ratio, which loses the digits
of directions that are still uncertain.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

JITTER = 1e-13
"""In units of the prior variance: the rounding error of a covariance that is a difference."""


class WeightPosterior(NamedTuple):
    """The posterior of the weights: explained factor \\(V\\), mean, and information in nats."""

    known: Float[Array, "k r"]
    mean: Float[Array, " r"]
    information: Float[Array, ""]

    @property
    def covariance(self) -> Float[Array, "r r"]:
        """The posterior covariance P of the weights."""
        return jnp.eye(len(self.mean)) - self.known.T @ self.known

    def covariances(self, rows: Float[Array, "*rows r"]) -> Float[Array, "*rows r"]:
        """Return the product of each row with P, without forming P."""
        return rows - (rows @ self.known.T) @ self.known


def rows_of_factor(count: int, rank: Any) -> Any:
    """Return the number of rows of V for `count` observations; `rank` may be an array.

    More than 2 r + 16 observations are condensed to r, which is then faster than to factor all.
    """
    return np.where(count > 2 * rank + 16, rank, count)


def weight_posterior(rows: Float[Array, "c r"], targets: Float[Array, " c"]) -> WeightPosterior:
    """Return the posterior given observations of unit noise; a row of zeros has no effect."""
    if rows_of_factor(*rows.shape) < len(rows):
        rows, targets = condense(rows, targets)
    lower = jnp.linalg.cholesky(jnp.eye(len(rows)) + rows @ rows.T)
    joined = jnp.concatenate([rows, targets[:, None]], axis=1)
    solved = jax.scipy.linalg.solve_triangular(lower, joined, lower=True)
    known, surprises = solved[:, :-1], solved[:, -1]
    return WeightPosterior(known, surprises @ known, jnp.log(lower.diagonal()).sum())


def condense(
    rows: Float[Array, "c r"], targets: Float[Array, " c"]
) -> tuple[Float[Array, "k r"], Float[Array, " k"]]:
    """Return at most r observations that are equivalent to these for the weights."""
    rank = rows.shape[1]
    if len(rows) <= rank:
        return rows, targets
    triangle = jnp.linalg.qr(jnp.concatenate([rows, targets[:, None]], axis=1), mode="r")
    return triangle[:rank, :rank], triangle[:rank, rank]


def draw(
    mean: Float[Array, " r"], covariance: Float[Array, "r r"], key: PRNGKeyArray
) -> Float[Array, " r"]:
    """Draw the weights once."""
    lower = jnp.linalg.cholesky(covariance + JITTER * jnp.eye(len(mean)))
    return mean + lower @ jax.random.normal(key, mean.shape, dtype=float)
