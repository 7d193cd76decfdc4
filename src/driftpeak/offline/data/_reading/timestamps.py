"""Time stamps in any order of day, month and year, with or without a time zone."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from driftpeak._core.errors import DataError
from driftpeak.offline.data._reading.messages import cell_error, counted, quoted
from driftpeak.offline.data._reading.numbers import is_blank

if TYPE_CHECKING:
    import pandas as pd

    from driftpeak.offline.data._reading.csv_dialects import Sheet

Dates = Literal["day-first", "month-first", "year-first"]
_FIXED = ("%Y-%m-%d", "%Y%m%d", "%d-%b-%Y", "%b-%d-%Y")  # formats with one meaning
_ORDERS: dict[Dates, tuple[str, ...]] = {
    "day-first": ("%d-%m-%Y", "%d-%m-%y"),
    "month-first": ("%m-%d-%Y", "%m-%d-%y"),
    "year-first": ("%y-%m-%d",),
}
_CLOCKS = ("%H:%M:%S.%f", "%I:%M:%S.%f%p")
_YEAR = r"(?!0000)\d{4}"
_MONTH = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}"
_STAMP = re.compile(
    rf"\A(?P<date>(?:{_YEAR}|\d{{1,2}})(?P<sign>[-/.])\d{{1,2}}(?P=sign)(?:{_YEAR}|\d{{1,2}})"
    rf"|\d{{1,2}}[-/. ]+{_MONTH}[-/., ]+{_YEAR}|{_MONTH}\.?[- ]+\d{{1,2}}[-/., ]+{_YEAR}"
    r"|(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01]))"
    r"(?:(?:T|,?\s+)(?P<hour>\d{1,2}):?(?P<minute>\d{2})"
    r"(?::?(?P<second>\d{2})(?:[.,](?P<fraction>\d+))?)?"
    r"(?:\s*(?P<half>[AP]\.?M)\.?)?\s*(?P<zone>Z|UTC|GMT|[+-]\d{2}(?::?\d{2})?)?)?\Z",
    re.ASCII | re.IGNORECASE,
)
# The format that NumPy reads; such cells are kept unchanged.
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}(:\d{2}(:\d{2}(\.\d+)?)?)?)?", re.ASCII)
FEWEST = 5  # times of which the usual step is known
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


def read_stamps(sheet: Sheet, column: str, dates: Dates | None = None) -> Timestamps:
    """Convert a column to dates; its cells are unchanged labels if at most half of them are dates.

    Equal cells count once, and errors name the first of them.

    Raises:
        DataError: the order of day and month is ambiguous and `dates` is not given, a few cells are
            not dates or do not exist, or only some have a time zone.
    """
    import pandas as pd

    cells = pd.Series([cell.strip() for cell in sheet.cells[column]], dtype=object)
    texts = cells.drop_duplicates()
    texts = texts[~texts.map(is_blank).astype(bool)]
    parts = texts.str.extract(_STAMP)
    dated = parts["date"].notna()
    if 2 * dated.sum() <= len(texts):
        return Timestamps(tuple(cells), None)

    def error(wrong: pd.Series[bool], why: str, what: str = "") -> DataError:
        row = wrong.idxmax()
        text = f"{what}{quoted(cells[row])} {why}"
        return cell_error(sheet.path, sheet.rows[row], column, text)

    if not dated.all():
        example = quoted(cells[dated.idxmax()])
        raise error(
            ~dated,
            f"is not a date like the other cells, such as {example}; correct the cell or leave it "
            "blank",
        )
    zoned = parts["zone"].notna()
    if zoned.any() and not zoned.all():
        example = quoted(cells[zoned.idxmax()])
        raise error(
            ~zoned,
            f"has no time zone, but {example} has one; give all times a zone, or none",
        )
    zones = parts["zone"].fillna("Z").str.replace("(?i)Z|UTC|GMT", "+0000", regex=True)
    zones = zones.str.replace(":", "").str.ljust(5, "0")
    offsets = pd.to_timedelta(zones.str[:3] + ":" + zones.str[3:] + ":00")
    readings = {order: instants - offsets for order, instants in _readings(parts, dates).items()}
    complete = {order: utc for order, utc in readings.items() if utc.notna().all()}
    if not complete:  # the first cell that contradicts the most frequent order
        wrong = min((utc.isna() for utc in readings.values()), key=lambda missing: missing.sum())
        second = parts["second"][wrong.idxmax()]
        hint = "a leap second, write 23:59:59" if second == "60" else "check day, month and time"
        raise error(wrong, f"does not exist ({hint})", "the time ")
    # times increase, so orders that make them increase are preferred
    forwards = {order: utc for order, utc in complete.items() if utc.is_monotonic_increasing}
    possible = forwards or complete
    order, utc = next(iter(possible.items()))
    different = pd.Series(False, texts.index)
    for other in possible.values():
        different |= other != utc
    if different.any():
        days = " or ".join(
            f"{other[different.idxmax()]:%Y-%m-%d} (dates={order})"
            for order, other in possible.items()
        )
        raise error(
            different,
            f"may be {days}, and no other cell of the column decides; give dates=, or write "
            "dates as 2026-01-31",
        )
    notes = []
    if zones.nunique() > 1:
        notes.append("the times have several time zones; they are shown in UTC")
    elif zoned.any():
        zone = zones.iloc[0]
        utc = utc + offsets
        place = "" if zone.endswith("0000") else f"{zone[:3]}:{zone[3:]}"
        notes.append(f"time zone of all times: UTC{place}")
    instants = utc.set_axis(texts).reindex(cells).to_numpy()
    if not texts.str.fullmatch(_ISO).all():
        days_only = parts["hour"].isna().all()
        written = [str(time.date()) if days_only else time.isoformat(" ") for time in utc]
        if order is not None or not zoned.any():
            how = f" ({order})" if order else ""
            example = f"times such as {quoted(texts.iloc[0])} are read as {written[0]}{how}"
            notes.append(example)
        new = dict(zip(texts, written, strict=True))
        cells = cells.map(lambda cell: new.get(cell, cell))
    return Timestamps(tuple(cells), instants, tuple(notes))


def _readings(parts: pd.DataFrame, dates: Dates | None) -> dict[Dates | None, pd.Series]:
    """Return the times for each possible order of day, month and year, NaT if invalid.

    The order is None if all dates have one meaning.
    """
    clock = parts[["hour", "minute", "second", "fraction"]].fillna("0")
    texts = clock["hour"] + ":" + clock["minute"] + ":" + clock["second"] + "." + clock["fraction"]
    texts += parts["half"].fillna("").str.replace(".", "")
    texts[parts["second"].isin(["60", "61"])] = None  # pandas would count them to the next minute
    times_of_day = _parsed(texts, _CLOCKS)
    days = parts["date"].str.replace(r"([A-Za-z]{3})[A-Za-z]*", r"\1", regex=True)
    days = days.str.replace(r"[-/., ]+", "-", regex=True)
    fixed = _parsed(days, _FIXED)
    unclear = fixed.isna()
    # the format 01.31.2026 is not in use
    dotted = parts["date"][unclear].str.fullmatch(r"\d+\.\d+\.\d{4}").all()
    orders: list[Dates | None] = (
        [None] if not unclear.any()
        else [dates] if dates
        else ["day-first"] if dotted
        else list(_ORDERS)
    )  # fmt: skip
    midnight = np.datetime64("1900-01-01")  # the date of times without one
    return {
        order: fixed.fillna(_parsed(days[unclear], _ORDERS[order] if order else ()))
        + (times_of_day - midnight)
        for order in orders
    }


def _parsed(texts: pd.Series[str], formats: tuple[str, ...]) -> pd.Series:
    """Return the dates of texts by the first format that fits, NaT if none does."""
    import pandas as pd

    instants = pd.Series(pd.NaT, texts.index, dtype="datetime64[us]")
    for form in formats:
        unread = instants.isna()
        if unread.any():
            instants[unread] = pd.to_datetime(texts[unread], format=form, errors="coerce")
    return instants


def clock_changes(sheet: Sheet, column: str, stamps: Timestamps) -> list[str]:
    """Return a note on hours that are missing because daylight saving time began.

    These are steps that are an hour longer than the usual one, on a Sunday before 4:00.
    """
    if stamps.instants is None or len(stamps.instants) < FEWEST:
        return []
    rows = np.flatnonzero(~np.isnat(stamps.instants))
    instants = stamps.instants[rows].astype("datetime64[s]")
    steps = np.diff(instants)
    usual = np.median(steps)
    days = instants[1:].astype("datetime64[D]")
    early = instants[1:] - days <= 4 * _HOUR
    sunday = (days.astype(int) + 4) % 7 == 0  # 1970-01-01 was a Thursday
    skips = (steps == usual + _HOUR) & early & sunday & (usual <= _HOUR)
    if not skips.any():
        return []
    row = rows[skips.argmax() + 1]
    what = counted("{} hour{s} missing where daylight saving time probably began", int(skips.sum()))
    return [
        f"column {quoted(column)}: {what}, the first before {sheet.rows[row]} "
        f"({stamps.texts[row]}); nothing was filled in"
    ]


def check_order(sheet: Sheet, column: str, stamps: Timestamps) -> list[str]:
    """Return descriptions of irregularities in the order of the times.

    Raises:
        DataError: the times go back by more than one hour, the change at the end of daylight saving
            time.
    """
    if stamps.instants is None:
        return []
    rows = np.flatnonzero(~np.isnat(stamps.instants))
    steps = np.diff(stamps.instants[rows])
    back = np.flatnonzero(steps < -_HOUR)
    if back.size:
        row, before = rows[back[0] + 1], rows[back[0]]
        remedy = (
            "the newest come first, so reverse the order of the lines"
            if (steps <= np.timedelta64(0, "s")).all()
            else "sort the lines by time"
        )
        raise cell_error(
            sheet.path, sheet.rows[row], column,
            f"times must increase; got {quoted(stamps.texts[row])} after "
            f"{quoted(stamps.texts[before])} of {sheet.rows[before]}, the first of "
            f"{counted('{} time{s} that decrease{not_s}', back.size)}; {remedy}",
        )  # fmt: skip
    problems = []
    for mask, what, meaning in (
        (steps < np.timedelta64(0, "s"), "times decrease by an hour or less in {} place{s}",
         "this is correct if daylight saving time ends there"),
        (steps == np.timedelta64(0, "s"), "{} line{s} repeat{not_s} the previous time",
         "each counts as a separate step"),
    ):  # fmt: skip
        if mask.any():
            row = rows[mask.argmax() + 1]
            problems.append(
                f"column {quoted(column)}: {counted(what, int(mask.sum()))}, the first is "
                f"{sheet.rows[row]} ({stamps.texts[row]}); {meaning}"
            )
    return problems
