r"""Likelihoods of binary rewards and counts, given a latent function.

Let the reward y be the mean of n measurements. Its log density is \(n\,(y f - A(f))\) plus a term
that does not depend on f, as in the canonical exponential families (McCullagh and Nelder 1989,
section 2.2). The rate, the expectation of y, is the increasing function \(A'(f)\), and \(A''(f)\)
is the variance of one measurement.

| rewards | \(A(f)\) | rate |
| --- | --- | --- |
| 0 or 1, Bernoulli | \(\log(1 + e^f)\) | \(1/(1 + e^{-f})\), a probability; f is its log-odds |
| counts, Poisson | \(e^f\) | \(e^f\), a mean count; f is its logarithm |

Engines always maximise. To minimise, they use negated rewards of a negated function g. The latent
function is therefore f = sign * g + centre.
"""

from abc import abstractmethod
from typing import Any, Literal, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from driftpeak._core.errors import DriftpeakError, nearest, shown
from driftpeak._core.types import AnyArray, Scalar, Vector

Likelihood = Literal["gaussian", "bernoulli", "poisson"]
LARGEST = 1e15  # bound of counts and of trials
SURE = 1e8  # events: larger counts have the weight of so many
HIGHEST = 700.0  # the exponential of it does not overflow
NODES = 64  # of the quadrature of a probability


class Rates(eqx.Module):
    """A likelihood of signed rewards given a latent function g. Base class.

    Arguments:
        centre: the centre in f = sign * g + centre.
        sign: 1 to maximise rewards, -1 to minimise them.
    """

    centre: Scalar = 0.0
    sign: float = eqx.field(static=True, default=1.0)

    def log_density(self, rewards: AnyArray, latent: AnyArray) -> Array:
        """Return the log density of signed rewards of one trial, up to a term without g."""
        return jnp.asarray(rewards * latent - self._cumulant(self._natural(latent)))

    def rate(self, latent: AnyArray) -> AnyArray:
        """Return the expectation of a signed reward."""
        return self.sign * self._mean(self._natural(latent))

    def curvature(self, latent: AnyArray) -> AnyArray:
        """Return the derivative of the rate, which is the variance of a reward of one trial."""
        return self._variance(self._natural(latent))

    def bend(self, latent: AnyArray) -> AnyArray:
        """Return the derivative of the curvature."""
        return self.sign * self._third(self._natural(latent))

    def guess(self, rewards: AnyArray, trials: AnyArray) -> AnyArray:
        """Return a finite estimate of g from each signed reward alone."""
        return self.sign * (self._link(self.sign * rewards, trials) - self.centre)

    def moments(self, means: Vector, deviations: Vector) -> tuple[Vector, Vector]:
        """Return mean and variance of the signed rate for normally distributed g."""
        mean, variance = self._moments(np.asarray(self.sign * means + self.centre), deviations)
        return self.sign * mean, variance

    def spread(self, means: Vector, deviations: Vector, trials: int) -> tuple[Vector, Vector]:
        """Return mean and deviation of a signed reward of `trials` trials for normal g."""
        mean, variance = self.moments(means, deviations)
        own = self._own_variance(self.sign * mean, variance) / trials
        return mean, np.sqrt(variance + own)

    def _natural(self, latent: AnyArray) -> AnyArray:
        return self.sign * latent + self.centre

    @classmethod
    def level(cls, rewards: Vector, trials: Vector) -> float:
        """Return the f that fits all (unsigned) rewards together."""
        total = trials.sum()
        return float(cls._link((rewards * (trials / total)).sum(), total))

    @staticmethod
    @abstractmethod
    def check(reward: float, trials: int) -> None:
        """Check that a reward can be the mean of `trials` measurements.

        Raises:
            DriftpeakError: it cannot.
        """

    @staticmethod
    @abstractmethod
    def law(mean: Any, deviation: Any, trials: Any) -> Any:
        """Return SciPy's distribution of the sum of trials whose mean has these moments."""

    @abstractmethod
    def _cumulant(self, f: AnyArray) -> AnyArray: ...

    @abstractmethod
    def _mean(self, f: AnyArray) -> AnyArray: ...

    @abstractmethod
    def _variance(self, f: AnyArray) -> AnyArray: ...

    @abstractmethod
    def _third(self, f: AnyArray) -> AnyArray: ...

    @staticmethod
    @abstractmethod
    def _link(mean: Any, trials: Any) -> Any:
        """Return the f of a mean of trials after adding half an event (and half a failure)."""

    @abstractmethod
    def _moments(self, means: Vector, deviations: Vector) -> tuple[Vector, Vector]:
        """Return mean and variance of the rate for normally distributed f."""

    @abstractmethod
    def _own_variance(self, mean: Vector, variance: Vector) -> Vector:
        """Return the expected variance of a reward of one trial from the moments of its rate."""


