"""The header line: names that are there, and once; the unit that the arms share."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from driftpeak._core.errors import DataError, DriftpeakError, nearest
from driftpeak.offline.data.reading.csv_dialects import Sheet, is_headless
from driftpeak.offline.data.reading.messages import listed, quoted

# A first column of this name holds the times; pandas leaves the name of an index empty, or writes
# one of its own when it reads and writes that again.
_TIME_NAMES = frozenset({"time", "date", "datetime", "timestamp", "step", "t", "index", ""})
_TIME_NAMES |= {"day", "month", "year", "hour", "minute", "second", "unnamed: 0"}
_UNIT = re.compile(r"(?P<name>.*\S)\s*(?:\[(?P<square>[^\[\]]+)\]|\((?P<round>[^()]+)\))")


def is_time_name(name: str) -> bool:
    """Whether a column of this name, with or without a unit, holds the times."""
    found = _UNIT.fullmatch(name)
    return (found["name"] if found else name).strip().lower() in _TIME_NAMES


def check_names(sheet: Sheet, time_column: str | None) -> None:
    """Refuse a header without names for all columns but the first, or with the same name twice.

    Raises:
        DataError: that is so, or the line holds numbers where names should be.
    """
    path, names, header = sheet.path, sheet.names, sheet.header
    # Arms may be named by numbers, and a time column the user named proves that this is a header.
    if is_headless(names) and time_column not in names:
        raise DataError(
            f"{path}: {header}: no header line, its first cell is {quoted(names[0])} and the "
            "others are numbers; put a line with the column names first"
        )
    columns: dict[str, int] = {}
    for column, name in enumerate(names, start=1):
        if not name and column > 1:
            raise DataError(
                f"{path}: {header}: column {column} has no name; name the arm, or remove "
                "the column (a separator at the end of lines makes one, and so do merged cells: "
                "write out every name in one header line)"
            )
        if name in columns:
            raise DataError(
                f"{path}: {header}: columns {columns[name]} and {column} are both named "
                f"{quoted(name)}; give every column its own name"
            )
        columns[name] = column


def column_of(sheet: Sheet, name: str, what: str) -> int:
    """Which column has this name, or this name and a unit.

    Raises:
        DriftpeakError: none has.
    """
    if name in sheet.names:
        return sheet.names.index(name)
    plain = [found["name"] if (found := _UNIT.fullmatch(one)) else one for one in sheet.names]
    if plain.count(name) == 1:
        return plain.index(name)
    raise DriftpeakError(
        f"{sheet.path}: {sheet.header}: no column is named {quoted(name)}; name the column "
        f"that holds the {what} as {sheet.header} does.{nearest(name, sheet.names)}"
    )


def unit_of(path: Path, names: Sequence[str]) -> tuple[tuple[str, ...], str | None, list[str]]:
    """Names without the unit that all of them end with, "speed [mph]" or "speed (mph)"; the unit.

    Where some have none, or another, the names stay as they are, and a note says that rewards in
    different units cannot be compared.
    """
    found = [_UNIT.fullmatch(name) for name in names]
    units = [(one["square"], one["round"]) if one else (None, None) for one in found]
    plain = tuple(one["name"].strip() if one else "" for one in found)
    if len(set(units)) == 1 and all(plain) and len(set(plain)) == len(plain):
        unit = str(units[0][0] or units[0][1]).strip()
        return plain, unit, [f"unit of all arms: {unit}"]
    square = dict.fromkeys(one for one, _ in units if one is not None)
    if len(square) > 1:
        note = (
            f"the arms differ in their units ({listed(list(square))}), and rewards in different "
            "units cannot be compared"
        )
        return tuple(names), None, [note]
    return tuple(names), None, []
