"""Monthly maps: one line per month and place, made into one column per place."""

import csv
import io
import os
from pathlib import Path

import numpy as np

from driftpeak.data.reading.contents import text_of
from driftpeak.data.tables import RewardTable
from driftpeak.errors import DriftpeakError, nearest

PLACES = ("location", "region", "place", "station", "city")
COORDINATES = (("lon", "lat"), ("longitude", "latitude"))
NOT_VALUES = ("month", *PLACES, "lat", "lon", "latitude", "longitude")


def read_monthly(
    path: str | os.PathLike[str],
    *,
    value: str | None = None,
    since: str | None = None,
    until: str | None = None,
) -> RewardTable:
    """A tidy monthly map: `month` (2001-05), a column of places, and columns of values.

    Places that lack a month between `since` and `until` (both included) are left out, with a note.
    Columns `lat` and `lon` (or `latitude` and `longitude`) give the places' positions.

    Arguments:
        path: a CSV file, plain or compressed with gzip.
        since, until: the first and the last month, as 2001-05; by default those of the file.
        value: the column to take; by default the first whose name begins with "anomaly", else the
            first that is neither month, place nor position.

    Raises:
        DriftpeakError: the file cannot be read or is no such table, an unknown column, a value that
            is no number, a month and place that occur twice, a place at two positions, fewer than
            two whole places.
    """
    path = Path(path)
    reader = csv.DictReader(io.StringIO(text_of(path)))
    header = list(reader.fieldnames or [])
    place = next((name for name in PLACES if name in header), None)
    if "month" not in header or place is None:
        raise DriftpeakError(
            f"{path}: line 1: a monthly map needs a column month and one of {', '.join(PLACES)}; "
            f"got {', '.join(header) or 'nothing'}"
        )
    choices = [name for name in header if name not in NOT_VALUES]
    preferred = [name for name in choices if name.startswith("anomaly")] + choices
    column = value if value is not None else (preferred or [""])[0]
    if column not in choices:
        raise DriftpeakError(
            f"{path}: no column of values is named {column!r}; there are: "
            f"{', '.join(choices) or 'none'}.{nearest(column, choices)}"
        )
    axes = next((pair for pair in COORDINATES if set(pair) <= set(header)), None)
    cells: dict[tuple[str, str], float] = {}
    positions: dict[str, tuple[float, ...]] = {}
    for row in reader:
        month, name = row["month"] or "", row[place] or ""
        if (since is not None and month < since) or (until is not None and month[:7] > until):
            continue
        if (month, name) in cells:
            raise DriftpeakError(f"{path}: line {reader.line_num}: {name}, {month} occurs twice")
        text = (row[column] or "").strip()
        if not text or text.lower() == "nan":
            continue
        line = f"{path}: line {reader.line_num}"
        cells[month, name] = _number(text, f"{line}, column {column!r}")
        if axes is not None:
            position = tuple(_number(row[axis], f"{line}, column {axis!r}") for axis in axes)
            if positions.setdefault(name, position) != position:
                raise DriftpeakError(f"{line}: {name} lies elsewhere than in the lines before")
    months = sorted({month for month, _ in cells})
    names = sorted({name for _, name in cells})
    whole = [name for name in names if all((month, name) in cells for month in months)]
    if len(whole) < 2 or len(months) < 2:
        raise DriftpeakError(
            f"{path}: {len(whole)} of {len(names)} places have all {len(months)} months; two are "
            "needed: narrow the months with since and until"
        )
    values = np.array([[cells[month, name] for name in whole] for month in months])
    left = [name for name in names if name not in whole]
    notes = (f"left out, for missing months: {', '.join(left)}",) if left else ()
    where = np.array([positions[name] for name in whole]) if axes is not None else None
    return RewardTable(values, tuple(whole), tuple(months), "month", notes, where)


def _number(text: str | None, where: str) -> float:
    try:
        return float(text or "")
    except ValueError:
        raise DriftpeakError(f"{where}: {text!r} is not a number") from None
