r"""Movement limits and movement costs.

A suggestion must lie within reach of the current setting. Each parameter is limited by its
`max_step` and `max_rate`, and by `max_travel`, a share of its range. `max_travel` corresponds to
Xopt's `max_travel_distances` (Roussel et al. 2023, "Xopt: a simplified framework for optimization
of accelerator problems using advanced algorithms"). The movement cost is subtracted from the upper
confidence bound:

\[ \mathrm{ucb}_t(x) - \sum_j c_j\,|x_j - h_j| \]

Here h is the current setting in the unit cube. The cost of a move across the whole range of
parameter j is \(c_j\), in units of the reward. The penalty has a kink at h. The current setting is
therefore suggested again if no gain within reach exceeds its cost (costs of switching and movement:
Folch et al. 2022, "SnAKe: Bayesian Optimization with Pathwise Exploration").
"""

import itertools
import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from driftpeak._core.errors import DriftpeakError, at_least, rejected, unit_interval
from driftpeak._core.types import Vector
from driftpeak.gp.domains import Grid
from driftpeak.live._space.encoding import BoxCoding, Coding, FiniteCoding
from driftpeak.live._space.parameters import ROUNDING, Numeric, ParameterValues, check_keys
from driftpeak.live._space.records import Reach

Shares = float | Mapping[str, float]
"""One number for all parameters, or numbers for some of them by name."""


class Place(NamedTuple):
    """A setting of the system: its time, its suggestion's number, and its parameters.

    The time is minus infinity if it is unknown.
    """

    time: float
    number: int
    parameters: ParameterValues


class Movement:
    """The movement limits and movement costs of a study.

    Arguments:
        coding: coding of the study's space.
        max_travel: largest distance between a suggestion and the current setting, as a share of
            a parameter's range (on the log scale for log-scaled parameters).
        moving_cost: cost of moving a parameter across its whole range, or of changing an
            unordered parameter, in units of the reward.

    Raises:
        DriftpeakError: a share is outside (0, 1]; a cost is below 0; a name is not a parameter; a
            share is too small for a parameter to move at all.
    """

    def __init__(
        self, coding: Coding, max_travel: Shares | None, moving_cost: Shares | None
    ) -> None:
        self.coding = coding
        self.max_travel, self.moving_cost = _plain(max_travel), _plain(moving_cost)
        ordered = list(itertools.compress(coding.columns, ~coding.categorical))
        share = partial(unit_interval, low_open=True) if ordered else _no_order
        self.shares = _columns("max_travel", max_travel, coding.columns, ordered, share, math.inf)
        cost = partial(at_least, minimum=0)
        self.costs = _columns("moving_cost", moving_cost, coding.columns, coding.columns, cost, 0.0)
        for name, share_, gap in zip(
            coding.columns, self.shares, gaps_between(coding), strict=True
        ):
            if share_ < gap * (1 - ROUNDING):
                raise DriftpeakError(
                    f"max_travel of {name!r} must be at least {gap:.3g}, the gap between its "
                    f"values; got {share_:g}. Give max_travel by name, or use max_step"
                )
        each = coding.box.parameters.values() if isinstance(coding, BoxCoding) else ()
        self.limited = bool(np.isfinite(self.shares).any()) or any(
            parameter.limited for parameter in each
        )
        self.matters = self.limited or bool(self.costs.any())

    def check_times(self, *, dates: bool) -> None:
        """Check that rates with a unit of time have dates as times.

        Raises:
            DriftpeakError: a rate has a unit of time, and times are not dates.
        """
        if dates or not isinstance(self.coding, BoxCoding):
            return
        for name, parameter in self.coding.box.parameters.items():
            if isinstance(parameter, Numeric) and isinstance(parameter.max_rate, str):
                raise DriftpeakError(
                    f"times must be dates, as max_rate of {name!r} is {parameter.max_rate!r}; got "
                    'steps or numbers. Call ask with a datetime or time="now", or give max_rate '
                    "as a number per unit of time"
                )

    def reach(self, place: Place | None, time: float) -> Reach | None:
        """Return the settings within reach at `time` and their costs; None if all are free.

        Raises:
            DriftpeakError: moves are limited, and the current setting is unknown.
        """
        if place is None and self.limited:
            raise DriftpeakError(
                "the current setting must be known, as moves are limited. Create the study with "
                "start={...}, or call tell() with an observation first"
            )
        if place is None or not self.matters:
            return None
        here = self.coding.row(place.parameters)
        elapsed = max(time - place.time, 0.0) if math.isfinite(place.time) else 0.0
        if isinstance(self.coding, FiniteCoding):
            lower, upper = here - self.shares - ROUNDING, here + self.shares + ROUNDING
            return Reach(place.parameters, here, here, lower, upper, self.costs, {})
        assert isinstance(self.coding, BoxCoding)
        lower, upper, ends = np.zeros(len(here)), np.ones(len(here)), {}
        for column, (name, parameter) in enumerate(self.coding.box.parameters.items()):
            if parameter.categorical or name not in place.parameters or not self.limited:
                continue
            share = float(self.shares[column])
            low, high = parameter.reach(place.parameters[name], elapsed, share)
            lower[column], upper[column] = parameter.encode(name, low), parameter.encode(name, high)
            if isinstance(parameter, Numeric):
                ends[name] = low, high
        return Reach(place.parameters, here, here, lower, upper, self.costs, ends)


def _columns(
    what: str,
    given: object,
    columns: tuple[str, ...],
    fit: Any,
    check: Callable[[str, object], float],
    missing: float,
) -> Vector:
    """Return a number for each column, from one number for all or numbers by name.

    Arguments:
        what: name of the argument in messages.
        given: a number, or numbers by column name.
        columns: names of all columns.
        fit: names of the columns that may have a number.
        check: returns a valid number or raises.
        missing: number of the other columns.
    """
    if given is None:
        return np.full(len(columns), missing)
    if not isinstance(given, Mapping):
        number = check(what, given)
        return np.array([number if name in fit else missing for name in columns])
    check_keys(f"{what} must name parameters", given, columns)
    for name in given:
        if name not in fit:
            words = ", ".join(fit) or "there are none"
            raise rejected(what, name, f"name ordered parameters ({words})")
    return np.array(
        [check(f"{what} of {n!r}", given[n]) if n in given else missing for n in columns]
    )


def _plain(given: Any) -> Any:
    """Return a checked number or mapping as JSON-compatible data."""
    return dict(given) if isinstance(given, Mapping) else given


def _no_order(name: str, value: object) -> float:
    raise rejected(name, value, "be left out, as the space has no ordered parameter")


def gaps_between(coding: Coding) -> list[float]:
    """Return the widest gap between the values of each column; 0 without values or order."""
    if isinstance(coding, BoxCoding):
        parameters = coding.box.parameters.values()
        return [0.0 if p.categorical else p.widest_gap for p in parameters]
    assert isinstance(coding, FiniteCoding)
    if isinstance(coding.domain, Grid):
        return [1 / (size - 1) for size in coding.domain.shape]
    return [0.0] * coding.dimension
