"""Columns that say in which context every row stands, taken out from between the arms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from driftpeak._core.errors import DataError, DriftpeakError
from driftpeak.offline.data.reading.csv_dialects import Sheet
from driftpeak.offline.data.reading.headers import column_of
from driftpeak.offline.data.reading.messages import quoted
from driftpeak.offline.data.reading.numbers import Decimal, NotANumberError, is_blank, numbers

Said = dict[str, tuple[float | str, ...]]
"""By the name of the column, a number or a text for each row."""


def without_contexts(
    sheet: Sheet, names: Sequence[str], taken: Sequence[str], decimal: Decimal | None
) -> tuple[Sheet, Said]:
    """The sheet without these columns, and what they say: numbers if all cells are, else texts.

    Args:
        taken: names of columns that are something else, such as the times.

    Raises:
        DataError: a blank cell, one value alone in all rows, or a number beyond 1e100.
        DriftpeakError: no such column, or one named twice or something else already.
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
    sheet: Sheet, name: str, cells: list[str], decimal: Decimal | None
) -> tuple[float | str, ...]:
    where = f"{sheet.path}: column {quoted(name)}"
    for row, cell in enumerate(cells):
        if is_blank(cell):
            raise DataError(
                f"{sheet.path}: {sheet.places[row]}, column {quoted(name)}: the cell is blank, and "
                "a context must be known before every decision; fill it in, write 'unknown', or "
                "remove the line"
            )
    if len(set(cells)) == 1:
        raise DataError(
            f"{where} says {quoted(cells[0])} in every row: what never changes is no context"
        )
    try:
        found = numbers([[cell] for cell in cells], decimal)[0][:, 0]
    except NotANumberError:
        return tuple(cells)
    if not (abs(found) <= 1e100).all():
        raise DataError(f"{where} holds a number that is infinite or beyond 1e100")
    return tuple(found.tolist())


def by_time(sheet: Sheet, said: Said, stamps: Sequence[str], order: Sequence[str]) -> Said:
    """Of a long table, what was said at each time of `order`.

    Raises:
        DataError: two lines of one time do not say the same.
    """
    first = {stamp: row for row, stamp in reversed(list(enumerate(stamps)))}
    for name, cells in said.items():
        for row, stamp in enumerate(stamps):
            if cells[row] != cells[first[stamp]]:
                raise DataError(
                    f"{sheet.path}: {sheet.places[row]}, column {quoted(name)}: "
                    f"{quoted(str(cells[row]))}, and {quoted(str(cells[first[stamp]]))} in "
                    f"{sheet.places[first[stamp]]} at the same time; a context is that of all arms"
                )
    return {name: tuple(cells[first[time]] for time in order) for name, cells in said.items()}
