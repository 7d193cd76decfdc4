"""Conversion of times and numbers between JSON and the library."""

import math
from datetime import datetime
from typing import Any

import numpy as np

from driftpeak._core.errors import DriftpeakError, shown


def read_moment(given: float | str | None) -> Any:
    """Return a time as an optimiser accepts it: a number, "now", or a date in ISO 8601.

    Raises:
        DriftpeakError: the string is none of these.
    """
    if given is None or not isinstance(given, str) or given == "now":
        return given
    try:
        return float(given)
    except ValueError:
        pass
    try:
        return datetime.fromisoformat(given)
    except ValueError:
        raise DriftpeakError(
            f"a time must be a number, a date such as 2026-03-01T08:00, or now; got {shown(given)}"
        ) from None


def plain(content: Any) -> Any:
    """Return data for JSON: dates as strings, arrays as lists, None for NaN and infinities."""
    if isinstance(content, dict):
        return {str(key): plain(value) for key, value in content.items()}
    if isinstance(content, np.ndarray | np.generic):
        return plain(content.tolist())
    if isinstance(content, list | tuple):
        return [plain(entry) for entry in content]
    if isinstance(content, datetime):
        return content.isoformat()
    if isinstance(content, float) and not math.isfinite(content):
        return None
    return content
