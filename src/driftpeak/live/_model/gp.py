r"""A Gaussian process over the unit cube that drifts in continuous time.

Its covariance is \(k(x, x')\,c(|t-t'|)\). The spatial covariance k is Matern 5/2 with a lengthscale
for each column. Two values of a categorical column have distance 1, like the ends of an ordered
column. The temporal correlation c is one of three:

- Markov drift (B16 section 2) at real times, \((1-\epsilon)^{v/2} = e^{-v/\tau}\), with the
  timescale \(\tau\) and \(\epsilon = 1 - e^{-2/\tau}\) per unit of time;
- momentum, Matern 3/2 in time, \((1+av)\,e^{-av}\), as in `driftpeak.gp.dynamics.Matern32`.
  Changes persist for a while. With the rate a, the correlation falls to 1/2 at the same time
  \(\tau\log 2\) as the correlation of Markov drift;
- no drift, 1. Old observations lose weight only by a forgetting rule.

A second component may have a share w of the variance, \((1-w)\,c(v) + w\,c'(v)\). It drifts a
hundred times as slowly, or it is periodic with period P, \(e^{-2\sin^2(\pi v/P)}\,e^{-v/10P}\)
(MacKay 1998). The second factor lets the phase and the amplitude of the cycle drift.

If a row has choices and numbers, a share \(\theta\) of the variance belongs to an effect of the
choices alone. It is equal at all numbers and drifts twenty times as slowly. A difference between
choices that was seen at one setting is then known at other settings, and for longer. With the
distance \(d_j \le 1\) between the choices in column j, the covariance is

\[(1-\theta)\,k(x, x')\,c(v) + \theta\,\sigma^2\,e^{-v/20\tau}\,
  \mathrm{mean}_j\,(1 - d_j(x, x')).\]

Without drift, the exponential is 1.

The function may also change suddenly. A change with loss \(\ell\) multiplies the covariance of all
values before it with all values after it by \(e^{-\ell}\), as if Markov drift had lasted for
\(\ell\tau\) longer. Changes are detected by `driftpeak.live._model.change_points`.

All arrays have a fixed number of places. Each place has a weight (`weights`), which divides the
variance of its noise: 1, less under a forgetting rule, and 0 for unused places.
"""

from collections.abc import Callable
from functools import reduce
from itertools import pairwise
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from driftpeak._core.types import AnyArray, Scalar
from driftpeak.gp.dynamics import HALF
from driftpeak.gp.kernels import Matern
from driftpeak.live._model.likelihoods import Rates
from driftpeak.live._model.mirrored import Mirrored

Rows = Float[Array, "m d"]
SHAPE = Matern(2.5)
STRIPS = 4
UNROLLED = 8  # columns up to which distances are one sum, not a product
FEW = 16  # columns up to which products in strips are slower
SAME = 1e-9  # largest difference between rows with the same choice
LEAST_SQUARE = 1e-30  # least squared distance: its root is differentiable in single precision
FAINTEST = 1e-12  # least precision of a reward under a likelihood
STILL, MARKOV, MOMENTUM = range(3)
ALONE, SLOWER, ROUND = range(3)
SLOWER_BY, CYCLES = 100.0, 10.0
EFFECT_SLOWER_BY = 20.0  # timescale of the effect of choices divided by the timescale
CHANGES = 8  # changes that a model can have
NO_CHANGES = np.zeros((2, CHANGES))
NO_CHANGES.flags.writeable = False
RATE = float(HALF / np.log(2))
"""Rate a of momentum times the timescale."""
HALF_LIFE = {MARKOV: np.log(2) / 2, MOMENTUM: 0.44519116201044684}
"""Age at which the squared correlation is 1/2, in timescales."""


def _falling(ages: Array) -> Array:
    return jnp.exp(-ages)


def _gliding(ages: Array) -> Array:
    return (1 + RATE * ages) * jnp.exp(-RATE * ages)


MOVING = jnp.ones_like, _falling, _gliding
"""Correlations as functions of age in timescales: no drift, Markov drift, momentum."""


def _distances(x: Array, y: Array, gap: Array) -> Array:
    """Compute distances in columns; those of unordered choices are 0 or 1."""
    apart = jnp.abs(x - y)
    return jnp.where(gap == 1, (apart > SAME).astype(apart.dtype), apart)


class Component(NamedTuple):
    """A part of the covariance: variance times similarity of rows times correlation in time."""

    variance: Scalar
    similarity: Callable[[Array, Array], Array]
    correlation: Callable[[Scalar], Array]


