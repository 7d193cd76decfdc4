"""The user's times, as numbers: of any unit, or seconds since 1970 for dates."""

import math
from datetime import UTC, datetime, timedelta
from numbers import Real
from typing import Any, Literal

import numpy as np

from driftpeak.errors import DriftpeakError

Kind = Literal["steps", "numbers", "dates", "zoned dates"]
Time = Any  # a real number, a datetime, a numpy.datetime64, or "now"
EPOCH = datetime(1970, 1, 1)
WORDS: dict[str, str] = {
    "steps": "steps counted by the optimiser",
    "numbers": "numbers",
    "dates": "dates without a time zone",
    "zoned dates": "dates with a time zone",
}


def read_time(time: Time, kind: Kind | None, *, counted: bool = False) -> tuple[float, Kind]:
    """A time as a number, and what kind of time the study then has.

    Arguments:
        time: a real number, a `datetime`, a `numpy.datetime64`, or "now" for the computer's clock.
        kind: of the study's times so far; None if there are none.
        counted: whether a number may also stand for a step.

    Raises:
        DriftpeakError: no such thing, or one that cannot be compared with the study's times.
    """
    if isinstance(time, str) and time == "now":
        time = datetime.now() if kind == "dates" else datetime.now(UTC)
    number, found = _number(time)
    if found == "numbers" and kind == "steps" and counted:
        return number, "steps"
    if kind is not None and found != kind:
        raise DriftpeakError(
            f"times must be comparable: this study's are {WORDS[kind]}; got {time!r}"
        )
    return number, found


def show_time(number: float, kind: Kind | None) -> Any:
    """The time as the user writes it: an int, a float or a datetime."""
    if kind == "steps":
        return int(number) if number == int(number) else number
    if kind in ("dates", "zoned dates"):
        moment = EPOCH + timedelta(seconds=number)
        return moment if kind == "dates" else moment.replace(tzinfo=UTC)
    return number


def _number(time: Time) -> tuple[float, Kind]:
    if isinstance(time, np.datetime64):
        time = time.astype("datetime64[us]").item()  # None for not-a-time
    if isinstance(time, datetime) and time == time:  # pandas' not-a-time is unlike itself
        if time.tzinfo is None:
            return (time - EPOCH).total_seconds(), "dates"
        return (time - EPOCH.replace(tzinfo=UTC)).total_seconds(), "zoned dates"
    if isinstance(time, Real) and not isinstance(time, bool) and math.isfinite(time):
        return float(time), "numbers"
    raise DriftpeakError(
        f'a time must be a finite number, a datetime, a numpy.datetime64 or "now"; got {time!r}'
    )
