r"""A Gaussian process over the unit cube that drifts in continuous time, given observations.

The covariance is that of `driftpeak.live._model.covariance`. All arrays have a fixed number of
places. Each place has a weight (`weights`), which divides the variance of its noise: 1, less under
a forgetting rule, and 0 for unused places.
"""

from functools import reduce
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from driftpeak._core.numerics.triangular import inverse_of_lower
from driftpeak._core.types import AnyArray, Scalar
from driftpeak.live._model.covariance import Model
from driftpeak.live._model.likelihoods import Rates
from driftpeak.live._model.mirrored import Mirrored, strips

Rows = Float[Array, "m d"]
STRIPS = 4
FAINTEST = 1e-12  # least precision of a reward under a likelihood


class PaddedObservations(NamedTuple):
    """Observations or pending suggestions in arrays of c places."""

    rows: AnyArray  # (c, d)
    times: AnyArray  # (c,)
    weights: AnyArray  # (c,)
    noise: AnyArray  # (c,): noise variance in standard units, 0 if unknown

    def variances(self, model: Model) -> Array:
        """Return the known or learned variance of the noise in each place, shape `(c,)`."""
        return jnp.where(self.noise > 0, self.noise, model.noise_variance)

    def roots(self, model: Model) -> Array:
        """Return 1 / noise deviation of each place, shape `(c,)`."""
        return jnp.sqrt(self.weights) / jnp.sqrt(self.variances(model))

    def put(
        self, number: Any, row: AnyArray, time: Scalar, weight: Scalar, noise: Scalar
    ) -> "PaddedObservations":
        """Return the observations with another one in place `number`."""
        new = row, time, weight, noise
        each = zip(self, new, strict=True)
        return PaddedObservations(*(jnp.asarray(old).at[number].set(value) for old, value in each))

    @property
    def used(self) -> Array:
        """Whether each place has a positive weight, shape `(c,)`."""
        return jnp.asarray(self.weights) > 0


class Conditioned(NamedTuple):
    """The posterior given the observations, as factors for predictions."""

    places: PaddedObservations
    whiten: Array  # (c, c): inverse Cholesky factor of the observations' covariance
    solved: Array  # (c,): inverse covariance times residuals
    information: Array  # in nats


class Fantasies(NamedTuple):
    """Pending suggestions, fantasised at their posterior mean.

    Fantasies leave the posterior mean unchanged and reduce the standard deviation (Desautels et al.
    2014; "kriging believer").
    """

    places: PaddedObservations
    cross: AnyArray  # (c, p): whitened covariance with the observations
    whiten: AnyArray  # (p, p)


def learn(model: Model, places: PaddedObservations, rewards: AnyArray) -> Conditioned:
    """Condition the process on observations; `rewards` have shape `(c,)`."""
    whiten, information = whitening(model, places)
    return Conditioned(places, whiten, _solved(whiten, rewards - model.level), information)


def append(
    model: Model,
    known: Conditioned,
    start: Scalar,
    block: PaddedObservations,
    count: Scalar,
    rewards: AnyArray,
) -> Conditioned:
    """Add the first `count` observations of a block in the places from `start` on.

    These places are overwritten. Each observation is a new row of the factor, computed in O(c^2)
    as if it were added alone. `rewards` are the rewards in all places.
    """
    kept = jnp.arange(known.whiten.shape[0]) < start
    places = known.places._replace(weights=jnp.where(kept, known.places.weights, 0.0))
    block = jax.tree.map(jnp.asarray, block)
    own = block.variances(model) / block.weights  # infinite if the weight is 0

    def add(
        step: Array, state: tuple[PaddedObservations, Array]
    ) -> tuple[PaddedObservations, Array]:
        places, whiten = state
        number, row, time = start + step, block.rows[step], block.times[step]
        across = covariance_across(model, places, row[None], time)[:, 0]
        white = whiten @ across
        scale = jnp.sqrt(model.variance + own[step] - white @ white)
        new = (-white @ whiten).at[number].add(1.0) / scale
        places = places.put(number, row, time, block.weights[step], block.noise[step])
        return places, whiten.at[number].set(new)

    state = places, jnp.where(kept[:, None], known.whiten, 0.0)
    places, whiten = jax.lax.fori_loop(0, count, add, state)
    ratios = jnp.sqrt(places.weights / places.variances(model)) / whiten.diagonal()
    information = jnp.sum(jnp.where(places.used, jnp.log(ratios), 0.0))
    return Conditioned(places, whiten, _solved(whiten, rewards - model.level), information)


def _solved(whiten: Array, residuals: AnyArray) -> Array:
    """Return the inverse covariance times the residuals."""
    return (whiten @ residuals) @ whiten  # XLA would materialise a transpose: 12 times slower


