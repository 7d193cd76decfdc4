"""Checks of the header line: missing and repeated names, the time column, units."""

from __future__ import annotations

import re
from collections.abc import Sequence

from driftpeak._core.errors import DataError, DriftpeakError, nearest
from driftpeak.offline.data._reading.csv_dialects import Sheet, is_headless
from driftpeak.offline.data._reading.messages import listed, quoted

# Names of a first column with the times. pandas writes an empty name for an index, and "unnamed: 0"
# after reading and writing it again.
_TIME_NAMES = frozenset({"time", "date", "datetime", "timestamp", "step", "t", "index", ""})
_TIME_NAMES |= {"day", "month", "year", "hour", "minute", "second", "unnamed: 0"}
_UNIT = re.compile(r"(?P<name>.*\S)\s*(?:\[(?P<square>[^\[\]]+)\]|\((?P<round>[^()]+)\))")


def is_time_name(name: str) -> bool:
    """Return whether a column of this name, with or without a unit, contains the times."""
    return _without_unit(name).strip().lower() in _TIME_NAMES


def check_names(sheet: Sheet, time_column: str | None) -> None:
    """Check that all columns have different names; the first may have an empty name.

    Raises:
        DataError: a name is missing or repeated, or the line contains numbers instead of names.
    """
    place, names = f"{sheet.path}: {sheet.header}", sheet.names
    # Arms may be named by numbers: then a time column that the user names identifies the header.
    if is_headless(names) and time_column not in names:
        raise DataError(
            f"{place}: no header line, its first cell is {quoted(names[0])} and the others are "
            "numbers; put a line with the column names first"
        )
    columns: dict[str, int] = {}
    for column, name in enumerate(names, start=1):
        if not name and column > 1:
            raise DataError(
                f"{place}: column {column} has no name; name the arm, or remove the column (a "
                "separator at the end of lines makes one, and so do merged cells: give "
                "header_rows=2 for two header lines)"
            )
        if name in columns:
            raise DataError(
                f"{place}: columns {columns[name]} and {column} are both named {quoted(name)}; "
                "give every column its own name"
            )
        columns[name] = column


def column_of(sheet: Sheet, name: str, what: str) -> str:
    """Return the full name of the column with this name, with or without a unit.

    Raises:
        DriftpeakError: there is no such column.
    """
    if name in sheet.names:
        return name
    matches = [full for full in sheet.names if _without_unit(full) == name]
    if len(matches) == 1:
        return matches[0]
    raise DriftpeakError(
        f"{sheet.path}: {sheet.header}: no column is named {quoted(name)}; give the name of the "
        f"column of the {what} as in {sheet.header}.{nearest(name, sheet.names)}"
    )


def _without_unit(name: str) -> str:
    match = _UNIT.fullmatch(name)
    return match["name"] if match else name


def unit_of(names: Sequence[str]) -> tuple[tuple[str, ...], str | None, list[str]]:
    """Return the names without their common unit, "speed [mph]" or "speed (mph)", and the unit.

    If the units differ or some names have none, the names are unchanged. If units in square
    brackets differ, a note states that such rewards cannot be compared.
    """
    matches = [_UNIT.fullmatch(name) for name in names]
    units = [(match["square"], match["round"]) if match else (None, None) for match in matches]
    plain = tuple(match["name"].strip() if match else "" for match in matches)
    if len(set(units)) == 1 and all(plain) and len(set(plain)) == len(plain):
        unit = str(units[0][0] or units[0][1]).strip()
        return plain, unit, [f"unit of all arms: {unit}"]
    square = dict.fromkeys(unit for unit, _ in units if unit is not None)
    if len(square) > 1:
        note = (
            f"the arms differ in their units ({listed(list(square))}), and rewards in different "
            "units cannot be compared"
        )
        return tuple(names), None, [note]
    return tuple(names), None, []
