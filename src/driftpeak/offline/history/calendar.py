"""Days, weeks and years in steps of a table, as far as its time cells are dates."""

from collections.abc import Sequence

import numpy as np

from driftpeak._core.argument_types import checked

SECONDS = (86_400.0, 7 * 86_400.0, 365.2425 * 86_400.0)


@checked
def calendar_periods(times: Sequence[str] | None) -> tuple[float, ...]:
    """A day, a week and a year in rows, where the cells are dates that mostly advance evenly.

    Arguments:
        times: cells of a time column, or None.

    Returns:
        Those of the three that are at least four rows long; none where the cells are no dates.
    """
    if times is None or len(times) < 3:
        return ()
    try:
        seconds = np.array([str(cell).strip() for cell in times], "datetime64[s]").astype(float)
    except ValueError:
        return ()
    steps = np.diff(seconds)
    usual = float(np.median(steps))
    # months differ by a few days; gaps and summer time are few
    if usual <= 0 or (np.abs(steps / usual - 1) < 0.12).mean() < 0.9:
        return ()
    step = float(steps[np.abs(steps / usual - 1) < 0.12].mean())
    return tuple(round(period / step, 2) for period in SECONDS if period / step >= 4)
