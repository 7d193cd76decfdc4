"""What counts as one sample: a trial, or where all trials share one history, a block of steps."""

from typing import Any

import numpy as np
from scipy import stats

Array = np.ndarray[Any, np.dtype[np.float64]]


def by_sample(values: Array, *, independent_trials: bool) -> Array:
    r"""From shape `(..., trial, step)` to `(..., sample)`: means over a trial or a block of steps.

    Independent trials are samples. On one table of recorded data all trials share one history:
    there a sample is the mean over the trials and over one of about \(\sqrt T\) consecutive blocks
    of about \(\sqrt T\) steps (batch means), long enough to be nearly independent. There are at
    least two blocks where there are two steps.
    """
    if independent_trials:
        return values.mean(axis=-1)
    series = values.mean(axis=-2)
    steps = series.shape[-1]
    blocks = np.array_split(series, max(min(2, steps), round(steps**0.5)), axis=-1)
    return np.stack([block.mean(axis=-1) for block in blocks], axis=-1)


def standard_error(values: Array, *, independent_trials: bool) -> float:
    """Standard error of the mean of `values`, shape `(trial, step)`, over its samples.

    NaN where there is only one sample.
    """
    samples = by_sample(values, independent_trials=independent_trials)
    if len(samples) < 2:
        return float("nan")
    return float(samples.std(ddof=1) / len(samples) ** 0.5)


def half_interval(values: Array, *, independent_trials: bool, level: float = 0.05) -> float:
    """How far a confidence interval reaches on either side of the mean of `values`.

    Student's t over the samples of `values`, shape `(trial, step)`; it misses the true mean with
    probability `level`. NaN where there is only one sample.
    """
    samples = by_sample(values, independent_trials=independent_trials)
    if len(samples) < 2:
        return float("nan")
    error = standard_error(values, independent_trials=independent_trials)
    return float(stats.t.ppf(1 - level / 2, len(samples) - 1)) * error
