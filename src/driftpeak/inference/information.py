r"""Information gain: how much n observations reveal about the function, in nats.

\(I(A) = \frac12 \log\det(I + \lambda^{-1} K_A)\) of a set of points (B16 (12)), and its largest
value over sets of n, `gain_n` (B16 (13)), which enters the widths of the frequentist policies.
Under Markov drift \(K_A\) becomes \(K_A \circ D\) with \(D_{ij} = (1-\epsilon)^{|i-j|/2}\)
(B16 (14)-(15)). Where old observations have weights w, their noise is \(\lambda / w\) (D22 (5)).
"""

import math
from abc import abstractmethod
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import (
    MOST_STEPS,
    DriftpeakError,
    at_least_integer,
    finite_array,
    indices,
    positive,
    shown,
    unit_interval,
)
from driftpeak._core.numerics.threads import single_threaded_lapack
from driftpeak._core.types import Vector
from driftpeak.gp.forgetting import markov_correlation
from driftpeak.gp.optimal_design import optimal_design
from driftpeak.gp.priors import Prior
from driftpeak.inference.beliefs import Posterior

GREEDY_GUARANTEE = 1 - 1 / math.e
"""Share of the maximum that greedy selection reaches at least (Nemhauser et al. 1978)."""
ORDERED_GUARANTEE = 1 / 2
"""Share reached if each observation has its own time or weight (Fisher et al. 1978)."""
BLOCK = 64  # number of observations that are added to the explained covariance at once


@checked
def information_gain(prior: Prior, arms: Any, *, drift: float = 0.0, weights: Any = None) -> float:
    r"""Compute the information gain of one observation at each of `arms`, in nats.

    Arguments:
        prior: covariance and noise variance.
        arms: indices of points, in the order of time.
        drift: epsilon, if they are observed at the times 1, 2, ... of a function under Markov
            drift: the information is then about its value at each time (B16 (14)).
        weights: one weight in (0, 1] for each of `arms`: the noise variance is lambda / weight.

    Raises:
        DriftpeakError: not a list of indices of points, or one outside the domain; drift outside
            [0, 1]; weights that are not one for each arm or outside (0, 1].

    Source: B16 (12), (14).
    """
    drift = unit_interval("drift", drift)
    chosen = check_arms(prior, arms)
    weights = check_weights(np.ones(len(chosen)) if weights is None else weights, len(chosen))
    steps = np.arange(len(chosen))
    correlation = markov_correlation(drift, np.abs(steps[:, None] - steps[None, :]))
    root = np.sqrt(weights / prior.noise_variance)
    gram = prior.gram[np.ix_(chosen, chosen)] * correlation
    return float(0.5 * np.linalg.slogdet(np.eye(len(chosen)) + root[:, None] * gram * root)[1])


@checked
def greedy_gain(
    prior: Prior, count: int, *, drift: float = 0.0, weights: Any = None, upper: bool = False
) -> Vector:
    r"""Compute the gain of 0, 1, ..., `count` points, each the point of largest posterior variance.

    Information is submodular, so greedy selection reaches at least 1 - 1/e of the maximum. The
    result is a lower bound of the maximum. With `upper=True` it is an upper bound: the greedy value
    divided by that share, as in IT25's experiments. With `drift` or `weights` the observations are
    not interchangeable and the share is 1/2: greedy under a partition constraint.

    Arguments:
        prior: covariance and noise variance.
        count: number of points, at least 1.
        drift: epsilon of a function under Markov drift, observed at the times 1, ..., count: a
            bound of B16 (15).
        weights: weight of the observation of each age 0, 1, ..., count - 1, in (0, 1] and not
            increasing: the noise variance is lambda / weight. D22's double-weighted gain (5) has
            the weights \((w_{t-a}/w_t)^2\), which are \(\gamma^{2a}\) under a discount. The
            single-weighted gain of a posterior under the rule has \(\gamma^a\).
        upper: divide by the guaranteed share.

    Returns:
        Shape `(count + 1,)`, in nats, starting at 0: the gain of the `i` first times, or of the `i`
        newest observations.

    Raises:
        DriftpeakError: count below 1, drift outside [0, 1], weights that are not `count` numbers in
            (0, 1] or increase with age, or both drift and weights given.

    Source: B16 (13), (15); ZS21 (3); D22 (5); IT25 section 6.
    """
    count = at_least_integer("count", count, 1, MOST_STEPS)
    drift = unit_interval("drift", drift)
    alike = weights is None and drift == 0
    weights = check_weights(np.ones(count) if weights is None else weights, count)
    if drift > 0 and not (weights == 1).all():
        raise DriftpeakError("at most one of drift and weights must be given; got both")
    if (np.diff(weights) > 0).any():
        raise DriftpeakError(
            "weights must not increase with age. Give the newest observation first"
        )
    with single_threaded_lapack():
        gains = np.append(0.0, _greedy(prior, prior.noise_variance / weights, 1 - drift))
    return gains / (GREEDY_GUARANTEE if alike else ORDERED_GUARANTEE) if upper else gains


