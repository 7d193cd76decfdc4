"""Where an upper confidence bound is largest over the unit cube: one compiled program.

Candidates are a Sobol sequence, shifted at random, and the neighbourhoods of the observed rows
whose mean is highest; the best are improved by gradient ascent, and every row is moved to the
nearest that can be suggested before it is judged. Where moves are limited, candidates are spread
over what is in reach, and staying is one of them. Nothing is suggested again that is out, unless
there is nothing else. Looking around is done in single precision, the best are judged in double.
"""

from importlib.metadata import version
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from driftpeak._core.numerics import disk_cache as kept
from driftpeak._core.numerics.compiled import compiled
from driftpeak._core.types import AnyArray, Scalar, Vector
from driftpeak.inference.beliefs import Posterior
from driftpeak.live.model.gp import Imagined, Known, Model, Places, influence, mean, posterior
from driftpeak.live.model.likelihoods import Rates
from driftpeak.live.model.mirrored import Mirrored
from driftpeak.live.model.scaling import LINEAR
from driftpeak.live.search.boundary import powers_around, scope
from driftpeak.live.space.discretization import MIDDLE, NEAR, Lattice
from driftpeak.live.space.encoding import Coding
from driftpeak.live.space.records import Reach
from driftpeak.policies.widths import Width

SOBOL = 256
AROUND = 64
INCUMBENTS = 4
CLIMBERS = 8
APART = 0.01  # lengthscales between two that are out, in some column, where there is room
BARRED = 1e6  # more than any bound: chosen only where all are
OLDEST = 1e30  # timescales: no product of two is infinite in single precision
FARTHEST = 50.0  # standard units beyond the linear range
CLIMB = 10  # steps of gradient ascent
FIRST, LAST = 0.1, 0.01  # lengths of the first and the last step, in lengthscales


NO_COLUMNS = np.zeros(0)
Steps = tuple[Array, Array, Array]


class Trials(NamedTuple):
    """The random part of a search."""

    everywhere: AnyArray  # (SOBOL, d)
    steps: AnyArray  # (AROUND, d): how far from an incumbent, in lengthscales


class Beliefs(NamedTuple):
    """What is believed at one time, and how widely to explore."""

    model: Model
    known: Known
    imagined: Imagined | None
    time: Scalar
    width: Width
    explore: Scalar  # a factor on the width: 0 for the highest mean
    context: AnyArray = NO_COLUMNS  # (k,): what the world says, the model's last columns
    ahead: AnyArray | None = None  # times from now, for which a look should be of use; None: now
    powers: AnyArray | None = None  # of the scope of a look, shape (d,); None: it does not count

    def whole(self, rows: AnyArray) -> Array:
        """Rows of settings with the context beside them, shape `(m, d + k)`."""
        context = jnp.broadcast_to(self.context, (len(rows), len(self.context)))
        return jnp.concatenate([rows, context], axis=1)


class Room(NamedTuple):
    """Where a system stands, between which rows it can go, and what that costs it."""

    here: AnyArray  # (d,)
    lower: AnyArray  # (d,)
    upper: AnyArray  # (d,)
    cost: AnyArray  # (d,): from 0 to 1, in scales of the rewards
    rates: Rates | None = None  # where rewards are 0 and 1, or counts

    def fares(self, model: Model, rows: AnyArray) -> Array:
        """What going to some rows costs, shape `(m,)`."""
        gap = jnp.abs(rows - self.here[None, :])
        categorical = jnp.asarray(model.categorical)[None, : rows.shape[1]]
        return jnp.where(categorical, gap > NEAR, gap) @ self.cost

    def holds(self, rows: AnyArray) -> Array:
        """Which rows are in reach, shape `(m,)`."""
        inside = (rows >= self.lower[None, :]) & (rows <= self.upper[None, :])
        return jnp.all(inside, axis=1)


class Searcher:
    """Makes candidates for a space, equal ones for an equal seed and number."""

    def __init__(self, coding: Coding, seed: int) -> None:
        self.coding, self.seed = coding, seed
        if coding.pool is not None:
            return  # all candidates are known
        name = f"sobol-{SOBOL}-{coding.dimension}-{seed}-scipy-{version('scipy')}"
        content = kept.read(name)
        if content is None:
            content = _sobol(coding.dimension, seed).tobytes()
            kept.write(name, content)
        self.sequence = np.frombuffer(content).reshape(SOBOL, coding.dimension)

    def first(self, number: int, reach: Reach | None) -> Vector:
        """The row of suggestion `number` before there is anything to go by: spread evenly.

        Or the nearest to it in reach.
        """
        coding, pool = self.coding, self.coding.pool
        if pool is not None:
            order = np.random.default_rng(self.seed).permutation(len(pool))
            row = pool[order[(number - 1) % len(order)]]
            if reach is None:
                return row
            near = pool[((pool >= reach.lower) & (pool <= reach.upper)).all(axis=1)]
            return near[np.argmin(((near - row) ** 2).sum(axis=1))]
        row = coding.spread(self.sequence[(number - 1) % SOBOL])
        if reach is None:
            return row
        row = coding.snap(np.clip(row, reach.lower, reach.upper))
        row = np.clip(row, reach.lower, reach.upper)
        return np.where(coding.lattice.counting(row[None])[0], row, MIDDLE)

    def trials(self, number: int) -> Trials:
        """The candidates of suggestion `number`."""
        generator = np.random.default_rng([self.seed, number])
        shape = (AROUND, self.coding.dimension)
        everywhere = (self.sequence + generator.uniform(size=shape[1])) % 1.0
        moved = generator.uniform(size=shape) < max(0.3, 1.5 / shape[1])
        steps = np.where(moved, 0.3 * generator.normal(size=shape), 0.0)
        return Trials(self.coding.spread(everywhere), steps)


