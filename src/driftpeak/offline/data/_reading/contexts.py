"""Extraction of context columns from a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from driftpeak._core.errors import DataError, DriftpeakError
from driftpeak.offline.data._reading.csv_dialects import Dialect
from driftpeak.offline.data._reading.headers import column_of
from driftpeak.offline.data._reading.messages import quoted
from driftpeak.offline.data._reading.numbers import Decimal, NotANumberError, is_blank, numbers

Said = dict[str, tuple[float | str, ...]]
"""Contexts: by the name of the column, a number or a string for each row."""


def without_contexts(
    sheet: Dialect, names: Sequence[str], taken: Sequence[str], decimal: Decimal | None
) -> tuple[Dialect, Said]:
    """Return the sheet without the context columns, and the contexts.

    A context has numbers if all its cells are numbers, or else strings.

    Args:
        sheet: the table.
        names: the names of the context columns.
        taken: names of columns with another purpose, such as the times.
        decimal: the decimal separator, if given.

    Raises:
        DataError: a cell is blank, all rows have the same value, or a number exceeds 1e100.
        DriftpeakError: a column does not exist, is named twice, or has another purpose.
    """
    said: Said = {}
    places: list[int] = []
    others = [column_of(sheet, name, "times, arms or rewards") for name in taken]
    for name in names:
        place = column_of(sheet, name, "context")
        if place in places or place in others:
            raise DriftpeakError(
                f"{sheet.path}: column {quoted(name)} is named twice: as a context and as "
                f"{'another' if place in places else 'times, arms or rewards'}; name it once"
            )
        places.append(place)
        said[name] = _column(sheet, name, [row[place].strip() for row in sheet.rows], decimal)
    kept = [place for place in range(len(sheet.names)) if place not in places]
    rows = [[row[place] for place in kept] for row in sheet.rows]
    return replace(sheet, names=[sheet.names[place] for place in kept], rows=rows), said


def _column(
    sheet: Dialect, name: str, cells: list[str], decimal: Decimal | None
) -> tuple[float | str, ...]:
    where = f"{sheet.path}: column {quoted(name)}"
    for row, cell in enumerate(cells):
        if is_blank(cell):
            raise DataError(
                f"{sheet.path}: {sheet.places[row]}, column {quoted(name)}: a context must be "
                "known before every decision; got a blank cell. Fill it in, write 'unknown', or "
                "remove the line."
            )
    if len(set(cells)) == 1:
        raise DataError(
            f"{where}: a context must have at least two different values; got {quoted(cells[0])} "
            "in every row. Omit the column."
        )
    try:
        values = numbers([[cell] for cell in cells], decimal)[0][:, 0]
    except NotANumberError:
        return tuple(cells)
    if not (abs(values) <= 1e100).all():
        raise DataError(f"{where}: a context's numbers must be at most 1e100; got a larger one")
    return tuple(values.tolist())


def by_time(sheet: Dialect, said: Said, stamps: Sequence[str], order: Sequence[str]) -> Said:
    """Return the contexts of a long table at each time of `order`.

    Raises:
        DataError: two lines with the same time have different contexts.
    """
    first = {stamp: row for row, stamp in reversed(list(enumerate(stamps)))}
    for name, cells in said.items():
        for row, stamp in enumerate(stamps):
            if cells[row] != cells[first[stamp]]:
                raise DataError(
                    f"{sheet.path}: {sheet.places[row]}, column {quoted(name)}: a context must be "
                    f"equal for all arms at a time; got {quoted(str(cells[row]))}, and "
                    f"{quoted(str(cells[first[stamp]]))} in {sheet.places[first[stamp]]} at the "
                    "same time"
                )
    return {name: tuple(cells[first[time]] for time in order) for name, cells in said.items()}
