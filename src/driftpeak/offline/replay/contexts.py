"""The contexts of a table: its columns put together, numbers of many values in ranges."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from driftpeak._core.errors import DriftpeakError, nearest, shown
from driftpeak.gp.context_points import Contexts
from driftpeak.offline.data import RewardTable

MOST_VALUES = 12
RANGES = 6
"""A column with more different numbers than `MOST_VALUES` is cut into as many ranges, with about as
many of the training rows in each."""


def contexts_of(
    table: RewardTable, first: int, next_context: Mapping[str, Any] | None = None
) -> tuple[Contexts | None, list[str]]:
    """The contexts of all rows, and how they were made, in words; None for a table without any.

    Arguments:
        first: the number of training rows, which alone say where ranges begin.
        next_context: of the row after the last.

    Raises:
        DriftpeakError: a next context for a table without any, with other names, or of another
            kind.
    """
    if not table.contexts:
        if next_context:
            raise DriftpeakError(
                "next_context needs a table with contexts: name their columns, context_columns="
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
            words.append(f"{name} is cut into {count} ranges of about as many training rows each")
    said = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return Contexts(said), words


def _check_names(given: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    if not isinstance(given, Mapping):
        raise DriftpeakError(f"next_context must map names to values; got {shown(given)}")
    for name in given:
        if name not in known:
            raise DriftpeakError(
                f"next_context: the table has no context {shown(name)}; it has "
                f"{', '.join(known)}.{nearest(str(name), known)}"
            )
    if missing := [name for name in known if name not in given]:
        raise DriftpeakError(f"next_context lacks {', '.join(missing)}: give every context")


def _of_kind(name: str, value: Any, example: float | str) -> float | str:
    """A value as those of the column are."""
    if isinstance(example, str):
        return str(value).strip()
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if not abs(number) <= 1e100:
        raise DriftpeakError(
            f"next_context: {name} must be a finite number as in the table; got {shown(value)}"
        )
    return number


def _ranged(values: np.ndarray[Any, np.dtype[np.float64]], first: int) -> tuple[str, ...]:
    """The range of every value, in words."""
    cuts = np.unique(np.quantile(values[:first], np.arange(1, RANGES) / RANGES))
    cuts = cuts[cuts > values[:first].min()]  # else no training row would lie below
    if len(cuts) == 0:
        return ("any",) * len(values)
    names = [
        f"below {cuts[0]:.6g}",
        *(f"{low:.6g} to {high:.6g}" for low, high in pairwise(cuts)),
        f"{cuts[-1]:.6g} or more",
    ]
    return tuple(names[place] for place in np.searchsorted(cuts, values, side="right"))