def _sobol(dimension: int, seed: int) -> Vector:
    """The first points of a scrambled Sobol sequence, shape `(SOBOL, dimension)`."""
    from scipy.stats import qmc  # takes as long to import as all else together

    return qmc.Sobol(dimension, rng=np.random.default_rng(seed)).random(SOBOL)


@compiled
def highest_of(beliefs: Beliefs, pool: AnyArray, room: Room | None) -> Array:
    """The number of the row of `pool` with the highest bound, of those in reach."""
    bounds = bound(beliefs, pool, room)
    return jnp.argmax(bounds if room is None else jnp.where(room.holds(pool), bounds, -jnp.inf))


def best_observed(beliefs: Beliefs) -> Array:
    """The `INCUMBENTS` rows observed whose mean is highest now, shape `(n, d)`."""
    places = beliefs.known.places
    columns = places.rows.shape[1] - len(beliefs.context)
    observed = jnp.asarray(places.rows)[:, :columns]
    quick = rough(beliefs)
    means = mean(quick.model, quick.known, quick.whole(single(observed)), quick.time)
    return observed[jax.lax.top_k(jnp.where(places.used, means, -jnp.inf), INCUMBENTS)[1]]


@compiled
def powers_now(beliefs: Beliefs) -> Array:
    """Those of the scope, by where the best row observed is, shape `(d,)`."""
    return powers_around(best_observed(beliefs)[0])


