"""Tables of rewards, with one row per time step and one column per arm, read from files."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import (
    DataError,
    DriftpeakError,
    finite_array,
    shown,
    warn,
)
from driftpeak.offline.data._reading.contexts import Contexts, by_time, without_contexts
from driftpeak.offline.data._reading.csv_dialects import Sheet, labels
from driftpeak.offline.data._reading.formats import read_cells
from driftpeak.offline.data._reading.headers import check_names, column_of, is_time_name, unit_of
from driftpeak.offline.data._reading.layouts import check_layout
from driftpeak.offline.data._reading.long_tables import Long, long_columns, widened
from driftpeak.offline.data._reading.messages import as_blank, cell_error, quoted
from driftpeak.offline.data._reading.missing_values import Missing, treated
from driftpeak.offline.data._reading.numbers import (
    Decimal,
    NotANumberError,
    is_blank,
    is_number,
    numbers,
)
from driftpeak.offline.data._reading.outliers import Outliers, doubtful
from driftpeak.offline.data._reading.timestamps import (
    Dates,
    check_order,
    clock_changes,
    read_stamps,
)

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Dates", "Decimal", "Missing", "Outliers", "RewardTable", "read_table"]

LARGEST = 1e100  # largest value of a cell, so that sums of squares do not overflow


@checked
@dataclass(frozen=True, eq=False)
class RewardTable:
    """Rewards of every arm at every time step.

    Attributes:
        values: the rewards, (steps, arms), all finite.
        arms: the names of the arms, unique and not empty.
        times: the cells of the time column; None if there is none. Dates have the format 2026-01-05
            or 2026-01-05 13:00:00.
        time_name: the name of the time column, possibly empty; None if there is none.
        notes: descriptions of changes to the data.
        positions: longitude and latitude of the arms in degrees, (arms, 2); None if not known.
        unit: the unit of all rewards, from the names of the arms; None if not known.
        doubts: descriptions of irregularities in the data that were not changed.
        contexts: the contexts of all steps, by name, each with numbers or strings; empty for most
            tables.

    Raises:
        DataError: values or positions are not two-dimensional arrays of numbers, or do not agree
            with the number of arms.
    """

    values: npt.NDArray[np.float64]
    arms: tuple[str, ...]
    times: tuple[str, ...] | None
    time_name: str | None
    notes: tuple[str, ...] = ()
    positions: npt.NDArray[np.float64] | None = None
    unit: str | None = None
    doubts: tuple[str, ...] = ()
    contexts: Mapping[str, tuple[float | str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        values = self.values  # may contain NaN while a file is read
        if not isinstance(values, np.ndarray) or values.ndim != 2 or values.dtype.kind not in "iuf":
            raise DataError(f"values must be a 2-dimensional array of numbers; got {shown(values)}")
        if values.shape[1] != len(self.arms):
            raise DataError(
                f"values must have a column per arm, {len(self.arms)}; got {values.shape[1]}"
            )

        if self.positions is not None:
            positions = finite_array("positions", self.positions, 2)
            if positions.shape != (len(self.arms), 2):
                raise DataError(
                    f"positions must have shape ({len(self.arms)}, 2); got {positions.shape}"
                )

    def rows(self, first: int, last: int | None = None) -> RewardTable:
        """Return the steps from index `first` to before `last`."""
        times = None if self.times is None else self.times[first:last]
        contexts = {name: values[first:last] for name, values in self.contexts.items()}
        return replace(self, values=self.values[first:last], times=times, contexts=contexts)

    def columns(self, chosen: Sequence[int] | npt.NDArray[np.integer]) -> RewardTable:
        """Return the arms with these indices, in this order."""
        numbers = np.asarray(chosen)
        positions = None if self.positions is None else self.positions[numbers]
        arms = tuple(self.arms[number] for number in numbers)
        return replace(self, values=self.values[:, numbers], arms=arms, positions=positions)


@checked
def read_table(
    path: str | os.PathLike[str],
    *,
    time_column: str | None = None,
    missing: Missing = "error",
    outliers: Outliers = "warn",
    dates: Dates | None = None,
    decimal: Decimal | None = None,
    encoding: str | None = None,
    index: str | None = None,
    columns: str | None = None,
    values: str | None = None,
    context_columns: Sequence[str] | None = None,
    blank: Sequence[str] | None = None,
    header_rows: int = 1,
    sheet: str | None = None,
) -> RewardTable:
    """Read a table of rewards from a CSV file, plain or gzipped, a spreadsheet, or Parquet.

    The separator of a CSV file is detected: commas, semicolons, tabs or "|". The first line has the
    column names; blank lines, and lines above the header that begin with "#", are ignored. Without
    `time_column`, the first column has the times if its name indicates it ("time", "date", "step",
    ...; also an empty name) or if its first value is not a number. Otherwise every column is an
    arm. A unit at the end of all arms' names, "speed [mph]" or "speed (mph)", is stored in `unit`.
    A cell that is blank, NA, N/A, NaN, null or None is missing. `notes` describes all decisions.

    Args:
        path: the file; its format is recognised by content, not by name. Parquet needs pyarrow;
            spreadsheets (.xlsx and .ods) need python-calamine.
        time_column: the name of the column of the times, with or without its unit.
        missing: the treatment of missing cells: "error" refuses them, "drop-arm" omits their arms,
            "interpolate" fills them linearly in the order of the lines, and with the first and last
            value at the ends of an arm.
        outliers: the treatment of outliers, more than 12 robust standard deviations from the
            median, and of stuck values, constant for 20 rows or more while other arms change.
            "warn" reports and keeps them, "error" refuses them, "blank" treats them as missing,
            "keep" skips the check.
        dates: the order of ambiguous dates such as 5/1/2026: "day-first", "month-first", or, with
            two-digit years, "year-first".
        decimal: "point" or "comma", for ambiguous numbers such as 1,234.
        encoding: the text encoding, such as "cp1250". By default it is given by a byte order mark,
            or is UTF-16 if every other byte is zero, UTF-8 if valid, or else Windows-1252, which
            has all letters of Latin-1.
        index, columns, values: for a long table, with one line per time and arm: the names of the
            columns of the times, of the arms' names and of the rewards.
        context_columns: the names of context columns, whose values are known before each decision,
            such as the weekday or the load. By default, columns of text with at most 31 different
            values, each of which occurs twice on average, are contexts.
        blank: further texts of missing cells, such as "-".
        header_rows: number of header lines of a CSV file or spreadsheet, whose cells are joined; a
            blank cell of the upper ones continues the cell on its left.
        sheet: the name of a spreadsheet's sheet; by default the first with values.

    Warns:
        DriftpeakWarning: on irregularities in the data, with rows, columns and counts; `doubts` has
            the same messages.

    Raises:
        DataError: the file cannot be read, or is not such a table. The message has the line (the
            first is line 1), the column and the remedy.
        DriftpeakError: an argument is invalid, or names a column that the file does not have.
    """
    long = long_columns(index, columns, values)
    if long is not None and time_column is not None:
        raise DriftpeakError(
            "time_column and index exclude each other; in a long table, index is the time column"
        )
    path = Path(path)
    read = read_cells(path, encoding, blank=blank, header_rows=header_rows, sheet=sheet)
    check_names(read, time_column)
    if long is None and context_columns is None:
        context_columns = check_layout(read, time_column, [])
        read = replace(read, notes=[*read.notes, *map(_as_context, context_columns)])
    taken = [time_column] if time_column else [] if long is None else vars(long).values()
    read, contexts = without_contexts(read, context_columns or (), tuple(taken), decimal)
    if long is None:
        rewards, table = _wide(read, time_column, dates, decimal)
    else:
        rewards, table, contexts = _long(read, long, dates, decimal, contexts)
    rewards, doubts, blanked = doubtful(path, rewards, outliers)
    doubts = [*(f"{path}: {doubt}" for doubt in table.doubts), *doubts]
    for doubt in doubts:
        warn(doubt)
    rewards, filled = treated(path, rewards, missing)
    return replace(
        table,
        values=np.ascontiguousarray(rewards.to_numpy()),
        arms=tuple(rewards.columns),
        notes=(*table.notes, *blanked, *filled),
        doubts=tuple(doubts),
        contexts=contexts,
    )


def _as_context(name: str) -> str:
    return f"column {quoted(name)} has text and is read as a context"


def _wide(
    sheet: Sheet, time_column: str | None, dates: Dates | None, decimal: Decimal | None
) -> tuple[pd.DataFrame, RewardTable]:
    """Return the rewards, which may have gaps, by position and arm, and the rest of the table."""
    time_name, stamps = _time_column(sheet, time_column), None
    cells = sheet.cells
    if time_name is not None:
        stamps = read_stamps(sheet, time_name, dates)
        cells = cells.drop(columns=time_name)
    if cells.shape[1] < 2:
        others = "" if time_name is None else f" and the time column {quoted(time_name)}"
        raise DataError(
            f"{sheet.path}: a table must have at least two arms, one column each; got only "
            f"{quoted(cells.columns[0]) if cells.shape[1] else 'contexts'}{others}"
        )
    rewards, read_as = _numbers(sheet, cells, decimal, time_name)
    arms, unit, of_unit = unit_of(list(rewards.columns))
    rewards.columns = labels(arms)
    notes = (*sheet.notes, *(stamps.notes if stamps else ()), *read_as, *of_unit)
    doubts = check_order(sheet, time_name, stamps) if time_name is not None and stamps else []
    if time_name is not None and stamps:
        notes = (*notes, *clock_changes(sheet, time_name, stamps))
    times = stamps.texts if stamps else None
    return rewards, RewardTable(
        rewards.to_numpy(), arms, times, time_name, notes, unit=unit, doubts=tuple(doubts)
    )


def _long(
    sheet: Sheet, long: Long, dates: Dates | None, decimal: Decimal | None, contexts: Contexts
) -> tuple[pd.DataFrame, RewardTable, Contexts]:
    """Return what `_wide` does, and the contexts at the times of the rows."""
    index = column_of(sheet, long.index, "times")
    arm = column_of(sheet, long.columns, "arms' names")
    reward = column_of(sheet, long.values, "rewards")
    stamps = read_stamps(sheet, index, dates)
    values, read_as = _numbers(sheet, sheet.cells[[reward]], decimal, None)
    wide = widened(sheet, stamps, arm, values[reward])
    arms, times = tuple(wide.columns), tuple(wide.index)
    wide.index = labels([f"time {quoted(time)}" for time in times])
    _, unit, of_unit = unit_of([reward])
    notes = (*sheet.notes, *stamps.notes, *read_as, *of_unit)
    table = RewardTable(wide.to_numpy(), arms, times, index, notes, unit=unit)
    return wide, table, by_time(sheet, contexts, stamps.texts, times)


def _time_column(sheet: Sheet, given: str | None) -> str | None:
    """Return the name of the time column; None if there is none."""
    if given is not None:
        name = column_of(sheet, given, "times")
        if name and not sheet.names[0]:
            raise DataError(
                f"{sheet.path}: {sheet.header}: column 1 has no name and is not the time column; "
                "name the arm, or remove the column (in pandas, write with index=False)"
            )
        return name
    for first, cells in sheet.cells.items():
        known = next((cell for cell in cells if not is_blank(cell)), "")
        return first if is_time_name(first) or not is_number(known) else None
    return None  # all columns are contexts


def _numbers(
    sheet: Sheet, cells: pd.DataFrame, decimal: Decimal | None, time_name: str | None
) -> tuple[pd.DataFrame, list[str]]:
    """Return the cells as finite numbers, NaN where one is missing, and notes."""
    why = ""
    try:
        values, notes = numbers(cells, decimal)
        too_large = (values.abs() > LARGEST).to_numpy()
        if not too_large.any():
            return values, notes
        row, column = np.argwhere(too_large)[0]
        why = (
            f"{quoted(cells.iloc[row, column])} is infinite or beyond 1e100; an arm's cells must "
            "be finite numbers, so correct the cell or leave it blank"
        )
    except NotANumberError as error:
        row, column, why = error.row, error.column, error.why
    cell, name = cells.iloc[row, column], cells.columns[column]
    if not why:
        why = (
            f"{quoted(cell)} is not a number; an arm's cells must be numbers such as 12.5, or "
            f"blank if missing; {_hint(row, name, cells, time_name)}"
        )
    raise cell_error(sheet.path, cells.index[row], name, why) from None


def _hint(row: int, name: str, cells: pd.DataFrame, time_name: str | None) -> str:
    """Return advice for a cell that is not a number, by its probable cause."""
    cell = cells[name].iloc[row]
    if is_time_name(name):
        if time_name and re.fullmatch(r"\d{1,2}:\d{2}(:\d{2})?", cell.strip()):
            return f"if it is the time of day, join the columns {time_name} and {name} into one"
        return f'if these are the times, give time_column="{name}"'
    if row == 0 and re.fullmatch(r"\s*[\[(].*[\])]\s*", cell):
        return "if this is a second header line with units, give header_rows=2"
    return f"correct the cell or leave it blank{as_blank(cell)}"
