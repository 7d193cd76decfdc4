"""Maximisation of an upper confidence bound over the unit cube, in one compiled program.

Candidates are a randomly shifted Sobol sequence, and neighbours of the observed rows with the
highest posterior means. The best candidates are improved by gradient ascent. Each row is rounded
to the nearest valid row before it is compared. If moves are limited, candidates are spread over
the rows within reach, and the current setting is one of them. A pending suggestion is not repeated
unless there is no other row. Candidates are compared in single precision, and the best of them
again in double precision.
"""

from importlib.metadata import version
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from driftpeak._core.numerics import disk_cache
from driftpeak._core.numerics.compiled import compiled
from driftpeak._core.types import AnyArray, Scalar, Vector
from driftpeak.inference.beliefs import Posterior
from driftpeak.live._model.covariance import Model
from driftpeak.live._model.gp import (
    Conditioned,
    Fantasies,
    PaddedObservations,
    influence,
    mean,
    posterior,
)
from driftpeak.live._model.likelihoods import Rates
from driftpeak.live._model.mirrored import Mirrored
from driftpeak.live._model.scaling import LINEAR
from driftpeak.live._search.boundary import boundary_weight, powers_around
from driftpeak.live._space.discretization import NEAR, Discretization
from driftpeak.live._space.encoding import Coding
from driftpeak.live._space.records import Reach
from driftpeak.policies.widths import Width

SOBOL = 256
AROUND = 64
INCUMBENTS = 4
SWAPPED = 4  # one in so many steps from an incumbent changes only choices
CLIMBERS = 8
APART = 0.01  # least distance of pending suggestions in some column, in lengthscales
BARRED = 1e6  # penalty above any bound: such rows are chosen only if there are no others
OLDEST = 1e30  # bound of ages in timescales: products are finite in single precision
FARTHEST = 50.0  # standard units beyond the linear range
CLIMB = 10  # steps of gradient ascent
FIRST, LAST = 0.1, 0.01  # lengths of the first and the last step, in lengthscales


NO_COLUMNS, NO_ROWS = np.zeros(0), np.zeros((0, 0))
Steps = tuple[Array, Array, Array]


class Trials(NamedTuple):
    """The random candidates of a search."""

    everywhere: AnyArray  # (SOBOL, d)
    steps: AnyArray  # (AROUND, d): steps from the incumbents, in lengthscales


class Beliefs(NamedTuple):
    """The posterior at one time, and the parameters of the acquisition function."""

    model: Model
    known: Conditioned
    fantasies: Fantasies | None
    time: Scalar
    width: Width
    explore: Scalar  # factor of the width: 0 maximises the mean
    context: AnyArray = NO_COLUMNS  # (k,): values of the context, the model's last columns
    ahead: AnyArray | None = (
        None  # horizons of the influence, as times from now; None: no influence
    )
    powers: AnyArray | None = None  # (d,): exponents of the boundary factor; None: no factor
    origin: AnyArray | None = None  # (d + k,): row of the schedule; None without a schedule
    best: AnyArray = NO_ROWS  # (INCUMBENTS, d): observed rows with the highest current means

    def whole(self, rows: AnyArray) -> Array:
        """Return rows of settings and the context as rows of the model, shape `(m, d + k)`."""
        context = jnp.broadcast_to(self.context, (len(rows), len(self.context)))
        whole = jnp.concatenate([rows, context], axis=1)
        return whole if self.origin is None else whole - self.origin[None, :]


class Reachable(NamedTuple):
    """The current row, the rows within reach of it, and the movement costs."""

    here: AnyArray  # (d,): the current row
    near: AnyArray  # (d,): the row within reach that is nearest to it
    lower: AnyArray  # (d,): lowest row within reach
    upper: AnyArray  # (d,): highest row within reach
    cost: AnyArray | None  # (d,): cost of a move from 0 to 1, in scales of the rewards
    rates: Rates | None = None  # likelihood of binary rewards and counts

    def costs_of_moves(self, model: Model, rows: AnyArray) -> Array:
        """Return the movement costs to rows, shape `(m,)`."""
        assert self.cost is not None
        gap = jnp.abs(rows - self.here[None, :])
        unordered = jnp.asarray(model.gaps)[None, : rows.shape[1]] == 1
        return jnp.where(unordered, gap > NEAR, gap) @ self.cost

    def holds(self, rows: AnyArray) -> Array:
        """Return whether each row is within reach, shape `(m,)`."""
        inside = (rows >= self.lower[None, :]) & (rows <= self.upper[None, :])
        return jnp.all(inside, axis=1)


