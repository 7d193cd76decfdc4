"""Intervals and p-values of a statistic of paired samples."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

Array = np.ndarray[Any, np.dtype[np.float64]]
Combine = Callable[[Array], Any]
"""A statistic that maps an array of shape `(..., samples, k)` to an array of shape `(...)`."""

LEVEL = 0.95
RESAMPLES = 20_000
MOST_NEEDED = 10_000
"""Largest number of samples that `samples_to_decide` considers."""
FEWEST = 5
"""Fewest samples for an interval: fewer samples have equal signs by chance too often."""


@dataclass(frozen=True)
class Bootstrap:
    """Values of a statistic in `RESAMPLES` resamples, with replacement, of `count` samples.

    Plain percentiles are too narrow for few samples. The class uses the expanded percentiles of
    Hesterberg 2015, What Teachers Should Know About the Bootstrap, section 5.4. For a mean they
    agree with Student's t.
    """

    count: int
    replicates: Array

    @classmethod
    def of(cls, samples: Array, combine: Combine, *, seed: int = 0) -> "Bootstrap":
        """Resample the rows of `samples`, shape `(samples, k)`; equal seeds give equal numbers."""
        count = len(samples)
        if count < FEWEST:
            return cls(count, np.empty(0))
        generator = np.random.default_rng(seed)
        parts = [
            np.atleast_1d(combine(samples[generator.integers(0, count, (RESAMPLES // 20, count))]))
            for _ in range(20)
        ]
        return cls(count, np.concatenate(parts))

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """Return the interval at a confidence level; infinite for fewer than `FEWEST` samples."""
        if self.count < FEWEST:
            return -np.inf, np.inf
        quantile = stats.t.ppf((1 - level) / 2, self.count - 1)
        widened = float(stats.norm.cdf(self._expansion * quantile))
        low, high = np.quantile(self.replicates, [widened, 1 - widened])
        return float(low), float(high)

    def p_value(self) -> float:
        """Return the one-sided p-value of the hypothesis that the statistic is 0 or more.

        It is (1 - level) / 2 for the level at which the interval's upper limit is 0. It is 1 for
        fewer than `FEWEST` samples.
        """
        if self.count < FEWEST:
            return 1.0
        share = ((self.replicates >= 0).sum() + 1) / (len(self.replicates) + 1)
        return float(stats.t.cdf(stats.norm.ppf(share) / self._expansion, self.count - 1))

    @property
    def _expansion(self) -> float:
        return float((self.count / (self.count - 1)) ** 0.5)


def interval(samples: Array, combine: Combine) -> tuple[float, float]:
    """Return the interval at confidence `LEVEL` of a statistic of the rows of `samples`."""
    return Bootstrap.of(samples, combine).interval()


def samples_to_decide(estimate: float, low: float, high: float, count: int) -> float:
    r"""Return about how many samples would give an interval of `LEVEL` that excludes 0.

    For a mean of n samples the interval's half-width is \(h = t_{n-1} s / \sqrt n\), with Student's
    quantile t. The answer is the least \(N > n\) with \(t_{N-1} s / \sqrt N < |m|\), if the
    estimate m and the deviation s stay as they are.

    Arguments:
        estimate, low, high: the statistic and its interval. count: its number of samples n.

    Returns:
        N; infinity if it is above `MOST_NEEDED`, or if there is no interval yet.
    """
    if count < FEWEST or not np.isfinite([estimate, low, high]).all():
        return np.inf
    tail = (1 + LEVEL) / 2
    deviation = (high - low) / 2 * count**0.5 / stats.t.ppf(tail, count - 1)
    numbers = np.arange(count + 1, MOST_NEEDED + 1)
    enough = stats.t.ppf(tail, numbers - 1) * deviation / numbers**0.5 < abs(estimate)
    return float(numbers[enough.argmax()]) if enough.any() else np.inf


def in_words(estimate: float, low: float, high: float, digits: str = ".3g") -> str:
    """Return `estimate [low, high]`, or the estimate and a note that the trials are too few."""
    if not np.isfinite([low, high]).all():
        return f"{estimate:{digits}} (too few trials for an interval: at least {FEWEST})"
    return f"{estimate:{digits}} [{low:{digits}}, {high:{digits}}]"
