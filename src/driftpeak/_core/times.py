"""Times of decisions: given, the integers 1, 2, ..., or unknown in advance."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from driftpeak._core.errors import MOST_STEPS, DriftpeakError, at_least_integer, finite_array

Times = np.ndarray[Any, np.dtype[np.float64]]
TimesLike = int | Sequence[float] | np.ndarray[Any, np.dtype[Any]]
"""Non-decreasing times, or an integer T for 1, 2, ..., T."""


class Horizon(NamedTuple):
    """A maximum number of decisions at times that are not known yet; rewards come in any order."""

    decisions: int


def check_times(times: TimesLike | Horizon) -> Times:
    """Return times as a float64 array; an integer T and `Horizon(T)` give 1, 2, ..., T.

    Raises:
        DriftpeakError: there are no times, or they are not finite, or they decrease.
    """
    times = times.decisions if isinstance(times, Horizon) else times
    if isinstance(times, int | np.integer):
        return np.arange(1.0, at_least_integer("times", times, 1, MOST_STEPS) + 1)
    array = finite_array("times", times, 1)
    if len(array) == 0:
        raise DriftpeakError("times must be a non-empty list of finite numbers or a count; got []")
    if (np.diff(array) < 0).any():
        place = int(np.flatnonzero(np.diff(array) < 0)[0])
        raise DriftpeakError(
            f"times must not decrease; {array[place]:g} is followed by {array[place + 1]:g}"
        )
    return array


def median_step(times: TimesLike | Horizon) -> float:
    """Return the length of a step: the median gap between distinct times, or 1 if there is none."""
    steps = np.diff(check_times(times))
    steps = steps[steps > 0]
    return float(np.median(steps)) if len(steps) else 1.0
