"""Time stamps in any order of day, month and year, with or without a time zone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from driftpeak._core.errors import DataError
from driftpeak.offline.data._reading.messages import quoted
from driftpeak.offline.data._reading.numbers import is_blank

if TYPE_CHECKING:
    import pandas as pd

Dates = Literal["day-first", "month-first", "year-first"]
_ORDERS = {"day-first": "dmy", "month-first": "mdy", "year-first": "ymd"}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_CLOCK = (
    r"(?:(?:T|,?\s+)(?P<clock>\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?)"
    r"(?:\s*(?P<half>[AaPp])\.?[Mm]\.?)?\s*(?P<zone>Z|z|UTC|GMT|[+-]\d{2}:?\d{2}|[+-]\d{2})?)?"
)
# 5/1/2026, 05.01.26, 2026-01-05: the numbers or the user determine the order of the fields
_FIELDS = r"(?P<one>\d{1,4})(?P<sign>[-/.])(?P<two>\d{1,2})(?P=sign)(?P<three>\d{1,4})"
_NAMED = (
    r"(?:(?P<day>\d{1,2})[-/. ]+(?P<month>[A-Za-z]{3,9})"
    r"|(?P<month2>[A-Za-z]{3,9})\.?[- ]+(?P<day2>\d{1,2}))"
)
_NUMERIC = re.compile(_FIELDS + _CLOCK, re.ASCII)
_WITH_NAME = re.compile(_NAMED + r"[-/., ]+(?P<year>\d{4})" + _CLOCK, re.ASCII)
_COMPACT = re.compile(
    r"(?P<year>(?:19|20)\d{2})(?P<month>\d{2})(?P<day>\d{2})(?:T(?P<hm>\d{4}(?:\d{2})?)Z?)?"
)
# The format that NumPy reads; such cells are kept unchanged.
_ISO = re.compile(r"\d{4}-\d{2}(-\d{2}([T ]\d{2}(:\d{2}(:\d{2}(\.\d+)?)?)?)?)?", re.ASCII)
_HOUR = np.timedelta64(3600, "s")


@dataclass(frozen=True, eq=False)
class Timestamps:
    """The cells of a time column.

    Attributes:
        texts: the cells unchanged, or as 2026-01-05 13:00:00 for dates in another format.
        instants: the cells as `datetime64`; None if they are not dates.
        notes: descriptions of the conversion.
    """

    texts: tuple[str, ...]
    instants: np.ndarray | None
    notes: tuple[str, ...] = ()


def read_stamps(
    path: Path,
    column: str,
    cells: Sequence[str],
    places: Sequence[str],
    dates: Dates | None = None,
) -> Timestamps:
    """Convert the cells to dates; if at most half of them are dates, they are unchanged labels.

    Raises:
        DataError: the order of day and month is ambiguous and `dates` is not given, a few cells are
            not dates or do not exist, or only some have a time zone.
    """
    texts = [cell.strip() for cell in cells]
    known = [row for row, text in enumerate(texts) if not is_blank(text)]
    parts = {row: part for row in known if (part := _parts(texts[row])) is not None}
    if not parts or 2 * len(parts) <= len(known):
        return Timestamps(tuple(texts), None)
    where = f"column {quoted(column)}"
    odd = next((row for row in known if row not in parts), None)
    if odd is not None:
        raise DataError(
            f"{path}: {places[odd]}, {where}: {quoted(texts[odd])} is not a date like the other "
            f"cells, such as {quoted(texts[next(iter(parts))])}; correct the cell or leave it blank"
        )
    zoned = [row for row in parts if parts[row].zone]
    if zoned and len(zoned) < len(parts):
        bare = next(row for row in parts if not parts[row].zone)
        raise DataError(
            f"{path}: {places[bare]}, {where}: {quoted(texts[bare])} has no time zone, but "
            f"{quoted(texts[zoned[0]])} has one; give all times a zone, or none"
        )
    rows = list(parts)
    dated = [parts[row] for row in rows]
    order, instants = _ordered(path, where, dated, rows, places, texts, dates)
    wrong = np.flatnonzero(instants.isna())
    if wrong.size:
        row = rows[wrong[0]]
        second = parts[row].clock[6:8]
        hint = "a leap second, write 23:59:59" if second == "60" else "check day, month and time"
        raise DataError(
            f"{path}: {places[row]}, {where}: the time {quoted(texts[row])} does not exist ({hint})"
        )
    return _written(texts, rows, parts, instants, order)


@dataclass(frozen=True)
class _Parts:
    """The parts of a date: three numbers, their order if known, separator, time of day, zone."""

    numbers: tuple[str, str, str]
    fields: str | None
    sign: str
    clock: str
    zone: str


def _parts(text: str) -> _Parts | None:
    if match := _NUMERIC.fullmatch(text):
        numbers = (match["one"], match["two"], match["three"])
        fields = "ymd" if len(numbers[0]) > 2 else None
        lengths = [len(number) for number in numbers]
        if 3 in lengths or lengths.count(4) > 1:
            return None
        return _Parts(numbers, fields, match["sign"], *_time_of_day(match))
    if match := _WITH_NAME.fullmatch(text):
        month = (match["month"] or match["month2"]).lower()[:3]
        if month not in _MONTHS:
            return None
        day = match["day"] or match["day2"]
        numbers = (match["year"], str(_MONTHS.index(month) + 1), day)
        return _Parts(numbers, "ymd", " ", *_time_of_day(match))
    if (match := _COMPACT.fullmatch(text)) and "01" <= match["month"] <= "12":
        clock = ":".join(re.findall("..", match["hm"] or ""))
        numbers = (match["year"], match["month"], match["day"])
        return _Parts(numbers, "ymd", "", clock, "Z" if text.endswith("Z") else "")
    return None


def _time_of_day(match: re.Match[str]) -> tuple[str, str]:
    """Return time of day as HH:MM[:SS[.f]], and zone as Z or +HH:MM; empty if missing."""
    clock, half, zone = match["clock"] or "", match["half"], match["zone"] or ""
    if clock:
        hour, rest = clock.split(":", 1)
        number = int(hour)
        if half:
            number = number % 12 + 12 * (half in "pP") if 1 <= number <= 12 else 99
        clock = f"{number:02}:{rest.replace(',', '.')}"
    if zone[:1] in ("+", "-"):
        digits = zone[1:].replace(":", "").ljust(4, "0")
        return clock, f"{zone[0]}{digits[:2]}:{digits[2:]}"
    return clock, "Z" if zone else ""


def _ordered(
    path: Path,
    where: str,
    parts: Sequence[_Parts],
    rows: Sequence[int],
    places: Sequence[str],
    texts: Sequence[str],
    dates: Dates | None,
) -> tuple[str | None, pd.Series]:
    """Return the inferred order of the fields, None if it was known, and the instants in UTC.

    Raises:
        DataError: several orders are possible.
    """

    if all(part.fields for part in parts):
        return None, _instants(parts, "ymd")
    open_ones = [part for part in parts if part.fields is None]
    long_year = any(len(part.numbers[2]) > 2 for part in open_ones)
    choices = list(_ORDERS)[: 2 if long_year else 3]
    if dates is not None:
        return dates, _instants(parts, _ORDERS[dates])
    if all(part.sign == "." for part in open_ones) and long_year:
        return "day-first", _instants(parts, "dmy")  # the format 01.31.2026 is not in use
    tried = {choice: _instants(parts, _ORDERS[choice]) for choice in choices}
    possible = {choice: times for choice, times in tried.items() if not times.isna().any()}
    if not possible:  # the caller reports a cell that contradicts the most frequent order
        best = min(tried, key=lambda choice: tried[choice].isna().sum())
        return best, tried[best]
    # times increase, so orders that make them increase are preferred
    forwards = {
        choice: times for choice, times in possible.items() if times.is_monotonic_increasing
    }
    possible = forwards or possible
    first = next(iter(possible))
    if all(times.equals(possible[first]) for times in possible.values()):
        return first, possible[first]
    row = next(
        i for i in range(len(rows)) if len({times.iloc[i] for times in possible.values()}) > 1
    )
    readings = " or ".join(
        f"{times.iloc[row]:%Y-%m-%d} (dates={choice})" for choice, times in possible.items()
    )
    raise DataError(
        f"{path}: {places[rows[row]]}, {where}: {quoted(texts[rows[row]])} may be {readings}, and "
        "no other cell of the column decides; give dates=, or write dates as 2026-01-31"
    )


def _instants(parts: Sequence[_Parts], order: str) -> pd.Series:
    """Return the instants in UTC for this order of unknown fields; NaT for invalid dates."""
    import pandas as pd

    texts = []
    for part in parts:
        place = dict(zip(part.fields or order, part.numbers, strict=True))
        year, month, day = (int(place[field]) for field in "ymd")
        if len(place["y"]) <= 2:
            year += 2000 if year < 70 else 1900
        valid = (
            1 <= month <= 12 and 1 <= day <= 31 and len(place["m"]) <= 2 and len(place["d"]) <= 2
        )
        clock = f"T{part.clock}{part.zone}" if part.clock else ""
        texts.append(f"{year:04}-{month:02}-{day:02}{clock}" if valid else None)
    return pd.Series(pd.to_datetime(texts, format="ISO8601", utc=True, errors="coerce"))


def _written(
    texts: list[str],
    rows: Sequence[int],
    parts: dict[int, _Parts],
    in_utc: pd.Series,
    order: str | None,
) -> Timestamps:
    zones = {parts[row].zone for row in rows}
    notes = []
    instants = in_utc.dt.tz_localize(None).to_numpy().astype("datetime64[us]")
    if len(zones) > 1:
        notes.append("the times have several time zones; they are shown in UTC")
    elif zones != {""}:
        (zone,) = zones
        if zone != "Z":
            instants = instants + np.timedelta64(_minutes(zone), "m")
        notes.append(f"time zone of all times: UTC{'' if zone == 'Z' else zone}")
    whole = np.full(len(texts), np.datetime64("NaT", "us"))
    whole[list(rows)] = instants
    if all(_ISO.fullmatch(texts[row]) for row in rows):
        return Timestamps(tuple(texts), whole, tuple(notes))
    days_only = not any(parts[row].clock for row in rows)
    new = list(texts)
    for row, instant in zip(rows, instants, strict=True):
        new[row] = str(instant)[:10] if days_only else instant.item().isoformat(" ")
    if order is not None or not any(len(zone) for zone in zones):
        first = rows[0]
        how = f" ({order})" if order else ""
        notes.append(f"times such as {quoted(texts[first])} are read as {new[first]}{how}")
    return Timestamps(tuple(new), whole, tuple(notes))


def _minutes(zone: str) -> int:
    minutes = 60 * int(zone[1:3]) + int(zone[4:6])
    return -minutes if zone[0] == "-" else minutes


def check_order(path: Path, column: str, stamps: Timestamps, places: Sequence[str]) -> list[str]:
    """Return descriptions of irregularities in the order of the times.

    Raises:
        DataError: the times go back by more than one hour, the change at the end of daylight saving
            time.
    """
    if stamps.instants is None:
        return []
    rows = np.flatnonzero(~np.isnat(stamps.instants))
    steps = np.diff(stamps.instants[rows])
    where = f"column {quoted(column)}"
    back = np.flatnonzero(steps < -_HOUR)
    if back.size:
        row, before = rows[back[0] + 1], rows[back[0]]
        remedy = (
            "the newest come first, so reverse the order of the lines"
            if (steps <= np.timedelta64(0, "s")).all()
            else "sort the lines by time"
        )
        raise DataError(
            f"{path}: {places[row]}, {where}: times must increase; got {quoted(stamps.texts[row])} "
            f"after {quoted(stamps.texts[before])} of {places[before]}, the first of {back.size} "
            f"times that decrease; {remedy}"
        )
    problems = []
    hours = np.flatnonzero(steps < np.timedelta64(0, "s"))
    if hours.size:
        row = rows[hours[0] + 1]
        problems.append(
            f"{where}: times decrease by an hour or less in {hours.size} places, the first is "
            f"{places[row]} ({stamps.texts[row]}); this is correct if daylight saving time ends "
            "there"
        )
    same = np.flatnonzero(steps == np.timedelta64(0, "s"))
    if same.size:
        row = rows[same[0] + 1]
        problems.append(
            f"{where}: {same.size} lines repeat the previous time, the first is {places[row]} "
            f"({stamps.texts[row]}); each counts as a separate step"
        )
    return problems
