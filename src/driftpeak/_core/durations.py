"""Durations and rates with units of time, such as "14 days" and "8/h"."""

import re

from driftpeak._core.errors import finite, rejected

SECONDS = {
    "second": 1.0,
    "minute": 60.0,
    "hour": 3_600.0,
    "day": 86_400.0,
    "week": 604_800.0,
}
SHORT = {"s": "second", "sec": "second", "min": "minute", "h": "hour", "d": "day"}
DURATION = 'a number, or a text such as "30 s", "15 min", "2 h", "1 day" or "2 weeks"'
RATE = 'a number, or a text such as "8/h", "0.5 per minute" or "3/day"'
NUMBER = r"\s*(?P<number>[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?)\s*"


def seconds(name: str, given: object) -> float:
    """Return a duration: a number as it is, and a text in seconds.

    Raises:
        DriftpeakError: the duration is neither a finite number nor a number with a unit of time.
    """
    if not isinstance(given, str):
        return finite(name, given)
    return _match(name, given, rf"{NUMBER}(?P<unit>[a-z]+)\s*", DURATION)[0]


def rate(name: str, given: object) -> tuple[float, float]:
    """Return a change, and in how many units of time or, for a text, in how many seconds.

    Raises:
        DriftpeakError: the rate is neither a finite number nor a number per unit of time.
    """
    if not isinstance(given, str):
        return finite(name, given), 1.0
    of_one, number = _match(name, given, rf"{NUMBER}(/|per\s)\s*(?P<unit>[a-z]+)\s*", RATE)
    return number, of_one / number if number else 1.0


def _match(name: str, given: str, pattern: str, accepted: str) -> tuple[float, float]:
    """Return number times unit, and the number."""
    found = re.fullmatch(pattern, given.lower())
    word = found["unit"] if found else ""
    length = SECONDS.get(SHORT.get(word, word.removesuffix("s")))
    if found is None or length is None:
        raise rejected(name, given, f"be {accepted}")
    number = finite(name, float(found["number"]))
    return number * length, number


def duration_text(length: float) -> str:
    """Return a duration in seconds with its largest unit: days, hours, minutes or seconds."""
    units = ("day", "hour", "minute")
    unit = next((name for name in units if length >= SECONDS[name]), "second")
    number = f"{length / SECONDS[unit]:.3g}"
    return f"{number} {unit}" if number == "1" else f"{number} {unit}s"
