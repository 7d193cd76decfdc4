"""Positions of steps on the time axis: dates, numbers, or step counts."""

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
    """Return the horizontal positions of the steps, shape `(steps,)`, and the axis label.

    The positions are the steps' labels if all labels are numbers, or all are dates, in
    non-decreasing order. Otherwise they are 1, 2, ... Dates with time zones are drawn in UTC.

    Arguments:
        runs: record with a coordinate `step` and optionally `label`.
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
    """Parse cells as `datetime64[s]`, in UTC if they have a zone; None if a cell is not a date.

    Accepted formats are `2026-03-01`, `2026-03-01T08:00`, `2026-03-01 08:00:00Z` and `2026-03`.

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
            warnings.simplefilter("error")  # NumPy would drop a time zone with a warning
            parsed = np.array([label.strip() for label in labels], dtype="datetime64[s]")
    except (ValueError, UserWarning, DeprecationWarning):
        return None
    return None if np.isnat(parsed).any() else parsed


def _numbers(labels: Sequence[str]) -> Any:
    try:
        values = np.array(labels, dtype=float)
    except ValueError:
        return None
    return values if np.isfinite(values).all() else None


@checked
def write_dates(axes: Axes, x: Any) -> None:
    """Format an axis with short dates if its values are dates; leave other axes unchanged.

    Arguments:
        axes: axes to change.
        x: values on the horizontal axis.
    """
    if np.issubdtype(np.asarray(x).dtype, np.datetime64):
        locator = AutoDateLocator(maxticks=8)  # type: ignore[no-untyped-call]
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(
            ConciseDateFormatter(locator)  # type: ignore[no-untyped-call]
        )
