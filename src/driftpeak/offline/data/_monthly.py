"""Monthly maps with one line per month and place, as tables with one column per place."""

import io
import os
from pathlib import Path
from typing import TYPE_CHECKING

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DataError, DriftpeakError, nearest
from driftpeak.offline.data._reading.decoding import text_of
from driftpeak.offline.data._reading.numbers import is_blank
from driftpeak.offline.data._tables import RewardTable

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
    """Read a monthly map: `month` (2001-05), a column of places, and columns of values.

    Places without a value in any month from `since` to `until` (both included) are omitted, with a
    note. The columns `lat` and `lon` (or `latitude` and `longitude`) are the places' positions.

    Arguments:
        path: a CSV file, plain or compressed with gzip.
        since, until: the first and the last month, such as 2001-05; by default those of the file.
        value: the column of values; by default the first whose name begins with "anomaly", else the
            first that is neither month, place nor position.

    Raises:
        DataError: the file cannot be read or is not such a table, a value is not a number, a pair
            of month and place occurs twice, a place has two positions, or fewer than two places are
            complete.
        DriftpeakError: the column does not exist.
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
        raise DataError(
            f"{path}: line {line}: the position of {name} must be equal in all lines; got another "
            "one in the lines before"
        )
    wide = numbers.pivot(index="month", columns=place, values=column)
    whole = wide.dropna(axis="columns")
    if whole.shape[1] < 2 or len(whole) < 2:
        raise DataError(
            f"{path}: at least two places must have all of at least two months; got "
            f"{whole.shape[1]} of {wide.shape[1]} places for {len(wide)} months. Restrict the "
            "months by since and until."
        )
    left = [name for name in wide if name not in whole]
    notes = (f"omitted because of missing months: {', '.join(left)}",) if left else ()
    positions = where.first().loc[whole.columns].to_numpy() if axes else None
    return RewardTable(
        whole.to_numpy(), tuple(whole.columns), tuple(whole.index), "month", notes, positions
    )


def _cells(path: Path) -> "pd.DataFrame":
    """Return the cells of the file as text, indexed by line number."""
    import pandas as pd

    try:
        cells = pd.read_csv(
            io.StringIO(text_of(path)), dtype=str, keep_default_na=False, skip_blank_lines=False
        )
    except pd.errors.EmptyDataError:
        return pd.DataFrame()
    except pd.errors.ParserError as error:
        raise DataError(f"{path}: is not a table: {error}") from None
    if not isinstance(cells.index, pd.RangeIndex):  # pandas used the first cells as row names
        raise DataError(f"{path}: line 2 has more cells than line 1, which names the columns")
    cells.index += 2
    return cells.fillna("")[~(cells.fillna("") == "").all(axis=1)]


def _numbers(path: Path, cells: "pd.Series[str]") -> "pd.Series[float]":
    """Return the cells of a column as numbers.

    Raises:
        DataError: a cell is not a number; the message names the first one.
    """
    import pandas as pd

    values = pd.to_numeric(cells, errors="coerce").astype(float)
    for line, cell in cells[values.isna()].items():
        raise DataError(
            f"{path}: line {line}, column {str(cells.name)!r}: {cell!r} is not a number"
        )
    return values
