"""Estimated peaks over time, and the ranges of about equally good values."""

from typing import Any

import numpy as np

from driftpeak.live import EstimatedPeak, Optimizer
from driftpeak.live._study.clock import show_time
from driftpeak.live._views.bands import Context, bands


def track(
    optimizer: Optimizer, start: Any, end: Any, count: int, context: Context
) -> list[dict[str, Any]]:
    """Return the estimated peaks at `count` times from `start` to `end`.

    The default range is the history.
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
    ends = bands(optimizer, peak, context)
    return {
        name: dict(zip(("low", "high"), band or (None, None), strict=True))
        for name, band in ends.items()
    }
