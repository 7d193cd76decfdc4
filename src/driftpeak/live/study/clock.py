"""The user's times, as numbers: of any unit, or seconds since 1970 for dates."""

import math
from datetime import UTC, datetime, timedelta
from numbers import Real
from typing import Any, Literal

import numpy as np

from driftpeak._core.errors import DriftpeakError, shown, stored_number, warn

Kind = Literal["steps", "numbers", "dates", "zoned dates"]
Time = Any  # a real number, a datetime, a numpy.datetime64, or "now"
EPOCH = datetime(1970, 1, 1)
LARGEST = 1e100  # of a number: far beyond any clock, and no sum or product of times overflows
FIRST, LAST = datetime(1, 1, 2), datetime(9999, 12, 31)  # a day from what a date can be, anywhere
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
    """A time as a number, and what kind of time the study then has.

    Arguments:
        time: a real number, a `datetime`, a `numpy.datetime64`, or "now" for the computer's clock.
        kind: of the study's times so far; None if there are none.
        counted: whether a number may also stand for a step.
        latest: the time of the latest reward. "now" is never earlier.

    Raises:
        DriftpeakError: no such thing, one that is out of range (numbers beyond 1e100, dates outside
            the years 1 to 9999), or one that cannot be compared with the study's times.

    Warns:
        DriftpeakWarning: the computer's clock shows a time before the latest reward's. Time does
            not go back: that reward's time is used.
    """
    now = isinstance(time, str) and time == "now"
    if now:
        time = _now(kind)
    number, found = _number(time)
    if found == "numbers" and kind == "steps" and counted:
        return number, "steps"
    if kind is not None and found != kind:
        raise DriftpeakError(
            f"times must be comparable: this study's are {WORDS[kind]}; got {shown(time)}"
        )
    if now and number < latest:
        warn(
            f"the computer's clock shows {show_time(number, found)}, before the latest reward of "
            f"{show_time(latest, found)}, whose time is used instead. The clock was set back, or "
            "another machine's is ahead; dates without a time zone also go back when summer time "
            "ends"
        )
        number = latest
    return number, found


def show_time(number: float, kind: Kind | None) -> Any:
    """The time as the user writes it: an int, a float or a datetime."""
    if kind == "steps":
        return int(number) if number == int(number) else number
    if kind in ("dates", "zoned dates"):
        moment = EPOCH + timedelta(seconds=number)
        return moment if kind == "dates" else moment.replace(tzinfo=UTC)
    return number


def check_number(number: object, kind: object) -> None:
    """Refuse what no time of a study can be, as a number of that kind.

    Raises:
        DriftpeakError: no such kind, or a number that is out of range.
    """
    if not isinstance(kind, str) or kind not in WORDS:
        raise DriftpeakError(f"the kind of a time is one of {', '.join(WORDS)}; got {shown(kind)}")
    value = stored_number("a time", number)
    if kind in ("dates", "zoned dates") and not EARLIEST <= value <= LATEST:
        raise _out_of_range(value)
    if abs(value) > LARGEST:
        raise _too_large(value)


def _now(kind: Kind | None) -> datetime:
    """Return what the computer's clock shows."""
    return datetime.now() if kind == "dates" else datetime.now(UTC)


def _number(time: Time) -> tuple[float, Kind]:
    if isinstance(time, np.datetime64) and not np.isnat(time):
        # years first: microseconds of a far year overflow without a word
        year = int(time.astype("datetime64[Y]").astype(np.int64)) + EPOCH.year
        if not FIRST.year <= year <= LAST.year:
            raise _out_of_range(time)
        time = time.astype("datetime64[us]").item()
    if isinstance(time, datetime) and time == time:  # pandas' not-a-time is unlike itself
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
    raise DriftpeakError(
        f'a time must be a finite number, a datetime, a numpy.datetime64 or "now"; got '
        f"{shown(time)}"
    )


def _too_large(time: Time) -> DriftpeakError:
    return DriftpeakError(
        f"a time must be a number within 1e100 of 0; got {shown(time)}. Count from a later origin, "
        "or in a larger unit"
    )


def _out_of_range(time: Time) -> DriftpeakError:
    return DriftpeakError(
        f"dates must lie in {FIRST.date()} to {LAST:%Y-%m-%d %H:%M}; got {shown(time)}. Give "
        "farther times as numbers"
    )
