"""Pending suggestions of all members: a fixed number of places for each."""

from typing import Any

import numpy as np

from driftpeak._core.errors import UnknownSuggestionError
from driftpeak._core.types import Integers, Vector
from driftpeak.fleet._rows import Rows, resize

PLACES = 16
"""Largest number of pending suggestions of a member; a new one replaces the oldest."""
SERIAL = 32
"""An id has the member's serial number above this many bits, and below them the number of the
suggestion among the suggestions of the member."""


class Pending:
    """Points and times of pending suggestions.

    Attributes:
        asked: number of suggestions of each member so far, shape `(m,)`.
    """

    def __init__(self) -> None:
        self.asked = np.zeros(0, np.int64)
        self._number = np.full((0, PLACES), -1)  # of the suggestion, -1 for a free place
        self._points = np.zeros((0, PLACES), np.int32)
        self._times = np.zeros((0, PLACES))

    def resize(self, members: int) -> None:
        """Make room for members."""
        resize(self, ("asked", "_points", "_times"), members)
        resize(self, ("_number",), members, fill=-1)

    def clear(self, rows: Rows) -> None:
        """Delete the pending suggestions of members. Their numbers are not used again."""
        self._number[rows] = -1

    def ids(self, rows: Rows, serials: Integers) -> Integers:
        """Return the ids of the next suggestions of members."""
        return (serials.astype(np.int64) << SERIAL) | self.asked[rows]

    def add(self, rows: Rows, points: Integers, times: Vector) -> None:
        """Add one suggestion to each of distinct members."""
        places = self.asked[rows] % PLACES
        self._number[rows, places] = self.asked[rows]
        self._points[rows, places] = points
        self._times[rows, places] = times
        self.asked[rows] += 1

    def of(self, rows: Rows) -> tuple[Any, Any, Any]:
        """Return points and times in the order of time, shape `(members, places)`, and counts."""
        present = self._number[rows] >= 0
        counts = present.sum(axis=1)
        if not counts.any():
            return self.none(rows)
        order = np.argsort(np.where(present, self._times[rows], np.inf), axis=1, kind="stable")
        points = np.take_along_axis(self._points[rows], order, axis=1)
        return points, np.take_along_axis(self._times[rows], order, axis=1), counts

    def none(self, rows: Rows) -> tuple[Any, Any, Any]:
        """Return what `of` returns for members without pending suggestions."""
        shape = len(rows), PLACES
        return np.zeros(shape, np.int32), np.zeros(shape), np.zeros(len(rows), np.int64)

    def known(self, rows: Rows, numbers: Integers) -> Any:
        """Return which suggestions are pending; none are in negative rows."""
        found = np.zeros(len(rows), bool)
        there = rows >= 0
        found[there] = self._number[rows[there], numbers[there] % PLACES] == numbers[there]
        return found

    def find(self, rows: Rows, numbers: Integers) -> tuple[Integers, Vector]:
        """Return points and times of pending suggestions."""
        places = numbers % PLACES
        return self._points[rows, places].astype(np.int64), self._times[rows, places]

    def remove(self, rows: Rows, numbers: Integers) -> None:
        """Delete pending suggestions."""
        self._number[rows, numbers % PLACES] = -1

    def why_not(self, row: int, number: int, name: str) -> UnknownSuggestionError:
        """Return the error that a suggestion is not pending."""
        if number >= self.asked[row]:
            return UnknownSuggestionError(f"ids must be ids that ask() returned; got {name}")
        return UnknownSuggestionError(
            f"ids must be ids of pending suggestions; got {name}, which is already answered, or "
            f"older than a reset or than the member's newest {PLACES} suggestions. Leave it out, "
            "or set invalid='skip'"
        )


def serial_of(ids: Integers) -> Integers:
    """Return the serial numbers of the members of suggestions."""
    return ids >> SERIAL


def number_of(ids: Integers) -> Integers:
    """Return the numbers of suggestions among those of their members."""
    return ids & (2**SERIAL - 1)