class Searcher:
    """A generator of candidates, which are determined by the seed and the suggestion's number."""

    def __init__(self, coding: Coding, seed: int) -> None:
        self.coding, self.seed = coding, seed
        if coding.pool is not None:
            return  # the pool holds all candidates
        name = f"sobol-{SOBOL}-{coding.dimension}-{seed}-scipy-{version('scipy')}"
        content = disk_cache.read(name)
        if content is None:
            content = _sobol(coding.dimension, seed).tobytes()
            disk_cache.write(name, content)
        self.sequence = np.frombuffer(content).reshape(SOBOL, coding.dimension)

    def first(self, number: int, reach: Reach | None) -> Vector:
        """Return the row of initial suggestion `number` in a space-filling design.

        If there are choices, the second of two suggestions differs from the first only in them: the
        rewards then show which choice is better. With a reach, it is the nearest row within reach.
        """
        coding, pool = self.coding, self.coding.pool
        if pool is not None:
            order = np.random.default_rng(self.seed).permutation(len(pool))
            row = pool[order[(number - 1) % len(order)]]
        else:
            row = self._spread((number - 1) % SOBOL)
        return row if reach is None else reach.nearest(coding, row)

    def _spread(self, place: int) -> Vector:
        """Return the row of a place in the design; with choices, two places share their numbers."""
        sequence, chosen = self.sequence, self.coding.gaps > 0
        if not chosen.any():
            return self.coding.spread(sequence[place])

        def row(choices: Vector) -> Vector:
            return self.coding.spread(np.where(chosen, choices, sequence[place // 2]))

        equal = place % 2 == 1 and (row(sequence[place]) == row(sequence[place - 1])).all()
        return row((sequence[place] + 0.5) % 1.0 if equal else sequence[place])

    def trials(self, number: int) -> Trials:
        """Draw the random candidates of suggestion `number`."""
        generator = np.random.default_rng([self.seed, number])
        shape = (AROUND, self.coding.dimension)
        everywhere = (self.sequence + generator.uniform(size=shape[1])) % 1.0
        moved = generator.uniform(size=shape) < max(0.3, 1.5 / shape[1])
        chosen = self.coding.gaps > 0
        if chosen.any():
            moved[::SWAPPED, ~chosen] = False
        steps = np.where(moved, 0.3 * generator.normal(size=shape), 0.0)
        return Trials(self.coding.spread(everywhere), steps)


def _sobol(dimension: int, seed: int) -> Vector:
    """Compute the first points of a scrambled Sobol sequence, shape `(SOBOL, dimension)`."""
    from scipy.stats import qmc  # slow to import

    return qmc.Sobol(dimension, rng=np.random.default_rng(seed)).random(SOBOL)


@compiled
def highest_of(beliefs: Beliefs, pool: AnyArray, reachable: Reachable | None) -> Array:
    """Return the index of the row of `pool` within reach that has the highest bound."""
    bounds = bound(beliefs, pool, reachable)
    return jnp.argmax(
        bounds if reachable is None else jnp.where(reachable.holds(pool), bounds, -jnp.inf)
    )


def with_best_observed(beliefs: Beliefs, *, boundary_weighting: bool) -> Beliefs:
    """Add the best observed rows and, if wanted, the exponents of the boundary factor."""
    best, powers = _best_observed(beliefs)
    return beliefs._replace(best=best, powers=powers if boundary_weighting else None)


@compiled
def _best_observed(beliefs: Beliefs) -> tuple[Array, Array]:
    """Return the rows with the highest means, and the boundary exponents around the first."""
    places = beliefs.known.places
    columns = places.rows.shape[1] - len(beliefs.context)
    observed = jnp.asarray(places.rows)[:, :columns]
    if beliefs.origin is not None:
        observed = observed + beliefs.origin[None, :columns]
    quick = rough(beliefs)
    means = mean(quick.model, quick.known, quick.whole(single(observed)), quick.time)
    best = observed[jax.lax.top_k(jnp.where(places.used, means, -jnp.inf), INCUMBENTS)[1]]
    return best, powers_around(best[0])


def look_around(
    beliefs: Beliefs, trials: Trials, discretization: Discretization, reachable: Reachable | None
) -> tuple[Array, Array]:
    """Return candidate rows, best observed rows first, and the step length in each column."""
    model, *_ = beliefs
    everywhere = trials.everywhere
    columns = everywhere.shape[1]
    best = possible(beliefs.best, discretization, reachable)
    unit = jnp.minimum(model.lengthscale[:columns], 1.0)
    if reachable is not None:
        best = jnp.concatenate([reachable.near[None, :], best[1:]])
        wide = reachable.upper - reachable.lower
        unit = jnp.minimum(unit, wide)
        everywhere = reachable.lower[None, :] + everywhere * wide[None, :]
        everywhere = possible(everywhere, discretization, reachable)
    around = jnp.repeat(best, AROUND // INCUMBENTS, axis=0)
    # in unordered columns, a step takes the value of a Sobol row
    stepped = jnp.where(
        model.gaps[None, :columns] == 1,
        jnp.where(trials.steps != 0, everywhere[:AROUND], around),
        around + trials.steps * unit[None, :],
    )
    near = possible(stepped, discretization, reachable)
    return jnp.concatenate([best, near, everywhere]), unit


@compiled
def highest(
    beliefs: Beliefs, trials: Trials, discretization: Discretization, reachable: Reachable | None
) -> Array:
    """Find the row with the highest bound, shape `(d,)`."""
    candidates, unit = look_around(beliefs, trials, discretization, reachable)
    quick, quick_room = mirrored(rough(beliefs)), single(reachable)
    bounds = bound(quick, single(candidates), quick_room)
    bounds = bounds - BARRED * taken(quick, single(candidates), reachable)
    climbers = candidates[jax.lax.top_k(bounds, CLIMBERS)[1]]
    climbed = climb(quick, single(climbers), quick_room, single(unit)).astype(float)
    finest = jnp.concatenate(
        [candidates[:1], climbers, possible(climbed, discretization, reachable)]
    )
    return finest[
        jnp.argmax(bound(beliefs, finest, reachable) - BARRED * taken(beliefs, finest, reachable))
    ]


def taken(beliefs: Beliefs, rows: AnyArray, reachable: Reachable | None) -> Array:
    """Return 1 for rows that nearly equal a pending suggestion, else 0, shape `(m,)`.

    With movement limits or costs it is always 0: the system may stay at a pending suggestion.
    """
    model, _, fantasies, *_ = beliefs
    if fantasies is None or (reachable is not None and reachable.cost is not None):
        return jnp.zeros(len(rows))
    out = fantasies.places
    # small enough that all pending suggestions leave free space
    apart = jnp.minimum(APART, 0.25 * out.used.sum() ** (-1.0 / rows.shape[1]))
    rows = beliefs.whole(rows)
    unit = jnp.where(model.gaps == 1, 1.0, jnp.minimum(model.lengthscale, 1.0))
    near = out.used[:, None] & jnp.ones((1, len(rows)), bool)
    for column in range(rows.shape[1]):
        gap = jnp.abs(out.rows[:, column, None] - rows[None, :, column])
        near = near & (gap < apart * unit[column])
    return near.any(axis=0).astype(float)


def rough(beliefs: Beliefs) -> Beliefs:
    """Return the same posterior in single precision, with ages in place of times."""
    model, known, fantasies, time, *_ = beliefs
    unit = age_unit(model)
    known = known._replace(places=aged(known.places, time, unit))
    if fantasies is not None:
        fantasies = fantasies._replace(places=aged(fantasies.places, time, unit))
    ahead = None if beliefs.ahead is None else beliefs.ahead * unit
    beliefs = beliefs._replace(model=in_ages(model, time, unit), known=known, fantasies=fantasies)
    return single(beliefs._replace(time=jnp.zeros(()), ahead=ahead))


def age_unit(model: Model) -> Array:
    """Return a power of 2 that converts times approximately to timescales.

    The conversion is exact. Times in the user's unit may be outside the range of single precision.
    """
    return jnp.ldexp(1.0, -jnp.frexp(jnp.asarray(model.timescale, float))[1])


def aged(places: PaddedObservations, time: Scalar, unit: Scalar) -> PaddedObservations:
    """Return the same places with times replaced by minus their ages, in units of `1 / one`."""
    times = (jnp.asarray(places.times) - time) * unit
    return places._replace(times=jnp.clip(times, -OLDEST, OLDEST))


def in_ages(model: Model, time: Scalar, unit: Scalar) -> Model:
    """Return the model for the times of `aged`."""
    when, losses = jnp.asarray(model.changes)
    changes = jnp.stack([jnp.clip((when - time) * unit, -OLDEST, OLDEST), losses])
    timescale, period = model.timescale * unit, model.period * unit
    return model._replace(timescale=timescale, period=period, changes=changes)


def mirrored(beliefs: Beliefs) -> Beliefs:
    """Return the same posterior with stored strips and transposes, for repeated gradients."""
    _, known, fantasies, *_ = beliefs
    whiten: Any = Mirrored.of_lower(known.whiten)
    beliefs = beliefs._replace(known=known._replace(whiten=whiten))
    if fantasies is None:
        return beliefs
    cross: Any = Mirrored.of(fantasies.cross)
    whiten = Mirrored.of_lower(fantasies.whiten)
    return beliefs._replace(fantasies=fantasies._replace(cross=cross, whiten=whiten))


def single(tree: Any) -> Any:
    """Convert real numbers to single precision."""

    def rounded(leaf: Any) -> Any:
        leaf = jnp.asarray(leaf)
        return leaf.astype(jnp.float32) if jnp.issubdtype(leaf.dtype, jnp.floating) else leaf

    return jax.tree.map(rounded, tree)


def possible(rows: AnyArray, discretization: Discretization, reachable: Reachable | None) -> Array:
    """Return the nearest valid rows within reach."""
    if reachable is None:
        return discretization.snap(jnp.clip(rows, 0.0, 1.0))
    lower, upper = reachable.lower[None, :], reachable.upper[None, :]
    return discretization.within(rows, lower, upper)


def bound(beliefs: Beliefs, rows: AnyArray, reachable: Reachable | None) -> Array:
    """Compute the upper confidence bound minus the movement cost, shape `(m,)`."""
    model, known, fantasies, time, width, explore, _, ahead, powers, *_ = beliefs
    whole = beliefs.whole(rows)
    means, deviations = posterior(model, known, fantasies, whole, time)
    count = known.places.used.sum()
    believed = Posterior(means, deviations**2, known.information, count)
    bonus = deviations
    if ahead is not None:
        bonus = influence(model, known, fantasies, whole, time, ahead)
    if powers is not None:
        bonus = bonus * boundary_weight(model, rows, powers)
    bounds = means + explore * width(count + 1, believed) * bonus
    if reachable is None or reachable.cost is None:
        return bounds
    if reachable.rates is not None:
        return jnp.asarray(reachable.rates.rate(bounds)) - reachable.costs_of_moves(model, rows)
    # beyond the linear range, rewards grow exponentially with standard units
    beyond = jnp.clip(jnp.abs(bounds) - LINEAR, 0.0, FARTHEST)
    inside = jnp.clip(bounds, -LINEAR, LINEAR)
    return inside + jnp.sign(bounds) * jnp.expm1(beyond) - reachable.costs_of_moves(model, rows)


def climb(beliefs: Beliefs, rows: AnyArray, reachable: Reachable | None, unit: Array) -> Array:
    """Maximise the bound by Adam (Kingma and Ba 2015) with steps in units of lengthscales."""
    lower, upper = (
        (0.0, 1.0) if reachable is None else (reachable.lower[None, :], reachable.upper[None, :])
    )

    def total(rows: AnyArray) -> Array:
        return bound(beliefs, rows, reachable).sum()

    unit = jnp.where(beliefs.model.gaps[: len(unit)] == 1, 0.0, unit)[None, :]
    shrink = (LAST / FIRST) ** (1 / (CLIMB - 1))

    def step(number: Array, state: Steps) -> Steps:
        rows, first, second = state
        slope = jax.grad(total)(rows) * unit
        first = 0.7 * first + 0.3 * slope
        second = 0.9 * second + 0.1 * slope**2
        n = number + 1.0
        move = first / (1 - 0.7**n) / (jnp.sqrt(second / (1 - 0.9**n)) + 1e-12)
        moved = rows + FIRST * shrink**number * move * unit
        return jnp.clip(moved, lower, upper), first, second

    zeros = jnp.zeros_like(rows)
    return jax.lax.fori_loop(0, CLIMB, step, (rows, zeros, zeros))[0]
