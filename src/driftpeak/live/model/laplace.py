r"""What 0/1 rewards and counts say of a Gaussian process: Laplace's approximation.

The posterior of the latent function is taken as the normal distribution with its mode and its
curvature there (Rasmussen and Williams 2006, section 3.4). That is the posterior of Gaussian
observations with the noise variances \(1/W_i\), W being minus the second derivative of the log
likelihood at the mode: all else in `driftpeak.live.model.gp` stays as it is. The mode of a
log-concave likelihood is unique; Newton's steps go to it from where the rewards alone would put it,
and are halved where they would lead down.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array

from driftpeak._core.types import AnyArray, Scalar
from driftpeak.live.model.gp import (
    FAINTEST,
    Known,
    Model,
    Places,
    covariance_across,
    covariance_between,
    lower_squared,
)
from driftpeak.live.model.likelihoods import Rates

STEPS = 60  # of Newton, at most; five to ten are usual
CLOSE = 1e-6  # the last step: its error is of the order of its square
HALVINGS = 30


class Mode(NamedTuple):
    """The most probable latent values, and what is needed beside them."""

    latent: Array  # (c,)
    solved: Array  # (c,): inverse covariance times latent values less their mean
    value: Array  # the log joint density of rewards and latent values, but for determinants


def mode(
    covariance: AnyArray, level: Scalar, worth: AnyArray, rewards: AnyArray, rates: Rates
) -> Mode:
    """The mode by Newton's method (Rasmussen and Williams 2006, algorithm 3.1)."""
    fractions = jnp.append(0.5 ** jnp.arange(HALVINGS), 0.0)

    def value(latent: Array, solved: Array) -> Array:
        fit = worth * jnp.where(worth > 0, rates.log_density(rewards, latent), 0.0)
        return fit.sum() - 0.5 * solved @ (latent - level)

    def full_step(latent: Array) -> tuple[Array, Array]:
        precision = worth * rates.curvature(latent)
        root = jnp.sqrt(precision)
        lower = jnp.linalg.cholesky(_whole(covariance, root))
        pull = precision * (latent - level) + worth * (rewards - rates.rate(latent))
        white = jax.scipy.linalg.cho_solve((lower, True), root * (covariance @ pull))
        solved = pull - root * white
        return jnp.asarray(covariance @ solved + level), jnp.asarray(solved)

    def step(state: tuple[Mode, Array, Array]) -> tuple[Mode, Array, Array]:
        now, number, _ = state
        latent, solved = full_step(now.latent)

        def part(fraction: Array) -> Mode:
            along = now.latent + fraction * (latent - now.latent)
            slope = now.solved + fraction * (solved - now.solved)
            return Mode(along, slope, value(along, slope))

        found = jax.vmap(part)(fractions)
        best = jnp.argmax(jnp.where(jnp.isfinite(found.value), found.value, -jnp.inf))
        chosen = jax.tree.map(lambda one: one[best], found)
        return chosen, number + 1, jnp.abs(chosen.latent - now.latent).max()

    def goes_on(state: tuple[Mode, Array, Array]) -> Array:
        return (state[1] < STEPS) & (state[2] > CLOSE)

    rewards = jnp.asarray(rewards)
    flat, nothing = jnp.full_like(rewards, level), jnp.zeros_like(rewards)
    first = full_step(jnp.where(worth > 0, rates.guess(rewards, worth), flat))
    better = value(*first) >= value(flat, nothing)  # not where it is no number
    latent, solved = (jnp.where(better, a, b) for a, b in zip(first, (flat, nothing), strict=True))
    start = Mode(latent, solved, value(latent, solved))
    return jax.lax.while_loop(goes_on, step, (start, jnp.asarray(0), jnp.asarray(jnp.inf)))[0]


def learn(model: Model, places: Places, rewards: AnyArray, rates: Rates) -> Known:
    """What the rewards say, as `gp.learn` does of Gaussian ones; those have shape `(c,)`."""
    covariance = covariance_between(model, places, places)
    found = mode(covariance, model.level, places.worth, rewards, rates)
    _, whiten, information = _factor(covariance, places, found, rates)
    return Known(_sites(places, found, rates), whiten, found.solved, information)