class Bernoulli(Rates):
    """The Bernoulli likelihood, for rewards 0 (failure) and 1 (success)."""

    @staticmethod
    def check(reward: float, trials: int) -> None:
        successes = reward * trials
        if not 0 <= reward <= 1 or abs(successes - round(successes)) > 1e-6:
            kind = "0 or 1" if trials == 1 else f"a share of {trials} trials, from 0 to 1,"
            raise DriftpeakError(
                f"reward must be {kind} with likelihood='bernoulli'; got {shown(reward)}. Give "
                "trials=n for the share of n trials, or use likelihood='gaussian'"
            )

    @staticmethod
    def law(mean: Any, deviation: Any, trials: Any) -> Any:
        from scipy.stats import betabinom

        mean = np.clip(mean, 1e-12, 1 - 1e-12)
        # one trial has no correlation to choose: its deviation follows from the mean
        alike = (deviation**2 * trials / (mean * (1 - mean)) - 1) / np.maximum(trials - 1, 1)
        alike = np.where(trials > 1, np.clip(alike, 1e-6, 1 - 1e-6), 0.5)
        return betabinom(trials, mean * (1 / alike - 1), (1 - mean) * (1 / alike - 1))

    def _cumulant(self, f: AnyArray) -> AnyArray:
        return jnp.logaddexp(f, 0.0)

    def _mean(self, f: AnyArray) -> AnyArray:
        return 0.5 + 0.5 * _numpy_of(f).tanh(0.5 * f)

    def _variance(self, f: AnyArray) -> AnyArray:
        numpy = _numpy_of(f)
        return 0.25 / numpy.cosh(numpy.clip(0.5 * f, -HIGHEST / 4, HIGHEST / 4)) ** 2

    def _third(self, f: AnyArray) -> AnyArray:
        return -self._variance(f) * _numpy_of(f).tanh(0.5 * f)

    @staticmethod
    def _link(mean: Any, trials: Any) -> Any:
        return _numpy_of(mean).log((mean * trials + 0.5) / ((1 - mean) * trials + 0.5))

    def _moments(self, means: Vector, deviations: Vector) -> tuple[Vector, Vector]:
        nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
        weights = weights / weights.sum()
        rates = 0.5 + 0.5 * np.tanh(0.5 * (means[:, None] + deviations[:, None] * nodes))
        mean = rates @ weights
        return mean, (rates - mean[:, None]) ** 2 @ weights

    def _own_variance(self, mean: Vector, variance: Vector) -> Vector:
        return np.maximum(mean * (1 - mean) - variance, 0.0)


class Poisson(Rates):
    """The Poisson likelihood, for rewards that count events: 0, 1, 2, ..."""

    @staticmethod
    def check(reward: float, trials: int) -> None:
        count = reward * trials
        if not 0 <= count <= LARGEST or abs(count - round(count)) > 1e-6 * max(1.0, count):
            kind = "a count, 0, 1, 2, ..., up to 1e15,"
            kind = kind if trials == 1 else f"the mean of {trials} counts, their sum up to 1e15,"
            raise DriftpeakError(
                f"reward must be {kind} with likelihood='poisson'; got {shown(reward)}. Give "
                "trials=n for the mean of n counts, or use likelihood='gaussian'"
            )

    @staticmethod
    def law(mean: Any, deviation: Any, trials: Any) -> Any:
        from scipy.stats import nbinom

        total, variance = mean * trials, (deviation * trials) ** 2
        share = np.clip(total / variance, 1e-9, 1 - 1e-9)
        return nbinom(total * share / (1 - share), share)

    def _cumulant(self, f: AnyArray) -> AnyArray:
        return _numpy_of(f).exp(f)

    _mean = _variance = _third = _cumulant

    @staticmethod
    def _link(mean: Any, trials: Any) -> Any:
        numpy = _numpy_of(mean)
        return numpy.log(mean + 0.5 / numpy.maximum(trials, 1e-3))

    def _moments(self, means: Vector, deviations: Vector) -> tuple[Vector, Vector]:
        squared = deviations**2
        mean = np.exp(np.minimum(means + 0.5 * squared, HIGHEST / 2))
        return mean, np.minimum(mean**2 * np.expm1(squared), np.exp(HIGHEST))

    def _own_variance(self, mean: Vector, variance: Vector) -> Vector:
        return mean


def _numpy_of(value: Any) -> Any:
    """Return JAX's numpy for JAX arrays, else NumPy, which needs no compilation."""
    return jnp if isinstance(value, jax.Array) else np


KINDS: dict[str, type[Rates]] = {"bernoulli": Bernoulli, "poisson": Poisson}


def check_likelihood(likelihood: str) -> Likelihood:
    """Return `likelihood` if it is supported.

    Raises:
        DriftpeakError: the likelihood is not supported.
    """
    if likelihood in get_args(Likelihood):
        return likelihood  # type: ignore[return-value]
    raise DriftpeakError(
        "likelihood must be 'gaussian' for real numbers, 'bernoulli' for 0 and 1, or 'poisson' "
        f"for counts; got {shown(likelihood)}." + nearest(likelihood, get_args(Likelihood))
    )


def bounded_weights(rewards: Vector, trials: Vector) -> Vector:
    """Return the weight of each reward: its trials, bounded for numerical stability."""
    return np.minimum(trials, SURE / np.maximum(np.abs(rewards), 1.0))
