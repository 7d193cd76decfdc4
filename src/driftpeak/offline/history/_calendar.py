"""Lengths of a day, a week and a year in steps of a table whose times are dates."""

from collections.abc import Sequence

import numpy as np

from driftpeak._core.argument_types import checked

SECONDS = (86_400.0, 7 * 86_400.0, 365.2425 * 86_400.0)


@checked
def calendar_periods(times: Sequence[str] | None) -> tuple[float, ...]:
    """Return the lengths of a day, a week and a year in rows.

    Arguments:
        times: cells of a time column, or None.

    Returns:
        The lengths of at least four rows; none if the cells are not dates with mostly equal steps.
    """
    if times is None or len(times) < 3:
        return ()
    try:
        seconds = np.array([str(cell).strip() for cell in times], "datetime64[s]").astype(float)
    except ValueError:
        return ()
    steps = np.diff(seconds)
    usual = float(np.median(steps))
    # the tolerance accepts months; gaps and daylight saving time affect few steps
    if usual <= 0 or (np.abs(steps / usual - 1) < 0.12).mean() < 0.9:
        return ()
    step = float(steps[np.abs(steps / usual - 1) < 0.12].mean())
    return tuple(round(period / step, 2) for period in SECONDS if period / step >= 4)
