"""Highway speeds with one column per detector, and their division into days."""

import os
from pathlib import Path

import numpy as np

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DataError, DriftpeakError, at_least_integer
from driftpeak.offline.data._reading.decoding import text_of
from driftpeak.offline.data._tables import Missing, Outliers, RewardTable, read_table


@checked
def read_speeds(
    path: str | os.PathLike[str], *, missing: Missing = "error", outliers: Outliers = "warn"
) -> RewardTable:
    """Read a table of speeds with or without a header, such as an extract of PeMS.

    Without a header, the detectors are named "0", "1", ... PeMS fills gaps with constants, which
    `read_table` reports as stuck values; `outliers="keep"` accepts them.

    Arguments:
        path: the file.
        missing, outliers: as for `read_table`, if there is a header.

    Raises:
        DataError: the file cannot be read, or is not such a table.
    """
    path = Path(path)
    lines = text_of(path).splitlines()
    cells = [cell.strip() for cell in lines[0].split(",")] if lines else []
    try:
        numbers = [float(cell) for cell in cells]
    except ValueError:
        return read_table(path, missing=missing, outliers=outliers)
    if not numbers:
        return read_table(path, missing=missing, outliers=outliers)
    # a line of station numbers has different integers, in contrast to speeds
    stations = all(number.is_integer() for number in numbers) and len(set(cells)) == len(cells)
    try:
        values = np.loadtxt(lines[stations:], delimiter=",", ndmin=2)
    except ValueError as error:
        raise DataError(f"{path}: not a table of numbers: {error}") from None
    if min(values.shape) < 2 or values.shape[1] != len(cells) or not np.isfinite(values).all():
        raise DataError(
            f"{path}: a table without a header must have at least two lines and columns of finite "
            "numbers. Add a header line if there are blanks."
        )
    if stations:
        return RewardTable(values, tuple(cells), None, None)
    names = tuple(map(str, range(len(cells))))
    return RewardTable(
        values, names, None, None, ("no header line: detectors are named by number",)
    )


@checked
def split_days(
    table: RewardTable, steps_per_day: int, *, first: int = 0, last: int | None = None
) -> list[RewardTable]:
    """Return a table for each complete day, with the rows `first` to before `last` of the day.

    For 5-minute data, `split_days(table, 288, first=72, last=132)` gives the hours from 6 to 11, as
    in B16's traffic data. Days are independent: `dp.fit([day.values for day in days], prior)`.

    Arguments:
        table: consecutive rows that begin at midnight.
        steps_per_day: number of rows of a day, at least 2.
        first, last: range of rows of a day to keep, from 0; by default the whole day.

    Raises:
        DriftpeakError: there is no complete day, or the range exceeds a day.
    """
    steps = at_least_integer("steps_per_day", steps_per_day, 2)
    first = at_least_integer("first", first, 0)
    last = steps if last is None else at_least_integer("last", last, first + 2)
    if last > steps:
        raise DriftpeakError(f"last must be at most steps_per_day, {steps}; got {last}")
    count = len(table.values) // steps
    if count == 0:
        raise DriftpeakError(
            f"table must have at least one day, {steps} rows; got {len(table.values)} rows"
        )
    return [table.rows(day * steps + first, day * steps + last) for day in range(count)]
