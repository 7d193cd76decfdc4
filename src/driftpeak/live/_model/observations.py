"""A bounded number of observations, sorted by time."""

from typing import Any

import numpy as np

from driftpeak._core.errors import DriftpeakError
from driftpeak._core.types import Vector
from driftpeak.live._model.gp import PaddedObservations

SIZES = (32, 128, 256, 512, 1024, 2048)  # array lengths for which programs are compiled


def places(
    rows: Vector,
    times: Vector,
    size: int,
    worth: Vector | None = None,
    noise: Vector | None = None,
) -> PaddedObservations:
    """Return rows and times padded to `size` places.

    Arguments:
        rows, times: the observations.
        size: number of places.
        worth: weights; 1 if not given.
        noise: noise variances, 0 where unknown; unknown everywhere if not given.
    """
    free = size - len(rows)
    return PaddedObservations(
        np.pad(rows, ((0, free), (0, 0))),
        np.pad(times, (0, free)),
        pad(np.ones(len(rows)) if worth is None else worth, size),
        pad(np.zeros(len(rows)) if noise is None else noise, size),
    )


def pad(values: Vector, size: int) -> Vector:
    """Return values padded with zeros to `size` places."""
    return np.pad(values, (0, size - len(values)))


def size_for(count: int, *others: int) -> int:
    """Return the smallest size in `SIZES` or `others` that holds `count` observations."""
    return min(size for size in (*SIZES, *others) if size >= count)


class Memory:
    """Up to `capacity` observations, sorted by time.

    Attributes:
        capacity: largest number of observations.
        rows, rewards, times: the observations.
        rejected: whether each observation is rejected as an outlier.
        noise: standard deviation of each observation's noise in units of the rewards; 0 if unknown.
        trials: number of measurements that each observation averages.
    """

    def __init__(self, capacity: int, dimension: int) -> None:
        self.capacity = capacity
        self.rows = np.zeros((0, dimension))
        self.rewards = np.zeros(0)
        self.times = np.zeros(0)
        self.rejected = np.zeros(0, bool)
        self.noise = np.zeros(0)
        self.trials = np.zeros(0)

    def __len__(self) -> int:
        return len(self.times)

    @property
    def size(self) -> int:
        """Array length to compute with."""
        return size_for(len(self), self.capacity)

    def load(
        self, rows: Any, rewards: Any, times: Any, rejected: Any, noise: Any, trials: Any
    ) -> None:
        """Replace all observations.

        Raises:
            DriftpeakError: a shape, type or value is invalid.
        """
        count = len(times)
        shapes = ((count, self.rows.shape[1]), *[(count,)] * 5)
        arrays = (rows, rewards, times, rejected, noise, trials)
        kinds = "fffbff"
        if (
            count > self.capacity
            or any(array.shape != shape for array, shape in zip(arrays, shapes, strict=True))
            or any(array.dtype.kind != kind for array, kind in zip(arrays, kinds, strict=True))
            or not all(np.isfinite(array).all() for array in arrays)
            or (np.abs(rows - 0.5) > 0.5 + 1e-9).any()
            or (np.diff(times) < 0).any()
            or (noise < 0).any()
            or (trials < 1).any()
        ):
            raise DriftpeakError(
                "the snapshot must hold valid arrays of observations; got invalid shapes, types or "
                "values"
            )
        self.rows, self.rewards, self.times = rows, rewards, times
        self.rejected, self.noise, self.trials = rejected, noise, trials

    def insert(
        self, row: Vector, reward: float, time: float, noise: float | None, trials: int | None
    ) -> int:
        """Insert an observation after all of the same time, and return its index."""
        place = int(np.searchsorted(self.times, time, side="right"))
        self.rows = _with(self.rows, place, row)
        self.rewards = _with(self.rewards, place, reward)
        self.times = _with(self.times, place, time)
        self.rejected = _with(self.rejected, place, False)
        self.noise = _with(self.noise, place, noise or 0.0)
        self.trials = _with(self.trials, place, trials or 1.0)
        return place

    def reject(self, which: list[list[float]]) -> None:
        """Reject the observations with these times and rewards, and accept all others.

        Indices are not used, because other processes may have inserted observations.
        """
        self.rejected = np.zeros(len(self), bool)
        for time, reward in which:
            self.rejected = self.rejected | ((self.times == time) & (self.rewards == reward))

    def keep(self, which: Any) -> None:
        """Delete all observations except some."""
        self.rows, self.rewards = self.rows[which], self.rewards[which]
        self.times, self.rejected = self.times[which], self.rejected[which]
        self.noise, self.trials = self.noise[which], self.trials[which]


def _with(values: Any, place: int, value: Any) -> Any:
    """Insert a value like `np.insert`, which takes five times as long for small arrays."""
    longer = np.empty((len(values) + 1, *values.shape[1:]), values.dtype)
    longer[:place], longer[place], longer[place + 1 :] = values[:place], value, values[place:]
    return longer
