"""Records that the parts of the optimiser exchange: pending suggestions, reach, estimated peaks."""

from typing import Any, NamedTuple

import numpy as np

from driftpeak._core.types import Vector
from driftpeak.live.space.encoding import Coding
from driftpeak.live.space.parameters import ParameterValues

PENDING = 1_000
Arrays = dict[str, np.ndarray]
NOTHING_SAID: ParameterValues = {}  # never changed in place
NO_CHANCES: dict[str, float] = {}  # neither


class Outstanding(NamedTuple):
    """A suggestion that is out and not yet told.

    Attributes:
        hold: whether it is to stay where the system was.
        context: what the world said.
        chances: with which probability it keeps each limit, as was believed.
    """

    parameters: ParameterValues
    time: float
    hold: bool = False
    context: ParameterValues = NOTHING_SAID
    chances: dict[str, float] = NO_CHANCES

    @property
    def setting(self) -> ParameterValues:
        """The parameters, and what the world said."""
        return self.parameters | self.context


class Reach(NamedTuple):
    """Where a system stands, what it can be moved to from there, and what that costs.

    Attributes:
        setting, here: where it stands, and its row.
        lower, upper: rows between which it can go, shape `(d,)`.
        cost: of going from 0 to 1 in each column, in units of the reward, shape `(d,)`.
        ends: the least and the greatest value of parameters whose values are numbers.
    """

    setting: ParameterValues
    here: Vector
    lower: Vector
    upper: Vector
    cost: Vector
    ends: dict[str, tuple[Any, Any]]

    def parameters(self, coding: Coding, row: Vector) -> ParameterValues:
        """The setting of a row within reach; no rounding leads beyond it."""
        if np.array_equal(row, self.here):
            return dict(self.setting)
        found: dict[str, Any] = coding.parameters(row)
        for name, (low, high) in self.ends.items():
            if name in found:
                found[name] = min(max(found[name], low), high)
        return found


def setting_of(coding: Coding, row: Vector, reach: Reach | None) -> ParameterValues:
    """The setting of a row, within reach."""
    return coding.parameters(row) if reach is None else reach.parameters(coding, row)


class Peak(NamedTuple):
    """Where the function is expected to be largest, its mean there and its deviation."""

    parameters: ParameterValues
    mean: float
    deviation: float
