"""Columns of numbers and ids from NumPy, pandas and Arrow, and back."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from driftpeak._core.errors import DriftpeakError, shown
from driftpeak._core.types import Integers, Vector

LARGEST = 1e100
"""Largest absolute value of rewards and times: sums of squares do not overflow."""


def is_table(value: object) -> bool:
    """Return whether a value has named columns: a mapping, a pandas DataFrame, an Arrow Table."""
    return isinstance(value, Mapping) or hasattr(value, "column_names") or hasattr(value, "columns")


def has_column(table: Any, name: str) -> bool:
    """Return whether a table has a column of this name."""
    return name in (table.column_names if hasattr(table, "column_names") else table)


def of_table(table: Any, name: str) -> Any:
    """Return a column of a table.

    Raises:
        DriftpeakError: there is no such column.
    """
    if not has_column(table, name):
        raise DriftpeakError(f"the table must have a column {name!r}. Rename its columns")
    return table[name]


def array(name: str, value: Any) -> np.ndarray[Any, np.dtype[Any]]:
    """Return a column as a one-dimensional NumPy array; a single value has length 1.

    Raises:
        DriftpeakError: the value is not one-dimensional.
    """
    try:
        found = np.asarray(value)
    except (TypeError, ValueError):
        raise DriftpeakError(f"{name} must be one-dimensional; got {shown(value)}") from None
    if found.ndim == 0:
        found = found[None]
    if found.ndim != 1:
        raise DriftpeakError(f"{name} must be one-dimensional; got shape {found.shape}")
    return found


def integers(name: str, value: Any) -> Integers:
    """Return a column of integers.

    Raises:
        DriftpeakError: other values.
    """
    found = array(name, value)
    if found.dtype.kind not in "iu":
        if len(found):
            raise DriftpeakError(f"{name} must be integers; got elements of type {found.dtype}")
        found = found.astype(np.int64)
    if found.dtype.kind == "u" and len(found) and found.max() > np.iinfo(np.int64).max:
        raise DriftpeakError(f"{name} must be integers below 2**63; got {found.max()}")
    return found.astype(np.int64, copy=False)


def reals(name: str, value: Any, size: int, *, scalar: bool = False) -> Vector:
    """Return a column of numbers, which may hold NaN.

    Arguments:
        size: the number of rows.
        scalar: whether one number may stand for all rows.

    Raises:
        DriftpeakError: other values, or another number of rows.
    """
    found = array(name, value)
    if found.dtype.kind not in "iuf":
        if found.dtype.kind == "O":  # Arrow and pandas write missing numbers as None
            missing = np.array([x is None for x in found], bool)
            found = np.where(missing, np.nan, found)
            try:
                plain = not any(isinstance(x, str | bool) for x in found)
                found = found.astype(float) if plain else found
            except (TypeError, ValueError):
                pass
        if found.dtype.kind not in "iuf" and len(found):
            raise DriftpeakError(f"{name} must be numbers; got elements of type {found.dtype}")
    found = found.astype(np.float64, copy=False)
    if scalar and np.ndim(value) == 0 and len(found) == 1:
        found = np.full(size, found[0])
    if len(found) != size:
        raise DriftpeakError(
            f"{name} must have {size:,} entries, one for each row; got {len(found):,}"
        )
    return found


def valid(values: Vector) -> Any:
    """Return which numbers are finite and not too large."""
    return np.abs(values) <= LARGEST  # false for NaN


def check_valid(name: str, values: Vector) -> None:
    """Raise DriftpeakError if a number is NaN, infinite or above 1e100."""
    wrong = np.flatnonzero(~valid(values))
    if len(wrong):
        raise DriftpeakError(
            f"{name} must be finite numbers in [-1e100, 1e100]; got {values[wrong[0]]:g} at row "
            f"{wrong[0]} ({len(wrong):,} of {len(values):,} rows). Nothing was changed"
        )
