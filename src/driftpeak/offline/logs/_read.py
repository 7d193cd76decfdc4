"""Reading of logs from CSV files, spreadsheets and Parquet files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DataError, DriftpeakError, nearest
from driftpeak.offline.data import Dates, Decimal
from driftpeak.offline.data._reading.csv_dialects import Sheet
from driftpeak.offline.data._reading.formats import read_cells
from driftpeak.offline.data._reading.headers import check_names
from driftpeak.offline.data._reading.messages import as_blank, cell_error, counted, listed, quoted
from driftpeak.offline.data._reading.numbers import (
    NotANumberError,
    is_blank,
    is_number,
    numbers,
)
from driftpeak.offline.data._reading.timestamps import read_stamps
from driftpeak.offline.logs._log import LARGEST, ChoiceLog, has_density

Gaps = Literal["error", "drop"]
Duplicates = Literal["keep", "drop", "error"]


@checked
def read_log(
    path: str | os.PathLike[str],
    *,
    choice: str,
    reward: str,
    time: str | None = None,
    propensity: str | None = None,
    context: Sequence[str] = (),
    unordered: bool = False,
    missing: Gaps = "error",
    duplicates: Duplicates = "keep",
    dates: Dates | None = None,
    decimal: Decimal | None = None,
    encoding: str | None = None,
    blank: Sequence[str] | None = None,
    header_rows: int = 1,
    sheet: str | None = None,
) -> ChoiceLog:
    """Read a log with one line per step from CSV, plain or gzipped, a spreadsheet, or Parquet.

    Formats of numbers, dates and files are detected as by `driftpeak.offline.data.read_table`.
    Lines are sorted by time. Other columns are ignored.

    Args:
        path: the file.
        choice: column of the choices: numbers, such as prices, or names.
        reward: column of the rewards.
        time: column of the times, dates or numbers; by default the lines are steps 1, 2, ...
        propensity: column of the probabilities with which the choices were drawn, see `ChoiceLog`.
        context: columns of quantities that were known before each choice, such as the weekday.
        unordered: whether numbers in the column of the choices are only names.
        missing: treatment of lines with a blank cell: "error" or "drop".
        duplicates: treatment of lines that repeat another line in all columns: "keep" counts them
            as separate steps, with a note; "drop" or "error".
        dates: order of ambiguous dates: "day-first", "month-first" or "year-first".
        decimal: "point" or "comma", for ambiguous numbers such as 1,234.
        encoding: text encoding, such as "cp1250"; detected by default.
        blank, header_rows, sheet: as for `read_table`.

    Raises:
        DataError: the file cannot be read, or is not such a log. The message has the line, the
            column and the remedy.
        DriftpeakError: an argument is invalid, or names a column that the file does not have.
    """
    path = Path(path)
    named: list[tuple[str, str]] = [("choice", choice), ("reward", reward)]
    named += [(name, column) for name, column in (("time", time), ("propensity", propensity))
              if column is not None]  # fmt: skip
    named += [("context", column) for column in context]
    cells = read_cells(path, encoding, blank=blank, header_rows=header_rows, sheet=sheet)
    check_names(cells, time)
    _check_columns(cells, named)
    cells = _without_gaps(cells, [name for _, name in named], missing)
    cells = _without_duplicates(cells, duplicates)
    columns = [_Column(cells, name, decimal) for _, name in named]
    by_option = dict(zip([option for option, _ in named], columns, strict=True))
    stamps = None if time is None else by_option["time"].stamps(dates)
    order = None if stamps is None else np.argsort(stamps, kind="stable")
    notes = list(dict.fromkeys(note for column in columns for note in column.notes))
    if stamps is not None and (moved := int((np.diff(stamps) < np.diff(stamps) * 0).sum())):
        notes.append(counted("sorted by time: the time decreased in {} place{s}", moved))
    choices = by_option["choice"].names() if unordered else by_option["choice"].values()
    rewards = by_option["reward"].numbers("reward")
    density = has_density(tuple(choices))
    drawn = by_option["propensity"].propensities(density) if propensity is not None else None
    contexts = {
        name: column.values()
        for name, column in zip(context, columns[len(named) - len(context) :], strict=True)
    }

    def in_order(values: Any) -> Any:
        if values is None or order is None:
            return values
        return values[order] if isinstance(values, np.ndarray) else [values[i] for i in order]

    try:
        return ChoiceLog(
            choices=in_order(choices),
            rewards=in_order(rewards),
            times=in_order(stamps),
            propensities=in_order(drawn),
            contexts={name: in_order(values) for name, values in contexts.items()},
            choice_name=choice,
            reward_name=reward,
            time_name="step" if time is None else time,
            notes=(*cells.notes, *notes),
        )
    except DataError as error:
        raise DataError(f"{path}: {error}") from None


def _check_columns(sheet: Sheet, named: Sequence[tuple[str, str]]) -> None:
    """Check that all named columns exist, and that none is named twice.

    Raises:
        DriftpeakError: a column does not exist, or is named twice.
    """
    taken: dict[str, str] = {}
    for option, name in named:
        if name not in sheet.names:
            raise DriftpeakError(
                f"{option} must name a column of {sheet.path}; got {quoted(name)}."
                f"{nearest(name, sheet.names)} The columns are {listed(sheet.names, 12)}."
            )
        if name in taken:
            raise DriftpeakError(
                f"{option} must name another column than {taken[name]}; got {quoted(name)} for "
                "both. Name each column once."
            )
        taken[name] = option


def _kept(sheet: Sheet, kept: npt.NDArray[np.bool_], note: str) -> Sheet:
    return replace(sheet, cells=sheet.cells[kept], notes=[*sheet.notes, note])


def _without_gaps(sheet: Sheet, names: list[str], missing: Gaps) -> Sheet:
    blank = np.array([[is_blank(cell) for cell in sheet.cells[name]] for name in names])
    lines: npt.NDArray[np.bool_] = np.asarray(blank.any(axis=0))
    if not lines.any():
        return sheet
    row, column = np.argwhere(blank.T)[0]
    count = int(lines.sum())
    if missing == "error":
        why = (
            f"the cell is blank, the first of {counted('{} line{s}', count)} with a blank cell; "
            "fill in such cells, or omit these lines with missing=drop"
        )
        raise cell_error(sheet.path, sheet.rows[row], names[column], why)
    return _kept(sheet, ~lines, f"omitted lines with a blank cell: {count} of {len(lines)}")


def _without_duplicates(sheet: Sheet, duplicates: Duplicates) -> Sheet:
    repeated: npt.NDArray[np.bool_] = sheet.cells.duplicated().to_numpy()
    if not repeated.any():
        return sheet
    count, first = int(repeated.sum()), sheet.rows[int(np.argmax(repeated))]
    what = counted("{} line{s} repeat{not_s} another line in all columns", count)
    what += f", the first is {first}"
    if duplicates == "error":
        raise DataError(
            f"{sheet.path}: {what}; remove them, omit them with duplicates=drop, or count them as "
            "separate steps with duplicates=keep"
        )
    if duplicates == "drop":
        return _kept(sheet, ~repeated, f"omitted repeated lines: {count}")
    note = f"{what}; each counts as a separate step (duplicates=drop omits them)"
    return replace(sheet, notes=[*sheet.notes, note])


@dataclass(eq=False)
class _Column:
    """The cells of a column; `notes` describes how they were read."""

    sheet: Sheet
    name: str
    decimal: Decimal | None

    def __post_init__(self) -> None:
        self.cells = [cell.strip() for cell in self.sheet.cells[self.name]]
        self.notes: list[str] = []

    def names(self) -> list[str]:
        """Return the cells as texts."""
        return self.cells

    def values(self) -> list[float] | list[str]:
        """Return numbers if all cells are numbers, or texts if most are not.

        Raises:
            DataError: most cells are numbers, but not all.
        """
        count = sum(map(is_number, self.cells))
        if 2 * count <= len(self.cells):
            return self.cells
        return self.numbers("choice or context").tolist()

    def numbers(self, what: str) -> npt.NDArray[np.float64]:
        """Return the cells as numbers.

        Raises:
            DataError: a cell is not a finite number.
        """
        try:
            frame, notes = numbers(self.sheet.cells[[self.name]], self.decimal)
        except NotANumberError as error:
            why = error.why or (
                f"{quoted(self.cells[error.row])} is not a number; a {what} must be a number such "
                f"as 12.5, so correct the cell or remove the line{as_blank(self.cells[error.row])}"
            )
            raise self._error(error.row, why) from None
        self.notes += notes
        values: npt.NDArray[np.float64] = frame.to_numpy(dtype=np.float64)[:, 0]
        too_large = np.flatnonzero(~(np.abs(values) <= LARGEST))
        if too_large.size:
            row = int(too_large[0])
            raise self._error(
                row,
                f"a {what} must be a number in [-1e100, 1e100]; got {quoted(self.cells[row])}. "
                "Correct the cell or remove the line.",
            )
        return values

    def propensities(self, density: bool) -> npt.NDArray[np.float64]:
        """Return the cells as probabilities, or as densities.

        Raises:
            DataError: a cell is out of range.
        """
        values = self.numbers("propensity")
        wrong = (values <= 0) | ((values > 1) & (not density))
        if wrong.any():
            row = int(np.argmax(wrong))
            accepted = "a density above 0" if density else "a probability in (0, 1]"
            raise self._error(
                row,
                f"propensity must be {accepted}; got {quoted(self.cells[row])}, the first of "
                f"{wrong.sum()}. Log the probability with which the choice was drawn, or omit "
                "propensity=.",
            )
        return values

    def stamps(self, dates: Dates | None) -> npt.NDArray[Any]:
        """Return the cells as dates or numbers.

        Raises:
            DataError: a cell is neither.
        """
        stamps = read_stamps(self.sheet, self.name, dates)
        self.notes += stamps.notes
        if stamps.instants is not None:
            return stamps.instants
        if not is_number(self.cells[0]):
            raise self._error(
                0,
                f"a time must be a date such as 2026-01-31 13:00, or a number; got "
                f"{quoted(self.cells[0])}. Write dates like this, or omit time=, so that the lines "
                "are steps in their order.",
            )
        return self.numbers("time")

    def _error(self, row: int, why: str) -> DataError:
        return cell_error(self.sheet.path, self.sheet.rows[row], self.name, why)