class Model(NamedTuple):
    """The hyperparameters of the process, in units of standardised rewards."""

    level: Scalar  # the prior mean
    lengthscale: AnyArray  # (d,)
    variance: Scalar
    noise_variance: Scalar
    timescale: Scalar
    gaps: AnyArray  # (d,): distance between neighbouring choices, 0 for numbers, 1 if unordered
    motion: Scalar = MARKOV  # STILL, MARKOV or MOMENTUM; an array of it inside JAX
    beside: Scalar = ALONE  # the second component: none, SLOWER or ROUND (periodic)
    share: Scalar = 0.0  # share of the second component in the variance
    period: Scalar = 1.0  # period of a periodic second component
    changes: AnyArray = NO_CHANGES  # (2, CHANGES): times of sudden changes, and losses, 0 if unused
    effect: Scalar | None = None  # share of the effect of choices in the variance; None without one

    @property
    def components(self) -> tuple[Component, ...]:
        """The parts of the covariance."""
        if self.effect is None:
            return (Component(self.variance, self.similarity, self.correlation),)
        rest, effect = (1 - self.effect) * self.variance, self.effect * self.variance
        return (
            Component(rest, self.similarity, self.correlation),
            Component(effect, self._equal_choices, self._correlation_of_effect),
        )

    def covariance(self, x: AnyArray, times: Scalar, y: AnyArray, others: Scalar) -> Array:
        """Compute the covariance between values at rows and times, shape `(m, n)`.

        Arguments:
            x, y: rows, shapes `(m, d)` and `(n, d)`.
            times, others: their times, of shapes that broadcast to `(m, n)`.
        """
        parts = (
            similarity(jnp.asarray(x), jnp.asarray(y))
            * variance
            * self.changed(correlation(times - others), times, others)
            for variance, similarity, correlation in self.components
        )
        return reduce(jnp.add, parts)

    def similarity(self, x: Array, y: Array) -> Array:
        """Compute k without its variance between two sets of rows, shape `(m, n)`."""
        if x.shape[1] > UNROLLED:
            squared = self._distances_of_many_columns(x, y)
        else:
            scales = jnp.asarray(self.lengthscale) ** 2
            squares = (_distances(*each) ** 2 for each in self._columns(x, y))
            squared = reduce(jnp.add, map(jnp.divide, squares, scales))
        return SHAPE.of_squared_distance(jnp.maximum(squared, LEAST_SQUARE))

    def _columns(self, x: Array, y: Array) -> Any:
        """Return for each column its values, shapes `(m, 1)` and `(1, n)`, and its gap."""
        return zip(x.T[:, :, None], y.T[:, None, :], jnp.asarray(self.gaps), strict=True)

    def _equal_choices(self, x: Array, y: Array) -> Array:
        """Compute the mean of 1 minus the distance over columns with choices, shape `(m, n)`."""
        gaps = jnp.asarray(self.gaps)
        choices = (gaps > 0).astype(x.dtype)
        shares = choices / choices.sum()
        if x.shape[1] > UNROLLED:
            return 1 - _distances(x[:, None, :], y[None, :, :], gaps) @ shares
        distances = (_distances(*each) for each in self._columns(x, y))
        return 1 - reduce(jnp.add, map(jnp.multiply, distances, shares))

    def _distances_of_many_columns(self, x: Array, y: Array) -> Array:
        """Compute squared distances by a product of matrices, shape `(m, n)`.

        A sum would take the compiler a second for each column.
        """
        unordered = jnp.asarray(self.gaps) == 1
        inverse = 1 / jnp.asarray(self.lengthscale)
        a, b = ((rows - 0.5) * jnp.where(unordered, 0.0, inverse)[None, :] for rows in (x, y))
        product = jnp.matmul(a, b.T, precision=jax.lax.Precision.HIGHEST)
        squared = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1)[None, :] - 2 * product

        def with_choices() -> Array:
            differ = jnp.abs(x[:, None, :] - y[None, :, :]) > SAME
            squares = jnp.where(unordered, inverse**2, 0.0)[None, None, :]
            return squared + jnp.where(differ, squares, 0.0).sum(axis=2)

        whole: Array = jax.lax.cond(unordered.any(), with_choices, lambda: squared)
        return whole

    def correlation(self, elapsed: Scalar) -> Array:
        """Compute the correlation of function values that are `elapsed` apart in time."""
        ages = jnp.abs(elapsed) / self.timescale
        moving = jax.lax.switch(self.motion, MOVING, ages)

        def slower() -> Array:
            return jnp.exp(-ages / SLOWER_BY)

        def periodic() -> Array:
            half_turns = jnp.pi * elapsed / self.period
            cycles = jnp.abs(elapsed) / self.period
            return jnp.exp(-2 * jnp.sin(half_turns) ** 2 - cycles / CYCLES)

        def with_second() -> Array:
            second = jax.lax.cond(self.beside == ROUND, periodic, slower)
            return (1 - self.share) * moving + self.share * second

        # not `jnp.where`: for all pairs of observations each component dominates the cost
        whole: Array = jax.lax.cond(self.beside == ALONE, lambda: moving, with_second)
        return whole

    def _correlation_of_effect(self, elapsed: Scalar) -> Array:
        """Compute the correlation of the effect of choices at times that are `elapsed` apart."""
        ages = jnp.abs(elapsed) / (EFFECT_SLOWER_BY * self.timescale)
        return jnp.where(self.motion == STILL, 1.0, jnp.exp(-ages))

    def correlation_between(self, times: AnyArray, others: AnyArray) -> Array:
        """Compute the correlation of function values at times, for shapes that broadcast."""
        return self.changed(self.correlation(times - others), times, others)

    def changed(self, whole: Array, times: Scalar, others: Scalar) -> Array:
        """Return correlations after the sudden changes between times and others."""
        moments, losses = self.changes

        def lost(when: Scalar) -> Array:
            each = ((when > moments[number]) * losses[number] for number in range(CHANGES))
            return jnp.asarray(sum(each))

        def changed() -> Array:
            return whole * jnp.exp(-jnp.abs(lost(times) - lost(others)))

        reduced: Array = jax.lax.cond(losses.any(), changed, lambda: whole)
        return reduced


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


