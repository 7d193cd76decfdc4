r"""Rewards that are 0 or 1, and counts: what they say of the rate behind a latent function.

The logarithm of the density of such a reward y, the mean of n measurements, is \(n\,(y f - A(f))\)
plus what does not depend on f: the canonical exponential families (McCullagh and Nelder 1989,
section 2.2). The rate, which is what y is on average, is the increasing function \(A'(f)\), and
\(A''(f)\) is the variance of one measurement.

| rewards | \(A(f)\) | rate |
| --- | --- | --- |
| 0 or 1, Bernoulli | \(\log(1 + e^f)\) | \(1/(1 + e^{-f})\), a probability; f is its log-odds |
| counts, Poisson | \(e^f\) | \(e^f\), a mean count; f is its logarithm |

An engine maximises: where small rewards are good, it sees negated ones, of a negated function g.
So f is the sign times g, plus a centre from which g is counted.
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
LARGEST = 1e15  # of counts, and of trials
SURE = 1e8  # events: a count of more says no more of the rate than so many would
HIGHEST = 700.0  # whose exponential is a number
NODES = 64  # of the quadrature of a probability


class Rates(eqx.Module):
    """What rewards of one kind say of a latent function g, as an engine sees them.

    Arguments:
        centre: of f = sign * g + centre.
        sign: 1 where large rewards are good, -1 where small ones are.
    """

    centre: Scalar = 0.0
    sign: float = eqx.field(static=True, default=1.0)

    def log_density(self, rewards: AnyArray, latent: AnyArray) -> Array:
        """Of signed rewards of one trial each, up to what does not depend on g."""
        return jnp.asarray(rewards * latent - self._cumulant(self._natural(latent)))

    def rate(self, latent: AnyArray) -> AnyArray:
        """The mean of a signed reward."""
        return self.sign * self._mean(self._natural(latent))

    def curvature(self, latent: AnyArray) -> AnyArray:
        """The derivative of the rate, and the variance of a reward of one trial."""
        return self._variance(self._natural(latent))

    def bend(self, latent: AnyArray) -> AnyArray:
        """The derivative of the curvature."""
        return self.sign * self._third(self._natural(latent))

    def guess(self, rewards: AnyArray, trials: AnyArray) -> AnyArray:
        """The g of which each signed reward speaks by itself, never infinite."""
        return self.sign * (self._link(self.sign * rewards, trials) - self.centre)

    def moments(self, means: Vector, deviations: Vector) -> tuple[Vector, Vector]:
        """Mean and variance of the signed rate, g being normal."""
        mean, variance = self._moments(np.asarray(self.sign * means + self.centre), deviations)
        return self.sign * mean, variance

    def spread(self, means: Vector, deviations: Vector, trials: int) -> tuple[Vector, Vector]:
        """Mean and deviation of a signed reward, the mean of some trials, g being normal."""
        mean, variance = self.moments(means, deviations)
        own = self._own_variance(self.sign * mean, variance) / trials
        return mean, np.sqrt(variance + own)

    def _natural(self, latent: AnyArray) -> AnyArray:
        return self.sign * latent + self.centre

    @classmethod
    def level(cls, rewards: Vector, trials: Vector) -> float:
        """The f of (unsigned) rewards taken together."""
        total = trials.sum()
        return float(cls._link((rewards * (trials / total)).sum(), total))

    @staticmethod
    @abstractmethod
    def check(reward: float, trials: int) -> None:
        """Refuse what is no mean of so many such rewards.

        Raises:
            DriftpeakError: with what is one, and what to do.
        """

    @staticmethod
    @abstractmethod
    def law(mean: Any, deviation: Any, trials: Any) -> Any:
        """SciPy's distribution of the sum of trials, whose mean has this mean and deviation."""

    @staticmethod
    @abstractmethod
    def _cumulant(f: AnyArray) -> AnyArray: ...

    @staticmethod
    @abstractmethod
    def _mean(f: AnyArray) -> AnyArray: ...

    @staticmethod
    @abstractmethod
    def _variance(f: AnyArray) -> AnyArray: ...

    @staticmethod
    @abstractmethod
    def _third(f: AnyArray) -> AnyArray: ...

    @staticmethod
    @abstractmethod
    def _link(mean: Any, trials: Any) -> Any:
        """The f of a mean of trials, with half an event (and half a failure) added to them."""

    @staticmethod
    @abstractmethod
    def _moments(means: Vector, deviations: Vector) -> tuple[Vector, Vector]:
        """Mean and variance of the rate, f being normal."""

    @staticmethod
    @abstractmethod
    def _own_variance(mean: Vector, variance: Vector) -> Vector:
        """The expected variance of a reward of one trial, from the moments of its rate."""


