"""Ranges of values of a parameter that are about as good as the estimated peak."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from driftpeak.live._space.encoding import FiniteCoding
from driftpeak.live._space.parameters import Categorical
from driftpeak.live._study.suggestion import EstimatedPeak
from driftpeak.live._views.inspection import Inspectable
from driftpeak.live._views.values import parameter_of, values_of

RESOLUTION = 41  # evaluated values of a parameter
Context = Mapping[str, object] | None
Bands = dict[str, tuple[float, float] | None]


def bands(optimizer: Inspectable, peak: EstimatedPeak, context: Context) -> Bands:
    """Return the lowest and the highest value of each parameter that are about as good as a peak.

    The posterior mean of all values between them is within one standard deviation of the peak's,
    with the other parameters fixed. Only ordered parameters have a band, and only with a
    `DriftingGP`; it is None for others.
    """
    ends: Bands = dict.fromkeys(peak)
    if not optimizer._engine.looks_back:
        return ends
    values = {name: _values(optimizer, name, peak[name]) for name in peak}
    settings = [
        optimizer.coding.moved(dict(peak), name, value)
        for name, each in values.items()
        for value in each
    ]
    if not settings:
        return ends
    means, _ = optimizer.belief(settings, peak.time, context=context)
    losses = (peak.mean - means) * (1 if optimizer.maximize else -1)
    done = 0
    for name, each in values.items():
        good = losses[done : done + len(each)] <= peak.deviation
        done += len(each)
        if each:
            low, high = _around(good, each.index(peak[name]))
            ends[name] = float(each[low]), float(each[high])
    return ends


def _around(good: np.ndarray, here: int) -> tuple[int, int]:
    """Return the ends of the run of true values around an index."""
    low = high = here
    while low > 0 and good[low - 1]:
        low -= 1
    while high < len(good) - 1 and good[high + 1]:
        high += 1
    return low, high


def _values(optimizer: Inspectable, name: str, here: Any) -> list[Any]:
    """Return sorted values of a parameter, including the peak's; none if it is not ordered."""
    coding = optimizer.coding
    named = isinstance(coding, FiniteCoding) and coding.named
    if named or isinstance(parameter_of(coding, name), Categorical):
        return []
    return sorted({*values_of(coding, name, RESOLUTION), here})
