"""Time stamps in any order of day, month and year, with a time zone or without."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from driftpeak._core.errors import DataError
from driftpeak.offline.data.reading.messages import quoted
from driftpeak.offline.data.reading.numbers import is_blank

if TYPE_CHECKING:
    import pandas as pd

Dates = Literal["day-first", "month-first", "year-first"]
_ORDERS = {"day-first": "dmy", "month-first": "mdy", "year-first": "ymd"}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_CLOCK = (
    r"(?:(?:T|,?\s+)(?P<clock>\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?)"
    r"(?:\s*(?P<half>[AaPp])\.?[Mm]\.?)?\s*(?P<zone>Z|z|UTC|GMT|[+-]\d{2}:?\d{2}|[+-]\d{2})?)?"
)
# 5/1/2026, 05.01.26, 2026-01-05: which field is what, the numbers or the user say
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
# What NumPy reads; such cells stay as they are written.
_ISO = re.compile(r"\d{4}-\d{2}(-\d{2}([T ]\d{2}(:\d{2}(:\d{2}(\.\d+)?)?)?)?)?", re.ASCII)
_HOUR = np.timedelta64(3600, "s")


@dataclass(frozen=True, eq=False)
class Stamps:
    """The cells of a time column.

    Attributes:
        texts: as written, or 2026-01-05 13:00:00 where they are dates in another form.
        instants: the same as `datetime64`, None if the cells are no dates.
        notes: how they were read, in words.
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
) -> Stamps:
    """The cells as dates if they are; cells that are mostly no dates are labels, kept as written.

    Raises:
        DataError: day and month may be either way round and `dates` is not given, a few cells are
            no dates or none that exist, or some have a time zone and some not.
    """
    texts = [cell.strip() for cell in cells]
    known = [row for row, text in enumerate(texts) if not is_blank(text)]
    parts = {row: part for row in known if (part := _parts(texts[row])) is not None}
    if not parts or 2 * len(parts) <= len(known):
        return Stamps(tuple(texts), None)
    where = f"column {quoted(column)}"
    odd = next((row for row in known if row not in parts), None)
    if odd is not None:
        raise DataError(
            f"{path}: {places[odd]}, {where}: {quoted(texts[odd])} is no date such as the others, "
            f"as {quoted(texts[next(iter(parts))])}; correct the cell or leave it blank"
        )
    zoned = [row for row in parts if parts[row].zone]
    if zoned and len(zoned) < len(parts):
        bare = next(row for row in parts if not parts[row].zone)
        raise DataError(
            f"{path}: {places[bare]}, {where}: {quoted(texts[bare])} has no time zone, but "
            f"{quoted(texts[zoned[0]])} has one; give all times a zone, or none"
        )
    rows = list(parts)
    order, found = _ordered(path, where, [parts[row] for row in rows], rows, places, texts, dates)
    wrong = np.flatnonzero(found.isna())
    if wrong.size:
        row = rows[wrong[0]]
        second = parts[row].clock[6:8]
        hint = "a leap second, write 23:59:59" if second == "60" else "check day, month and time"
        raise DataError(
            f"{path}: {places[row]}, {where}: {quoted(texts[row])} is no time that exists ({hint})"
        )
    return _written(texts, rows, parts, found, order)


@dataclass(frozen=True)
class _Parts:
    """Three numbers of a date, in the order of `fields` if that is known, time of day, zone."""

    numbers: tuple[str, str, str]
    fields: str | None
    sign: str
    clock: str
    zone: str


def _parts(text: str) -> _Parts | None:
    if found := _NUMERIC.fullmatch(text):
        numbers = (found["one"], found["two"], found["three"])
        fields = "ymd" if len(numbers[0]) > 2 else None
        lengths = [len(number) for number in numbers]
        if 3 in lengths or lengths.count(4) > 1:
            return None
        return _Parts(numbers, fields, found["sign"], *_time_of_day(found))
    if found := _WITH_NAME.fullmatch(text):
        month = (found["month"] or found["month2"]).lower()[:3]
        if month not in _MONTHS:
            return None
        day = found["day"] or found["day2"]
        numbers = (found["year"], str(_MONTHS.index(month) + 1), day)
        return _Parts(numbers, "ymd", " ", *_time_of_day(found))
    if (found := _COMPACT.fullmatch(text)) and "01" <= found["month"] <= "12":
        clock = ":".join(re.findall("..", found["hm"] or ""))
        numbers = (found["year"], found["month"], found["day"])
        return _Parts(numbers, "ymd", "", clock, "Z" if text.endswith("Z") else "")
    return None


