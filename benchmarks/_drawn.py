"""Draws of functions from the model class of `DriftingGP`, exact or by random features."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from driftpeak.live._model.hyperparameters import ranges

LEAST = 1e-10  # least relative variance of a value that the other values determine


class Hyperparameters(NamedTuple):
    """Hyperparameters of one function, in units of the reward and steps."""

    level: float
    lengthscale: np.ndarray  # (d,)
    deviation: float
    noise: float  # standard deviation
    timescale: float


def hyperparameters(
    dimension: int,
    generator: np.random.Generator,
    *,
    scale: float = 3.0,
    deviation: float | None = None,
    noise: float | None = None,
    timescale: float | None = None,
) -> Hyperparameters:
    """Draw hyperparameters from the prior of `DriftingGP`, times a scale.

    Arguments:
        scale: scale of the rewards, the unit of the prior.
        deviation, noise, timescale: fixed values, the first two in units of the reward.
    """
    priors = ranges(np.zeros(dimension))
    logarithms = [np.log(prior.median) + prior.deviation * generator.normal() for prior in priors]
    bounded = [
        float(np.clip(np.exp(drawn), one.low, one.high))
        for drawn, one in zip(logarithms, priors, strict=True)
    ]
    *lengthscale, variance, noise_variance, slow = bounded
    return Hyperparameters(
        scale * float(generator.normal()),
        np.array(lengthscale),
        scale * variance**0.5 if deviation is None else deviation,
        scale * noise_variance**0.5 if noise is None else noise,
        slow if timescale is None else timescale,
    )


def covariance(numbers: Hyperparameters, x: Any, s: Any, y: Any, t: Any) -> np.ndarray:
    """Compute the covariance of values at rows x and times s with those at y and t."""
    gaps = (x[:, None] - y[None]) / numbers.lengthscale
    z = np.sqrt(5 * (gaps**2).sum(axis=-1))
    elapsed = np.abs(s[:, None] - t[None])
    return numbers.deviation**2 * (1 + z + z**2 / 3) * np.exp(-z - elapsed / numbers.timescale)


def posterior(
    numbers: Hyperparameters, seen: Any, seen_at: Any, rewards: Any, rows: Any, time: float
) -> tuple[np.ndarray, np.ndarray]:
    """Compute mean and standard deviation at some rows, given noisy rewards.

    Arguments:
        seen, seen_at, rewards: observations, shapes `(n, d)`, `(n,)` and `(n,)`.
        rows, time: rows of shape `(m, d)` and time of the prediction.
    """
    among = covariance(numbers, seen, seen_at, seen, seen_at)
    lower = np.linalg.cholesky(among + numbers.noise**2 * np.eye(len(seen)))
    cross = covariance(numbers, seen, seen_at, rows, np.full(len(rows), time))
    cross = solve_triangular(lower, cross, lower=True)
    residuals = solve_triangular(lower, np.asarray(rewards) - numbers.level, lower=True)
    variance = numbers.deviation**2 - (cross**2).sum(axis=0)
    least = LEAST * numbers.deviation**2
    return numbers.level + residuals @ cross, np.sqrt(np.maximum(variance, least))


class Drawn:
    """A draw of the process. Each value is drawn given all earlier values.

    Values at any rows and times are therefore exactly values of one function.
    """

    def __init__(self, numbers: Hyperparameters, generator: np.random.Generator) -> None:
        self.numbers, self.generator = numbers, generator
        self.rows, self.times = np.zeros((0, len(numbers.lengthscale))), np.zeros(0)
        self.lower = np.zeros((0, 0))  # Cholesky factor of the covariance of all values so far
        self.white = np.zeros(0)  # independent standard normal variables of all values

    def values(self, rows: Any, time: float) -> np.ndarray:
        """Return the values at some rows at one time, without noise, shape `(m,)`."""
        return np.array([self._value(np.asarray(row, float), time) for row in rows])

    def _value(self, row: np.ndarray, time: float) -> float:
        at = row[None], np.array([time])
        cross = covariance(self.numbers, self.rows, self.times, *at)[:, 0]
        new = solve_triangular(self.lower, cross, lower=True) if len(cross) else cross
        variance = self.numbers.deviation**2
        left = np.sqrt(max(variance - new @ new, LEAST * variance))
        count = len(self.white)
        lower = np.zeros((count + 1, count + 1))
        lower[:count, :count], lower[count, :count], lower[count, count] = self.lower, new, left
        self.lower, self.white = lower, np.append(self.white, self.generator.normal())
        self.rows, self.times = np.vstack([self.rows, row]), np.append(self.times, time)
        return self.numbers.level + float(self.lower[-1] @ self.white)


def fourier(
    dimension: int,
    lengthscale: float,
    rate: float,
    generator: np.random.Generator,
    features: int = 200,
) -> Callable[[np.ndarray, float], np.ndarray]:
    """Draw a function of rows and time by random Fourier features: Matern 5/2 and Markov drift.

    Its variance is 1.

    Arguments:
        rate: one over the timescale; 0 for a fixed function.
    """
    student = np.sqrt(5 / generator.chisquare(5, features))
    across = generator.standard_normal((features, dimension)) / lengthscale * student[:, None]
    along = generator.standard_cauchy(features) * rate
    phases = generator.uniform(0, 2 * np.pi, features)

    def value(rows: np.ndarray, time: float) -> np.ndarray:
        return (2 / features) ** 0.5 * np.cos(rows @ across.T + along * time + phases).sum(axis=1)

    return value
