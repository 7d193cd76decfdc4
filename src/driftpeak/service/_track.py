"""Estimated peaks over time, and the ranges of about equally good values."""

from typing import Any

import numpy as np

from driftpeak.live import EstimatedPeak, Optimizer
from driftpeak.live._space.encoding import BoxCoding, FiniteCoding
from driftpeak.live._space.parameters import Numeric
from driftpeak.live._study.clock import show_time

RESOLUTION = 41  # evaluated values of a parameter
Context = dict[str, Any] | None


def track(
    optimizer: Optimizer, start: Any, end: Any, count: int, context: Context
) -> list[dict[str, Any]]:
    """Return the estimated peaks at `count` times from `start` to `end`.

    The default range is the history. The band of a parameter is the range of values around the peak
    whose posterior mean is within one standard deviation of the peak's, with the other parameters
    fixed. Only ordered parameters have a band, and only with a `DriftingGP`.
    """
    history = optimizer.history()
    if not history:
        return []
    kind, seen = history[-1].kind, [observation.number for observation in history]
    first = min(seen) if start is None else optimizer._state.time_to_look(start)
    last = max(seen) if end is None else optimizer._state.time_to_look(end)
    times = np.unique(np.linspace(min(first, last), max(first, last), count))
    if context is None:
        context = history[-1].context or None
    estimates = optimizer.peaks([show_time(float(time), kind) for time in times], context=context)
    return [vars(peak) | {"band": _bands(optimizer, peak, context)} for peak in estimates]


def _bands(optimizer: Optimizer, peak: EstimatedPeak, context: Context) -> dict[str, Any]:
    bands: dict[str, Any] = {name: {"low": None, "high": None} for name in peak}
    if not optimizer._engine.looks_back:
        return bands
    values = {name: _values(optimizer, name, peak[name]) for name in peak}
    settings = [
        optimizer.coding.moved(dict(peak), name, value)
        for name, each in values.items()
        for value in each
    ]
    if not settings:
        return bands
    means, _ = optimizer.belief(settings, peak.time, context=context)
    losses = (peak.mean - means) * (1 if optimizer.maximize else -1)
    done = 0
    for name, each in values.items():
        good = losses[done : done + len(each)] <= peak.deviation
        done += len(each)
        if each:
            low, high = _around(good, each.index(peak[name]))
            bands[name] = {"low": float(each[low]), "high": float(each[high])}
    return bands


def _around(good: np.ndarray, here: int) -> tuple[int, int]:
    """Return the ends of the run of true values around an index."""
    low = high = here
    while low > 0 and good[low - 1]:
        low -= 1
    while high < len(good) - 1 and good[high + 1]:
        high += 1
    return low, high


def _values(optimizer: Optimizer, name: str, here: Any) -> list[Any]:
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
