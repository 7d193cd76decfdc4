"""Where steps stand on the time axis: at their dates, at their numbers, or counted."""

import warnings
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

from driftpeak._core.argument_types import checked

STEP = "step t"


@checked
def time_axis(runs: xr.Dataset) -> tuple[Any, str]:
    """Where to draw the steps, shape `(steps,)`, and what to write below.

    At their labels, if all are numbers or all are dates and none is earlier than the one before;
    else at 1, 2, ... Dates with time zones are drawn in UTC.

    Arguments:
        runs: with a coordinate `step` and perhaps `label`.
    """
    if "label" in runs.coords:
        labels = [str(label) for label in runs["label"].values]
        name = str(runs["label"].attrs.get("long_name") or "time")
        for read in (_numbers, dates):
            values = read(labels)
            if values is not None and (values[1:] >= values[:-1]).all():
                return values, name
    return runs["step"].values, STEP


@checked
def dates(labels: Sequence[str]) -> Any:
    """Cells as `datetime64[s]`, in UTC where they name a zone; None if some is no date.

    Read are `2026-03-01`, `2026-03-01T08:00`, `2026-03-01 08:00:00Z` and `2026-03`.

    Arguments:
        labels: the cells.
    """
    try:
        moments = [datetime.fromisoformat(label.strip()) for label in labels]
        zoned = {moment.tzinfo is not None for moment in moments}
        if len(zoned) > 1:
            return None
        if zoned == {True}:
            moments = [moment.astimezone(UTC).replace(tzinfo=None) for moment in moments]
        return np.array(moments, dtype="datetime64[s]")
    except (ValueError, OverflowError):
        pass
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a zone that NumPy would drop
            found = np.array([label.strip() for label in labels], dtype="datetime64[s]")
    except (ValueError, UserWarning, DeprecationWarning):
        return None
    return None if np.isnat(found).any() else found


def _numbers(labels: Sequence[str]) -> Any:
    try:
        values = np.array(labels, dtype=float)
    except ValueError:
        return None
    return values if np.isfinite(values).all() else None


@checked
def write_dates(axes: Axes, x: Any) -> None:
    """Short dates below an axis whose values are dates; nothing happens to others.

    Arguments:
        axes: to change.
        x: the values on the horizontal axis.
    """
    if np.issubdtype(np.asarray(x).dtype, np.datetime64):
        locator = AutoDateLocator(maxticks=8)  # type: ignore[no-untyped-call]
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(
            ConciseDateFormatter(locator)  # type: ignore[no-untyped-call]
        )
