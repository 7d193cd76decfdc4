"""The members of a fleet: their ids, rows, serial numbers and sets of arms."""

from typing import Any

import numpy as np
import pandas as pd

from driftpeak._core.errors import DriftpeakError, shown, whole
from driftpeak._core.types import Integers
from driftpeak.fleet import _columns as columns
from driftpeak.fleet._rows import Rows, resize

MOST = 2**31 - 1
"""Largest number of members that were ever added to a fleet."""


class Members:
    """Ids of members, and the rows of their states.

    A row is used again after its member is removed; a serial number never is.

    Attributes:
        index: the ids in the order in which they were added.
        rows: their rows.
        serials: serial number by row; -1 for free rows.
        resets: number of resets by row.
        groups: number of the group of each member by row.
        arms: arms that each member has, by row, shape `(rows, n)`; None if all have all arms.
    """

    def __init__(self, points: int) -> None:
        self.points = points
        self.index: Any = pd.Index([])
        self.rows: Rows = np.zeros(0, np.intp)
        self.serials = np.zeros(0, np.int64)
        self.resets = np.zeros(0, np.int64)
        self.groups = np.zeros(0, np.int64)
        self.arms: Any = None
        self._row_of_serial = np.zeros(0, np.int64)

    def __len__(self) -> int:
        return len(self.index)

    @property
    def room(self) -> int:
        """Number of rows."""
        return len(self.serials)

    def find(self, members: Any) -> tuple[np.ndarray[Any, np.dtype[Any]], Rows]:
        """Return ids and rows of distinct members; all of them if None.

        Raises:
            DriftpeakError: an unknown member, or a member given twice.
        """
        if members is None:
            return self.index.to_numpy(), self.rows
        ids, rows = self.find_repeated(members)
        if len(np.unique(rows)) < len(rows):
            twice = pd.Index(ids)[pd.Index(ids).duplicated()][0]
            raise DriftpeakError(f"members must be distinct; got {shown(twice)} more than once")
        return ids, rows

    def find_repeated(self, members: Any) -> tuple[np.ndarray[Any, np.dtype[Any]], Rows]:
        """Return ids and rows of members, which may repeat.

        Raises:
            DriftpeakError: an unknown member.
        """
        ids = member_ids(members)
        same = (ids.dtype.kind == "i") == (self.index.dtype.kind == "i")
        places = self.index.get_indexer(ids) if same else np.full(len(ids), -1)
        unknown = np.flatnonzero(places < 0)
        if len(unknown):
            raise DriftpeakError(
                f"members must be members of the fleet; got {shown(ids[unknown[0]])} "
                f"({len(unknown):,} of {len(ids):,} are unknown). Add them with add()"
            )
        return ids, self.rows[places]

    def check_new(self, ids: np.ndarray[Any, np.dtype[Any]], arms: Any) -> Any:
        """Return the arms of new members as a mask, or None, after checks.

        Raises:
            DriftpeakError: an id is given twice or exists, or a member has fewer than one arm.
        """
        index = pd.Index(ids)
        if len(index) and index.has_duplicates:
            twice = index[index.duplicated()][0]
            raise DriftpeakError(f"members must be distinct; got {shown(twice)} more than once")
        if len(self) and len(ids):
            if (ids.dtype.kind == "i") != (self.index.dtype.kind == "i"):
                raise DriftpeakError(
                    "members must be all integers or all strings, as the members of the fleet; got "
                    f"{shown(ids[0])}"
                )
            there = self.index.get_indexer(index) >= 0
            if there.any():
                raise DriftpeakError(
                    f"members must be new; got {shown(ids[np.argmax(there)])}, which exists"
                )
        if self.next_serial + len(ids) > MOST:
            raise DriftpeakError(f"a fleet must have at most {MOST:,} members in all")
        return None if arms is None else arm_mask(arms, len(ids), self.points)

    @property
    def next_serial(self) -> int:
        """The serial number of the next member."""
        return len(self._row_of_serial)

    def add(
        self,
        ids: np.ndarray[Any, np.dtype[Any]],
        mask: Any,
        groups: Any = 0,
        serials: Integers | None = None,
    ) -> Rows:
        """Add checked members, and return their rows.

        Arguments:
            ids: ids of the members.
            mask: the arms of each, or None.
            groups: number of the group of each.
            serials: increasing serial numbers from `next_serial` on; consecutive ones by default.
        """
        first = self.next_serial
        numbers = np.arange(first, first + len(ids)) if serials is None else serials
        free = np.flatnonzero(self.serials < 0)
        missing = len(ids) - len(free)
        if missing > 0:
            self._grow(self.room + max(missing, min(self.room // 2, 10_000)))
            free = np.flatnonzero(self.serials < 0)
        rows = free[: len(ids)]
        self.serials[rows] = numbers
        self.resets[rows], self.groups[rows] = 0, groups
        rows_of_new = np.full(int(numbers[-1]) + 1 - first if len(ids) else 0, -2)
        rows_of_new[numbers - first] = rows
        self._row_of_serial = np.concatenate([self._row_of_serial, rows_of_new])
        if mask is not None and self.arms is None:
            self.arms = np.ones((self.room, self.points), bool)
        if self.arms is not None:
            self.arms[rows] = True if mask is None else mask
        self.index = pd.Index(ids) if not len(self) else self.index.append(pd.Index(ids))
        self.rows = np.concatenate([self.rows, rows])
        return rows

    def reserve(self, serials: int) -> None:
        """Use only serial numbers from this one on; those below are of removed members."""
        fewer = max(serials - self.next_serial, 0)
        self._row_of_serial = np.concatenate([self._row_of_serial, np.full(fewer, -1)])

    def remove(self, rows: Rows) -> None:
        """Remove members."""
        self._row_of_serial[self.serials[rows]] = -1
        self.serials[rows] = -1
        kept = self.serials[self.rows] >= 0
        self.index, self.rows = self.index[kept], self.rows[kept]

    def rows_of(self, serials: Integers) -> Integers:
        """Return the rows of members; -1 for removed members, -2 for numbers never used."""
        known = (serials >= 0) & (serials < len(self._row_of_serial))
        if not len(self._row_of_serial):
            return np.full(len(serials), -2)
        return np.where(known, self._row_of_serial[np.where(known, serials, 0)], -2)

    def _grow(self, room: int) -> None:
        resize(self, ("serials",), room, fill=-1)
        resize(self, ("resets", "groups"), room)
        if self.arms is not None:
            resize(self, ("arms",), room, fill=True)


def member_ids(members: Any) -> np.ndarray[Any, np.dtype[Any]]:
    """Return ids of members as an array of integers or of strings (dtype object).

    Raises:
        DriftpeakError: other values.
    """
    if whole(members) or isinstance(members, str):
        members = [members]
    ids = columns.array("members", members)
    if ids.dtype.kind in "iu":
        return columns.integers("members", ids)
    if ids.dtype.kind in "UOT" and all(isinstance(x, str) for x in ids):
        return ids.astype(object)
    if not len(ids):
        return ids.astype(np.int64)
    raise DriftpeakError(f"members must be integers or strings; got {shown(ids.tolist())}")


def arm_mask(arms: Any, members: int, points: int) -> Any:
    """Return sets of arms as a mask of shape `(members, n)`.

    Raises:
        DriftpeakError: another shape, or a member without arms.
    """
    try:
        mask = np.asarray(arms)
    except ValueError:
        raise DriftpeakError(
            f"arms must be booleans of shape ({members}, {points}); got rows of different lengths"
        ) from None
    if mask.dtype != bool or mask.shape != (members, points):
        raise DriftpeakError(
            f"arms must be booleans of shape ({members}, {points}), one row for each member; got "
            f"{mask.dtype} of shape {mask.shape}"
        )
    if not mask.any(axis=1).all():
        place = int(np.argmin(mask.any(axis=1)))
        raise DriftpeakError(f"a member must have at least one arm; got none in row {place}")
    return mask
