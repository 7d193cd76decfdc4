"""Coding of choices and contexts as columns in [0, 1]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from driftpeak._core.errors import DriftpeakError, nearest, shown
from driftpeak._core.types import Matrix, Vector
from driftpeak.offline.data._reading.messages import listed
from driftpeak.offline.logs._arms import as_text
from driftpeak.offline.logs._log import ChoiceLog

Values = Sequence[float | str]


@dataclass(frozen=True, eq=False)
class Column:
    """The coding of a column: numbers are scaled by their range, names are numbered."""

    names: tuple[str, ...]  # empty for numbers
    low: float
    width: float

    @staticmethod
    def of(values: Values) -> Column:
        """Return the coding of some values."""
        if isinstance(values[0], str):
            return Column(tuple(sorted(set(map(str, values)))), 0.0, 1.0)
        low, high = min(map(float, values)), max(map(float, values))
        return Column((), low, (high - low) or 1.0)

    def code(self, values: Values) -> Vector:
        """Return the codes of some values; different names have different codes."""
        if self.names:
            place = {name: float(number) for number, name in enumerate(self.names)}
            return np.array([place[str(value)] for value in values])
        return (np.array(values, float) - self.low) / self.width


class Coding:
    """The columns of a log: the choice, then the contexts by name.

    Attributes:
        unordered: whether each column has names, shape `(d,)`.
    """

    def __init__(self, log: ChoiceLog) -> None:
        self.log = log
        self.columns = [Column.of(values) for values in (log.choices, *log.contexts.values())]
        self.unordered = np.array([bool(column.names) for column in self.columns])

    def rows(self, choices: Values, context: Mapping[str, float | str] | None = None) -> Matrix:
        """Return the rows of choices, in one context or, without one, in the contexts of the log.

        Shape `(m, d)`.
        """
        codes = [self.columns[0].code(choices)]
        for column, (name, values) in zip(self.columns[1:], self.log.contexts.items(), strict=True):
            there = values if context is None else [context[name]] * len(choices)
            codes.append(column.code(there))
        return np.stack(codes, axis=1)

    def last_context(self) -> dict[str, float | str]:
        """Return the context of the last step."""
        return {name: values[-1] for name, values in self.log.contexts.items()}

    def checked_context(self, given: Mapping[str, float | str]) -> dict[str, float | str]:
        """Return a context with the types of the log's.

        Raises:
            DriftpeakError: a context is missing or unknown, or its value does not occur in the log.
        """
        names = tuple(self.log.contexts)
        for name in given:
            if name not in names:
                raise DriftpeakError(
                    f"next_context must have the contexts {listed(names) or '(none)'}; got "
                    f"{shown(name)}.{nearest(name, names)} Name its column with context=."
                )
        context: dict[str, float | str] = {}
        for name, column in zip(names, self.columns[1:], strict=True):
            if name not in given:
                raise DriftpeakError(
                    f"next_context must have a value for {name}; got none. Give every context."
                )
            value = given[name]
            if not column.names:
                try:
                    context[name] = float(value)
                    if np.isfinite(context[name]):
                        continue
                except ValueError:
                    pass
                raise DriftpeakError(
                    f"next_context must have a number for {name}; got {shown(value)}. The log has "
                    f"numbers from {column.low:g} to {column.low + column.width:g}."
                )
            if value not in column.names:
                raise DriftpeakError(
                    f"next_context must have a value of the log for {name}; got {shown(value)}."
                    f"{nearest(str(value), column.names)} The log has {listed(column.names, 12)}."
                )
            context[name] = value
        return context


def context_as_text(context: Mapping[str, float | str]) -> str:
    """Return a context as text, such as "weekday=Mo, load=0.5"."""
    return ", ".join(f"{name}={as_text(value)}" for name, value in context.items())
