"""Ratios of regrets that are paired by function and seed, with their intervals."""

from typing import Any

import numpy as np

from driftpeak.experiments.bootstrap import interval


def ratio(regrets: Any, others: Any) -> tuple[float, float, float]:
    r"""Return the geometric mean of the ratio of two regrets, and its 95 % interval.

    With \(r_{ij}\) the logarithm of the ratio on function i with seed j, the estimate is
    \(\exp(\bar r)\), and the interval is that of the mean of the functions' means
    \(\bar r_i\), resampled over functions. The seeds are not resampled: the spread of the
    \(\bar r_i\) contains theirs.

    Arguments:
        regrets, others: positive, shape `(functions, seeds)`.

    Returns:
        The ratio, and the interval's ends: 0 and infinity if there are fewer functions than
        `driftpeak.experiments.bootstrap.FEWEST`.
    """
    means = np.log(np.asarray(regrets) / np.asarray(others)).mean(axis=1)
    ends = interval(means[:, None], lambda samples: samples.mean(axis=(-2, -1)))
    middle, low, high = np.exp([means.mean(), *ends])
    return float(middle), float(low), float(high)
