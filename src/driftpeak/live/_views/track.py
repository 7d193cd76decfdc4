"""Estimated peaks over time, with the values that are about as good."""

import numpy as np

from driftpeak.live._study.clock import Time, show_time
from driftpeak.live._study.suggestion import EstimatedPeak
from driftpeak.live._views.bands import Bands, Context, bands
from driftpeak.live._views.inspection import Inspectable


def peaks_over_time(
    optimizer: Inspectable, count: int, context: Context, start: Time = None, end: Time = None
) -> tuple[np.ndarray, list[EstimatedPeak], list[Bands]]:
    """Return times, and the estimated peaks at these times with their bands.

    Arguments:
        optimizer: an optimiser with observations.
        count: number of times; those before the stored observations are left out.
        context: the context; by default the context of the newest reward.
        start, end: range of the times; by default the range of the history.
    """
    history = optimizer.history()
    seen = [observation.number for observation in history]
    first = min(seen) if start is None else optimizer._state.time_to_look(start)
    last = max(seen) if end is None else optimizer._state.time_to_look(end)
    times = np.unique(np.linspace(min(first, last), max(first, last), count))
    if context is None:
        context = history[-1].context or None
    moments = [show_time(float(time), history[-1].kind) for time in times]
    peaks = optimizer.peaks(moments, context=context)
    return times[len(times) - len(peaks) :], peaks, [bands(optimizer, p, context) for p in peaks]
