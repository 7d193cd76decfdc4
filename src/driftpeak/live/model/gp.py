r"""A Gaussian process over the unit cube that moves in continuous time.

Its covariance is \(k(x, x')\,c(|t-t'|)\). k is Matern 5/2 with a lengthscale for each column; two
values of a categorical column are as far apart as the ends of another. c is one of three:

- Markov drift (B16 section 2) at any real times, \((1-\epsilon)^{v/2} = e^{-v/\tau}\), with the
  timescale \(\tau\) and \(\epsilon = 1 - e^{-2/\tau}\) per unit of time;
- momentum, Matern 3/2 in time, \((1+av)\,e^{-av}\), as `driftpeak.gp.dynamics.SmoothMotion`: what
  moved up goes on moving up for a while. The rate a is such that the correlation falls to 1/2 at
  the same time \(\tau\log 2\) as that of Markov drift;
- standing still, 1: old observations lose nothing but what a forgetting rule takes from them.

Beside the first there may be a second part with a share w of the variance,
\((1-w)\,c(v) + w\,c'(v)\): one that moves a hundred times as slowly, or one that comes round after
a period P, \(e^{-2\sin^2(\pi v/P)}\,e^{-v/10P}\) (MacKay 1998; the phase and the size of a rhythm
wander, too).

All arrays have a fixed number of places. Each place has a worth, by which the variance of its noise
is divided: 1, less where a rule forgets, 0 where there is no observation.
"""

from itertools import pairwise
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from driftpeak._core.numerics.compiled import returned
from driftpeak._core.types import AnyArray, Scalar
from driftpeak.gp.dynamics import HALF
from driftpeak.gp.kernels import Matern
from driftpeak.live.model.likelihoods import Rates
from driftpeak.live.model.mirrored import Mirrored

Rows = Float[Array, "m d"]
SHAPE = Matern(2.5)
STRIPS = 4
FEW = 16  # columns, for which a strip costs more to cut than it saves
LEAST_SQUARE = 1e-30  # whose root has a derivative, in single precision too
FAINTEST = 1e-12  # the least precision of a reward whose noise is that of its kind
STILL, MARKOV, MOMENTUM = range(3)
ALONE, SLOWER, ROUND = range(3)
SLOWER_BY, CYCLES = 100.0, 10.0
RATE = float(HALF / np.log(2))
"""Of momentum, times the timescale."""
HALF_LIFE = {MARKOV: np.log(2) / 2, MOMENTUM: 0.44519116201044684}
"""Where the squared correlation is 1/2, in timescales."""


def _falling(ages: Array) -> Array:
    return jnp.exp(-ages)


def _gliding(ages: Array) -> Array:
    return (1 + RATE * ages) * jnp.exp(-RATE * ages)


MOVING = jnp.ones_like, _falling, _gliding
"""How correlation falls with the age in timescales: standing still, Markov drift, momentum."""


class Model(NamedTuple):
    """The numbers of the process, in units of standardised rewards."""

    level: Scalar  # the mean where and when nothing is known
    lengthscale: AnyArray  # (d,)
    variance: Scalar
    noise_variance: Scalar
    timescale: Scalar
    categorical: AnyArray  # (d,) booleans
    motion: Scalar = MARKOV  # STILL, MARKOV or MOMENTUM; an array of it inside JAX
    beside: Scalar = ALONE  # or SLOWER, or ROUND: the second part
    share: Scalar = 0.0  # of the second part in the variance
    period: Scalar = 1.0  # after which it comes round

    def covariance(self, x: AnyArray, y: AnyArray) -> Array:
        """Between two sets of rows at one time, shape `(m, n)`."""
        squared = jnp.zeros((len(x), len(y)), x.dtype)
        for column in range(x.shape[1]):
            gap = x[:, None, column] - y[None, :, column]
            apart = jnp.where(self.categorical[column], jnp.abs(gap) > 1e-9, gap**2)
            squared = squared + apart / self.lengthscale[column] ** 2
        squared = jnp.maximum(squared, LEAST_SQUARE)
        return SHAPE.of_squared_distance(squared) * self.variance

    def correlation(self, elapsed: Scalar) -> Array:
        """Of the function with itself after some time."""
        ages = jnp.abs(elapsed) / self.timescale
        moving = jax.lax.switch(self.motion, MOVING, ages)

        def slower() -> Array:
            return jnp.exp(-ages / SLOWER_BY)

        def comes_round() -> Array:
            half_turns = jnp.pi * elapsed / self.period
            cycles = jnp.abs(elapsed) / self.period
            return jnp.exp(-2 * jnp.sin(half_turns) ** 2 - cycles / CYCLES)

        def with_second() -> Array:
            second = jax.lax.cond(self.beside == ROUND, comes_round, slower)
            return (1 - self.share) * moving + self.share * second

        # not `jnp.where`: among all pairs of observations each part takes longer than all else
        whole: Array = jax.lax.cond(self.beside == ALONE, lambda: moving, with_second)
        return whole


