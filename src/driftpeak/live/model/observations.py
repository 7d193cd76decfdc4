"""A bounded number of observations in the order of their times, whatever the order of arrival."""

from typing import Any

import numpy as np

from driftpeak._core.errors import DriftpeakError
from driftpeak._core.types import Vector
from driftpeak.live.model.gp import Places

SIZES = (32, 128, 256, 512, 1024, 2048)  # numbers of places for which programs are compiled


def places(
    rows: Vector,
    times: Vector,
    size: int,
    worth: Vector | None = None,
    noise: Vector | None = None,
) -> Places:
    """Rows and times in `size` places.

    Each counts in full, if its worth is not given; its noise is to be learned, if it is not known.
    """
    free = size - len(rows)
    return Places(
        np.pad(rows, ((0, free), (0, 0))),
        np.pad(times, (0, free)),
        pad(np.ones(len(rows)) if worth is None else worth, size),
        pad(np.zeros(len(rows)) if noise is None else noise, size),
    )


def pad(values: Vector, size: int) -> Vector:
    """Values in `size` places, 0 where there are none."""
    return np.pad(values, (0, size - len(values)))


def size_for(count: int, *others: int) -> int:
    """How many places to compute with, for `count` observations: of `SIZES` or of some others."""
    return min(size for size in (*SIZES, *others) if size >= count)


class Memory:
    """Rows, rewards and times of up to `capacity` observations, and which are not believed.

    And the standard deviations of their noise, in units of the rewards, 0 where it is not known;
    and of how many measurements each is the mean.
    """

    def __init__(self, capacity: int, dimension: int) -> None:
        self.capacity = capacity
        self.rows = np.zeros((0, dimension))
        self.rewards = np.zeros(0)
        self.times = np.zeros(0)
        self.doubted = np.zeros(0, bool)
        self.noise = np.zeros(0)
        self.trials = np.zeros(0)

    def __len__(self) -> int:
        return len(self.times)

    @property
    def size(self) -> int:
        """How many places to compute with."""
        return size_for(len(self), self.capacity)

    def load(
        self, rows: Any, rewards: Any, times: Any, doubted: Any, noise: Any, trials: Any
    ) -> None:
        """Hold these instead.

        Raises:
            DriftpeakError: arrays that cannot be those of a memory.
        """
        count = len(times)
        shapes = ((count, self.rows.shape[1]), *[(count,)] * 5)
        found = (rows, rewards, times, doubted, noise, trials)
        kinds = "fffbff"
        if (
            count > self.capacity
            or any(one.shape != shape for one, shape in zip(found, shapes, strict=True))
            or any(one.dtype.kind != kind for one, kind in zip(found, kinds, strict=True))
            or not all(np.isfinite(one).all() for one in found)
            or (np.abs(rows - 0.5) > 0.5 + 1e-9).any()
            or (np.diff(times) < 0).any()
            or (noise < 0).any()
            or (trials < 1).any()
        ):
            raise DriftpeakError("these arrays are no observations")
        self.rows, self.rewards, self.times = rows, rewards, times
        self.doubted, self.noise, self.trials = doubted, noise, trials

    def insert(
        self, row: Vector, reward: float, time: float, noise: float | None, trials: int | None
    ) -> int:
        """One more observation, believed, after those of the same time; its place."""
        place = int(np.searchsorted(self.times, time, side="right"))
        self.rows = _with(self.rows, place, row)
        self.rewards = _with(self.rewards, place, reward)
        self.times = _with(self.times, place, time)
        self.doubted = _with(self.doubted, place, False)
        self.noise = _with(self.noise, place, noise or 0.0)
        self.trials = _with(self.trials, place, trials or 1.0)
        return place

    def doubt(self, which: list[list[float]]) -> None:
        """Believe all but the observations with these times and rewards.

        Not by their places: other processes may have told something in between.
        """
        self.doubted = np.zeros(len(self), bool)
        for time, reward in which:
            self.doubted = self.doubted | ((self.times == time) & (self.rewards == reward))

    def keep(self, which: Any) -> None:
        """Drop all but some observations."""
        self.rows, self.rewards = self.rows[which], self.rewards[which]
        self.times, self.doubted = self.times[which], self.doubted[which]
        self.noise, self.trials = self.noise[which], self.trials[which]


def _with(values: Any, place: int, one: Any) -> Any:
    """As `np.insert`, which takes five times as long for so little."""
    found = np.empty((len(values) + 1, *values.shape[1:]), values.dtype)
    found[:place], found[place], found[place + 1 :] = values[:place], one, values[place:]
    return found
