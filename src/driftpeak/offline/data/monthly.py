"""Monthly maps: one line per month and place, made into one column per place."""

import io
import os
from pathlib import Path
from typing import TYPE_CHECKING

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DataError, DriftpeakError, nearest
from driftpeak.offline.data.reading.decoding import text_of
from driftpeak.offline.data.reading.numbers import is_blank
from driftpeak.offline.data.tables import RewardTable

if TYPE_CHECKING:
    import pandas as pd

PLACES = ("location", "region", "place", "station", "city")
COORDINATES = (("lon", "lat"), ("longitude", "latitude"))
NOT_VALUES = ("month", *PLACES, "lat", "lon", "latitude", "longitude")


@checked
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
        DataError: the file cannot be read or is no such table, a value that is no number, a month
            and place that occur twice, a place at two positions, fewer than two whole places.
        DriftpeakError: an unknown column.
    """
    path = Path(path)
    cells = _cells(path)
    header = list(cells)
    place = next((name for name in PLACES if name in header), None)
    if "month" not in header or place is None:
        raise DataError(
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
    month = cells["month"]
    cells = cells[(month >= (since or "")) & (month.str[:7] <= (until or "9999"))]
    for line, row in cells[cells.duplicated(["month", place])].head(1).iterrows():
        raise DataError(f"{path}: line {line}: {row[place]}, {row['month']} occurs twice")
    cells = cells[~cells[column].map(is_blank)]
    axes = next((list(pair) for pair in COORDINATES if set(pair) <= set(header)), [])
    numbers = cells.assign(**{name: _numbers(path, cells[name]) for name in (column, *axes)})
    where = numbers.groupby(place)[axes]
    for line, name in cells[place][(numbers[axes] != where.transform("first")).any(axis=1)].items():
        raise DataError(f"{path}: line {line}: {name} lies elsewhere than in the lines before")
    wide = numbers.pivot(index="month", columns=place, values=column)
    whole = wide.dropna(axis="columns")
    if whole.shape[1] < 2 or len(whole) < 2:
        raise DataError(
            f"{path}: {whole.shape[1]} of {wide.shape[1]} places have all {len(wide)} months; two "
            "are needed: narrow the months with since and until"
        )
    left = [name for name in wide if name not in whole]
    notes = (f"left out, for missing months: {', '.join(left)}",) if left else ()
    positions = where.first().loc[whole.columns].to_numpy() if axes else None
    return RewardTable(
        whole.to_numpy(), tuple(whole.columns), tuple(whole.index), "month", notes, positions
    )


def _cells(path: Path) -> "pd.DataFrame":
    """The file as text, each row under the number of its line."""
    import pandas as pd

    try:
        cells = pd.read_csv(
            io.StringIO(text_of(path)), dtype=str, keep_default_na=False, skip_blank_lines=False
        )
    except pd.errors.EmptyDataError:
        return pd.DataFrame()
    except pd.errors.ParserError as error:
        raise DataError(f"{path}: is no table: {error}") from None
    if not isinstance(cells.index, pd.RangeIndex):  # pandas takes the first cells for names of rows
        raise DataError(f"{path}: line 2 has more cells than line 1, which names the columns")
    cells.index += 2
    return cells.fillna("")[~(cells.fillna("") == "").all(axis=1)]


def _numbers(path: Path, cells: "pd.Series[str]") -> "pd.Series[float]":
    """The cells of a column as numbers.

    Raises:
        DataError: naming the first that is none.
    """
    import pandas as pd

    found = pd.to_numeric(cells, errors="coerce").astype(float)
    for line, cell in cells[found.isna()].items():
        raise DataError(
            f"{path}: line {line}, column {str(cells.name)!r}: {cell!r} is not a number"
        )
    return found
