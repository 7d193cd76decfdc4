"""Records of pending suggestions, settings within reach and estimated peaks."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from driftpeak._core.types import Vector
from driftpeak.live._space.encoding import Coding
from driftpeak.live._space.parameters import ROUNDING, ParameterValues

PENDING = 1_000
Arrays = dict[str, np.ndarray]
Numbers = dict[str, float]
NO_CONTEXT: ParameterValues = {}  # never changed in place
NO_CHANCES: dict[str, float] = {}  # never changed in place


class Outstanding(NamedTuple):
    """A pending suggestion.

    Attributes:
        parameters: the suggested setting.
        time: when it was suggested.
        hold: whether it repeats the current setting.
        context: the context it was made in.
        chances: posterior probability of meeting each limit, when it was made.
    """

    parameters: ParameterValues
    time: float
    hold: bool = False
    context: ParameterValues = NO_CONTEXT
    chances: dict[str, float] = NO_CHANCES

    @property
    def setting(self) -> ParameterValues:
        """Parameters and context together."""
        return self.parameters | self.context


class Sample(NamedTuple):
    """The arguments of a measurement.

    Attributes:
        setting: the parameters and the context.
        time: when it is made.
        noise: standard deviation of its noise, if known.
        trials: number of measurements that it averages, if given.
    """

    setting: ParameterValues
    time: float
    noise: float | None = None
    trials: int | None = None


class Reach(NamedTuple):
    """The settings that may be suggested, and the movement costs.

    Attributes:
        setting, here: the current setting and its row; without movement limits and costs, any
            setting within reach.
        near: the row within reach that is nearest to `here`.
        lower, upper: lowest and highest row within reach, shape `(d,)`.
        cost: cost of a move from 0 to 1 in each column, in units of the reward, shape `(d,)`; None
            without movement limits and costs.
        ends: lowest and highest value within reach of numeric parameters.
        fixed: values that are fixed for this suggestion.
    """

    setting: ParameterValues
    here: Vector
    near: Vector
    lower: Vector
    upper: Vector
    cost: Vector | None
    ends: dict[str, tuple[Any, Any]]
    fixed: ParameterValues = NO_CONTEXT

    def parameters(self, coding: Coding, row: Vector) -> ParameterValues:
        """Return the setting of a row, clipped to the values within reach."""
        if np.array_equal(row, self.here):
            return dict(self.setting)
        setting: dict[str, Any] = coding.parameters(row)
        for name, (low, high) in self.ends.items():
            if name in setting:
                setting[name] = min(max(setting[name], low), high)
        return setting

    def holds(self, rows: Vector) -> Any:
        """Return whether each row is within reach, shape `(m,)`."""
        return ((rows >= self.lower) & (rows <= self.upper)).all(axis=1)

    def nearest(self, coding: Coding, row: Vector) -> Vector:
        """Return the valid row within reach that is nearest to a row, shape `(d,)`."""
        if coding.pool is None:
            near: Vector = coding.discretization.within(row[None], self.lower, self.upper)[0]
            return near
        inside = coding.pool[self.holds(coding.pool)]
        return inside[np.argmin(((inside - row) ** 2).sum(axis=1))]


def unlimited_reach(coding: Coding, setting: ParameterValues, row: Vector) -> Reach:
    """Return a reach of all settings, around a setting and its row, without costs."""
    slack = 0.0 if coding.pool is None else ROUNDING
    lower, upper = np.full(len(row), -slack), np.full(len(row), 1 + slack)
    return Reach(setting, row, row, lower, upper, None, {})


def setting_of(coding: Coding, row: Vector, reach: Reach | None) -> ParameterValues:
    """Return the setting of a row, clipped to the reach if there is one."""
    return coding.parameters(row) if reach is None else reach.parameters(coding, row)


class Request(NamedTuple):
    """The arguments of a suggestion.

    Attributes:
        number: number of the suggestion, from 1; 0 for an estimate of the peak.
        time: when it will be sampled.
        context: values of the context.
        pending: pending suggestions, oldest first.
        reach: settings within reach and movement costs; None if all settings are within reach
            without costs.
        scheduled: the setting of the schedule, or the nearest one within reach; None without a
            schedule. With a schedule, `reach` is given.
    """

    number: int
    time: float
    context: ParameterValues
    pending: Sequence[Outstanding] = ()
    reach: Reach | None = None
    scheduled: ParameterValues | None = None


class Peak(NamedTuple):
    """The maximiser of the posterior mean, with posterior mean and standard deviation there."""

    parameters: ParameterValues
    mean: float
    deviation: float
