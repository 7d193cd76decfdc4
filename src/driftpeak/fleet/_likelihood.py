r"""The likelihood of a population of drifting functions, from partial observations of its members.

Member i has the function \(f_i(t) = \Phi\,(\mu(t) + w_i(t))\), with features \(\Phi\) of shape
`(n, r)`. The weights \(w_i\) are independent between members and have Markov drift,

\[\operatorname{Cov}(w_i(s), w_i(t)) = \Sigma\, e^{-\kappa |t - s|},\]

so the drift is \(\epsilon = 1 - e^{-2\kappa}\) per unit of time. The population mean \(\mu(t)\) is
a constant plus harmonics of one period. The constant has the prior \(N(0, \tau^2 I)\) and the
coefficients of the harmonics \(N(0, I)\). A level of all arms has variance 100. All of them are
integrated out. A small \(\tau\) means that the members have no more in common than the level. With
\(y_i\) the observations of member i, \(X_i\) their regressors,
\(V_i = (H_i \Sigma H_i^\top) \circ R_i + \sigma^2 I\), where the rows of \(H_i\) are those of
\(\Phi\) that were observed, and the sums

\[A = \sum_i X_i^\top V_i^{-1} X_i, \quad b = \sum_i X_i^\top V_i^{-1} y_i, \quad
c = \sum_i y_i^\top V_i^{-1} y_i + \log |2\pi V_i|,\]

the logarithm of the likelihood is
\(-\tfrac12 (c - b^\top (I + A)^{-1} b + \log |I + A|)\) (Lindley and Smith 1972). The sums are over
members, so parts of a population can be added.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Bool, Float, Int

HARMONICS = 2
"""Number of harmonics of a period."""


LEVEL = 10.0
"""Prior standard deviation of the level of all arms."""
CENTRES = np.array([0.0, -2.0, -4.0, 0.0])
"""Centres of the weak priors of the logarithms of scale, noise variance, rate and tau."""


class Observations(NamedTuple):
    """The observations of m members, at most p of each."""

    arms: Int[Array, "m p"]
    times: Float[Array, "m p"]
    rewards: Float[Array, "m p"]
    present: Bool[Array, "m p"]


class Parameters(NamedTuple):
    """The parameters of a population.

    Attributes:
        root: a root of \\(\\Sigma\\), shape `(r, r)`.
        log_noise: logarithm of \\(\\sigma^2\\).
        log_rate: logarithm of \\(\\kappa\\), per unit of time.
        log_common: logarithm of \\(\\tau\\).
    """

    root: Float[Array, "r r"]
    log_noise: Float[Array, ""]
    log_rate: Float[Array, ""]
    log_common: Float[Array, ""]


class Sums(NamedTuple):
    """A, b and c, summed over members."""

    matrix: Float[Array, "q q"]
    vector: Float[Array, " q"]
    number: Float[Array, ""]


def waves(
    times: Float[Array, "m p"], frequency: Any, count: int, constant: Any
) -> Float[Array, "m p j"]:
    """Return a constant, and cosines and sines of some harmonics; they are 0 at frequency 0."""
    angles = 2 * jnp.pi * frequency * times[:, :, None] * jnp.arange(1.0, 1 + count)[None, None]
    pairs = jnp.concatenate([jnp.cos(angles), jnp.sin(angles)], axis=-1)
    ones = jnp.ones((*times.shape, 1))
    return jnp.concatenate([constant * ones, (frequency > 0) * pairs], axis=-1)


def factored(
    parameters: Parameters, features: Float[Array, "n r"], seen: Observations
) -> tuple[Any, Any]:
    r"""Return \(H_i\), and the Cholesky factor of \(V_i\)."""
    rows = features[seen.arms] * seen.present[..., None]
    half = rows @ parameters.root
    apart = jnp.abs(seen.times[:, :, None] - seen.times[:, None, :])
    both = seen.present[:, :, None] & seen.present[:, None, :]
    decay = jnp.exp(-jnp.exp(parameters.log_rate) * jnp.where(both, apart, 0.0))
    noise = jnp.where(seen.present, jnp.exp(parameters.log_noise), 1.0)
    total = (
        half @ jnp.swapaxes(half, 1, 2) * decay + noise[:, :, None] * jnp.eye(rows.shape[1])[None]
    )
    return rows, jnp.linalg.cholesky(total)


def sums(
    parameters: Parameters,
    features: Float[Array, "n r"],
    seen: Observations,
    frequency: Float[Array, ""],
    harmonics: int = HARMONICS,
) -> Sums:
    """Return the sums over the members, by which the likelihood depends on the observations.

    Regressors are multiplied by the standard deviations, so that all coefficients have variance 1.
    The level is the last.
    """
    rows, factor = factored(parameters, features, seen)
    basis = waves(seen.times, frequency, harmonics, jnp.exp(parameters.log_common))
    regressors = (basis[..., None] * rows[:, :, None, :]).reshape(*rows.shape[:2], -1)
    level = LEVEL * seen.present[..., None]
    rewards = jnp.where(seen.present, seen.rewards, 0.0)
    both = jnp.concatenate([regressors, level, rewards[..., None]], axis=-1)
    white = solve_triangular(factor, both, lower=True)
    x, y = white[..., :-1], white[..., -1]
    flat = x.reshape(-1, x.shape[-1])
    diagonal = jnp.diagonal(factor, axis1=1, axis2=2)
    logs = 2 * jnp.log(diagonal).sum() + jnp.log(2 * jnp.pi) * seen.present.sum()
    return Sums(flat.T @ flat, flat.T @ y.reshape(-1), (y**2).sum() + logs)


def log_likelihood(total: Sums) -> Float[Array, ""]:
    """Return the logarithm of the likelihood, with the population mean integrated out."""
    factor = jnp.linalg.cholesky(jnp.eye(len(total.vector)) + total.matrix)
    explained = solve_triangular(factor, total.vector, lower=True)
    logs = 2 * jnp.log(jnp.diagonal(factor)).sum()
    return -0.5 * (total.number - (explained**2).sum() + logs)


def coefficients(total: Sums) -> tuple[Float[Array, " q"], Float[Array, "p p"]]:
    """Return the mean of the coefficients, and the covariance of all but the level given it."""
    precision = jnp.eye(len(total.vector)) + total.matrix
    return jnp.linalg.solve(precision, total.vector), jnp.linalg.inv(precision[:-1, :-1])


def unpacked(vector: Float[Array, " q"], rank: int) -> Parameters:
    """Return the parameters of a vector, without constraints: the diagonal of the root is exp."""
    count = rank * (rank + 1) // 2
    lower = jnp.zeros((rank, rank)).at[np.tril_indices(rank)].set(vector[:count])
    diagonal = jnp.diag(jnp.exp(jnp.diagonal(lower)))
    root = jnp.exp(vector[count]) * (jnp.tril(lower, -1) + diagonal)
    return Parameters(root, *vector[count + 1 :])


@partial(jax.jit, static_argnames="rank")
@partial(jax.value_and_grad, argnums=0)
def objective(
    vector: Float[Array, " q"], features: Any, seen: Observations, frequency: Any, rank: int
) -> Float[Array, ""]:
    r"""Return minus the penalised log-likelihood for each observation, and its gradient.

    The penalty is that of an inverse-Wishart prior with r + 2 degrees of freedom, \(\Sigma = s S\)
    with S near the identity, and weak Gaussian priors of the other parameters.
    """
    parameters = unpacked(vector, rank)
    count = rank * (rank + 1) // 2
    scale = jnp.exp(vector[count])
    root = parameters.root / scale
    inverse = solve_triangular(root, jnp.eye(rank), lower=True)
    shape = 2 * jnp.log(jnp.diagonal(root)).sum() + (inverse**2).sum() - rank
    weak = ((vector[count:] - CENTRES) ** 2).sum() / 18
    penalty = 0.5 * (rank + 2) * shape + weak
    value = log_likelihood(sums(parameters, features, seen, frequency)) - penalty
    return -value / jnp.maximum(seen.present.sum(), 1)
