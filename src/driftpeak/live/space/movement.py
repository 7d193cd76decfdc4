r"""How far a system may be moved from where it is, and what that costs.

A suggestion lies within reach of where the system stands: parameter by parameter by `max_step` and
`max_rate`, and by `max_travel`, a share of every range (as Xopt's `max_travel_distances`: Roussel
et al. 2023, "Xopt: a simplified framework for optimization of accelerator problems using advanced
algorithms"). What it costs to go there is taken off its upper confidence bound:

\[ \mathrm{ucb}_t(x) - \sum_j c_j\,|x_j - h_j| \]

with h where the system stands, on the unit cube, and \(c_j\) the cost of going across the whole
range of parameter j, in units of the reward. The penalty has a kink at h, so that staying is the
best suggestion wherever nothing in reach is worth the way (costs of switching and movement: Folch
et al. 2022, "SnAKe: Bayesian Optimization with Pathwise Exploration").
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from driftpeak._core.errors import DriftpeakError, at_least, nearest, shown, unit_interval
from driftpeak._core.types import Vector
from driftpeak.gp.domains import Grid
from driftpeak.live.space.encoding import BoxCoding, Coding, FiniteCoding
from driftpeak.live.space.parameters import ROUNDING, Numeric, ParameterValues
from driftpeak.live.space.records import Reach

Shares = float | Mapping[str, float]
"""One number for all parameters, or some by name."""


class Place(NamedTuple):
    """Where a system stands, or is on its way to, and since when; minus infinity if not known."""

    parameters: ParameterValues
    since: float


class Travel:
    """The limits on motion of a study, and its costs.

    Arguments:
        coding: of the space.
        max_travel: the farthest that a suggestion lies from where the system is, as a share of the
            range of a parameter (in the logarithm where it has one).
        moving_cost: of moving a parameter across its whole range, or of changing one that has no
            order, in units of the reward.

    Raises:
        DriftpeakError: shares outside (0, 1], costs below 0, no such parameter, a share with which
            a parameter could never move.
    """

    def __init__(
        self, coding: Coding, max_travel: Shares | None, moving_cost: Shares | None
    ) -> None:
        self.coding = coding
        self.max_travel, self.moving_cost = _plain(max_travel), _plain(moving_cost)
        ordered = [
            name for name, one in zip(coding.columns, coding.categorical, strict=True) if not one
        ]
        share = _share if ordered else _no_order
        self.shares = _columns("max_travel", max_travel, coding.columns, ordered, share, math.inf)
        self.costs = _columns(
            "moving_cost", moving_cost, coding.columns, coding.columns, _cost, 0.0
        )
        for name, share_, gap in zip(coding.columns, self.shares, _gaps(coding), strict=True):
            if share_ < gap * (1 - ROUNDING):
                raise DriftpeakError(
                    f"max_travel of {name!r} must be at least {gap:.3g}, the gap between its "
                    f"values, or it could never move; got {share_:g}. Give max_travel by name, or "
                    "a max_step"
                )
        each = coding.box.parameters.values() if isinstance(coding, BoxCoding) else ()
        self.limited = bool(np.isfinite(self.shares).any()) or any(one.limited for one in each)
        self.matters = self.limited or bool(self.costs.any())

    def reach(self, place: Place | None, time: float) -> Reach | None:
        """What can be gone to at `time`, and at what cost; None: everything, at none.

        Raises:
            DriftpeakError: moves are limited, and where the system stands is not known.
        """
        if place is None and self.limited:
            raise DriftpeakError(
                "moves are limited, and where the system stands is not known: begin the "
                "study with start={...}, or tell what a setting brought"
            )
        if place is None or not self.matters:
            return None
        here = self.coding.row(place.parameters)
        elapsed = max(time - place.since, 0.0) if math.isfinite(place.since) else 0.0
        if isinstance(self.coding, FiniteCoding):
            lower, upper = here - self.shares - ROUNDING, here + self.shares + ROUNDING
            return Reach(place.parameters, here, lower, upper, self.costs, {})
        assert isinstance(self.coding, BoxCoding)
        lower, upper, ends = np.zeros(len(here)), np.ones(len(here)), {}
        for column, (name, one) in enumerate(self.coding.box.parameters.items()):
            if one.categorical or name not in place.parameters or not self.limited:
                continue
            low, high = one.reach(place.parameters[name], elapsed, float(self.shares[column]))
            lower[column], upper[column] = one.encode(name, low), one.encode(name, high)
            if isinstance(one, Numeric):
                ends[name] = low, high
        return Reach(place.parameters, here, lower, upper, self.costs, ends)


def _columns(
    what: str,
    given: object,
    columns: tuple[str, ...],
    fit: Any,
    check: Callable[[str, object], float],
    missing: float,
) -> Vector:
    """A number for each column, from one for all that fit or from some by name."""
    if given is None:
        return np.full(len(columns), missing)
    if not isinstance(given, Mapping):
        number = check(what, given)
        return np.array([number if name in fit else missing for name in columns])
    for name in given:
        if name not in fit:
            words = ", ".join(fit) or "there is none"
            raise DriftpeakError(
                f"{what} is for a parameter that can be moved by degrees: {words}; got "
                f"{shown(name)}."
                if name in columns
                else f"{what} names {shown(name)}; the space has {', '.join(columns)}."
                + nearest(shown(name), columns)
            )
    return np.array(
        [check(f"{what} of {n!r}", given[n]) if n in given else missing for n in columns]
    )


def _plain(given: Any) -> Any:
    """Fit for JSON, once it was checked."""
    return dict(given) if isinstance(given, Mapping) else given


def _share(name: str, value: object) -> float:
    return unit_interval(name, value, low_open=True)


def _cost(name: str, value: object) -> float:
    return at_least(name, value, 0)


def _no_order(name: str, value: object) -> float:
    raise DriftpeakError(f"{name} needs parameters with an order, and here is none")


def _gaps(coding: Coding) -> list[float]:
    if isinstance(coding, BoxCoding):
        each = coding.box.parameters.values()
        return [0.0 if one.categorical else one.widest_gap for one in each]
    assert isinstance(coding, FiniteCoding)
    if isinstance(coding.domain, Grid):
        return [1 / (size - 1) for size in coding.domain.shape]
    return [0.0] * coding.dimension
