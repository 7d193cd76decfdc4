"""Conversion of times to numbers: in any unit, or as seconds since 1970 for dates."""

import math
from datetime import UTC, datetime, timedelta
from numbers import Real
from typing import Any, Literal

import numpy as np

from driftpeak._core.errors import DriftpeakError, rejected, shown, stored_number, warn

Kind = Literal["steps", "numbers", "dates", "zoned dates"]
DATES = ("dates", "zoned dates")
Time = Any  # a real number, a datetime, a numpy.datetime64, or "now"
EPOCH = datetime(1970, 1, 1)
LARGEST = 1e100  # bound of times: sums and products do not overflow
FIRST, LAST = datetime(1, 1, 2), datetime(9999, 12, 31)  # a day within Python's range of dates
EARLIEST, LATEST = ((date - EPOCH).total_seconds() for date in (FIRST, LAST))
WORDS: dict[str, str] = {
    "steps": "steps counted by the optimiser",
    "numbers": "numbers",
    "dates": "dates without a time zone",
    "zoned dates": "dates with a time zone",
}


def read_time(
    time: Time, kind: Kind | None, *, counted: bool = False, latest: float = -math.inf
) -> tuple[float, Kind]:
    """Return a time as a number, and the resulting kind of the study's times.

    Arguments:
        time: a real number, a `datetime`, a `numpy.datetime64`, or "now" for the computer's clock.
        kind: kind of the study's times so far; None if there are none.
        counted: whether a number may also be the number of a step.
        latest: time of the latest reward, the lower bound of "now".

    Raises:
        DriftpeakError: the time has another type, is out of range (numbers beyond 1e100, dates
            outside the years 1 to 9999), or cannot be compared with the study's times.

    Warns:
        DriftpeakWarning: the computer's clock shows a time before the latest reward. The time of
            that reward is used instead.
    """
    now = isinstance(time, str) and time == "now"
    if now:
        time = _now(kind)
    number, its_kind = _number(time)
    if its_kind == "numbers" and kind == "steps" and counted:
        return number, "steps"
    if kind is not None and its_kind != kind:
        raise rejected("time", time, f"be comparable with this study's times, {WORDS[kind]}")
    if now and number < latest:
        warn(
            f"the computer's clock shows {show_time(number, its_kind)}, before the latest reward "
            f"of {show_time(latest, its_kind)}, whose time is used instead. The clock was set "
            "back, or the clock of another machine is ahead. Dates without a time zone also go "
            "back when summer time ends"
        )
        number = latest
    return number, its_kind


def show_time(number: float, kind: Kind | None) -> Any:
    """Return a time in the user's type: an int, a float or a datetime."""
    if kind == "steps":
        return int(number) if number == int(number) else number
    if kind in ("dates", "zoned dates"):
        moment = EPOCH + timedelta(seconds=number)
        return moment if kind == "dates" else moment.replace(tzinfo=UTC)
    return number


def check_number(number: object, kind: object) -> None:
    """Check that a number is a valid time of a kind.

    Raises:
        DriftpeakError: the kind is unknown, or the number is out of range.
    """
    if not isinstance(kind, str) or kind not in WORDS:
        raise rejected("the kind of a time", kind, f"be one of {', '.join(WORDS)}")
    value = stored_number("a time", number)
    if kind in ("dates", "zoned dates") and not EARLIEST <= value <= LATEST:
        raise _out_of_range(value)
    if abs(value) > LARGEST:
        raise _too_large(value)


def _now(kind: Kind | None) -> datetime:
    """Return the time of the computer's clock."""
    return datetime.now() if kind == "dates" else datetime.now(UTC)


def _number(time: Time) -> tuple[float, Kind]:
    if isinstance(time, np.datetime64) and not np.isnat(time):
        # the year is checked first, because microseconds of distant years overflow silently
        year = int(time.astype("datetime64[Y]").astype(np.int64)) + EPOCH.year
        if not FIRST.year <= year <= LAST.year:
            raise _out_of_range(time)
        time = time.astype("datetime64[us]").item()
    if isinstance(time, datetime) and time == time:  # False for pandas' NaT
        zoned = time.utcoffset() is not None
        number = (time - (EPOCH.replace(tzinfo=UTC) if zoned else EPOCH)).total_seconds()
        if not EARLIEST <= number <= LATEST:
            raise _out_of_range(time)
        return number, "zoned dates" if zoned else "dates"
    if isinstance(time, Real) and not isinstance(time, bool | np.timedelta64):
        try:
            number = float(time)
        except OverflowError:
            number = math.inf
        if abs(number) > LARGEST:
            raise _too_large(time)
        if not math.isnan(number):
            return number, "numbers"
    raise rejected("a time", time, 'be a finite number, a datetime, a numpy.datetime64 or "now"')


def _too_large(time: Time) -> DriftpeakError:
    return DriftpeakError(
        f"a time must be a number in [-1e100, 1e100]; got {shown(time)}. Use a later origin or a "
        "larger unit"
    )


def _out_of_range(time: Time) -> DriftpeakError:
    return DriftpeakError(
        f"dates must lie in {FIRST.date()} to {LAST:%Y-%m-%d %H:%M}; got {shown(time)}. Use "
        "numbers for other times"
    )
