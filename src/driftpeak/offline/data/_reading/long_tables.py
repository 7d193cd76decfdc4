"""Conversion of long tables, with one line per time and arm, to wide tables."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from driftpeak._core.errors import DataError, DriftpeakError
from driftpeak.offline.data._reading.csv_dialects import Sheet
from driftpeak.offline.data._reading.messages import counted, quoted
from driftpeak.offline.data._reading.numbers import is_blank
from driftpeak.offline.data._reading.timestamps import Timestamps

if TYPE_CHECKING:
    import pandas as pd


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
    names = {name for name in given.values() if name is not None}
    if not names:
        return None
    absent = " and ".join(name for name, value in given.items() if value is None)
    if absent:
        raise DriftpeakError(
            "a long table needs index, columns and values (the columns of the times, of the arms' "
            f"names and of the rewards); {absent} is not given"
        )
    if len(names) < 3:
        raise DriftpeakError(
            f"index, columns and values must be different columns; got {index!r}, {columns!r} "
            f"and {values!r}"
        )
    return Long(str(index), str(columns), str(values))


def widened(sheet: Sheet, stamps: Timestamps, arm: str, rewards: pd.Series) -> pd.DataFrame:
    """Convert a long table to a wide one.

    Times that are dates or numbers are sorted. Other times, and the arms, keep the order of their
    first appearance.

    Args:
        sheet: the table.
        stamps: the times of the lines.
        arm: the name of the column of the arms' names.
        rewards: the rewards of the lines.

    Returns:
        Rewards with times as index and arms as columns, NaN where there is none.

    Raises:
        DataError: a time or a name is blank, a pair of time and arm occurs twice, or there are
            fewer than two arms or times.
    """
    import pandas as pd

    arms = sheet.cells[arm].str.strip()
    table = pd.DataFrame({"time": stamps.texts, "arm": arms.tolist()}, dtype=object)
    table["reward"] = rewards.to_numpy()
    for what, column in (("time", "time"), ("arm's name", "arm")):
        blank = table[column].map(is_blank)
        if blank.any():
            raise DataError(
                f"{sheet.path}: {sheet.rows[blank.argmax()]}: the {what} is blank; a long table "
                "needs one in every line, so fill it in or remove the line"
            )
    twice = table.duplicated(["time", "arm"])
    if twice.any():
        row = twice.argmax()
        time, name = table.loc[row, ["time", "arm"]]
        before = ((table["time"] == time) & (table["arm"] == name)).argmax()
        raise DataError(
            f"{sheet.path}: {sheet.rows[row]}: arm {quoted(name)} must have one reward at "
            f"{quoted(time)}; got another one in {sheet.rows[before]}, the first of "
            f"{counted('{} such line{s}', int(twice.sum()))}. Keep one of them."
        )
    wide = table.pivot(index="time", columns="arm", values="reward")
    times = table["time"].unique()
    if stamps.instants is not None:
        table["instant"] = stamps.instants
        times = table.sort_values("instant", kind="stable")["time"].unique()
    else:
        with suppress(ValueError):  # the times are not numbers
            times = sorted(times, key=float)
    if wide.shape[0] < 2 or wide.shape[1] < 2:
        raise DataError(
            f"{sheet.path}: a long table must have at least two arms and times; got "
            f"{wide.shape[1]} arms at {wide.shape[0]} times"
        )
    return wide.reindex(index=times, columns=arms.unique())
