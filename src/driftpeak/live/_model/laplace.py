r"""Laplace's approximation of a Gaussian process posterior for binary rewards and counts.

The posterior of the latent function is approximated by the normal distribution with equal mode and
curvature at the mode (Rasmussen and Williams 2006, section 3.4). This equals the
posterior under Gaussian observations with noise variances \(1/W_i\), where W is minus the second
derivative of the log likelihood at the mode. The rest of `driftpeak.live._model.gp` therefore
applies unchanged. The mode of a log-concave likelihood is unique. Newton's method finds it from
the estimate of each reward alone, and halves steps that do not increase the density.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array

from driftpeak._core.types import AnyArray, Scalar
from driftpeak.live._model.covariance import Model
from driftpeak.live._model.gp import (
    FAINTEST,
    Conditioned,
    PaddedObservations,
    covariance_across,
    covariance_between,
    covariance_over_noise,
    inverse_factor,
    lower_squared,
)
from driftpeak.live._model.likelihoods import Rates

STEPS = 60  # maximum of Newton steps; five to ten are usual
CLOSE = 1e-6  # length of the last step; the remaining error is of the order of its square
HALVINGS = 30


class Mode(NamedTuple):
    """The mode of the latent values, and quantities at the mode."""

    latent: Array  # (c,)
    solved: Array  # (c,): inverse covariance times latent values minus their mean
    value: Array  # the log joint density of rewards and latent values, without determinants


def mode(
    covariance: AnyArray, level: Scalar, weights: AnyArray, rewards: AnyArray, rates: Rates
) -> Mode:
    """Compute the mode by Newton's method (Rasmussen and Williams 2006, algorithm 3.1)."""
    fractions = jnp.append(0.5 ** jnp.arange(HALVINGS), 0.0)

    def value(latent: Array, solved: Array) -> Array:
        fit = weights * jnp.where(weights > 0, rates.log_density(rewards, latent), 0.0)
        return fit.sum() - 0.5 * solved @ (latent - level)

    def full_step(latent: Array) -> tuple[Array, Array]:
        precision = weights * rates.curvature(latent)
        root = jnp.sqrt(precision)
        lower = jnp.linalg.cholesky(covariance_over_noise(covariance, root))
        pull = precision * (latent - level) + weights * (rewards - rates.rate(latent))
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

        modes = jax.vmap(part)(fractions)
        best = jnp.argmax(jnp.where(jnp.isfinite(modes.value), modes.value, -jnp.inf))
        chosen = jax.tree.map(lambda values: values[best], modes)
        return chosen, number + 1, jnp.abs(chosen.latent - now.latent).max()

    def unfinished(state: tuple[Mode, Array, Array]) -> Array:
        return (state[1] < STEPS) & (state[2] > CLOSE)

    rewards = jnp.asarray(rewards)
    flat, nothing = jnp.full_like(rewards, level), jnp.zeros_like(rewards)
    first = full_step(jnp.where(weights > 0, rates.guess(rewards, weights), flat))
    better = value(*first) >= value(flat, nothing)  # False if NaN
    latent, solved = (jnp.where(better, a, b) for a, b in zip(first, (flat, nothing), strict=True))
    start = Mode(latent, solved, value(latent, solved))
    return jax.lax.while_loop(unfinished, step, (start, jnp.asarray(0), jnp.asarray(jnp.inf)))[0]


def learn(model: Model, places: PaddedObservations, rewards: AnyArray, rates: Rates) -> Conditioned:
    """Condition the process on rewards of shape `(c,)`, like `gp.learn` for Gaussian rewards."""
    covariance = covariance_between(model, places, places)
    at_mode = mode(covariance, model.level, places.weights, rewards, rates)
    curvature = rates.curvature(at_mode.latent)
    whiten, information = inverse_factor(covariance, jnp.sqrt(places.weights * curvature))
    # the noise variances of the equivalent Gaussian observations
    noise = 1 / jnp.maximum(curvature, FAINTEST)
    return Conditioned(places._replace(noise=noise), whiten, at_mode.solved, information)


def append(
    model: Model,
    known: Conditioned,
    number: Scalar,
    row: AnyArray,
    time: Scalar,
    weight: Scalar,
    reward: Scalar,
    rates: Rates,
) -> Conditioned:
    """Add a reward in the free place `number`, and keep the modes of the earlier rewards.

    The new reward's mode maximises its likelihood times the density of its latent value given the
    earlier rewards.
    """
    cross = covariance_across(model, known.places, row[None], time)[:, 0]
    white = known.whiten @ cross
    variance = jnp.maximum(model.variance - white @ white, FAINTEST * model.variance)
    mean = cross @ known.solved + model.level
    observed = jnp.asarray(weight)[None], jnp.asarray(reward)[None]
    at_mode = mode(variance[None, None], mean, *observed, rates)
    precision = jnp.maximum(weight * rates.curvature(at_mode.latent)[0], FAINTEST)
    new = (-white @ known.whiten).at[number].add(1.0)
    return Conditioned(
        known.places.put(number, row, time, weight, weight / precision),
        known.whiten.at[number].set(new / jnp.sqrt(variance + 1 / precision)),
        known.solved + new * at_mode.solved[0],
        known.information + 0.5 * jnp.log1p(variance * precision),
    )


def evidence(
    model: Model, places: PaddedObservations, rewards: AnyArray, rates: Rates
) -> tuple[Array, Array, Array]:
    r"""Compute minus the log evidence (equation 3.32), and terms of its gradient in the model.

    Let K be the covariance, m the level, \(\beta = K^{-1}(f - m)\) and R the inverse of
    \(K + W^{-1}\). The gradient equals the gradient of
    \(\frac12 \sum_{ij} M_{ij} K_{ij} - m \sum_i w_i\) with
    \(M = R - \beta\beta^\top - u\beta^\top - \beta u^\top\) and \(w = \beta + u\) held fixed. The
    term \(u = (I + WK)^{-1} s\) accounts for the shift of the mode; s is the derivative of the log
    evidence with respect to the latent values (section 5.5.1).

    Returns:
        The value, M and w.
    """
    covariance = covariance_between(model, places, places)
    at_mode = mode(covariance, model.level, places.weights, rewards, rates)
    root = jnp.sqrt(places.weights * rates.curvature(at_mode.latent))
    whiten, information = inverse_factor(covariance, root)
    inverse = lower_squared(whiten)
    variance = covariance.diagonal() - jnp.sum((whiten @ covariance) ** 2, axis=0)
    slope = -0.5 * variance * places.weights * rates.bend(at_mode.latent)
    moved = slope - inverse @ (covariance @ slope)
    outer = jnp.outer(at_mode.solved, 0.5 * at_mode.solved + moved)
    return information - at_mode.value, inverse - outer - outer.T, at_mode.solved + moved
