"""Ranges of values of a parameter that are about as good as the estimated peak."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from driftpeak.live._space.encoding import BoxCoding, FiniteCoding
from driftpeak.live._space.parameters import Numeric
from driftpeak.live._study.suggestion import EstimatedPeak
from driftpeak.live._views.inspection import Inspectable

RESOLUTION = 41  # evaluated values of a parameter
Context = Mapping[str, object] | None


def bands(
    optimizer: Inspectable, peak: EstimatedPeak, context: Context
) -> dict[str, tuple[float, float] | None]:
    """Return the lowest and the highest value of each parameter that are about as good as a peak.

    The posterior mean of all values between them is within one standard deviation of the peak's,
    with the other parameters fixed. Only ordered parameters have a band, and only with a
    `DriftingGP`; it is None for others.
    """
    ends: dict[str, tuple[float, float] | None] = dict.fromkeys(peak)
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
    if isinstance(coding, BoxCoding):
        parameter = coding.box.parameters[name]
        if not isinstance(parameter, Numeric):
            return []
        values = [parameter.decode(float(u)) for u in np.linspace(0, 1, RESOLUTION)]
    elif isinstance(coding, FiniteCoding) and not coding.named:
        column = np.unique(coding.domain.points[:, coding.names.index(name)])
        places = np.unique(np.linspace(0, len(column) - 1, RESOLUTION).round().astype(int))
        values = column[places].tolist()
    else:
        return []
    return sorted({*values, here})
