"""Times and numbers between JSON and the library."""

import math
from datetime import datetime
from typing import Any

import numpy as np

from driftpeak._core.errors import DriftpeakError, shown


def read_moment(given: float | str | None) -> Any:
    """A time as an optimiser takes it: a number, "now", or a date in ISO 8601.

    Raises:
        DriftpeakError: a text that is none of these.
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
            f"a time is a number, a date as 2026-03-01T08:00, or now; got {shown(given)}"
        ) from None


def plain(content: Any) -> Any:
    """With dates as text, lists for arrays, and null where there is no number, as JSON has none."""
    if isinstance(content, dict):
        return {str(key): plain(value) for key, value in content.items()}
    if isinstance(content, np.ndarray | np.generic):
        return plain(content.tolist())
    if isinstance(content, list | tuple):
        return [plain(one) for one in content]
    if isinstance(content, datetime):
        return content.isoformat()
    if isinstance(content, float) and not math.isfinite(content):
        return None
    return content
