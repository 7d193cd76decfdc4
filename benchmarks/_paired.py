"""Ratios of regrets paired by function and seed, with intervals."""

from typing import Any

import numpy as np

from driftpeak.experiments.bootstrap import interval


def ratio(regrets: Any, others: Any) -> tuple[float, float, float]:
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
    return float(middle), float(low), float(high)
