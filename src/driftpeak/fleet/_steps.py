"""The newest steps of each member, among which a late observation is inserted."""

from typing import Any

import numpy as np

from driftpeak._core.types import Integers, Vector
from driftpeak.fleet._programs import TELL
from driftpeak.fleet._rows import Rows, resize


class Steps:
    """The steps of each member since its oldest stored state, in the order of time.

    A member has at most twice `late` steps. With `late` steps its state is stored a second time;
    with twice as many the older stored state is replaced by the newer, and the first half of the
    steps is dropped. A late observation therefore has a place among at least `late` steps.

    Attributes:
        counts: number of steps of each member, shape `(m,)`.
        latest: time of the newest step, minus infinity if there is none.
        reach: time of the newest dropped step; an earlier observation has no place.
    """

    def __init__(self, late: int) -> None:
        self.late = late
        self.kinds = np.zeros((0, 2 * late), np.int8)
        self.arms = np.zeros((0, 2 * late), np.int32)
        self.rewards = np.zeros((0, 2 * late))
        self.times = np.zeros((0, 2 * late))
        self.counts = np.zeros(0, np.int32)
        self.latest = np.zeros(0)
        self.reach = np.zeros(0)

    def resize(self, members: int) -> None:
        """Make room for members; new rows are empty."""
        names = ("kinds", "arms", "rewards", "times", "counts", "latest", "reach")
        resize(self, names, members)

    def clear(self, rows: Rows) -> None:
        """Delete the steps of members."""
        self.counts[rows] = 0
        self.latest[rows] = self.reach[rows] = -np.inf

    def append(self, rows: Rows, kind: int, arms: Any, rewards: Any, times: Vector) -> None:
        """Append one step to each of some members, not earlier than their latest."""
        place = self.counts[rows]
        self.kinds[rows, place] = kind
        self.arms[rows, place] = arms
        self.rewards[rows, place] = rewards
        self.times[rows, place] = times
        self.counts[rows] = place + 1
        self.latest[rows] = times

    def insert(self, rows: Rows, arms: Integers, rewards: Vector, times: Vector) -> Integers:
        """Insert one observation of each of some members at its time, and return its places."""
        counts = self.counts[rows]
        columns = np.arange(2 * self.late)
        present = columns < counts[:, None]
        places = ((self.times[rows] <= times[:, None]) & present).sum(axis=1)
        # every step from the place on moves by one; the last column is free
        source = columns - (columns > places[:, None])
        new = columns == places[:, None]
        values = ((self.kinds, TELL), (self.arms, arms), (self.rewards, rewards),
                  (self.times, times))  # fmt: skip
        for array, value in values:
            moved = np.take_along_axis(array[rows], source, axis=1)
            column = value if isinstance(value, int) else value[:, None]
            array[rows] = np.where(new, column, moved)
        self.counts[rows] = counts + 1
        self.latest[rows] = np.maximum(self.latest[rows], times)
        return places

    def drop_half(self, rows: Rows) -> None:
        """Drop the older half of the steps of members that have twice `late` of them."""
        self.reach[rows] = self.times[rows, self.late - 1]
        for array in (self.kinds, self.arms, self.rewards, self.times):
            array[rows, : self.late] = array[rows, self.late :]
        self.counts[rows] = self.late

    def part(self, rows: Rows, first: int) -> tuple[Any, ...]:
        """Return kinds, arms, rewards and times of `late` steps of members from a place on."""
        some = slice(first, first + self.late)
        return (
            self.kinds[rows, some].astype(np.int32),
            self.arms[rows, some],
            self.rewards[rows, some],
            self.times[rows, some],
        )
