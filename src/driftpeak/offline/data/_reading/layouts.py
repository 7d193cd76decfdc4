"""Recognition of long tables and of text columns that are contexts."""

from __future__ import annotations

from driftpeak._core.errors import DataError
from driftpeak.offline.data._reading.csv_dialects import Sheet
from driftpeak.offline.data._reading.headers import column_of, is_time_name
from driftpeak.offline.data._reading.messages import quoted
from driftpeak.offline.data._reading.numbers import is_blank, is_number
from driftpeak.offline.data._reading.timestamps import read_stamps

MOST_TEXTS = 31  # different values of a text column that is recognised as a context
TWICE = 2  # mean number of rows with the same text


def check_layout(sheet: Sheet, time_column: str | None, contexts: list[str]) -> list[str]:
    """Return the names of text columns that are contexts.

    A column is a context if it has text, each of at most 31 different texts occurs twice on
    average, and it is not the column of the times.

    Raises:
        DataError: the table is a long one, with one line per time and arm.
    """
    texts = [name for name in sheet.names if name not in contexts and _is_text(sheet, name)]
    times = next((name for name in sheet.names if is_time_name(name)), None)
    if time_column is not None:
        times = column_of(sheet, time_column, "times")
    dated = [name for name in texts if name != times and _is_dated(sheet, name)]
    if times is None and dated:
        times = dated[0]
    texts = [name for name in texts if name != times and name not in dated]
    numeric = [name for name in sheet.names if name not in (*texts, *dated, *contexts, times)]
    if times is not None and texts and numeric and sheet.cells[times].duplicated().any():
        _check_long(sheet, times, texts, numeric)
    if time_column is None and times != sheet.names[0] and texts[:1] == sheet.names[:1]:
        if times is None:
            texts = texts[1:]  # the first column has the times, as names of steps
        else:
            return []
    if len(numeric) < 2:
        return []
    return [name for name in texts if _repeats(sheet, name)]


def _check_long(sheet: Sheet, times: str, texts: list[str], numeric: list[str]) -> None:
    for arm in (name for name in texts if not is_time_name(name)):
        if sheet.cells[arm].nunique() > 1 and not sheet.cells.duplicated([times, arm]).any():
            raise DataError(
                f"{sheet.path}: the times in column {quoted(times)} repeat, once for each value of "
                f"{quoted(arm)}; read a long table (one line per time and arm) with "
                f'index="{times}", columns="{arm}", values="{numeric[-1]}"'
            )


def _is_text(sheet: Sheet, name: str) -> bool:
    """Return whether a column has values, none of which is a number."""
    known = [cell for cell in sheet.cells[name] if not is_blank(cell)]
    return bool(known) and not any(map(is_number, known))


def _is_dated(sheet: Sheet, name: str) -> bool:
    try:
        return read_stamps(sheet, name).instants is not None
    except DataError:
        return True  # dates that cannot be read


def _repeats(sheet: Sheet, name: str) -> bool:
    cells = sheet.cells[name].str.strip()
    count = cells.nunique()
    complete = not any(map(is_blank, cells))
    return complete and 1 < count <= MOST_TEXTS and TWICE * count <= len(cells)