def covariance_over_noise(covariance: AnyArray, root: Array) -> Array:
    """Return I + K / noise for a covariance K and 1 / noise deviation of each place."""
    return jnp.eye(len(root)) + root[:, None] * covariance * root[None, :]


def cholesky(matrix: Array) -> Array:
    """Return the Cholesky factor of a symmetric matrix, from its lower triangle."""
    return jnp.linalg.cholesky(matrix, symmetrize_input=False)


def inverse_factor(covariance: AnyArray, root: Array) -> tuple[Array, Array]:
    """Return the inverse Cholesky factor of K + noise, and the information in nats.

    Arguments:
        covariance: K.
        root: 1 / noise deviation of each place, 0 in unused places.
    """
    lower = cholesky(covariance_over_noise(covariance, root))
    return inverse_of_lower(lower) * root[None, :], jnp.log(lower.diagonal()).sum()


def factor(model: Model, places: PaddedObservations) -> tuple[Array, Array, Array]:
    """Return 1 / noise deviation of each place, the factor of C and half its log-determinant.

    C is I + K / noise.
    """
    root = places.roots(model)
    lower = cholesky(covariance_over_noise(covariance_between(model, places, places), root))
    return root, lower, jnp.log(lower.diagonal()).sum()


def whitening(model: Model, places: PaddedObservations) -> tuple[Array, Array]:
    """Return the inverse Cholesky factor of the covariance, and the information in nats."""
    return inverse_factor(covariance_between(model, places, places), places.roots(model))


def no_fantasies(known: Conditioned, size: int) -> Fantasies:
    """Return `size` places without a pending suggestion."""
    count, dimension = known.places.rows.shape
    nothing = np.zeros(size)
    free = PaddedObservations(np.zeros((size, dimension)), nothing, nothing, nothing)
    return Fantasies(free, np.zeros((count, size)), np.zeros((size, size)))


def add_fantasies(
    model: Model,
    known: Conditioned,
    fantasies: Fantasies,
    start: Scalar,
    block: PaddedObservations,
    rates: Rates | None = None,
) -> Fantasies:
    r"""Add a block of b pending suggestions in the free places from `start` on.

    Let W be the inverse factor of the suggestions' posterior covariance given the observations, and
    V = W K(imagined, block). Let L be the factor of the block's posterior covariance given the
    observations and earlier suggestions. The new rows of W are \(L^{-1}(-V^\top W, 1)\). The cost
    is O(b (c + p)^2).
    """
    cross = covariance_between(model, known.places, block)
    noise = model.noise_variance
    if rates is not None:  # of the likelihood at the mean, see `driftpeak.live._model.laplace`
        noise = 1 / jnp.maximum(rates.curvature(known.solved @ cross + model.level), FAINTEST)
    root = jnp.sqrt(block.weights) / jnp.sqrt(noise)
    cross = known.whiten @ cross
    # the transpose of the larger matrix would be materialised by XLA
    left = covariance_between(model, fantasies.places, block) - (cross.T @ fantasies.cross).T
    white = fantasies.whiten @ left
    among = covariance_between(model, block, block) - cross.T @ cross - white.T @ white
    inverse, _ = inverse_factor(among, root)
    rows = jax.lax.dynamic_update_slice(
        -inverse @ (white.T @ fantasies.whiten), inverse, (0, start)
    )

    def put(into: AnyArray, what: AnyArray) -> Array:
        return jax.lax.dynamic_update_slice_in_dim(into, what, start, axis=0)

    return Fantasies(
        jax.tree.map(put, fantasies.places, block),
        jax.lax.dynamic_update_slice_in_dim(fantasies.cross, cross, start, axis=1),
        put(fantasies.whiten, rows),
    )


def mean(model: Model, known: Conditioned, rows: AnyArray, time: Scalar) -> Array:
    """Compute the posterior mean at rows, shape `(m,)`."""
    return known.solved @ covariance_across(model, known.places, rows, time) + model.level


