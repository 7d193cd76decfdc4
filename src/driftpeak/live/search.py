"""Where an upper confidence bound is largest over the unit cube: one compiled program.

Candidates are a Sobol sequence, shifted at random, and the neighbourhoods of the observed rows
whose mean is highest; the best are improved by gradient ascent, and whatever is whole or
categorical is moved to the nearest value there is before it is judged.
"""

from importlib.metadata import version
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from driftpeak._types import AnyArray, Scalar, Vector
from driftpeak.beliefs import Posterior
from driftpeak.live.coding import Coding
from driftpeak.live.gp import Imagined, Known, Model, mean, posterior
from driftpeak.numerics import kept
from driftpeak.widths import Width

SOBOL = 256
NEAR = 64
INCUMBENTS = 4
CLIMBERS = 8
CLIMB = 15  # steps of gradient ascent
FIRST, LAST = 0.1, 0.005  # lengths of the first and the last step, in lengthscales


Steps = tuple[Array, Array, Array]


class Trials(NamedTuple):
    """The random part of a search."""

    everywhere: AnyArray  # (SOBOL, d)
    steps: AnyArray  # (NEAR, d): how far from an incumbent, in lengthscales


class Beliefs(NamedTuple):
    """What is believed at one time, and how widely to explore."""

    model: Model
    known: Known
    imagined: Imagined | None
    time: Scalar
    width: Width
    explore: Scalar  # a factor on the width: 0 for the highest mean


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

    def first(self, number: int) -> Vector:
        """The row of suggestion `number` before there is anything to go by: spread evenly."""
        if self.coding.pool is not None:
            generator = np.random.default_rng(self.seed)
            order = generator.permutation(len(self.coding.pool))
            return self.coding.pool[order[(number - 1) % len(order)]]
        return self.coding.spread(self.sequence[(number - 1) % SOBOL])

    def trials(self, number: int) -> Trials:
        """The candidates of suggestion `number`."""
        generator = np.random.default_rng([self.seed, number])
        shape = (NEAR, self.coding.dimension)
        everywhere = (self.sequence + generator.uniform(size=shape[1])) % 1.0
        moved = generator.uniform(size=shape) < max(0.3, 1.5 / shape[1])
        steps = np.where(moved, 0.3 * generator.normal(size=shape), 0.0)
        return Trials(self.coding.spread(everywhere), steps)


def _sobol(dimension: int, seed: int) -> Vector:
    """The first points of a scrambled Sobol sequence, shape `(SOBOL, dimension)`."""
    from scipy.stats import qmc  # takes as long to import as all else together

    return qmc.Sobol(dimension, rng=np.random.default_rng(seed)).random(SOBOL)


@jax.jit
def highest_of(beliefs: Beliefs, pool: AnyArray) -> Array:
    """The number of the row of `pool` with the highest bound."""
    return jnp.argmax(_bound(beliefs, pool))


@jax.jit
def highest(beliefs: Beliefs, trials: Trials, levels: AnyArray) -> Array:
    """The row with the highest bound found, shape `(d,)`."""
    model, known, *_ = beliefs
    means = mean(model, known, known.places.rows, beliefs.time)
    means = jnp.where(known.places.used, means, -jnp.inf)
    best = known.places.rows[jax.lax.top_k(means, INCUMBENTS)[1]]
    around = jnp.repeat(best, NEAR // INCUMBENTS, axis=0)
    # where a column has no order, a step is another value, that of a row from everywhere
    stepped = jnp.where(
        model.categorical[None, :],
        jnp.where(trials.steps != 0, trials.everywhere[:NEAR], around),
        around + trials.steps * jnp.minimum(model.lengthscale, 1.0)[None, :],
    )
    near = _snap(jnp.clip(stepped, 0.0, 1.0), levels)
    candidates = jnp.concatenate([best, near, trials.everywhere])
    bounds = _bound(beliefs, candidates)
    climbers = candidates[jax.lax.top_k(bounds, CLIMBERS)[1]]
    climbed = _snap(_climb(beliefs, climbers), levels)
    every = jnp.concatenate([candidates, climbed])
    bounds = jnp.concatenate([bounds, _bound(beliefs, climbed)])
    return every[jnp.argmax(bounds)]


def _bound(beliefs: Beliefs, rows: AnyArray) -> Array:
    model, known, imagined, time, width, explore = beliefs
    means, deviations = posterior(model, known, imagined, rows, time)
    count = known.places.used.sum()
    believed = Posterior(means, deviations**2, known.information, count)
    return means + explore * width(count + 1, believed) * deviations


def _climb(beliefs: Beliefs, rows: AnyArray) -> Array:
    """Adam (Kingma and Ba 2015) in units of lengthscales, with shrinking steps, in the cube."""

    def total(rows: AnyArray) -> Array:
        return _bound(beliefs, rows).sum()

    model = beliefs.model
    unit = jnp.where(model.categorical, 0.0, jnp.minimum(model.lengthscale, 1.0))[None, :]
    shrink = (LAST / FIRST) ** (1 / (CLIMB - 1))

    def step(number: Array, state: Steps) -> Steps:
        rows, first, second = state
        slope = jax.grad(total)(rows) * unit
        first = 0.7 * first + 0.3 * slope
        second = 0.9 * second + 0.1 * slope**2
        n = number + 1.0
        move = first / (1 - 0.7**n) / (jnp.sqrt(second / (1 - 0.9**n)) + 1e-12)
        return jnp.clip(rows + FIRST * shrink**number * move * unit, 0.0, 1.0), first, second

    zeros = jnp.zeros_like(rows)
    return jax.lax.fori_loop(0, CLIMB, step, (rows, zeros, zeros))[0]


def _snap(rows: AnyArray, levels: AnyArray) -> Array:
    levels = levels[None, :]
    steps = jnp.maximum(levels - 1, 1)
    return jnp.where(levels > 0, jnp.round(rows * steps) / steps, rows)
