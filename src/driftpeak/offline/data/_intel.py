"""The Intel lab log, with one line per reading, as a table with one column per sensor."""

import io
import math
import os
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import (
    DataError,
    DriftpeakError,
    at_least_integer,
    positive,
    unit_interval,
)
from driftpeak.offline.data._reading.decoding import text_of
from driftpeak.offline.data._reading.missing_values import interpolated
from driftpeak.offline.data._tables import RewardTable

if TYPE_CHECKING:
    import pandas as pd

MOST_DAYS = 36_525  # a century
COLUMNS = ("temperature", "humidity", "light", "voltage")


@checked
def read_intel_lab(
    path: str | os.PathLike[str],
    *,
    start: str = "2004-03-01",
    days: int = 5,
    minutes: float = 10,
    coverage: float = 0.93,
    plausible: tuple[float, float] = (0.0, 50.0),
    column: str = "temperature",
) -> RewardTable:
    """Read the publisher's log, and return means over intervals of `minutes`.

    The columns of the log are date time epoch moteid temperature humidity light voltage. Incomplete
    lines are omitted, and so are values outside `plausible` (failing sensors report 122 degrees).
    Sensors with values in less than a fraction `coverage` of the intervals are omitted; the gaps of
    the others are interpolated linearly in time. B16 states neither its sensors nor its days: the
    defaults leave 46 sensors of the first full working week in one extract of this log.

    Arguments:
        path: the log, plain or compressed with gzip.
        start: the first day.
        days: number of days.
        minutes: length of an interval, which is a row.
        coverage: minimum fraction of intervals in which a sensor has values.
        plausible: accepted range of values, in the unit of the column, both ends included.
        column: "temperature" (degrees C), "humidity" (%), "light" (lux) or "voltage" (V).

    Raises:
        DataError: the file cannot be read or is not such a log, or fewer than two sensors remain.
        DriftpeakError: an argument is out of range.
    """
    path = Path(path)
    days = at_least_integer("days", days, 1, MOST_DAYS)
    minutes = positive("minutes", minutes)
    bins = math.ceil(days * 1440 / minutes)
    if bins < 2:
        raise DriftpeakError(
            f"days and minutes must give at least 2 intervals; got {bins} for {days} days and "
            f"{minutes:g} minutes"
        )
    width = timedelta(minutes=minutes)
    coverage = unit_interval("coverage", coverage)
    if column not in COLUMNS:
        raise DriftpeakError(f"column must be one of {', '.join(COLUMNS)}; got {column!r}")
    try:
        first = datetime.fromisoformat(start)
    except ValueError:
        raise DriftpeakError(f"start must be a date such as 2004-03-01; got {start!r}") from None
    bins = math.ceil(timedelta(days=days) / width)
    readings, short = _readings(path, column)
    place = (readings["time"] - first) // width
    readings = readings.assign(place=place)[(place >= 0) & (place < bins)]
    accepted = readings[readings["value"].between(*plausible)]
    means = accepted.groupby(["place", "mote"])["value"].mean().unstack().reindex(range(bins))
    kept = means.loc[:, means.notna().mean() >= coverage]
    if kept.shape[1] < 2:
        raise DataError(
            f"{path}: at least two sensors must have values in a fraction {coverage:g} of the "
            f"{bins} intervals from {start}; got {kept.shape[1]} of {means.shape[1]}. Choose other "
            "days or a smaller coverage."
        )
    notes = [f"kept {kept.shape[1]} of {means.shape[1]} sensors; incomplete lines: {short}, "
             f"values outside {plausible[0]:g} to {plausible[1]:g}: "
             f"{len(readings) - len(accepted)}"]  # fmt: skip
    kept.columns = kept.columns.astype(str)
    if kept.isna().any(axis=None):
        kept, note = interpolated(path, kept)
        notes.append(note)
    times = tuple((first + place * width).isoformat(" ") for place in range(bins))
    return RewardTable(kept.to_numpy(), tuple(kept), times, "time", tuple(notes))


def _readings(path: Path, column: str) -> "tuple[pd.DataFrame, int]":
    """Return time, mote and value of every line that has the column, and the number of others."""
    import pandas as pd

    named = ["date", "clock", "epoch", "mote", *COLUMNS]
    wanted = ["date", "clock", "mote", column]
    try:
        cells = pd.read_csv(
            io.StringIO(text_of(path)), sep=r"\s+", header=None, names=named, index_col=False,
            dtype=str, keep_default_na=False, skip_blank_lines=False,
        )  # fmt: skip
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise DataError(f"{path}: is not a log: {error}") from None
    cells.index += 1
    there = cells.fillna("") != ""
    whole = there[column]
    short = int((there["date"] & ~whole).sum())
    cells = cells.loc[whole, wanted]
    readings = pd.DataFrame(
        {
            "time": pd.to_datetime(
                cells["date"] + "T" + cells["clock"], format="ISO8601", errors="coerce"
            ),
            "mote": pd.to_numeric(cells["mote"], errors="coerce", downcast="integer"),
            "value": pd.to_numeric(cells[column], errors="coerce"),
        }
    )
    for line in readings.index[readings.isna().any(axis=1)]:
        raise DataError(
            f"{path}: line {line}: not a line of the log, which has date, time, epoch, "
            f"moteid, {', '.join(COLUMNS)}, separated by blanks"
        )
    return readings, short
