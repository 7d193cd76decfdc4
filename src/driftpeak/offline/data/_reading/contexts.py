"""Extraction of context columns from a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from driftpeak._core.errors import DataError, DriftpeakError
from driftpeak.offline.data._reading.csv_dialects import Sheet
from driftpeak.offline.data._reading.headers import column_of
from driftpeak.offline.data._reading.messages import cell_error, quoted
from driftpeak.offline.data._reading.numbers import Decimal, NotANumberError, is_blank, numbers

Contexts = dict[str, tuple[float | str, ...]]
"""Contexts: by the name of the column, a number or a string for each row."""


def without_contexts(
    sheet: Sheet, names: Sequence[str], taken: Sequence[str], decimal: Decimal | None
) -> tuple[Sheet, Contexts]:
    """Return the sheet without the context columns, and the contexts.

    A context has numbers if all its cells are numbers, or else strings.

    Args:
        sheet: the table.
        names: the names of the context columns.
        taken: names of columns with another purpose, such as the times.
        decimal: the decimal separator, if given.

    Raises:
        DataError: a cell is blank, all rows have the same value, a number exceeds 1e100, or there
            are no other columns.
        DriftpeakError: a column does not exist, is named twice, or has another purpose.
    """
    contexts: Contexts = {}
    columns: list[str] = []
    others = [column_of(sheet, name, "times, arms or rewards") for name in taken]
    for name in names:
        column = column_of(sheet, name, "context")
        if column in columns or column in others:
            raise DriftpeakError(
                f"{sheet.path}: column {quoted(name)} is named twice: as a context and as "
                f"{'another' if column in columns else 'times, arms or rewards'}; name it once"
            )
        columns.append(column)
        contexts[name] = _context(sheet, column, decimal)
    return replace(sheet, cells=sheet.cells.drop(columns=columns)), contexts


def _context(sheet: Sheet, column: str, decimal: Decimal | None) -> tuple[float | str, ...]:
    cells = sheet.cells[column].str.strip()
    where = f"{sheet.path}: column {quoted(column)}"
    for place, cell in cells.items():
        if is_blank(cell):
            raise cell_error(
                sheet.path, place, column,
                "a context must be known before every decision; got a blank cell. Fill it in, "
                "write 'unknown', or remove the line.",
            )  # fmt: skip
    if cells.nunique() == 1:
        raise DataError(
            f"{where}: a context must have at least two different values; got "
            f"{quoted(cells.iloc[0])} in every row. Omit the column."
        )
    try:
        values = numbers(cells.to_frame(), decimal)[0][column]
    except NotANumberError:
        return tuple(cells)
    if not (values.abs() <= 1e100).all():
        raise DataError(f"{where}: a context's numbers must be at most 1e100; got a larger one")
    return tuple(values.tolist())


def by_time(
    sheet: Sheet, contexts: Contexts, times: Sequence[str], order: Sequence[str]
) -> Contexts:
    """Return the contexts of a long table at each time of `order`.

    Raises:
        DataError: two lines with the same time have different contexts.
    """
    first = {time: row for row, time in reversed(list(enumerate(times)))}
    for name, cells in contexts.items():
        for place, time, cell in zip(sheet.rows, times, cells, strict=True):
            if cell != cells[first[time]]:
                raise cell_error(
                    sheet.path, place, name,
                    f"a context must be equal for all arms at a time; got {quoted(str(cell))}, and "
                    f"{quoted(str(cells[first[time]]))} in {sheet.rows[first[time]]} at the same "
                    "time",
                )  # fmt: skip
    return {name: tuple(cells[first[time]] for time in order) for name, cells in contexts.items()}
