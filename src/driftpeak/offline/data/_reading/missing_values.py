"""Treatment of missing values: refuse them, drop their arms, or interpolate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from driftpeak._core.errors import DataError
from driftpeak.offline.data._reading.messages import cell_error, listed, quoted

if TYPE_CHECKING:
    import pandas as pd

Missing = Literal["error", "drop-arm", "interpolate"]


def treated(path: Path, values: pd.DataFrame, missing: Missing) -> tuple[pd.DataFrame, list[str]]:
    """Treat missing values.

    Args:
        path: the file, for messages.
        values: a column per arm, and a row per time with its position in the file as label.
        missing: the treatment.

    Returns:
        The values without gaps, of the remaining arms, and notes.

    Raises:
        DataError: there are gaps and `missing` is "error", or fewer than two arms remain.
    """
    counts = values.isna().sum()
    gappy = values.columns[counts > 0]
    if not len(gappy):
        return values, []
    total, arms, remaining = counts.sum(), len(counts), len(counts) - len(gappy)
    row = values.isna().any(axis=1).argmax()
    place, arm = values.index[row], values.columns[values.iloc[row].isna().argmax()]
    if missing == "error":
        raise cell_error(
            path, place, arm,
            f"the cell is blank, the first of {total} missing in {len(gappy)} of {arms} arms; fill "
            "the cells with missing=interpolate, or omit those arms with missing=drop-arm "
            f"(which keeps {remaining})",
        )  # fmt: skip
    if missing == "drop-arm":
        if remaining < 2:
            raise DataError(
                f"{path}: missing=drop-arm must leave at least two arms; got {remaining}, as "
                f"{len(gappy)} of {arms} arms have missing values. Fill the cells with "
                "missing=interpolate, or correct the table."
            )
        dropped = listed([quoted(arm) for arm in gappy])
        note = f"dropped {len(gappy)} of {arms} arms, which have missing values: {dropped}"
        return values.drop(columns=gappy), [note]
    values, note = interpolated(path, values)
    note += (
        f"; the first is {place}, column {quoted(arm)}, and most, {counts.max()}, are in column "
        f"{quoted(counts.idxmax())}"
    )
    return values, [note]


def interpolated(path: Path, values: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Return the values with all gaps filled in the order of the rows, and a note of their number.

    Interpolation is linear. Gaps at the ends of an arm are filled with its first or last value.

    Raises:
        DataError: an arm has no values.
    """
    gaps = values.isna()
    empty = values.columns[gaps.all()]
    if len(empty):
        raise DataError(
            f"{path}: column {quoted(empty[0])} must have values to interpolate; got only blanks. "
            "Omit the arm with missing=drop-arm, or remove the column."
        )
    filled = values.interpolate(limit_direction="both")
    arms = gaps.any().sum()
    note = f"interpolated {gaps.sum().sum()} of {gaps.size} cells, in {arms} of {len(gaps.T)} arms"
    return filled, note
