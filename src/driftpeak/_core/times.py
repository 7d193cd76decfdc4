"""When decisions are made: at known times, at 1, 2, ..., or whenever they are asked for."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from driftpeak._core.errors import MOST_STEPS, DriftpeakError, at_least_integer, finite_array

Times = np.ndarray[Any, np.dtype[np.float64]]
TimesLike = int | Sequence[float] | np.ndarray[Any, np.dtype[Any]]
"""Non-decreasing times, or an integer T for 1, 2, ..., T."""


class AtMost(NamedTuple):
    """So many decisions at the most, at times that nobody knows yet, with rewards in any order."""

    decisions: int


def check_times(times: TimesLike | AtMost) -> Times:
    """Times as a float64 array; an integer T, and times not known yet, mean 1, 2, ..., T.

    Raises:
        DriftpeakError: none at all, not finite, or decreasing.
    """
    times = times.decisions if isinstance(times, AtMost) else times
    if isinstance(times, int | np.integer):
        return np.arange(1.0, at_least_integer("times", times, 1, MOST_STEPS) + 1)
    array = finite_array("times", times, 1)
    if len(array) == 0:
        raise DriftpeakError("times must be a non-empty list of finite numbers, or how many")
    if (np.diff(array) < 0).any():
        place = int(np.flatnonzero(np.diff(array) < 0)[0])
        raise DriftpeakError(
            f"times must not decrease; {array[place]:g} is followed by {array[place + 1]:g}"
        )
    return array


def median_step(times: TimesLike | AtMost) -> float:
    """The median distance of times that differ; 1 if there is none: what a step is."""
    steps = np.diff(check_times(times))
    steps = steps[steps > 0]
    return float(np.median(steps)) if len(steps) else 1.0
