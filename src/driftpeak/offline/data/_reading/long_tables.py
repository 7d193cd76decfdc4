"""Conversion of long tables, with one line per time and arm, to wide tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from driftpeak._core.errors import DataError, DriftpeakError
from driftpeak.offline.data._reading.csv_dialects import Dialect
from driftpeak.offline.data._reading.headers import column_of
from driftpeak.offline.data._reading.messages import quoted
from driftpeak.offline.data._reading.numbers import is_blank, is_number

Values = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Long:
    """The names of a long table's columns of times, of arms' names, and of rewards."""

    index: str
    columns: str
    values: str


def long_columns(index: str | None, columns: str | None, values: str | None) -> Long | None:
    """Return the three columns of a long table; None if none is given.

    Raises:
        DriftpeakError: only one or two are given, or two are equal.
    """
    given = {"index": index, "columns": columns, "values": values}
    if index is None and columns is None and values is None:
        return None
    if index is None or columns is None or values is None:
        absent = " and ".join(name for name, value in given.items() if value is None)
        raise DriftpeakError(
            f"a long table needs index, columns and values (the columns of the times, of the "
            f"arms' names and of the rewards); {absent} is not given"
        )
    if len({index, columns, values}) < 3:
        raise DriftpeakError(
            f"index, columns and values must be different columns; got {index!r}, {columns!r} "
            f"and {values!r}"
        )
    return Long(index, columns, values)


def places_of(sheet: Dialect, long: Long) -> tuple[int, int, int]:
    """Return the indices of the three columns.

    Raises:
        DriftpeakError: a column does not exist.
    """
    return (
        column_of(sheet, long.index, "times"),
        column_of(sheet, long.columns, "arms' names"),
        column_of(sheet, long.values, "rewards"),
    )


def widened(
    sheet: Dialect,
    times: Sequence[str],
    instants: np.ndarray | None,
    arms: Sequence[str],
    rewards: Values,
) -> tuple[Values, tuple[str, ...], tuple[str, ...], np.ndarray | None]:
    """Convert a long table to a wide one.

    Times that are dates or numbers are sorted. Other times, and the arms, keep the order of their
    first appearance.

    Args:
        sheet: the table, for messages.
        times, instants, arms, rewards: the values of each line.

    Returns:
        Rewards, shape `(times, arms)`, NaN where there is none; arms; times; times as instants.

    Raises:
        DataError: a time or a name is blank, a pair of time and arm occurs twice, or there are
            fewer than two arms or times.
    """
    import pandas as pd

    for what, cells in (("time", times), ("arm's name", arms)):
        blank = next((row for row, cell in enumerate(cells) if is_blank(cell)), None)
        if blank is not None:
            raise DataError(
                f"{sheet.path}: {sheet.places[blank]}: the {what} is blank; a long table needs one "
                "in every line, so fill it in or remove the line"
            )
    frame = pd.DataFrame({"time": list(times), "arm": list(arms), "reward": rewards}, dtype=object)
    if (twice := frame.duplicated(["time", "arm"])).any():
        row = int(twice.to_numpy().argmax())
        before = int(
            ((frame["time"] == times[row]) & (frame["arm"] == arms[row])).to_numpy().argmax()
        )
        raise DataError(
            f"{sheet.path}: {sheet.places[row]}: arm {quoted(arms[row])} must have one reward at "
            f"{quoted(times[row])}; got another one in {sheet.places[before]}, the first of "
            f"{twice.sum()} such lines. Keep one of them."
        )
    names = tuple(dict.fromkeys(arms))
    order = list(dict.fromkeys(times))
    if instants is not None:
        when = dict(zip(times, instants, strict=True))
        order.sort(key=lambda time: when[time])
    elif all(map(is_number, order)):
        order.sort(key=float)
    wide = frame.pivot(index="time", columns="arm", values="reward").reindex(
        index=order, columns=names
    )
    if len(names) < 2 or len(order) < 2:
        raise DataError(
            f"{sheet.path}: a long table must have at least two arms and times; got {len(names)} "
            f"arms at {len(order)} times"
        )
    ordered = None if instants is None else np.array([when[time] for time in order])
    return wide.to_numpy(dtype=np.float64), names, tuple(order), ordered
