"""The Intel lab log: one line per reading, made into a table of one column per sensor."""

import math
import os
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np

from driftpeak.data.reading.contents import text_of
from driftpeak.data.reading.gaps import interpolated
from driftpeak.data.tables import RewardTable
from driftpeak.errors import DriftpeakError, at_least_integer, positive, unit_interval

COLUMNS = ("temperature", "humidity", "light", "voltage")


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
    """Means over `minutes` of the publisher's log: date time epoch moteid temperature humidity ...

    A line cut short is left out, and so is a value outside `plausible` (failing sensors report
    122 degrees). Sensors with values in fewer than `coverage` of the intervals are left out; the
    gaps of the others are filled linearly in time. B16 names neither its sensors nor its days: the
    defaults leave 46 sensors of the first full working week in one extract of this log.

    Arguments:
        path: the log, plain or compressed with gzip.
        start: the first day.
        days: how many.
        minutes: of an interval, a row.
        coverage: the least share of the intervals in which a sensor has values.
        plausible: what a sensor may show, in the unit of the column, both ends included.
        column: "temperature" (degrees C), "humidity" (%), "light" (lux) or "voltage" (V).

    Raises:
        DriftpeakError: the file cannot be read or is no such log, settings out of range, or fewer
            than two sensors are left.
    """
    path = Path(path)
    days = at_least_integer("days", days, 1)
    width = timedelta(minutes=positive("minutes", minutes))
    coverage = unit_interval("coverage", coverage)
    if column not in COLUMNS:
        raise DriftpeakError(f"column must be one of {', '.join(COLUMNS)}; got {column!r}")
    try:
        first = datetime.fromisoformat(start)
    except ValueError:
        raise DriftpeakError(f"start must be a date such as 2004-03-01; got {start!r}") from None
    bins = math.ceil(timedelta(days=days) / width)
    if bins < 2:
        raise DriftpeakError(f"{days} days of {minutes:g} minutes leave {bins} intervals; 2 needed")
    field = 4 + COLUMNS.index(column)
    sums: dict[int, np.ndarray] = {}
    counts: dict[int, np.ndarray] = {}
    short = outside = 0
    for number, line in enumerate(text_of(path).splitlines(), start=1):
        cells = line.split()
        if len(cells) <= field:
            short += bool(cells)
            continue
        try:
            time = datetime.fromisoformat(f"{cells[0]}T{cells[1]}")
            mote, value = int(cells[3]), float(cells[field])
        except ValueError:
            raise DriftpeakError(
                f"{path}: line {number}: not a line of the log, which holds date, time, epoch, "
                f"moteid, {', '.join(COLUMNS)}, separated by blanks"
            ) from None
        place = (time - first) // width
        if not 0 <= place < bins:
            continue
        if not plausible[0] <= value <= plausible[1]:
            outside += 1
            continue
        if mote not in sums:
            sums[mote], counts[mote] = np.zeros(bins), np.zeros(bins)
        sums[mote][place] += value
        counts[mote][place] += 1
    kept = [mote for mote in sorted(sums) if (counts[mote] > 0).mean() >= coverage]
    if len(kept) < 2:
        raise DriftpeakError(
            f"{path}: {len(kept)} of {len(sums)} sensors report in {coverage:g} of the {bins} "
            f"intervals from {start}; two are needed: choose other days or a smaller coverage"
        )
    with np.errstate(invalid="ignore"):
        values = np.stack([sums[mote] / counts[mote] for mote in kept], axis=1)
    notes = [f"kept {len(kept)} of {len(sums)} sensors; lines cut short: {short}, "
             f"values outside {plausible[0]:g} to {plausible[1]:g}: {outside}"]  # fmt: skip
    arms = tuple(map(str, kept))
    gaps = np.isnan(values)
    if gaps.any():
        values, note = interpolated(path, values, arms, gaps)
        notes.append(note)
    times = tuple((first + place * width).isoformat(" ") for place in range(bins))
    return RewardTable(values, arms, times, "time", tuple(notes))
