"""Numbers with their uncertainty as text, with equally many decimals in a column."""

import math
from collections.abc import Iterable

MOST = 12
PLAIN = 4  # significant digits without an uncertainty


def decimals_of(errors: Iterable[float]) -> int | None:
    """Return the decimals with which the smallest positive error has two significant digits.

    Returns:
        At most 12 decimals, and None if there is no positive error.
    """
    positive = [error for error in errors if error > 0 and math.isfinite(error)]
    if not positive:
        return None
    return min(max(1 - math.floor(math.log10(min(positive))), 0), MOST)


def number_text(value: float, decimals: int | None) -> str:
    """Return a number with this many decimals, or with 4 significant digits if None."""
    return f"{value:.{PLAIN}g}" if decimals is None else f"{value:.{decimals}f}"
