r"""The log marginal likelihood of a function that drifts (B16 (24)), in three forms.

It is \(\log N(y; 0, \bar K \circ \bar D + \sigma^2 I)\), where
\(\bar D_{ij} = (1-\epsilon)^{|t_i-t_j|/2}\), and zero between independent series. With N
observations of m distinct points at T times:

- `separable`, if every point is observed once at every time: the eigenvectors of the points'
  covariance give m independent autoregressions in noise, one scalar Kalman filter each,
  O(m^3 + T m^2) instead of O(T^3 m^3);
- `dense`: Cholesky of the whole covariance, O(N^3), for few observations;
- `filtered`: a Kalman filter over the m points, O(N m^2), for many.

Derivatives are automatic, including B16's (25), \(dD/d\epsilon = -v (1-\epsilon)^{v-1}\) with
\(v = |t_i - t_j|/2\). The exception is the derivative with respect to the eigenvectors, which are
not unique where eigenvalues coincide (see `separable`).
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from driftpeak.gp.forgetting import markov_correlation

Array = Any  # a JAX array
LOG_2_PI = math.log(2 * math.pi)
CHUNK = 64


def correlations(drift: Any, elapsed: Any, begins: Any) -> Array:
    """Return the correlation with the previous observation; 0 at the beginning of a series."""
    # at elapsed = 0 and drift = 1 a power has no derivative; there it is 1 anyway
    still = elapsed == 0
    fading = markov_correlation(drift, jnp.where(still, 1.0, elapsed))
    return jnp.where(begins, 0.0, jnp.where(still, 1.0, fading))


def separable(
    gram: Array, noise: Array, drift: Array, elapsed: Array, begins: Array, table: Array
) -> tuple[Array, tuple[Array, Array, Array]]:
    r"""Return the log-likelihood of a complete table, shape `(T, m)`, and its derivatives.

    The derivatives are with respect to gram, noise and drift. The derivative with respect to the
    covariance K is \(\frac12 (A^\top D A - V \operatorname{diag}(h) V^\top)\). \(A\), shape
    `(T, m)`, holds B16's alpha (the solved observations), V the eigenvectors of K, and \(h\) is
    minus twice the derivative of the log-determinant term with respect to the eigenvalues. No
    eigenvector is differentiated.
    """
    spectrum, vectors = np.linalg.eigh(np.asarray(gram))
    spectrum = np.maximum(spectrum, 0.0)
    return _separable(spectrum, vectors, noise, drift, elapsed, begins, table)


@jax.jit
def _separable(
    spectrum: Array, vectors: Array, noise: Any, drift: Any, elapsed: Any, begins: Any, table: Any
) -> Any:
    series = table @ vectors

    def total(series: Array, noise: Array, drift: Array) -> Array:
        return spectral(spectrum, series, noise, correlations(drift, elapsed, begins))[0]

    def determinants(spectrum: Array) -> Array:
        return spectral(spectrum, series, noise, correlations(drift, elapsed, begins))[1]

    value, (by_series, by_noise, by_drift) = jax.value_and_grad(total, (0, 1, 2))(
        series, noise, drift
    )
    by_spectrum = jax.grad(determinants)(spectrum)
    # alpha is minus the derivative with respect to the series, and occurs twice
    outer = by_series.T @ _correlate(by_series, correlations(drift, elapsed, begins))
    by_gram = vectors @ (0.5 * outer + jnp.diag(by_spectrum)) @ vectors.T
    return value, (by_gram, by_noise, by_drift)


def spectral(variances: Array, series: Array, noise: Array, kept: Array) -> tuple[Array, Array]:
    """Return the log-likelihood of independent noisy autoregressions, and its determinant part.

    `series`, shape `(T, m)`, has stationary `variances` (m,) and `kept` correlations (T,) between
    its rows.
    """

    def step(state: Any, inputs: Any) -> Any:
        mean, variance = state
        row, c = inputs
        mean, variance = c * mean, c**2 * variance + (1 - c**2) * variances
        total = variance + noise
        surprise = row - mean
        gain = variance / total
        state = (mean + gain * surprise, variance * noise / total)
        return state, (surprise**2 / total, jnp.log(total))

    start = (jnp.zeros_like(variances), variances)
    _, (squares, logarithms) = jax.lax.scan(step, start, (series, kept))
    determinants = -0.5 * logarithms.sum()
    return determinants - 0.5 * squares.sum() - 0.5 * series.size * LOG_2_PI, determinants


def _correlate(columns: Array, kept: Array) -> Array:
    """Return D @ columns in one pass each way; D_ij is the product of correlations from i to j."""

    def step(carried: Array, inputs: Any) -> Any:
        row, c = inputs
        carried = row + c * carried
        return carried, carried

    zero = jnp.zeros_like(columns[0])
    _, before = jax.lax.scan(step, zero, (columns, kept))
    following = jnp.concatenate([kept[1:], jnp.zeros_like(kept[:1])])
    _, after = jax.lax.scan(step, zero, (columns, following), reverse=True)
    return before + after - columns


@jax.jit
@partial(jax.value_and_grad, argnums=(0, 1, 2))
def dense(
    gram: Array, noise: Array, drift: Array, arms: Array, times: Array, days: Array, rewards: Array
) -> Array:
    """Return the log-likelihood of any observations; `times` within independent `days`, (N,)."""
    apart = jnp.abs(times[:, None] - times[None, :])
    together = apart == 0
    fading = jnp.where(together, 1.0, markov_correlation(drift, jnp.where(together, 1.0, apart)))
    correlation = jnp.where(days[:, None] == days[None, :], fading, 0.0)
    covariance = gram[arms][:, arms] * correlation + noise * jnp.eye(len(arms))
    factor = jnp.linalg.cholesky(covariance)
    white = jax.scipy.linalg.solve_triangular(factor, rewards, lower=True)
    determinant = jnp.log(jnp.diagonal(factor)).sum()
    return -0.5 * white @ white - determinant - 0.5 * len(arms) * LOG_2_PI


@jax.jit
@partial(jax.value_and_grad, argnums=(0, 1, 2))
def filtered(
    gram: Array,
    noise: Array,
    drift: Array,
    elapsed: Array,
    begins: Array,
    arms: Array,
    rewards: Array,
) -> Array:
    """Return the log-likelihood of any observations in order, by Kalman updates over all points.

    The derivatives recompute the steps between checkpoints, in memory O((N / 64 + 64) m^2).
    """
    kept = correlations(drift, elapsed, begins)

    def step(state: Any, inputs: Any) -> Any:
        mean, covariance = state
        arm, reward, c, real = inputs
        mean, covariance = c * mean, c**2 * covariance + (1 - c**2) * gram
        column = covariance[:, arm]
        total = column[arm] + noise
        surprise = reward - mean[arm]
        gain = real * column / total
        log_density = -0.5 * (jnp.log(total) + surprise**2 / total + LOG_2_PI)
        state = (mean + gain * surprise, covariance - gain[:, None] * column[None, :])
        return state, real * log_density

    @jax.checkpoint
    def chunk(state: Any, inputs: Any) -> Any:
        state, terms = jax.lax.scan(step, state, inputs)
        return state, terms.sum()

    padding = -len(arms) % CHUNK
    columns = (arms, rewards, kept, jnp.ones_like(rewards))
    padded = (jnp.pad(column, (0, padding)) for column in columns)
    chunks = tuple(column.reshape(-1, CHUNK) for column in padded)
    _, sums = jax.lax.scan(chunk, (jnp.zeros_like(gram[0]), gram), chunks)
    return sums.sum()


FORMS: dict[str, Callable[..., Any]] = {
    "separable": separable,
    "dense": dense,
    "filtered": filtered,
}
"""Functions of gram, noise variance, drift and data arrays; they return value and derivatives."""
