"""A bounded number of observations, sorted by time."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from driftpeak._core.errors import DriftpeakError
from driftpeak._core.types import Vector
from driftpeak.live._model.gp import PaddedObservations
from driftpeak.live._space.records import Arrays, Sample

SIZES = (128, 256, 384, 512, 1024, 2048)  # array lengths for which programs are compiled
ARRAYS = {
    "rows": "rows",
    "rewards": "rewards",
    "times": "times",
    "rejected": "doubted",
    "noise": "noise",
    "trials": "trials",
}
"""Names of the arrays of a `Memory`, and their stored names."""


def places(
    rows: Vector,
    times: Vector,
    size: int,
    weights: Vector | None = None,
    noise: Vector | None = None,
) -> PaddedObservations:
    """Return rows and times padded to `size` places.

    Arguments:
        rows, times: the observations.
        size: number of places.
        weights: weights; 1 if not given.
        noise: noise variances, 0 where unknown; unknown everywhere if not given.
    """
    return PaddedObservations(
        pad(rows, size),
        pad(times, size),
        pad(np.ones(len(rows)) if weights is None else weights, size),
        pad(np.zeros(len(rows)) if noise is None else noise, size),
    )


def pad(values: np.ndarray, size: int) -> np.ndarray:
    """Return values padded with zeros to `size` places along the first axis."""
    # `numpy.pad` takes ten times as long
    padded = np.zeros((size, *values.shape[1:]), values.dtype)
    padded[: len(values)] = values
    return padded


def size_for(count: int, *others: int) -> int:
    """Return the smallest size in `SIZES` or `others` that holds `count` observations."""
    return min(size for size in (*SIZES, *others) if size >= count)


def in_blocks(compute: Callable[[Vector], Any], rows: Vector, sizes: Sequence[int]) -> Vector:
    """Return the values of a compiled function for any number of rows.

    Arguments:
        compute: function of a block of rows; the last axis of its values belongs to the rows.
        rows: shape `(m, d)`.
        sizes: numbers of rows for which a program is compiled, increasing.

    Returns:
        Values of shape `(..., m)`.
    """
    size = next((size for size in sizes if size >= len(rows)), sizes[-1])
    values = []
    for start in range(0, max(len(rows), 1), size):
        some = rows[start : start + size]
        values.append(np.asarray(compute(pad(some, size)))[..., : len(some)])
    return np.concatenate(values, axis=-1)


class Memory:
    """Up to `capacity` observations, sorted by time.

    Attributes:
        capacity: largest number of observations.
        rows, rewards, times: the observations.
        rejected: whether each observation is rejected as an outlier.
        noise: standard deviation of each observation's noise in units of the rewards; 0 if unknown.
        trials: number of measurements that each observation averages.
    """

    rows: np.ndarray
    rewards: np.ndarray
    times: np.ndarray
    rejected: np.ndarray
    noise: np.ndarray
    trials: np.ndarray

    def __init__(self, capacity: int, dimension: int) -> None:
        self.capacity = capacity
        for name in ARRAYS:
            setattr(self, name, np.zeros(0, bool if name == "rejected" else float))
        self.rows = np.zeros((0, dimension))

    def __len__(self) -> int:
        return len(self.times)

    @property
    def size(self) -> int:
        """Array length to compute with."""
        return size_for(len(self), self.capacity)

    def save(self) -> Arrays:
        """Return the arrays by their stored names."""
        return {stored: getattr(self, name) for name, stored in ARRAYS.items()}

    def load(self, stored: Arrays) -> None:
        """Replace all observations by those that `save` returned.

        Raises:
            DriftpeakError: a shape, type or value is invalid.
            LookupError: an array is missing.
        """
        count = len(stored["times"])
        stored = {"trials": np.ones(count)} | stored  # older snapshots lack trials
        new = {name: stored[of] for name, of in ARRAYS.items()}
        if (
            count > self.capacity
            or any(array.shape != (count, *vars(self)[n].shape[1:]) for n, array in new.items())
            or any(array.dtype.kind != vars(self)[n].dtype.kind for n, array in new.items())
            or not all(np.isfinite(array).all() for array in new.values())
            or (np.abs(new["rows"]) > 1 + 1e-9).any()  # below 0 with a schedule
            or (np.diff(new["times"]) < 0).any()
            or (new["noise"] < 0).any()
            or (new["trials"] < 1).any()
        ):
            raise DriftpeakError(
                "the snapshot must hold valid arrays of observations; got invalid shapes, types or "
                "values"
            )
        vars(self).update(new)

    def insert(self, row: Vector, reward: float, sample: Sample) -> int:
        """Insert an observation after all of the same time, and return its index."""
        place = int(np.searchsorted(self.times, sample.time, side="right"))
        values = row, reward, sample.time, False, sample.noise or 0.0, sample.trials or 1.0
        for name, value in zip(ARRAYS, values, strict=True):
            setattr(self, name, _with(getattr(self, name), place, value))
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
        for name in ARRAYS:
            setattr(self, name, getattr(self, name)[which])


def _with(values: Any, place: int, value: Any) -> Any:
    """Insert a value like `np.insert`, which takes five times as long for small arrays."""
    longer = np.empty((len(values) + 1, *values.shape[1:]), values.dtype)
    longer[:place], longer[place], longer[place + 1 :] = values[:place], value, values[place:]
    return longer
