r"""The covariance of a Gaussian process over the unit cube that drifts in continuous time.

It is \(k(x, x')\,c(|t-t'|)\). The spatial covariance k is Matern 5/2 with a lengthscale
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
"""

from collections.abc import Callable
from functools import reduce
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from driftpeak._core.types import AnyArray, Scalar
from driftpeak.gp.dynamics import HALF
from driftpeak.gp.kernels import Matern

SHAPE = Matern(2.5)
UNROLLED = 8  # columns up to which distances are one sum, not a product
SAME = 1e-9  # largest difference between rows with the same choice
LEAST_SQUARE = 1e-30  # least squared distance: its root is differentiable in single precision
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
