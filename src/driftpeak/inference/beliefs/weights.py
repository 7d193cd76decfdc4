r"""Bayesian regression on the r weights of the features, by the square roots of information.

An observation of features \(\phi\), noise variance \(\lambda\) and reward y is a *row*
\(\phi/\sqrt\lambda\) with the *target* \(y/\sqrt\lambda\), of unit noise. Rows H and targets z give

\[L L^\top = I + H H^\top, \quad V = L^{-1} H, \quad m = V^\top L^{-1} z, \quad P = I - V^\top V.\]

The sum \(H^\top H\) is never formed: it squares the ratio of signal to noise, and the digits of
whatever is yet unknown are lost in it.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

JITTER = 1e-13
"""Of the prior variance: a covariance, a difference, has no more digits than that."""


class WeightPosterior(NamedTuple):
    """The posterior of the weights: what is known, \\(V\\), their mean, nats of information."""

    known: Float[Array, "k r"]
    mean: Float[Array, " r"]
    information: Float[Array, ""]

    @property
    def covariance(self) -> Float[Array, "r r"]:
        """P."""
        return jnp.eye(len(self.mean)) - self.known.T @ self.known


def weight_posterior(rows: Float[Array, "c r"], targets: Float[Array, " c"]) -> WeightPosterior:
    """The posterior given observations of unit noise; a row of zeros is none."""
    if len(rows) > 2 * rows.shape[1] + 16:  # fewer are factored sooner than they are condensed
        rows, targets = condense(rows, targets)
    lower = jnp.linalg.cholesky(jnp.eye(len(rows)) + rows @ rows.T)
    joined = jnp.concatenate([rows, targets[:, None]], axis=1)
    solved = jax.scipy.linalg.solve_triangular(lower, joined, lower=True)
    known, surprises = solved[:, :-1], solved[:, -1]
    return WeightPosterior(known, surprises @ known, jnp.log(lower.diagonal()).sum())


def condense(
    rows: Float[Array, "c r"], targets: Float[Array, " c"]
) -> tuple[Float[Array, "k r"], Float[Array, " k"]]:
    """At most r observations that say of the weights what these do."""
    rank = rows.shape[1]
    if len(rows) <= rank:
        return rows, targets
    triangle = jnp.linalg.qr(jnp.concatenate([rows, targets[:, None]], axis=1), mode="r")
    return triangle[:rank, :rank], triangle[:rank, rank]


def draw(
    mean: Float[Array, " r"], covariance: Float[Array, "r r"], key: PRNGKeyArray
) -> Float[Array, " r"]:
    """One draw of the weights."""
    lower = jnp.linalg.cholesky(covariance + JITTER * jnp.eye(len(mean)))
    return mean + lower @ jax.random.normal(key, mean.shape, dtype=float)