def append(
    model: Model,
    known: Known,
    number: Scalar,
    row: AnyArray,
    time: Scalar,
    worth: Scalar,
    reward: Scalar,
    rates: Rates,
) -> Known:
    """One more reward, in the free place `number`, by its own mode: those before keep theirs.

    That mode is the one of its likelihood times what was known of its latent value.
    """
    cross = covariance_across(model, known.places, row[None], time)[:, 0]
    white = known.whiten @ cross
    variance = jnp.maximum(model.variance - white @ white, FAINTEST * model.variance)
    mean = cross @ known.solved + model.level
    one = jnp.asarray(worth)[None]
    found = mode(variance[None, None], mean, one, jnp.asarray(reward)[None], rates)
    precision = jnp.maximum(worth * rates.curvature(found.latent)[0], FAINTEST)
    new = (-white @ known.whiten).at[number].add(1.0)
    held = known.places
    places = Places(
        jnp.asarray(held.rows).at[number].set(row),
        jnp.asarray(held.times).at[number].set(time),
        jnp.asarray(held.worth).at[number].set(worth),
        jnp.asarray(held.noise).at[number].set(worth / precision),
    )
    return Known(
        places,
        known.whiten.at[number].set(new / jnp.sqrt(variance + 1 / precision)),
        known.solved + new * found.solved[0],
        known.information + 0.5 * jnp.log1p(variance * precision),
    )


def evidence(
    model: Model, places: Places, rewards: AnyArray, rates: Rates
) -> tuple[Array, Array, Array]:
    r"""Minus the log evidence (equation 3.32), and its derivative with respect to the model.

    With K the covariance, m the level, \(\beta = K^{-1}(f - m)\) and R the inverse of
    \(K + W^{-1}\), the derivative is that of \(\frac12 \sum_{ij} M_{ij} K_{ij} - m \sum_i w_i\) for
    \(M = R - \beta\beta^\top - u\beta^\top - \beta u^\top\) and \(w = \beta + u\) held fixed. The
    mode moves, too: \(u = (I + WK)^{-1} s\), s being the derivative of the log evidence with
    respect to the latent values (section 5.5.1).

    Returns:
        The value, M and w.
    """
    covariance = covariance_between(model, places, places)
    found = mode(covariance, model.level, places.worth, rewards, rates)
    _, whiten, information = _factor(covariance, places, found, rates)
    inverse = lower_squared(whiten)
    variance = covariance.diagonal() - jnp.sum((whiten @ covariance) ** 2, axis=0)
    slope = -0.5 * variance * places.worth * rates.bend(found.latent)
    moved = slope - inverse @ (covariance @ slope)
    outer = jnp.outer(found.solved, 0.5 * found.solved + moved)
    return information - found.value, inverse - outer - outer.T, found.solved + moved


def _factor(
    covariance: Array, places: Places, found: Mode, rates: Rates
) -> tuple[Array, Array, Array]:
    """Factor of I + W^(1/2) K W^(1/2), the inverse factor of K + 1/W, half the log-determinant."""
    root = jnp.sqrt(places.worth * rates.curvature(found.latent))
    lower = jnp.linalg.cholesky(_whole(covariance, root))
    inverse = jax.scipy.linalg.solve_triangular(lower, jnp.eye(len(root)), lower=True)
    return lower, inverse * root[None, :], jnp.log(lower.diagonal()).sum()


def _whole(covariance: AnyArray, root: Array) -> Array:
    return jnp.eye(len(root)) + root[:, None] * covariance * root[None, :]


def _sites(places: Places, found: Mode, rates: Rates) -> Places:
    """The places, with the variances of the Gaussian noise that the likelihood amounts to."""
    return places._replace(noise=1 / jnp.maximum(rates.curvature(found.latent), FAINTEST))
