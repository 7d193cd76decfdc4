"""Treatment of missing values: refuse them, drop their arms, or interpolate."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from driftpeak._core.errors import DataError
from driftpeak.offline.data._reading.messages import listed, quoted

Missing = Literal["error", "drop-arm", "interpolate"]
Values = npt.NDArray[np.float64]


def treated(
    path: Path,
    values: Values,
    arms: tuple[str, ...],
    places: Sequence[str],
    missing: Missing,
) -> tuple[Values, tuple[str, ...], npt.NDArray[np.intp], list[str]]:
    """Treat missing values.

    Args:
        path: the file, for messages.
        values: (rows, arms), NaN where one is missing.
        arms: their names.
        places: the position of each row, for messages.
        missing: the treatment.

    Returns:
        The values without gaps, the remaining arms and their indices, and notes.

    Raises:
        DataError: there are gaps and `missing` is "error", or fewer than two arms remain.
    """
    gaps = np.isnan(values)
    every = np.arange(len(arms))
    if not gaps.any():
        return values, arms, every, []
    row, arm = np.argwhere(gaps)[0]
    gappy = gaps.any(axis=0)
    if missing == "error":
        raise DataError(
            f"{path}: {places[row]}, column {quoted(arms[arm])}: the cell is blank, the first of "
            f"{gaps.sum()} missing in {gappy.sum()} of {len(arms)} arms; fill the cells with "
            "missing=interpolate, or omit those arms with missing=drop-arm "
            f"(which keeps {len(arms) - gappy.sum()})"
        )
    if missing == "drop-arm":
        kept = np.flatnonzero(~gappy)
        dropped = [quoted(arms[arm]) for arm in np.flatnonzero(gappy)]
        if len(kept) < 2:
            raise DataError(
                f"{path}: missing=drop-arm must leave at least two arms; got {len(kept)}, as "
                f"{len(dropped)} of {len(arms)} arms have missing values. Fill the cells with "
                "missing=interpolate, or correct the table."
            )
        note = (
            f"dropped {len(dropped)} of {len(arms)} arms, which have missing values: "
            f"{listed(dropped)}"
        )
        return values[:, kept], tuple(arms[arm] for arm in kept), kept, [note]
    values, note = interpolated(path, values, arms, gaps)
    most = int(gaps.sum(axis=0).argmax())
    where = (
        f"; the first is {places[row]}, column {quoted(arms[arm])}, and most, "
        f"{gaps[:, most].sum()}, are in column {quoted(arms[most])}"
    )
    return values, arms, every, [note + where]


def interpolated(
    path: Path, values: Values, arms: Sequence[str], gaps: npt.NDArray[np.bool_]
) -> tuple[Values, str]:
    """Return the values with all gaps filled in the order of the rows, and a note of their number.

    Interpolation is linear. Gaps at the ends of an arm are filled with its first or last value.

    Raises:
        DataError: an arm has no values.
    """
    import pandas as pd

    empty = np.flatnonzero(gaps.all(axis=0))
    if empty.size:
        raise DataError(
            f"{path}: column {quoted(arms[empty[0]])} must have values to interpolate; got only "
            "blanks. Omit the arm with missing=drop-arm, or remove the column."
        )
    frame = pd.DataFrame(np.where(gaps, np.nan, values))
    filled = frame.interpolate(limit_direction="both").to_numpy(dtype=np.float64)
    count = gaps.any(axis=0).sum()
    return filled, f"interpolated {gaps.sum()} of {gaps.size} cells, in {count} of {len(arms)} arms"
