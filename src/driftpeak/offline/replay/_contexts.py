"""The contexts of a table, from its context columns; numbers with many values become ranges."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from driftpeak._core.errors import DriftpeakError, nearest, shown
from driftpeak.gp.context_points import Contexts
from driftpeak.offline.data import RewardTable

MOST_VALUES = 12
RANGES = 6
"""Number of ranges of a column with more than `MOST_VALUES` different numbers. All have about
the same number of training rows."""


def contexts_of(
    table: RewardTable, first: int, next_context: Mapping[str, Any] | None = None
) -> tuple[Contexts | None, list[str]]:
    """Return the contexts of all rows, and descriptions of ranges; None for a table without any.

    Arguments:
        table: the table.
        first: the number of training rows, which determine the ranges.
        next_context: the context of the row after the last.

    Raises:
        DriftpeakError: there is a next context for a table without contexts, or it has other names
            or types.
    """
    if not table.contexts:
        if next_context:
            raise DriftpeakError(
                "next_context needs a table with contexts; name the columns by context_columns="
            )
        return None, []
    if next_context is not None:
        _check_names(next_context, table.contexts)
    columns, words = {}, []
    for name, cells in table.contexts.items():
        if next_context is not None:
            cells = (*cells, _of_kind(name, next_context[name], cells[0]))
        numbers = isinstance(cells[0], float) and len(set(cells)) > MOST_VALUES
        columns[name] = _ranged(np.array(cells, float), first) if numbers else cells
        if numbers:
            count = len(set(columns[name]))
            words.append(f"{name} has {count} ranges with about equal numbers of training rows")
    values = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return Contexts(values), words


def _check_names(given: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    if not isinstance(given, Mapping):
        raise DriftpeakError(
            f"next_context must be a mapping of names to values; got {shown(given)}"
        )
    for name in given:
        if name not in known:
            raise DriftpeakError(
                f"next_context must have the names {', '.join(known)}; got "
                f"{shown(name)}.{nearest(str(name), known)}"
            )
    if missing := [name for name in known if name not in given]:
        raise DriftpeakError(
            f"next_context must have all contexts; {', '.join(missing)} is missing"
        )


def _of_kind(name: str, value: Any, example: float | str) -> float | str:
    """Convert a value to the type of the column."""
    if isinstance(example, str):
        return str(value).strip()
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if not abs(number) <= 1e100:
        raise DriftpeakError(
            f"next_context: {name} must be a finite number, as in the table; got {shown(value)}"
        )
    return number


def _ranged(values: np.ndarray[Any, np.dtype[np.float64]], first: int) -> tuple[str, ...]:
    """Return the range of each value as text."""
    cuts = np.unique(np.quantile(values[:first], np.arange(1, RANGES) / RANGES))
    cuts = cuts[cuts > values[:first].min()]  # the first range must have training rows
    if len(cuts) == 0:
        return ("any",) * len(values)
    names = [
        f"below {cuts[0]:.6g}",
        *(f"{low:.6g} to {high:.6g}" for low, high in pairwise(cuts)),
        f"{cuts[-1]:.6g} or more",
    ]
    return tuple(names[place] for place in np.searchsorted(cuts, values, side="right"))
