r"""Maximisation of an upper confidence bound among settings that meet measured limits.

A measured quantity \(q\) with limits \([l, u]\) has its own Gaussian process. Let m and s be the
mean and the standard deviation, noise included, of a measurement at a row. The measurement meets
the limits with probability

\[ \Phi((u - m) / s) - \Phi((l - m) / s) \]

A row is feasible if each quantity meets its limits with its stated probability. If no row is
feasible, the row with the highest product of these probabilities is chosen. Gradient ascent starts
from feasible rows, and the best feasible point on its path is kept. Source of chance constraints:
Gelbart, Snoek and Adams 2014, "Bayesian Optimization with Unknown Constraints".
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.special import log_ndtr, ndtr
from jaxtyping import Array

from driftpeak._core.numerics.compiled import compiled
from driftpeak._core.types import AnyArray, Scalar
from driftpeak.live._model.covariance import Model
from driftpeak.live._model.gp import Conditioned, posterior
from driftpeak.live._search.maximization import (
    BARRED,
    CLIMBERS,
    Beliefs,
    Reachable,
    age_unit,
    aged,
    bound,
    climb,
    in_ages,
    look_around,
    mirrored,
    possible,
    rough,
    single,
    taken,
)
from driftpeak.live._space.discretization import Discretization

STAGES = 8  # points on a path
SLACK = 1e-9  # tolerance of a probability


class Watched(NamedTuple):
    """The posterior of a measured quantity, in its own standard units and times, and its limits."""

    model: Model
    known: Conditioned
    time: Scalar
    low: Scalar
    high: Scalar
    probability: Scalar  # required probability of meeting the limits

    def in_ages(self) -> "Watched":
        """Return the same quantity with ages in place of times."""
        unit = age_unit(self.model)
        known = self.known._replace(places=aged(self.known.places, self.time, unit))
        return self._replace(
            model=in_ages(self.model, self.time, unit), known=known, time=jnp.zeros(())
        )

    def expected(self, rows: AnyArray) -> "Expected":
        """Compute the prediction of the quantity at rows."""
        means, deviations = posterior(self.model, self.known, None, rows, self.time)
        whole = jnp.sqrt(deviations**2 + self.model.noise_variance)
        return Expected(deviations, (self.low - means) / whole, (self.high - means) / whole)


class Expected(NamedTuple):
    """The prediction of a quantity at rows; all arrays have shape `(m,)`."""

    deviations: Array  # standard deviations of the function
    low: AnyArray  # the limits, in standard deviations of a measurement from its mean
    high: AnyArray

    def probability(self) -> Array:
        """Return the probability that a measurement meets the limits."""
        return ndtr(self.high) - ndtr(self.low)

    def log_probability(self) -> Array:
        """Return an approximate log probability for comparisons, by the nearer of two limits."""
        return jnp.minimum(log_ndtr(self.high), log_ndtr(-self.low))


class Situation(NamedTuple):
    """The posteriors of the reward and of all measured quantities."""

    beliefs: Beliefs
    watched: tuple[Watched, ...]
    reachable: Reachable | None
    exploring: Scalar  # 1: explore the limits; 0: maximise the reward

    def roughly(self) -> "Situation":
        """Return the same situation in single precision, with ages in place of times."""
        watched = tuple(quantity.in_ages() for quantity in self.watched)
        own = rough(self.beliefs), single(watched), single(self.reachable), single(self.exploring)
        return Situation(*own)

    def score(self, rows: AnyArray, allowed: AnyArray) -> Array:
        """Compute the value by which rows are chosen, shape `(m,)`.

        Feasible rows have the value of their bound, and other rows minus infinity. If no row is
        feasible, allowed rows have their log probability of meeting the limits. Rows that are not
        `allowed` have minus infinity. If `exploring`, feasible rows that may be the best have the
        relative deviation of the most uncertain quantity.
        """
        bounds = bound(self.beliefs, rows, self.reachable)
        bounds = bounds - BARRED * taken(self.beliefs, rows, self.reachable)
        if self.reachable is not None:
            allowed = allowed & self.reachable.holds(rows)
        if not self.watched:
            return jnp.where(allowed, bounds, -jnp.inf)
        whole = self.beliefs.whole(rows)
        expected = [quantity.expected(whole) for quantity in self.watched]  # the dominant cost
        feasible = jnp.asarray(allowed)
        for quantity, there in zip(self.watched, expected, strict=True):
            feasible = feasible & (there.probability() >= quantity.probability - SLACK)
        likely = jnp.stack([there.log_probability() for there in expected]).sum(axis=0)

        def to_learn() -> Array:
            promising = self._promising(rows, bounds, feasible)
            uncertain = jnp.where(promising, self._uncertainty(expected), -jnp.inf)
            return jnp.where(promising.any(), uncertain, bounds)

        values = jax.lax.cond(self.exploring > 0, to_learn, lambda: bounds)
        values = jnp.where(feasible.any(), values, likely)
        return jnp.where(jnp.where(feasible.any(), feasible, allowed), values, -jnp.inf)

    def _promising(self, rows: AnyArray, bounds: Array, feasible: Array) -> Array:
        """Return whether each row is feasible and its bound is at least the best feasible mean."""
        plain = self.beliefs._replace(explore=jnp.zeros_like(self.beliefs.explore))
        best = jnp.max(jnp.where(feasible, bound(plain, rows, self.reachable), -jnp.inf))
        return feasible & (bounds >= best)

    def _uncertainty(self, expected: list[Expected]) -> Array:
        """Return the largest deviation among the quantities, as a share of the amplitude."""
        each = zip(self.watched, expected, strict=True)
        return jnp.stack([e.deviations / jnp.sqrt(q.model.variance) for q, e in each]).max(0)


@compiled
def finalists(
    situation: Situation,
    candidates: AnyArray,
    allowed: AnyArray,
    unit: AnyArray,
    discretization: Discretization,
) -> Array:
    """Return the best candidates and points on the paths of their ascent, shape `(n, d)`."""
    quick = situation.roughly()
    values = quick.score(single(candidates), allowed)
    climbers = candidates[jax.lax.top_k(values, CLIMBERS)[1]]
    beliefs = mirrored(quick.beliefs)
    top = climb(beliefs, single(climbers), quick.reachable, single(unit)).astype(float)
    share = jnp.arange(1, STAGES + 1)[:, None, None] / STAGES
    ways = (climbers[None] + share * (top - climbers)[None]).reshape(-1, climbers.shape[1])
    return jnp.concatenate([climbers, possible(ways, discretization, situation.reachable)])


@compiled
def best_of(situation: Situation, rows: AnyArray, allowed: AnyArray) -> Array:
    """Return the index of the best row, in double precision."""
    return jnp.argmax(situation.score(rows, allowed))


@compiled
def chances(watched: Watched, rows: AnyArray) -> Array:
    """Compute the probability of meeting the limits at rows with context, shape `(m,)`."""
    return watched.expected(rows).probability()


around = compiled(look_around)
"""Candidates, shape `(m, d)`, and the step length in each column."""