@returned
class Places(NamedTuple):
    """Observations, or suggestions that are out."""

    rows: AnyArray  # (c, d)
    times: AnyArray  # (c,)
    worth: AnyArray  # (c,)
    noise: AnyArray  # (c,): its variance in standard units where it is known, 0 elsewhere

    def variances(self, model: Model) -> Array:
        """Of the noise, known or learned, shape `(c,)`."""
        return jnp.where(self.noise > 0, self.noise, model.noise_variance)

    @property
    def used(self) -> Array:
        """Which places count for anything, shape `(c,)`."""
        return jnp.asarray(self.worth) > 0


@returned
class Known(NamedTuple):
    """What the observations say, ready to be asked."""

    places: Places
    whiten: Array  # (c, c): inverse Cholesky factor of the observations' covariance
    solved: Array  # (c,): inverse covariance times residuals
    information: Array  # in nats


@returned
class Imagined(NamedTuple):
    """Suggestions that are out, taken as if each had brought what is expected of it.

    That leaves the mean as it is and narrows the deviation (Desautels et al. 2014; "kriging
    believer").
    """

    places: Places
    cross: AnyArray  # (c, p): their covariance with the observations, whitened
    whiten: AnyArray  # (p, p)


def learn(model: Model, places: Places, rewards: AnyArray) -> Known:
    """Factor the covariance of the observations; `rewards` have shape `(c,)`."""
    root, lower, information = factor(model, places)
    inverse = jax.scipy.linalg.solve_triangular(lower, jnp.eye(len(root)), lower=True)
    whiten = inverse * root[None, :]
    return Known(places, whiten, _solved(whiten, rewards - model.level), information)


def append(
    model: Model, known: Known, start: Scalar, block: Places, count: Scalar, rewards: AnyArray
) -> Known:
    """The first `count` observations of a block, in the places from `start` on.

    Nothing remains of what was there. Each is a new row of the factor, O(c^2), computed as if it
    came alone. `rewards` are those of all places.
    """
    kept = jnp.arange(known.whiten.shape[0]) < start
    held = known.places._replace(worth=jnp.where(kept, known.places.worth, 0.0))
    block = jax.tree.map(jnp.asarray, block)
    own = block.variances(model) / block.worth  # infinite for what is worth nothing

    def add(step: Array, state: tuple[Places, Array]) -> tuple[Places, Array]:
        held, whiten = state
        number, row, time = start + step, block.rows[step], block.times[step]
        across = covariance_across(model, held, row[None], time)[:, 0]
        white = whiten @ across
        scale = jnp.sqrt(model.variance + own[step] - white @ white)
        new = (-white @ whiten).at[number].add(1.0) / scale
        held = Places(
            jnp.asarray(held.rows).at[number].set(row),
            jnp.asarray(held.times).at[number].set(time),
            jnp.asarray(held.worth).at[number].set(block.worth[step]),
            jnp.asarray(held.noise).at[number].set(block.noise[step]),
        )
        return held, whiten.at[number].set(new)

    state = held, jnp.where(kept[:, None], known.whiten, 0.0)
    held, whiten = jax.lax.fori_loop(0, count, add, state)
    ratios = jnp.sqrt(held.worth / held.variances(model)) / whiten.diagonal()
    information = jnp.sum(jnp.where(held.used, jnp.log(ratios), 0.0))
    return Known(held, whiten, _solved(whiten, rewards - model.level), information)