def influence(
    model: Model,
    known: Conditioned,
    fantasies: Fantasies | None,
    rows: AnyArray,
    time: Scalar,
    ahead: AnyArray,
) -> Array:
    r"""Compute how much an observation at `time` would change later forecasts, shape `(m,)`.

    The influence is the mean over the times h in `ahead` of
    \(|\mathrm{Cov}(f_{t+h}(x), f_t(x))| / \sqrt{\mathrm{Var}(f_t(x)) + \lambda}\) given all
    observations and fantasies. It is small for information that will be outdated by then. The
    acquisition function is driftpeak's own, as in `driftpeak.Auto`.

    The covariance is \(\sigma^2 c(h) - k_{t+h}^\top G^{-1} k_t\), where G is the covariance of all
    observations. \(G^{-1} k_t\) has one column for each row and is used for all h. With an effect
    of choices, both terms are sums over the components.
    """

    def later(places: PaddedObservations, solved: Array) -> Array:
        """Return covariances with later values, times the solution, shape `(h, m)`."""
        then = jnp.asarray(time) + ahead[:, None]
        parts = (
            model.changed(correlation(then - places.times[None, :]), then, places.times[None, :])
            @ (similarity(jnp.asarray(places.rows), jnp.asarray(rows)) * variance * solved)
            for variance, similarity, correlation in model.components
        )
        return reduce(jnp.add, parts)

    now = _lower_times(known.whiten, covariance_across(model, known.places, rows, time))
    variance = model.variance - (now**2).sum(axis=0)
    moved = sum(part.variance * part.correlation(ahead)[:, None] for part in model.components)
    if fantasies is not None:
        further = covariance_across(model, fantasies.places, rows, time) - fantasies.cross.T @ now
        further = _lower_times(fantasies.whiten, further)
        variance = variance - (further**2).sum(axis=0)
        solved = _transpose_times(fantasies.whiten, further)
        moved = moved - later(fantasies.places, solved)
        now = now - fantasies.cross @ solved
    moved = moved - later(known.places, _transpose_times(known.whiten, now))
    bonus = jnp.abs(moved).mean(axis=0)
    return bonus / jnp.sqrt(jnp.maximum(variance, 0.0) + model.noise_variance)


def posterior(
    model: Model, known: Conditioned, fantasies: Fantasies | None, rows: AnyArray, time: Scalar
) -> tuple[Array, Array]:
    """Compute the posterior mean and standard deviation at rows, both of shape `(m,)`."""
    across = covariance_across(model, known.places, rows, time)
    white = _lower_times(known.whiten, across)
    variance = model.variance - jnp.sum(white**2, axis=0)
    if fantasies is not None:
        further = covariance_across(model, fantasies.places, rows, time) - fantasies.cross.T @ white
        variance = variance - jnp.sum(_lower_times(fantasies.whiten, further) ** 2, axis=0)
    # a positive lower bound at rounding level, because the root of 0 has no derivative
    least = 1e-12 * model.variance
    return known.solved @ across + model.level, jnp.sqrt(jnp.maximum(variance, least))


def variance_reductions(model: Model, known: Conditioned, time: Scalar) -> Array:
    """Compute how much each observation reduces the variance at its own row, given all others.

    The variance is the one of the function at `time`. The reduction is small for old and for
    repeated observations. Let \\(\\tilde K\\) be the covariance of the observations, and
    \\(c_i\\) their covariance with the function at row i. The reduction is
    \\((\\tilde K^{-1} c_i)_i^2 / (\\tilde K^{-1})_{ii}\\).

    Returns:
        Reductions of shape `(c,)`, infinite in unused places.
    """
    across = covariance_across(model, known.places, known.places.rows, time)
    inverse = lower_squared(known.whiten)
    numerator = jnp.sum(inverse * across.T, axis=1) ** 2
    return jnp.where(known.places.used, numerator / inverse.diagonal(), jnp.inf)


def _lower_times(lower: AnyArray | Mirrored, columns: Array) -> Array:
    """Multiply by a lower triangle in strips that leave out most zeros, at 5/8 of the cost."""
    if isinstance(lower, Mirrored):
        return lower @ columns
    return jnp.concatenate([lower[a:b, :b] @ columns[:b] for a, b in strips(len(lower), STRIPS)])


def _transpose_times(lower: AnyArray | Mirrored, columns: Array) -> Array:
    """Multiply by the transpose of a lower triangle in strips, without materialising it."""
    if isinstance(lower, Mirrored):
        return lower.T @ columns
    parts = [columns[a:].T @ lower[a:, a:b] for a, b in strips(len(lower), STRIPS)]
    return jnp.concatenate(parts, axis=1).T


def lower_squared(lower: Array) -> Array:
    """Return a lower triangle's transpose times itself, in strips at half of the cost."""
    total = jnp.zeros_like(lower)
    for start, end in strips(len(lower), STRIPS):
        strip = lower[start:end, :end]
        total = total.at[:end, :end].add(strip.T @ strip)
    return total


def covariance_across(
    model: Model, places: PaddedObservations, rows: AnyArray, time: Scalar
) -> Array:
    """Compute the covariance between the function at places and at rows at one time."""
    return model.covariance(places.rows, places.times[:, None], rows, jnp.asarray(time))


def covariance_between(model: Model, some: PaddedObservations, others: PaddedObservations) -> Array:
    """Compute the covariance between the function at some places and at others."""
    return model.covariance(some.rows, some.times[:, None], others.rows, others.times[None, :])
