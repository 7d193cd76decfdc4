"""What was seen: rewards of arms at times, a table of them or a bandit's record."""

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
    """Rewards seen in one stretch of time; another stretch may be independent of it.

    Arguments:
        arms: point numbers, shape `(N,)`.
        times: non-decreasing, shape `(N,)`; several observations may share a time.
        rewards: shape `(N,)`.

    Raises:
        NoObservationsError: no observations.
        DriftpeakError: different lengths, numbers that are not finite, arms that are not whole
            numbers of at least 0, times that decrease.
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
                "arms, times and rewards must be equally many; got "
                f"{len(numbers)}, {len(instants)} and {len(values)}"
            )
        if len(numbers) == 0:
            raise NoObservationsError("there are no observations to learn from")
        if (numbers != np.floor(numbers)).any() or (numbers < 0).any():
            raise DriftpeakError("arms must be point numbers: whole, and at least 0")
        if (np.diff(instants) < 0).any():
            raise DriftpeakError("times must not decrease: sort the observations by time")
        self.__attrs_init__(numbers.astype(np.int64), instants, values)

    def __len__(self) -> int:
        return len(self.arms)

    @classmethod
    def from_table(cls, values: Any, times: Any = None) -> "Observations":
        """Of a table, shape `(steps, arms)`, NaN where nothing was seen; times 1, 2, ... if none.

        Raises:
            DriftpeakError: no such table, infinite values, another number of times than of rows.
        """
        table = np.asarray(values)
        if table.ndim != 2 or table.dtype.kind not in "iuf" or np.isinf(table).any():
            raise DriftpeakError(
                "a table of observations must be a 2-dimensional array of numbers, NaN where "
                f"nothing was seen; got shape {table.shape}, type {table.dtype}"
            )
        steps = np.arange(1.0, len(table) + 1) if times is None else finite_array("times", times, 1)
        if len(steps) != len(table):
            raise DriftpeakError(f"{len(table)} rows need as many times; got {len(steps)}")
        rows, arms = np.nonzero(~np.isnan(table))
        return cls(arms, steps[rows], table[rows, arms])

    @classmethod
    def from_run(cls, runs: xr.Dataset, policy: str, trial: int = 0) -> "Observations":
        """What one policy saw in one trial of `driftpeak.simulate`.

        Raises:
            DriftpeakError: no such policy or trial.
        """
        names = [str(name) for name in runs["policy"].values]
        if policy not in names or not 0 <= trial < runs.sizes["trial"]:
            raise DriftpeakError(
                f"the run has no policy {policy!r} with trial {trial}; policies: "
                f"{', '.join(names)}; trials: 0 to {runs.sizes['trial'] - 1}"
            )
        run = runs.isel(policy=names.index(policy), trial=trial)
        return cls(run["action"].values, run["time"].values, run["reward"].values)


@frozen(eq=False)
class Stretches:
    """Independent stretches laid end to end, as arrays.

    Attributes:
        arms: into `points`.
        elapsed: time since the observation before; 0 at a beginning.
        begins: whether a stretch begins here, independent of all before.
        rewards: with the prior mean taken off.
        points: the distinct points observed, in order.
        table: rewards as rows of all `points`, if each was seen once at every time; else None.
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
    """Join independent stretches and find out whether they make a complete table.

    Raises:
        DriftpeakError: arms beyond those that `mean` is for.
    """
    largest = max(int(one.arms.max()) for one in stretches)
    if largest >= len(mean):
        raise DriftpeakError(
            f"arm {largest} was observed, but the prior is for {len(mean)} arms, 0 to "
            f"{len(mean) - 1}"
        )
    # at equal times in the order of the arms, so that a complete table shows itself
    orders = [np.lexsort((one.arms, one.times)) for one in stretches]
    arms = np.concatenate([one.arms[order] for one, order in zip(stretches, orders, strict=True)])
    rewards = np.concatenate(
        [one.rewards[order] for one, order in zip(stretches, orders, strict=True)]
    )
    elapsed = np.concatenate([np.diff(one.times, prepend=one.times[0]) for one in stretches])
    begins = np.concatenate([np.arange(len(one)) == 0 for one in stretches])
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
