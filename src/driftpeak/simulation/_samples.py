"""Samples of a mean: trials, or blocks of steps if all trials share one history."""

from typing import Any

import numpy as np
from scipy import special

Array = np.ndarray[Any, np.dtype[np.float64]]


def by_sample(values: Array, *, independent_trials: bool) -> Array:
    r"""Return means over samples: shape `(..., trial, step)` becomes `(..., sample)`.

    If trials are independent, each trial is a sample. On recorded data all trials share one
    history. A sample is then the mean over the trials and over one of about \(\sqrt T\) consecutive
    blocks of about \(\sqrt T\) steps (batch means), which are long enough to be nearly independent.
    Two or more steps give at least two blocks.
    """
    if independent_trials:
        return values.mean(axis=-1)
    series = values.mean(axis=-2)
    steps = series.shape[-1]
    blocks = np.array_split(series, max(min(2, steps), round(steps**0.5)), axis=-1)
    return np.stack([block.mean(axis=-1) for block in blocks], axis=-1)


def standard_error(values: Array, *, independent_trials: bool) -> float:
    """Return the standard error of the mean of `values`, shape `(trial, step)`, over its samples.

    It is NaN if there is only one sample.
    """
    samples = by_sample(values, independent_trials=independent_trials)
    if len(samples) < 2:
        return float("nan")
    return float(samples.std(ddof=1) / len(samples) ** 0.5)


def half_interval(values: Array, *, independent_trials: bool, level: float = 0.05) -> float:
    """Return half the width of a confidence interval of the mean of `values`.

    The interval is Student's t over the samples of `values`, shape `(trial, step)`. It misses the
    true mean with probability `level`. The result is NaN if there is only one sample.
    """
    samples = by_sample(values, independent_trials=independent_trials)
    error = standard_error(values, independent_trials=independent_trials)
    return float(special.stdtrit(len(samples) - 1, 1 - level / 2)) * error