def _solved(whiten: Array, residuals: AnyArray) -> Array:
    """The inverse covariance times the residuals."""
    return (whiten @ residuals) @ whiten  # XLA would write out a transpose, twelve times the work


def whitened(model: Model, places: Places) -> tuple[Array, Array]:
    """1 / noise deviation of every place, and I + K / noise."""
    root = jnp.sqrt(places.worth) / jnp.sqrt(places.variances(model))
    among = covariance_between(model, places, places)
    return root, jnp.eye(len(root)) + root[:, None] * among * root[None, :]


def factor(model: Model, places: Places) -> tuple[Array, Array, Array]:
    """1 / noise deviation of every place, the factor of I + K / noise, half its log-determinant."""
    root, whole = whitened(model, places)
    lower = jnp.linalg.cholesky(whole)
    return root, lower, jnp.log(lower.diagonal()).sum()


def nothing_imagined(known: Known, size: int) -> Imagined:
    """No suggestion in any of `size` places."""
    count, dimension = known.places.rows.shape
    nothing = np.zeros(size)
    free = Places(np.zeros((size, dimension)), nothing, nothing, nothing)
    return Imagined(free, np.zeros((count, size)), np.zeros((size, size)))


def imagine(
    model: Model,
    known: Known,
    imagined: Imagined,
    start: Scalar,
    block: Places,
    rates: Rates | None = None,
) -> Imagined:
    r"""Add a block of b suggestions that are out, in the free places from `start` on.

    New rows of the inverse factor W of what the observations leave of the suggestions' covariance:
    with V = W K(imagined, block) and L the factor of what is left of the block's own,
    \(L^{-1}(-V^\top W, 1)\). Takes O(b (c + p)^2).
    """
    cross = covariance_between(model, known.places, block)
    noise = model.noise_variance
    if rates is not None:  # that of the likelihood there, see `driftpeak.live.model.laplace`
        noise = 1 / jnp.maximum(rates.curvature(known.solved @ cross + model.level), FAINTEST)
    root = jnp.sqrt(block.worth) / jnp.sqrt(noise)
    cross = known.whiten @ cross
    # not the transpose of the larger one, which XLA would write out
    left = covariance_between(model, imagined.places, block) - (cross.T @ imagined.cross).T
    white = imagined.whiten @ left
    among = covariance_between(model, block, block) - cross.T @ cross - white.T @ white
    identity = jnp.eye(len(root))
    lower = jnp.linalg.cholesky(identity + root[:, None] * among * root[None, :])
    inverse = jax.scipy.linalg.solve_triangular(lower, identity, lower=True) * root[None, :]
    rows = jax.lax.dynamic_update_slice(-inverse @ (white.T @ imagined.whiten), inverse, (0, start))

    def put(into: AnyArray, what: AnyArray) -> Array:
        return jax.lax.dynamic_update_slice_in_dim(into, what, start, axis=0)

    return Imagined(
        jax.tree.map(put, imagined.places, block),
        jax.lax.dynamic_update_slice_in_dim(imagined.cross, cross, start, axis=1),
        put(imagined.whiten, rows),
    )


def mean(model: Model, known: Known, rows: AnyArray, time: Scalar) -> Array:
    """The mean at some rows, shape `(m,)`."""
    return known.solved @ covariance_across(model, known.places, rows, time) + model.level


def influence(
    model: Model,
    known: Known,
    imagined: Imagined | None,
    rows: AnyArray,
    time: Scalar,
    ahead: AnyArray,
) -> Array:
    r"""Return how far an observation at `time` would move later forecasts of its row, shape `(m,)`.

    The mean over the times h in `ahead` of
    \(|\mathrm{Cov}(f_{t+h}(x), f_t(x))| / \sqrt{\mathrm{Var}(f_t(x)) + \lambda}\) given all that is
    known: what will be forgotten by then is not worth exploring. driftpeak's own, as in
    `driftpeak.Auto`.

    The covariance is \(\sigma^2 c(h) - k_{t+h}^\top G^{-1} k_t\) with G of all observations:
    \(G^{-1} k_t\), one column for each row, serves all horizons.
    """

    def later(places: Places, solved: Array) -> Array:
        """The covariances with the values of later, times the solution: shape `(h, m)`."""
        elapsed = jnp.asarray(time) + ahead[:, None] - places.times[None, :]
        return model.correlation(elapsed) @ (model.covariance(places.rows, rows) * solved)

    now = _lower_times(known.whiten, covariance_across(model, known.places, rows, time))
    variance = model.variance - (now**2).sum(axis=0)
    moved = model.variance * model.correlation(ahead)[:, None]
    if imagined is not None:
        further = covariance_across(model, imagined.places, rows, time) - imagined.cross.T @ now
        further = _lower_times(imagined.whiten, further)
        variance = variance - (further**2).sum(axis=0)
        solved = _transpose_times(imagined.whiten, further)
        moved = moved - later(imagined.places, solved)
        now = now - imagined.cross @ solved
    moved = moved - later(known.places, _transpose_times(known.whiten, now))
    bonus = jnp.abs(moved).mean(axis=0)
    return bonus / jnp.sqrt(jnp.maximum(variance, 0.0) + model.noise_variance)


