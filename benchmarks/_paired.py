"""Ratios of regrets paired by function and seed, with intervals."""

from typing import Any, NamedTuple

import numpy as np

from driftpeak.experiments.bootstrap import interval


class Ratio(NamedTuple):
    """A geometric mean of ratios of regrets, and its 95 % interval."""

    middle: float
    low: float
    high: float

    def __str__(self) -> str:
        if self.high == np.inf:
            return f"{self.middle:.2f} (no interval)"
        return f"{self.middle:.2f} ({self.low:.2f} to {self.high:.2f})"


def ratio(regrets: Any, others: Any) -> Ratio:
    r"""Return the geometric mean of the ratio of two regrets, and its 95 % interval.

    Let \(r_{ij}\) be the logarithm of the ratio on function i with seed j. The estimate is
    \(\exp(\bar r)\). The interval is of the mean of the functions' means \(\bar r_i\), resampled
    over functions. Seeds are not resampled, because the spread of the \(\bar r_i\) includes theirs.

    Arguments:
        regrets, others: positive, shape `(functions, seeds)`.

    Returns:
        The ratio and the limits of the interval, which are 0 and infinity for fewer functions than
        `driftpeak.experiments.bootstrap.FEWEST`.
    """
    means = np.log(np.asarray(regrets) / np.asarray(others)).mean(axis=1)
    ends = interval(means[:, None], lambda samples: samples.mean(axis=(-2, -1)))
    middle, low, high = np.exp([means.mean(), *ends])
    return Ratio(float(middle), float(low), float(high))
