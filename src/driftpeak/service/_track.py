"""Estimated peaks over time, and the ranges of about equally good values."""

from typing import Any

from driftpeak.live import Optimizer
from driftpeak.live._views.bands import Bands, Context
from driftpeak.live._views.track import peaks_over_time


def track(
    optimizer: Optimizer, start: Any, end: Any, count: int, context: Context
) -> list[dict[str, Any]]:
    """Return the estimated peaks at `count` times from `start` to `end`.

    The default range is the history.
    """
    if not optimizer.history():
        return []
    _, peaks, bands = peaks_over_time(optimizer, count, context, start, end)
    return [vars(peak) | {"band": _data(each)} for peak, each in zip(peaks, bands, strict=True)]


def _data(bands: Bands) -> dict[str, Any]:
    return {
        name: dict(zip(("low", "high"), band or (None, None), strict=True))
        for name, band in bands.items()
    }