def posterior(
    model: Model, known: Known, imagined: Imagined | None, rows: AnyArray, time: Scalar
) -> tuple[Array, Array]:
    """Mean and deviation at some rows, both of shape `(m,)`."""
    across = covariance_across(model, known.places, rows, time)
    white = _lower_times(known.whiten, across)
    variance = model.variance - jnp.sum(white**2, axis=0)
    if imagined is not None:
        further = covariance_across(model, imagined.places, rows, time) - imagined.cross.T @ white
        variance = variance - jnp.sum(_lower_times(imagined.whiten, further) ** 2, axis=0)
    # the least variance is that of rounding: a deviation of 0 has no derivative
    least = 1e-12 * model.variance
    return known.solved @ across + model.level, jnp.sqrt(jnp.maximum(variance, least))


def worth(model: Model, known: Known, time: Scalar) -> Array:
    """How much each observation alone, given all others, narrows the variance where it was made.

    Of the function at `time`: old observations and repeated ones are worth little. Shape `(c,)`;
    infinite for places not in use. With \\(\\tilde K\\) the observations' covariance and \\(c_i\\)
    that with the function at the i-th row, \\((\\tilde K^{-1} c_i)_i^2 / (\\tilde K^{-1})_{ii}\\).
    """
    across = covariance_across(model, known.places, known.places.rows, time)
    inverse = lower_squared(known.whiten)
    numerator = jnp.sum(inverse * across.T, axis=1) ** 2
    return jnp.where(known.places.used, numerator / inverse.diagonal(), jnp.inf)


def _lower_times(lower: AnyArray | Mirrored, columns: Array) -> Array:
    """A product with a lower triangle, in strips without most of the zeros: 5/8 of the work."""
    if isinstance(lower, Mirrored):
        if columns.shape[1] <= FEW:
            return lower @ columns
        lower = lower.matrix
    return jnp.concatenate([strip @ columns[: strip.shape[1]] for strip in _strips(lower)])


def _transpose_times(matrix: AnyArray | Mirrored, columns: Array) -> Array:
    """A product with the transpose, which XLA would write out on a CPU."""
    return matrix.T @ columns if isinstance(matrix, Mirrored) else (columns.T @ matrix).T


def lower_squared(lower: Array) -> Array:
    """A lower triangle's transpose times itself, in strips: half of the work."""
    total = jnp.zeros_like(lower)
    for strip in _strips(lower):
        end = strip.shape[1]
        total = total.at[:end, :end].add(strip.T @ strip)
    return total


def _strips(lower: AnyArray) -> list[Array]:
    """Of a lower triangle: some rows each, as far as they reach."""
    ends = [len(lower) * part // STRIPS for part in range(STRIPS + 1)]
    return [jnp.asarray(lower)[a:b, :b] for a, b in pairwise(ends)]


def covariance_across(model: Model, places: Places, rows: AnyArray, time: Scalar) -> Array:
    """The covariance of the function at some places and at some rows at one time."""
    faded = model.correlation(time - places.times)
    return model.covariance(places.rows, rows) * faded[:, None]


def covariance_between(model: Model, some: Places, others: Places) -> Array:
    """The covariance of the function at some places and at others."""
    elapsed = some.times[:, None] - others.times[None, :]
    return model.covariance(some.rows, others.rows) * model.correlation(elapsed)
