r"""Where an upper confidence bound is largest among settings that keep measured limits.

A quantity \(q\) with limits \([l, u]\) and a Gaussian process of its own is kept with probability

\[ \Phi((u - m) / s) - \Phi((l - m) / s) \]

at a row where it is expected to be measured as m with deviation s, noise included. Rows at which
every quantity is kept with the probability stated for it are feasible (chance constraints, as in
Gelbart, Snoek and Adams 2014, "Bayesian Optimization with Unknown Constraints"); where none is, the
row is taken whose limits are most probably kept all together. From feasible rows the bound is
climbed, and of the way up the last feasible part is taken.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.special import log_ndtr, ndtr
from jaxtyping import Array

from driftpeak._core.numerics.compiled import compiled
from driftpeak._core.types import AnyArray, Scalar
from driftpeak.live.model.gp import Known, Model, posterior
from driftpeak.live.search.maximization import (
    BARRED,
    Beliefs,
    Room,
    Trials,
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
from driftpeak.live.space.discretization import Lattice

CLIMBERS = 8
STAGES = 8  # parts of a way
SLACK = 1e-9  # of a probability


class Watched(NamedTuple):
    """A measured quantity, in its own standard units and times."""

    model: Model
    known: Known
    time: Scalar
    low: Scalar
    high: Scalar
    probability: Scalar  # with which it must be kept

    def in_ages(self) -> "Watched":
        """Return the same with ages in place of times."""
        one = age_unit(self.model)
        known = self.known._replace(places=aged(self.known.places, self.time, one))
        return self._replace(model=in_ages(self.model, one), known=known, time=jnp.zeros(()))

    def expected(self, rows: AnyArray) -> "Expected":
        """What is expected of the quantity at some rows."""
        means, deviations = posterior(self.model, self.known, None, rows, self.time)
        whole = jnp.sqrt(deviations**2 + self.model.noise_variance)
        return Expected(deviations, (self.low - means) / whole, (self.high - means) / whole)


class Expected(NamedTuple):
    """What is expected of a quantity at some rows: all of shape `(m,)`."""

    deviations: Array  # of the function
    low: AnyArray  # the limits, in deviations of a measurement from its mean
    high: AnyArray

    def kept(self) -> Array:
        """The probability that a measurement there is within the limits."""
        return ndtr(self.high) - ndtr(self.low)

    def log_kept(self) -> Array:
        """Its logarithm, for comparisons: with two ends that of the nearer."""
        return jnp.minimum(log_ndtr(self.high), log_ndtr(-self.low))


class Situation(NamedTuple):
    """What is believed of the reward and of all quantities."""

    beliefs: Beliefs
    watched: tuple[Watched, ...]
    room: Room | None
    curious: Scalar  # 1: learn where the limits lie; 0: go where the reward is

    def roughly(self) -> "Situation":
        """In single precision, ages in place of times."""
        watched = tuple(one.in_ages() for one in self.watched)
        own = rough(self.beliefs), single(watched), single(self.room), single(self.curious)
        return Situation(*own)

    def worth(self, rows: AnyArray, allowed: AnyArray) -> Array:
        """By which rows are chosen, shape `(m,)`; minus infinity for those that are not `allowed`.

        Where any is feasible, only those are, by their bounds; else the most probable.
        """
        bounds = bound(self.beliefs, rows, self.room)
        bounds = bounds - BARRED * taken(self.beliefs, rows, self.room)
        if self.room is not None:
            allowed = allowed & self.room.holds(rows)
        if not self.watched:
            return jnp.where(allowed, bounds, -jnp.inf)
        whole = self.beliefs.whole(rows)
        expected = [one.expected(whole) for one in self.watched]  # once: it is most of the work
        feasible = jnp.asarray(allowed)
        for one, there in zip(self.watched, expected, strict=True):
            feasible = feasible & (there.kept() >= one.probability - SLACK)
        likely = jnp.stack([there.log_kept() for there in expected]).sum(axis=0)

        def to_learn() -> Array:
            curious = self._promising(rows, bounds, feasible)
            unsure = jnp.where(curious, self._unsure(expected), -jnp.inf)
            return jnp.where(curious.any(), unsure, bounds)

        worth = jax.lax.cond(self.curious > 0, to_learn, lambda: bounds)
        worth = jnp.where(feasible.any(), worth, likely)
        return jnp.where(jnp.where(feasible.any(), feasible, allowed), worth, -jnp.inf)

    def _promising(self, rows: AnyArray, bounds: Array, feasible: Array) -> Array:
        """Which feasible rows may be better than the one that is expected to be the best."""
        plain = self.beliefs._replace(explore=jnp.zeros_like(self.beliefs.explore))
        best = jnp.max(jnp.where(feasible, bound(plain, rows, self.room), -jnp.inf))
        return feasible & (bounds >= best)

    def _unsure(self, expected: list[Expected]) -> Array:
        """How little is known of the quantity that is known least, as a share of its amplitude."""
        each = zip(self.watched, expected, strict=True)
        return jnp.stack([e.deviations / jnp.sqrt(one.model.variance) for one, e in each]).max(0)


@compiled
def around(
    beliefs: Beliefs, trials: Trials, lattice: Lattice, room: Room | None
) -> tuple[Array, Array]:
    """Candidates, shape `(m, d)`, and the length of a step in each column."""
    return look_around(beliefs, trials, lattice, room)


@compiled
def finalists(
    situation: Situation, candidates: AnyArray, allowed: AnyArray, unit: AnyArray, lattice: Lattice
) -> Array:
    """The best candidates, and the ways on which their bound is climbed, shape `(n, d)`."""
    quick = situation.roughly()
    worth = quick.worth(single(candidates), allowed)
    climbers = candidates[jax.lax.top_k(worth, CLIMBERS)[1]]
    beliefs = mirrored(quick.beliefs)
    top = climb(beliefs, single(climbers), quick.room, single(unit)).astype(float)
    share = jnp.arange(1, STAGES + 1)[:, None, None] / STAGES
    ways = (climbers[None] + share * (top - climbers)[None]).reshape(-1, climbers.shape[1])
    return jnp.concatenate([climbers, possible(ways, lattice, situation.room)])


@compiled
def best_of(situation: Situation, rows: AnyArray, allowed: AnyArray) -> Array:
    """The number of the best of some rows, in double precision."""
    return jnp.argmax(situation.worth(rows, allowed))


@compiled
def chances(watched: Watched, rows: AnyArray) -> Array:
    """The probability that a limit is kept, at each of some whole rows, shape `(m,)`."""
    return watched.expected(rows).kept()
