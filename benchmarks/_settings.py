"""Numbers in environment variables, which select the size of a benchmark."""

import os
import re
from collections.abc import Mapping


def whole_number(
    name: str, default: int, *, least: int = 1, settings: Mapping[str, str] = os.environ
) -> int:
    """Return a whole number from an environment variable.

    Raises:
        SystemExit: no whole number, or one below `least`.
    """
    return whole_numbers(name, (default,), least=least, most=1, settings=settings)[0]


def whole_numbers(
    name: str,
    default: tuple[int, ...],
    *,
    least: int = 1,
    most: int | None = None,
    settings: Mapping[str, str] = os.environ,
) -> tuple[int, ...]:
    """Return whole numbers from an environment variable.

    Commas, semicolons or spaces separate them.

    Raises:
        SystemExit: no whole numbers, one below `least`, or more than `most` numbers.
    """
    text = settings.get(name)
    if text is None:
        return default
    try:
        numbers = tuple(int(word) for word in re.split(r"[\s,;]+", text.strip()))
    except ValueError:
        numbers = ()
    if not numbers or min(numbers) < least or (most is not None and len(numbers) > most):
        what = "a whole number" if most == 1 else "whole numbers"
        raise SystemExit(f"{name} must be {what} of at least {least}; got {text!r}")
    return numbers
