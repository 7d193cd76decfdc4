"""Highway speeds: one column per detector, cut into days if wanted."""

import os
from pathlib import Path

import numpy as np

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DataError, DriftpeakError, at_least_integer
from driftpeak.offline.data.reading.decoding import text_of
from driftpeak.offline.data.tables import Missing, Outliers, RewardTable, read_table


@checked
def read_speeds(
    path: str | os.PathLike[str], *, missing: Missing = "error", outliers: Outliers = "warn"
) -> RewardTable:
    """A table of speeds, with a header or without, as PeMS extracts come.

    Without a header the detectors are called "0", "1", ... PeMS itself fills gaps with constants,
    which `read_table` finds stuck; `outliers="keep"` takes them as they are.

    Arguments:
        path: the file.
        missing, outliers: as for `read_table`, where there is a header.

    Raises:
        DataError: the file cannot be read or is no such table.
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
    # a line of station numbers: whole and different, which speeds are not
    stations = all(number.is_integer() for number in numbers) and len(set(cells)) == len(cells)
    try:
        values = np.loadtxt(lines[stations:], delimiter=",", ndmin=2)
    except ValueError as error:
        raise DataError(f"{path}: not a table of numbers: {error}") from None
    if min(values.shape) < 2 or values.shape[1] != len(cells) or not np.isfinite(values).all():
        raise DataError(
            f"{path}: needs two lines and two columns of finite numbers at least; a table with "
            "blanks needs a header line of names"
        )
    if stations:
        return RewardTable(values, tuple(cells), None, None)
    names = tuple(map(str, range(len(cells))))
    return RewardTable(values, names, None, None, ("no header line: detectors by number",))


@checked
def split_days(
    table: RewardTable, steps_per_day: int, *, first: int = 0, last: int | None = None
) -> list[RewardTable]:
    """One table for every whole day, of its rows `first` to before `last`.

    Of 5-minute data `split_days(table, 288, first=72, last=132)` are the hours from 6 to 11 of
    B16's traffic, whose days are independent: `dp.fit([day.values for day in days], prior)`.

    Arguments:
        table: rows that follow one another, beginning at midnight.
        steps_per_day: rows of a day, at least 2.
        first, last: the hours to keep, in rows from 0; by default the whole day.

    Raises:
        DriftpeakError: not one whole day, or rows outside a day.
    """
    steps = at_least_integer("steps_per_day", steps_per_day, 2)
    first = at_least_integer("first", first, 0)
    last = steps if last is None else at_least_integer("last", last, first + 2)
    if last > steps:
        raise DriftpeakError(f"last must be at most {steps}, the steps of a day; got {last}")
    count = len(table.values) // steps
    if count == 0:
        raise DriftpeakError(f"{len(table.values)} rows are less than a day of {steps} steps")
    return [table.rows(day * steps + first, day * steps + last) for day in range(count)]
