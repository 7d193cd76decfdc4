"""Values that `driftpeak live` reads from its options: JSON, files, names with values and times."""

import json
import sys
from datetime import datetime
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from driftpeak._core.errors import DriftpeakError, shown
from driftpeak._core.files import open_regular

MOST_TEXT = 10_000_000  # characters in the description of a space


def schedule_of(given: str | None) -> Any:
    """Return the schedule in a table or in JSON; None if none is given."""
    if given is None:
        return None
    from driftpeak.live._space.schedule import schedule_from_data

    if given.lstrip().startswith(("{", "[")):
        return schedule_from_data(json_of(given, "--schedule"))
    from driftpeak.offline.data._rows import read_rows

    return schedule_from_data(read_rows(Path(given)))


def space_text(given: str) -> str:
    """Return `given` if it is JSON, or else the content of the file or of standard input."""
    if given.lstrip().startswith("{"):
        return given
    try:
        with sys.stdin if given == "-" else TextIOWrapper(open_regular(given), "utf-8") as file:
            text = file.read(MOST_TEXT + 1)
    except (OSError, ValueError) as error:  # ValueError: not UTF-8, or a null character in the path
        why = getattr(error, "strerror", None) or error
        raise DriftpeakError(f"cannot read the space from {shown(given)}: {why}") from None
    if len(text) > MOST_TEXT:
        raise DriftpeakError(
            f"a space must have at most {MOST_TEXT:,} characters; got more in {shown(given)}"
        )
    return text


def json_of(text: str | None, what: str) -> Any:
    """Return the value that a JSON text describes; None if none is given."""
    try:
        return None if text is None else json.loads(text)
    except ValueError as error:
        raise DriftpeakError(f"{what} must be JSON; got {shown(text)}: {error}") from None
    except RecursionError:
        raise DriftpeakError(f"{what} must be JSON; got values nested too deeply") from None


def object_of(text: str | None, what: str) -> Any:
    """Return the JSON object that a text describes; None if none is given."""
    content = json_of(text, what)
    if text is not None and not isinstance(content, dict):
        raise DriftpeakError(f"{what} must be a JSON object; got {shown(text)}")
    return content


def named_values(given: list[str] | None, option: str) -> dict[str, Any] | None:
    """Return the values of all options by name; a value that is not JSON is a string."""
    values: dict[str, Any] = {}
    for text in given or ():
        if text.lstrip().startswith("{"):
            values |= object_of(text, option)
            continue
        name, equals, value = text.partition("=")
        if not equals:
            raise DriftpeakError(
                f"{option} must be NAME=VALUE, such as weekday=monday, or a JSON object; got "
                f"{shown(text)}"
            )
        try:
            values[name] = json.loads(value)
        except (ValueError, RecursionError):
            values[name] = value
    return values if given else None


def time_of(text: str | None, option: str = "--time") -> Any:
    """Return a time as `Optimizer` accepts it."""
    if text is None or text == "now":
        return text
    try:
        return float(text)
    except ValueError:
        pass
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise DriftpeakError(
            f"{option} must be a number, a date such as 2026-03-01T08:00, or now; got {shown(text)}"
        ) from None