def _greedy(prior: Prior, noise: Vector, retained: float) -> Vector:
    """Return the gain after each observation of largest variance, with noise variances `noise`.

    The covariance explained by the observations is multiplied by `retained` before the next one.
    Each adds a rank-one term. The terms are added to one matrix in blocks, because one matrix
    product is far cheaper than as many passes over that matrix.
    """
    features = prior.features_within(len(prior) // 8)
    # the explained covariance is kept over r features, or over the n points themselves
    factor = None if features is None else np.asarray(features.matrix)
    size = len(prior) if factor is None else factor.shape[1]
    folded, recent = np.zeros((size, size)), np.zeros((BLOCK, size))
    variance, explained = prior.variance, np.zeros(len(prior))
    faded, count, gain = 1.0, 0, 0.0
    gains = np.empty(len(noise))
    for step, noise_variance in enumerate(noise):
        explained *= retained
        faded *= retained
        recent[:count] *= np.sqrt(retained)
        arm = int(np.argmax(variance - explained))
        if factor is None:
            new = prior.gram[arm] - faded * folded[arm] - recent[:count, arm] @ recent[:count]
        else:
            unit = factor[arm]
            new = unit - faded * (folded @ unit) - (recent[:count] @ unit) @ recent[:count]
        covariance = new if factor is None else factor @ new
        scale = covariance[arm] + noise_variance
        gain += 0.5 * np.log(scale / noise_variance)
        gains[step] = gain
        recent[count] = new / np.sqrt(scale)
        explained += covariance**2 / scale
        count += 1
        if count == BLOCK:
            folded = faded * folded + recent.T @ recent
            faded, count = 1.0, 0
    return gains


def check_arms(prior: Prior, arms: Any) -> np.ndarray[Any, np.dtype[np.int_]]:
    """Return indices of points as an array.

    Raises:
        DriftpeakError: not a list of indices of points, or one outside the domain.
    """
    return indices("arms", arms, len(prior))


def check_weights(weights: Any, count: int) -> Vector:
    """Return weights as an array.

    Raises:
        DriftpeakError: not `count` numbers in (0, 1].
    """
    array = finite_array("weights", weights, 1)
    if len(array) != count or not ((array > 0) & (array <= 1)).all():
        raise DriftpeakError(
            f"weights must be {count} numbers in (0, 1], one for each observation; got "
            f"{shown(weights)}"
        )
    return array


@checked
def fractional_gain(prior: Prior, ratio: float, *, tolerance: float = 1e-6) -> float:
    r"""Compute H23's \(\max_P \log\det(I + \frac T\sigma \sum_x P(x) \phi(x)\phi(x)^\top)\), nats.

    This is the largest value over distributions P instead of sets, and without the 1/2. It is at
    least twice the information gain of any T points observed with noise of variance sigma.

    Arguments:
        prior: its covariance; its noise variance is not used.
        ratio: T / sigma, the ratio of observations to regulariser. Positive.
        tolerance: the maximum exceeds the result by at most this number of nats.

    Raises:
        DriftpeakError: ratio or tolerance not positive.

    Source: H23 information gain.
    """
    regulariser = 1 / positive("ratio", ratio)
    design = optimal_design(prior.features, regulariser, tolerance=tolerance)
    return float(design.objective) - prior.features.rank * math.log(regulariser)


class Gain(eqx.Module):
    """Base class of information gains used in exploration bonuses."""

    @abstractmethod
    def __call__(self, posterior: Posterior) -> Float[Array, ""]:
        """Return the gain, in nats, of the observations of the posterior."""

    def check(self, most: int) -> None:
        """Raise DriftpeakError unless the gain is known for up to `most` observations."""


class RealisedGain(Gain):
    """The information gain of the observations made, as the posterior reports it."""

    def __call__(self, posterior: Posterior) -> Float[Array, ""]:
        return posterior.information


class TabulatedGain(Gain):
    """A gain for each number of observations, such as `greedy_gain(prior, steps, upper=True)`.

    Arguments:
        values: gains of 0, 1, 2, ... observations, in nats, shape `(most + 1,)`.

    Raises:
        DriftpeakError: values that are negative, decrease or are not finite; a run that needs more
            of them than there are.
    """

    values: Any

    @checked
    def __init__(self, values: Any) -> None:
        self.values = finite_array("values", values, 1)
        if len(self.values) == 0 or self.values[0] < 0 or (np.diff(self.values) < 0).any():
            raise DriftpeakError("values must start at 0 or above and must not decrease")

    def __call__(self, posterior: Posterior) -> Float[Array, ""]:
        return jnp.asarray(self.values)[posterior.observations]

    def check(self, most: int) -> None:
        if len(self.values) <= most:
            raise DriftpeakError(
                f"values must have gains of up to {most} observations, the length of the run; got "
                f"{len(self.values) - 1}. Use greedy_gain(prior, {most})"
            )
