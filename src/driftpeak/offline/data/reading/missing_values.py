"""Missing values: refused, left out with their arms, or filled."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from driftpeak._core.errors import DataError
from driftpeak.offline.data.reading.messages import listed, quoted

Missing = Literal["error", "drop-arm", "interpolate"]
Values = npt.NDArray[np.float64]


def treated(
    path: Path,
    values: Values,
    arms: tuple[str, ...],
    places: Sequence[str],
    missing: Missing,
) -> tuple[Values, tuple[str, ...], npt.NDArray[np.intp], list[str]]:
    """The values without gaps, the arms that are left and their numbers, and notes.

    Args:
        values: (rows, arms), NaN where one is missing.
        places: where each row stands, for messages.

    Raises:
        DataError: there are gaps and `missing` is "error", or what is left is no table.
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
            "missing=interpolate, or leave those arms out with missing=drop-arm "
            f"(which keeps {len(arms) - gappy.sum()})"
        )
    if missing == "drop-arm":
        kept = np.flatnonzero(~gappy)
        dropped = [quoted(arms[arm]) for arm in np.flatnonzero(gappy)]
        if len(kept) < 2:
            raise DataError(
                f"{path}: {len(dropped)} of {len(arms)} arms miss values and missing=drop-arm "
                f"leaves {len(kept)}; at least two are needed, so fill the cells with "
                "missing=interpolate or correct the table"
            )
        note = f"dropped {len(dropped)} of {len(arms)} arms, which miss values: {listed(dropped)}"
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
    """The values with every gap filled in the order of the rows, and a note of how many there were.

    Linear between two values; the first and the last of an arm are held at its ends.

    Raises:
        DataError: an arm has no value at all.
    """
    import pandas as pd

    empty = np.flatnonzero(gaps.all(axis=0))
    if empty.size:
        raise DataError(
            f"{path}: column {quoted(arms[empty[0]])} holds no value at all, so there is nothing "
            "to interpolate; leave the arm out with missing=drop-arm or remove the column"
        )
    frame = pd.DataFrame(np.where(gaps, np.nan, values))
    filled = frame.interpolate(limit_direction="both").to_numpy(dtype=np.float64)
    count = gaps.any(axis=0).sum()
    return filled, f"interpolated {gaps.sum()} of {gaps.size} cells, in {count} of {len(arms)} arms"