def look_around(
    beliefs: Beliefs, trials: Trials, lattice: Lattice, room: Room | None
) -> tuple[Array, Array]:
    """Rows to try, the most promising of those observed first; and the length of a step."""
    model, *_ = beliefs
    everywhere = trials.everywhere
    columns = everywhere.shape[1]
    best = possible(best_observed(beliefs), lattice, room)
    unit = jnp.minimum(model.lengthscale[:columns], 1.0)
    if room is not None:
        best = jnp.concatenate([room.here[None, :], best[1:]])
        wide = room.upper - room.lower
        unit = jnp.minimum(unit, wide)
        everywhere = room.lower[None, :] + everywhere * wide[None, :]
        everywhere = possible(everywhere, lattice, room)
    around = jnp.repeat(best, AROUND // INCUMBENTS, axis=0)
    # where a column has no order, a step is another value, that of a row from everywhere
    stepped = jnp.where(
        model.categorical[None, :columns],
        jnp.where(trials.steps != 0, everywhere[:AROUND], around),
        around + trials.steps * unit[None, :],
    )
    near = possible(stepped, lattice, room)
    return jnp.concatenate([best, near, everywhere]), unit


@compiled
def highest(beliefs: Beliefs, trials: Trials, lattice: Lattice, room: Room | None) -> Array:
    """The row with the highest bound found, shape `(d,)`."""
    candidates, unit = look_around(beliefs, trials, lattice, room)
    quick, quick_room = mirrored(rough(beliefs)), single(room)
    bounds = bound(quick, single(candidates), quick_room)
    bounds = bounds - BARRED * taken(quick, single(candidates), room)
    climbers = candidates[jax.lax.top_k(bounds, CLIMBERS)[1]]
    climbed = climb(quick, single(climbers), quick_room, single(unit)).astype(float)
    finest = jnp.concatenate([candidates[:1], climbers, possible(climbed, lattice, room)])
    return finest[jnp.argmax(bound(beliefs, finest, room) - BARRED * taken(beliefs, finest, room))]


def taken(beliefs: Beliefs, rows: AnyArray, room: Room | None) -> Array:
    """1 for rows that all but equal one that is out, else 0: shape `(m,)`.

    One system that is moved step by step may well stay where it was sent.
    """
    model, _, imagined, *_ = beliefs
    if imagined is None or room is not None:
        return jnp.zeros(len(rows))
    out = imagined.places
    # so many fit in, with room to spare, however many are out
    apart = jnp.minimum(APART, 0.25 * out.used.sum() ** (-1.0 / rows.shape[1]))
    rows = beliefs.whole(rows)
    unit = jnp.where(model.categorical, 1.0, jnp.minimum(model.lengthscale, 1.0))
    near = out.used[:, None] & jnp.ones((1, len(rows)), bool)
    for column in range(rows.shape[1]):
        gap = jnp.abs(out.rows[:, column, None] - rows[None, :, column])
        near = near & (gap < apart * unit[column])
    return near.any(axis=0).astype(float)


def rough(beliefs: Beliefs) -> Beliefs:
    """The same in single precision, ages in place of times: enough to see where to look."""
    model, known, imagined, time, *_ = beliefs
    one = age_unit(model)
    known = known._replace(places=aged(known.places, time, one))
    if imagined is not None:
        imagined = imagined._replace(places=aged(imagined.places, time, one))
    ahead = None if beliefs.ahead is None else beliefs.ahead * one
    beliefs = beliefs._replace(model=in_ages(model, one), known=known, imagined=imagined)
    return single(beliefs._replace(time=jnp.zeros(()), ahead=ahead))


def age_unit(model: Model) -> Array:
    """Return a power of 2 by which times become about timescales.

    It changes no digit. In the user's unit times may be beyond what single precision holds.
    """
    return jnp.ldexp(1.0, -jnp.frexp(jnp.asarray(model.timescale, float))[1])


def aged(places: Places, time: Scalar, one: Scalar) -> Places:
    """Return the same with minus the ages at `time`, in units of `1 / one`, as times."""
    times = (jnp.asarray(places.times) - time) * one
    return places._replace(times=jnp.clip(times, -OLDEST, OLDEST))


def in_ages(model: Model, one: Scalar) -> Model:
    """Return the model of times in units of `1 / one`."""
    return model._replace(timescale=model.timescale * one, period=model.period * one)


def mirrored(beliefs: Beliefs) -> Beliefs:
    """The same, ready for many looks at few rows, each with its derivative."""
    _, known, imagined, *_ = beliefs
    whiten: Any = Mirrored.of(known.whiten)
    beliefs = beliefs._replace(known=known._replace(whiten=whiten))
    if imagined is None:
        return beliefs
    cross: Any = Mirrored.of(imagined.cross)
    whiten = Mirrored.of(imagined.whiten)
    return beliefs._replace(imagined=imagined._replace(cross=cross, whiten=whiten))


def single(tree: Any) -> Any:
    """Real numbers in single precision."""

    def rounded(leaf: Any) -> Any:
        leaf = jnp.asarray(leaf)
        return leaf.astype(jnp.float32) if jnp.issubdtype(leaf.dtype, jnp.floating) else leaf

    return jax.tree.map(rounded, tree)


def possible(rows: AnyArray, lattice: Lattice, room: Room | None) -> Array:
    """The nearest rows that can be suggested and gone to."""
    if room is None:
        return lattice.snap(jnp.clip(rows, 0.0, 1.0))
    lower, upper = room.lower[None, :], room.upper[None, :]
    # again afterwards: a system may stand between two levels, and have to stay there
    rows = jnp.clip(lattice.snap(jnp.clip(rows, lower, upper)), lower, upper)
    return jnp.where(lattice.counting(rows), rows, MIDDLE)


def bound(beliefs: Beliefs, rows: AnyArray, room: Room | None) -> Array:
    """The upper confidence bound, less the cost of the way, shape `(m,)`."""
    model, known, imagined, time, width, explore, _, ahead, powers = beliefs
    whole = beliefs.whole(rows)
    means, deviations = posterior(model, known, imagined, whole, time)
    count = known.places.used.sum()
    believed = Posterior(means, deviations**2, known.information, count)
    bonus = deviations
    if ahead is not None:
        bonus = influence(model, known, imagined, whole, time, ahead)
    if powers is not None:
        bonus = bonus * scope(model, rows, powers)
    bounds = means + explore * width(count + 1, believed) * bonus
    if room is None:
        return bounds
    if room.rates is not None:
        return jnp.asarray(room.rates.rate(bounds)) - room.fares(model, rows)
    # beyond the linear range a standard unit is worth more and more rewards
    beyond = jnp.clip(jnp.abs(bounds) - LINEAR, 0.0, FARTHEST)
    inside = jnp.clip(bounds, -LINEAR, LINEAR)
    return inside + jnp.sign(bounds) * jnp.expm1(beyond) - room.fares(model, rows)


def climb(beliefs: Beliefs, rows: AnyArray, room: Room | None, unit: Array) -> Array:
    """Adam (Kingma and Ba 2015) in units of lengthscales, with shrinking steps, in the cube."""
    lower, upper = (0.0, 1.0) if room is None else (room.lower[None, :], room.upper[None, :])

    def total(rows: AnyArray) -> Array:
        return bound(beliefs, rows, room).sum()

    unit = jnp.where(beliefs.model.categorical[: len(unit)], 0.0, unit)[None, :]
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
