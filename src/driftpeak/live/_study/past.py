"""Tables of past settings and observations, as arguments of `tell`."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from driftpeak._core.errors import DriftpeakError, shown, warn

OWN = ("suggestion", "status", "time", "reward", "expected", "expected_deviation")
"""Names of the columns that are not parameters."""
OPTIONAL = ("noise", "trials", "key")


def observations_of(
    table: Any, names: Sequence[str], context: Sequence[str], limits: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the arguments of `tell` for each row with a reward, sorted by time.

    Arguments:
        table: a pandas data frame, or a list of mappings.
        names: names of the parameters.
        context: names of the context variables.
        limits: names of the measured quantities.

    Raises:
        DriftpeakError: the table has another type, no rows, or no rewards; a column is missing; its
            times cannot be compared.

    Warns:
        DriftpeakWarning: rows without a reward, or columns that are not used.
    """
    rows = _rows(table)
    headings = {name: heading(name, names) for name in names}
    headings |= {name: heading(name, (*names, *context)) for name in context}
    headings |= {name: heading(name, (*names, *limits)) for name in limits}
    _check_columns(rows, ["reward", *(headings[name] for name in (*context, *limits))], headings)
    observations, blank = [], []
    for number, row in enumerate(rows, start=1):
        if _is_missing(row.get("reward")):
            blank.append(number)
            continue
        given: dict[str, Any] = {
            "row": number,
            "suggestion": _chosen(row, headings, names),
            "reward": _plain(row["reward"]),
            "time": _optional(row, "time"),
            **{name: _optional(row, name) for name in OPTIONAL},
        }
        if context:
            given["context"] = _chosen(row, headings, context)
        if limits:
            given["constraints"] = {name: _optional(row, headings[name]) for name in limits}
        observations.append(given)
    if not observations:
        raise DriftpeakError(f"the table must have rewards; got {len(rows)} rows without a reward")
    if blank:
        warn(f"{len(blank)} rows without a reward are left out, the first is row {blank[0]}")
    timed = [one["time"] is not None for one in observations]
    if any(timed) and not all(timed):
        first = observations[timed.index(False)]["row"]
        raise DriftpeakError(f"row {first}: time must be given, as other rows have one")
    try:
        return sorted(observations, key=lambda one: one["time"]) if all(timed) else observations
    except TypeError:
        raise DriftpeakError(
            "times of a table must be all numbers, all dates with a time zone, or all dates "
            "without one"
        ) from None


def heading(name: str, names: Sequence[str]) -> str:
    """Return the column name of a parameter; prefixed if the table has this column already."""
    if name not in OWN:
        return name
    heading = f"parameter_{name}"
    while heading in names:
        heading = f"parameter_{heading}"
    return heading


def _rows(table: Any) -> list[Mapping[str, Any]]:
    """Return the rows of a table as mappings."""
    if hasattr(table, "to_dict") and hasattr(table, "columns"):
        table = table.to_dict("records")
    if not isinstance(table, Sequence) or not all(isinstance(row, Mapping) for row in table):
        raise DriftpeakError(
            f"table must be a data frame or a list of mappings; got {shown(table)}"
        )
    if not table:
        raise DriftpeakError("table must have at least one row; got none")
    return list(table)


def _check_columns(
    rows: Sequence[Mapping[str, Any]], needed: Sequence[str], headings: Mapping[str, str]
) -> None:
    columns = dict.fromkeys(str(name) for row in rows for name in row)
    for name in needed:
        if name not in columns:
            raise DriftpeakError(
                f"table must have a column {shown(name)}; got {', '.join(columns)}. Leave its "
                "cells blank where nothing was measured"
            )
    known = {*headings.values(), *OWN, *OPTIONAL}
    if others := [name for name in columns if name not in known]:
        warn(f"columns of the table that are not used: {', '.join(others)}")


def _chosen(
    row: Mapping[str, Any], headings: Mapping[str, str], names: Sequence[str]
) -> dict[str, Any]:
    """Return the values of a row by name; parameters with a blank cell are inactive."""
    values = {name: row[headings[name]] for name in names if headings[name] in row}
    return {
        k: _plain(value) for k, value in values.items() if value is None or not _is_missing(value)
    }


def _optional(row: Mapping[str, Any], name: str) -> Any:
    value = row.get(name)
    return None if _is_missing(value) else _plain(value)


def _is_missing(value: Any) -> bool:
    """Return whether a cell is None, NaN, NA or NaT."""
    if value is None or value == "":
        return True
    unequal = value != value  # NA is neither equal nor unequal to itself
    return not isinstance(unequal, bool | np.bool_) or bool(unequal)


def _plain(value: Any) -> Any:
    """Return a Python value; whole numbers are integers, which are also valid real numbers."""
    if isinstance(value, np.generic) and not isinstance(value, np.datetime64):
        value = value.item()
    return int(value) if isinstance(value, float) and value.is_integer() else value