def inverse_factor(covariance: AnyArray, root: Array) -> tuple[Array, Array]:
    """Return the inverse Cholesky factor of K + noise, and the information in nats.

    Arguments:
        covariance: K.
        root: 1 / noise deviation of each place, 0 in unused places.
    """
    lower = jnp.linalg.cholesky(covariance_over_noise(covariance, root))
    inverse = jax.scipy.linalg.solve_triangular(lower, jnp.eye(len(root)), lower=True)
    return inverse * root[None, :], jnp.log(lower.diagonal()).sum()


def whitened(model: Model, places: PaddedObservations) -> tuple[Array, Array]:
    """Return 1 / noise deviation of each place, and I + K / noise."""
    root = places.roots(model)
    among = covariance_between(model, places, places)
    return root, covariance_over_noise(among, root)


def factor(model: Model, places: PaddedObservations) -> tuple[Array, Array, Array]:
    """Return 1 / noise deviation of each place, the factor of C and half its log-determinant.

    C is I + K / noise.
    """
    root, scaled = whitened(model, places)
    lower = jnp.linalg.cholesky(scaled)
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
    """Multiply by a lower triangle in strips that skip most zeros, at 5/8 of the cost."""
    if isinstance(lower, Mirrored):
        if columns.shape[1] <= FEW:
            return lower @ columns
        lower = lower.matrix
    return jnp.concatenate([strip @ columns[: strip.shape[1]] for strip in _strips(lower)])


def _transpose_times(matrix: AnyArray | Mirrored, columns: Array) -> Array:
    """Multiply by a transpose without materialising it on a CPU."""
    return matrix.T @ columns if isinstance(matrix, Mirrored) else (columns.T @ matrix).T


def lower_squared(lower: Array) -> Array:
    """Return a lower triangle's transpose times itself, in strips at half of the cost."""
    total = jnp.zeros_like(lower)
    for strip in _strips(lower):
        end = strip.shape[1]
        total = total.at[:end, :end].add(strip.T @ strip)
    return total


def _strips(lower: AnyArray) -> list[Array]:
    """Cut a lower triangle into blocks of rows without the columns that are zero."""
    ends = [len(lower) * part // STRIPS for part in range(STRIPS + 1)]
    return [jnp.asarray(lower)[a:b, :b] for a, b in pairwise(ends)]


def covariance_across(
    model: Model, places: PaddedObservations, rows: AnyArray, time: Scalar
) -> Array:
    """Compute the covariance between the function at places and at rows at one time."""
    return model.covariance(places.rows, places.times[:, None], rows, jnp.asarray(time))


def covariance_between(model: Model, some: PaddedObservations, others: PaddedObservations) -> Array:
    """Compute the covariance between the function at some places and at others."""
    return model.covariance(some.rows, some.times[:, None], others.rows, others.times[None, :])
