"""Numbers in environment variables, which select the size of a benchmark."""

import os


def whole_number(name: str, default: int, *, least: int = 1) -> int:
    """Return a whole number from an environment variable.

    Raises:
        SystemExit: no whole number, or one below `least`.
    """
    return whole_numbers(name, (default,), least=least, most=1)[0]


def whole_numbers(
    name: str, default: tuple[int, ...], *, least: int = 1, most: int | None = None
) -> tuple[int, ...]:
    """Return whole numbers, separated by commas or spaces, from an environment variable.

    Raises:
        SystemExit: no whole numbers, one below `least`, or more than `most` numbers.
    """
    text = os.environ.get(name)
    if text is None:
        return default
    try:
        numbers = tuple(int(word) for word in text.replace(",", " ").split())
    except ValueError:
        numbers = ()
    if not numbers or min(numbers) < least or (most is not None and len(numbers) > most):
        what = "a whole number" if most == 1 else "whole numbers"
        raise SystemExit(f"{name} must be {what} of at least {least}; got {text!r}")
    return numbers
