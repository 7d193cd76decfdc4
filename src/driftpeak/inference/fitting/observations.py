"""Observations: rewards of arms at times, from a table or from a run of a policy."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from attrs import frozen

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DriftpeakError, NoObservationsError, finite_array
from driftpeak._core.types import Integers, Vector


@frozen(eq=False, init=False)
class Observations:
    """Rewards observed in one series; several series are independent of each other.

    Arguments:
        arms: indices of points, shape `(N,)`.
        times: non-decreasing, shape `(N,)`; several observations may have one time.
        rewards: shape `(N,)`.

    Raises:
        NoObservationsError: no observations.
        DriftpeakError: different lengths, numbers that are not finite, arms that are not whole
            numbers of at least 0, or times that decrease.
    """

    arms: Integers
    times: Vector
    rewards: Vector

    @checked
    def __init__(self, arms: Any, times: Any, rewards: Any) -> None:
        numbers = finite_array("arms", arms, 1)
        instants = finite_array("times", times, 1)
        values = finite_array("rewards", rewards, 1)
        if not len(numbers) == len(instants) == len(values):
            raise DriftpeakError(
                "arms, times and rewards must have equal lengths; got "
                f"{len(numbers)}, {len(instants)} and {len(values)}"
            )
        if len(numbers) == 0:
            raise NoObservationsError("arms must have at least one observation; got none")
        if (numbers != np.floor(numbers)).any() or (numbers < 0).any():
            raise DriftpeakError("arms must be indices of points, integers of at least 0")
        if (np.diff(instants) < 0).any():
            raise DriftpeakError("times must not decrease. Sort the observations by time")
        self.__attrs_init__(numbers.astype(np.int64), instants, values)

    def __len__(self) -> int:
        return len(self.arms)

    @classmethod
    def from_table(cls, values: Any, times: Any = None) -> "Observations":
        """Return observations from a table, shape `(steps, arms)`, NaN where nothing was observed.

        The times are 1, 2, ... by default.

        Raises:
            DriftpeakError: not a table, infinite values, or not one time for each row.
        """
        table = np.asarray(values)
        if table.ndim != 2 or table.dtype.kind not in "iuf" or np.isinf(table).any():
            raise DriftpeakError(
                "a table of observations must be a 2-dimensional array of numbers, NaN where "
                f"nothing was observed; got shape {table.shape}, type {table.dtype}"
            )
        steps = np.arange(1.0, len(table) + 1) if times is None else finite_array("times", times, 1)
        if len(steps) != len(table):
            raise DriftpeakError(f"times must be {len(table)}, one for each row; got {len(steps)}")
        rows, arms = np.nonzero(~np.isnan(table))
        return cls(arms, steps[rows], table[rows, arms])

    @classmethod
    def from_run(cls, runs: xr.Dataset, policy: str, trial: int = 0) -> "Observations":
        """Return the observations of one policy in one trial of `driftpeak.simulate`.

        Raises:
            DriftpeakError: no such policy or trial.
        """
        names = [str(name) for name in runs["policy"].values]
        if policy not in names or not 0 <= trial < runs.sizes["trial"]:
            raise DriftpeakError(
                f"policy and trial must be in the run, policies {', '.join(names)} and trials 0 to "
                f"{runs.sizes['trial'] - 1}; got policy {policy!r} and trial {trial}"
            )
        run = runs.isel(policy=names.index(policy), trial=trial)
        return cls(run["action"].values, run["time"].values, run["reward"].values)


@frozen(eq=False)
class Stretches:
    """Independent series of observations concatenated into arrays.

    Attributes:
        arms: indices into `points`.
        elapsed: time since the previous observation; 0 at the beginning of a series.
        begins: whether a series begins at this observation.
        rewards: rewards minus the prior mean.
        points: the distinct points observed, in order.
        table: rewards as rows of all `points`, if each was observed once at every time; else None.
    """

    arms: Integers
    elapsed: Vector
    begins: np.ndarray[Any, np.dtype[np.bool_]]
    rewards: Vector
    points: Integers
    table: Vector | None

    def __len__(self) -> int:
        return len(self.arms)


def lay_end_to_end(stretches: Sequence[Observations], mean: Vector) -> Stretches:
    """Concatenate independent series and determine whether they are a complete table.

    Raises:
        DriftpeakError: arms beyond the length of `mean`.
    """
    largest = max(int(series.arms.max()) for series in stretches)
    if largest >= len(mean):
        raise DriftpeakError(
            f"arms must be at most {len(mean) - 1}, for the {len(mean)} arms of the prior; got "
            f"{largest}"
        )
    # at equal times in the order of the arms, so that a complete table can be detected
    orders = [np.lexsort((series.arms, series.times)) for series in stretches]
    arms = np.concatenate(
        [series.arms[order] for series, order in zip(stretches, orders, strict=True)]
    )
    rewards = np.concatenate(
        [series.rewards[order] for series, order in zip(stretches, orders, strict=True)]
    )
    elapsed = np.concatenate(
        [np.diff(series.times, prepend=series.times[0]) for series in stretches]
    )
    begins = np.concatenate([np.arange(len(series)) == 0 for series in stretches])
    points, places = np.unique(arms, return_inverse=True)
    centred = rewards - mean[arms]
    count = len(points)
    new = begins | (elapsed > 0)
    complete = (
        len(arms) % count == 0
        and (places == np.tile(np.arange(count), len(arms) // count)).all()
        and (new == (places == 0)).all()
    )
    table = centred.reshape(-1, count) if complete else None
    return Stretches(places, elapsed, begins, centred, points, table)