class Bernoulli(Rates):
    """Rewards of 0 and 1: failure and success."""

    @staticmethod
    def check(reward: float, trials: int) -> None:
        successes = reward * trials
        if not 0 <= reward <= 1 or abs(successes - round(successes)) > 1e-6:
            kind = "0 or 1" if trials == 1 else f"a share of {trials} trials, from 0 to 1"
            remedy = (
                "for the share of several trials say how many, trials=n; for other rewards take "
                "likelihood='gaussian'"
            )
            raise DriftpeakError(
                f"with likelihood='bernoulli' reward must be {kind}; got {shown(reward)}: {remedy}"
            )

    @staticmethod
    def law(mean: Any, deviation: Any, trials: Any) -> Any:
        from scipy.stats import betabinom

        mean = np.clip(mean, 1e-12, 1 - 1e-12)
        # of one trial the deviation follows from the mean, however alike several are
        alike = (deviation**2 * trials / (mean * (1 - mean)) - 1) / np.maximum(trials - 1, 1)
        alike = np.where(trials > 1, np.clip(alike, 1e-6, 1 - 1e-6), 0.5)
        return betabinom(trials, mean * (1 / alike - 1), (1 - mean) * (1 / alike - 1))

    @staticmethod
    def _cumulant(f: AnyArray) -> AnyArray:
        return jnp.logaddexp(f, 0.0)

    @staticmethod
    def _mean(f: AnyArray) -> AnyArray:
        return 0.5 + 0.5 * _numpy_of(f).tanh(0.5 * f)

    @staticmethod
    def _variance(f: AnyArray) -> AnyArray:
        numpy = _numpy_of(f)
        return 0.25 / numpy.cosh(numpy.clip(0.5 * f, -HIGHEST / 4, HIGHEST / 4)) ** 2

    @staticmethod
    def _third(f: AnyArray) -> AnyArray:
        return -Bernoulli._variance(f) * _numpy_of(f).tanh(0.5 * f)

    @staticmethod
    def _link(mean: Any, trials: Any) -> Any:
        return _numpy_of(mean).log((mean * trials + 0.5) / ((1 - mean) * trials + 0.5))

    @staticmethod
    def _moments(means: Vector, deviations: Vector) -> tuple[Vector, Vector]:
        nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
        weights = weights / weights.sum()
        rates = 0.5 + 0.5 * np.tanh(0.5 * (means[:, None] + deviations[:, None] * nodes))
        mean = rates @ weights
        return mean, (rates - mean[:, None]) ** 2 @ weights

    @staticmethod
    def _own_variance(mean: Vector, variance: Vector) -> Vector:
        return np.maximum(mean * (1 - mean) - variance, 0.0)


class Poisson(Rates):
    """Rewards that count events: 0, 1, 2, ..."""

    @staticmethod
    def check(reward: float, trials: int) -> None:
        count = reward * trials
        if not 0 <= count <= LARGEST or abs(count - round(count)) > 1e-6 * max(1.0, count):
            kind = "a count, 0, 1, 2, ..., up to 1e15"
            kind = kind if trials == 1 else f"the mean of {trials} counts, their sum up to 1e15"
            raise DriftpeakError(
                f"with likelihood='poisson' reward must be {kind}; got {shown(reward)}: for the "
                "mean of several counts say of how many, trials=n; for other rewards take "
                "likelihood='gaussian'"
            )

    @staticmethod
    def law(mean: Any, deviation: Any, trials: Any) -> Any:
        from scipy.stats import nbinom

        total, variance = mean * trials, (deviation * trials) ** 2
        share = np.clip(total / variance, 1e-9, 1 - 1e-9)
        return nbinom(total * share / (1 - share), share)

    @staticmethod
    def _cumulant(f: AnyArray) -> AnyArray:
        return _numpy_of(f).exp(f)

    _mean = _variance = _third = _cumulant

    @staticmethod
    def _link(mean: Any, trials: Any) -> Any:
        numpy = _numpy_of(mean)
        return numpy.log(mean + 0.5 / numpy.maximum(trials, 1e-3))

    @staticmethod
    def _moments(means: Vector, deviations: Vector) -> tuple[Vector, Vector]:
        squared = deviations**2
        mean = np.exp(np.minimum(means + 0.5 * squared, HIGHEST / 2))
        return mean, np.minimum(mean**2 * np.expm1(squared), np.exp(HIGHEST))

    @staticmethod
    def _own_variance(mean: Vector, variance: Vector) -> Vector:
        return mean


def _numpy_of(value: Any) -> Any:
    """JAX's numpy inside of it; elsewhere the plain one, which compiles nothing."""
    return jnp if isinstance(value, jax.Array) else np


KINDS: dict[str, type[Rates]] = {"bernoulli": Bernoulli, "poisson": Poisson}


def check_likelihood(likelihood: Any) -> Likelihood:
    """`likelihood`, if it is one.

    Raises:
        DriftpeakError: it is none.
    """
    if isinstance(likelihood, str) and likelihood in get_args(Likelihood):
        return likelihood  # type: ignore[return-value]
    hint = nearest(likelihood, get_args(Likelihood)) if isinstance(likelihood, str) else ""
    raise DriftpeakError(
        "likelihood must be 'gaussian' for rewards on a scale, 'bernoulli' for 0 and 1, or "
        f"'poisson' for counts; got {shown(likelihood)}.{hint}"
    )


def worth(rewards: Vector, trials: Vector) -> Vector:
    """How much each reward counts: its trials, unless that says more than numbers can hold."""
    return np.minimum(trials, SURE / np.maximum(np.abs(rewards), 1.0))