def _time_of_day(found: re.Match[str]) -> tuple[str, str]:
    """The clock in 24 hours as HH:MM[:SS[.f]], and the zone as Z or +HH:MM; empty if not there."""
    clock, half, zone = found["clock"] or "", found["half"], found["zone"] or ""
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
    """How the fields of the dates stand if that had to be found out, and the instants (in UTC)."""

    if all(part.fields for part in parts):
        return None, _instants(parts, "ymd")
    open_ones = [part for part in parts if part.fields is None]
    long_year = any(len(part.numbers[2]) > 2 for part in open_ones)
    choices = list(_ORDERS)[: 2 if long_year else 3]
    if dates is not None:
        return dates, _instants(parts, _ORDERS[dates])
    if all(part.sign == "." for part in open_ones) and long_year:
        return "day-first", _instants(parts, "dmy")  # nobody writes 01.31.2026
    tried = {choice: _instants(parts, _ORDERS[choice]) for choice in choices}
    possible = {choice: found for choice, found in tried.items() if not found.isna().any()}
    if not possible:  # blame the cell that fits the order that most cells have
        best = min(tried, key=lambda choice: tried[choice].isna().sum())
        return best, tried[best]
    # time runs forwards, so an order that makes it run back and forth is not the one
    forwards = {choice: one for choice, one in possible.items() if one.is_monotonic_increasing}
    possible = forwards or possible
    first = next(iter(possible))
    if all(one.equals(possible[first]) for one in possible.values()):
        return first, possible[first]
    row = next(i for i in range(len(rows)) if len({one.iloc[i] for one in possible.values()}) > 1)
    readings = " or ".join(
        f"{one.iloc[row]:%Y-%m-%d} (dates={choice})" for choice, one in possible.items()
    )
    raise DataError(
        f"{path}: {places[rows[row]]}, {where}: {quoted(texts[rows[row]])} may be {readings}, and "
        "no other cell of the column tells which; say it with dates=, or write dates as 2026-01-31"
    )


def _instants(parts: Sequence[_Parts], order: str) -> pd.Series:
    """The instants in UTC if the open fields stand in this order; NaT where there is none."""
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
    found: pd.Series,
    order: str | None,
) -> Stamps:
    zones = {parts[row].zone for row in rows}
    notes = []
    instants = found.dt.tz_localize(None).to_numpy().astype("datetime64[us]")
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
        return Stamps(tuple(texts), whole, tuple(notes))
    days_only = not any(parts[row].clock for row in rows)
    new = list(texts)
    for row, instant in zip(rows, instants, strict=True):
        new[row] = str(instant)[:10] if days_only else instant.item().isoformat(" ")
    if order is not None or not any(len(zone) for zone in zones):
        first = rows[0]
        how = f" ({order})" if order else ""
        notes.append(f"times such as {quoted(texts[first])} are read as {new[first]}{how}")
    return Stamps(tuple(new), whole, tuple(notes))


def _minutes(zone: str) -> int:
    minutes = 60 * int(zone[1:3]) + int(zone[4:6])
    return -minutes if zone[0] == "-" else minutes


def check_order(path: Path, column: str, stamps: Stamps, places: Sequence[str]) -> list[str]:
    """What is odd in the sequence of the times, in words.

    Raises:
        DataError: the times go back by more than the hour that the end of summer time does.
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
            "the newest stand first, so turn the order round"
            if (steps <= np.timedelta64(0, "s")).all()
            else "sort the lines by time"
        )
        raise DataError(
            f"{path}: {places[row]}, {where}: {quoted(stamps.texts[row])} lies before "
            f"{quoted(stamps.texts[before])} of {places[before]}, the first of {back.size} times "
            f"that go back; {remedy}"
        )
    doubts = []
    hours = np.flatnonzero(steps < np.timedelta64(0, "s"))
    if hours.size:
        row = rows[hours[0] + 1]
        doubts.append(
            f"{where}: times go back by an hour or less in {hours.size} places, the first is "
            f"{places[row]} ({stamps.texts[row]}); if summer time ends there, all is well"
        )
    same = np.flatnonzero(steps == np.timedelta64(0, "s"))
    if same.size:
        row = rows[same[0] + 1]
        doubts.append(
            f"{where}: {same.size} lines repeat the time before them, the first is {places[row]} "
            f"({stamps.texts[row]}); each is played as a step of its own"
        )
    return doubts
