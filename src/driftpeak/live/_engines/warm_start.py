r"""Suggestions of a study that starts from a schedule.

The model uses differences from the schedule: the row of a setting x at time t is \(x - s_t\),
where \(s_t\) is the scheduled setting. A schedule that follows the peak thereby removes its
regular motion from the model. Columns without order and conditional columns are unchanged.

Let x maximise the upper confidence bound among the settings near s. It is suggested if

\[ m(x) - \sigma(x) - c(x) \ge m(s) - \sigma(s) - c(s) \]

with posterior mean m, standard deviation \(\sigma\) and movement cost c. Otherwise every third
suggestion maximises the upper confidence bound within 5 % of each range. The other suggestions are
the maximiser of the mean near s if it meets the same condition, or else s. The first suggestions,
before the model is used, are s and settings within 5 %. The distance that counts as near is 5 % at
first. It doubles after 12 suggestions for each parameter, until there is no bound.

The condition is driftpeak's own; it has the purpose of conservative bandits (Wu et al. 2016,
"Conservative Bandits").

With measured limits, the scheduled setting is suggested until all quantities are measured, and
later only if it is predicted to meet the limits.
"""

from abc import abstractmethod

import numpy as np

from driftpeak._core.types import Vector
from driftpeak.gp.domains import Arms
from driftpeak.live._engines.gp_posterior import GPBelief
from driftpeak.live._space.discretization import NEAR
from driftpeak.live._space.encoding import FiniteCoding
from driftpeak.live._space.movement import gaps_between
from driftpeak.live._space.parameters import ParameterValues
from driftpeak.live._space.records import Reach, Request, setting_of

EXPLORES = 3  # one suggestion in so many explores near the schedule
NEARBY = 0.05  # distance from the schedule at first, as a share of each range; it doubles ...
DOUBLED = 12  # ... after so many suggestions for each parameter ...
DOUBLINGS = 5  # ... so many times, so that all settings are near


class WarmStart(GPBelief):
    """An engine that may start from a schedule. Base class."""

    initial: int  # number of observations before the first search

    def propose(self, request: Request) -> ParameterValues:
        scheduled, reach = request.scheduled, request.reach
        if scheduled is None or reach is None:
            return self._unscheduled(request)
        meets = self._meets_limits(scheduled | request.context, request.time)
        if meets is None:
            return scheduled
        row = self.coding.row(scheduled)
        explores = request.number % EXPLORES == 0
        near = self._nearby(reach, row, NEARBY)
        if len(self.memory) < self.initial:
            return self._unscheduled(request._replace(reach=near)) if explores else scheduled
        wide = self._nearby(reach, row, self._share(request.number))
        request = request._replace(reach=wide)
        for explore in (1.0, 0.0):
            if explore == 0.0 and explores:
                return self._unscheduled(request._replace(reach=near))
            other = setting_of(self.coding, self._search(request, explore=explore), wide)
            better, worse = self._lower_bounds([other, scheduled], request)
            if better >= worse or not meets:
                return other
        return scheduled

    def _share(self, number: int) -> float:
        """Return the distance that counts as near at suggestion `number`."""
        doublings = min(number / (DOUBLED * self.coding.dimension), DOUBLINGS)
        return float(NEARBY * 2.0**doublings)

    def _nearby(self, reach: Reach, row: Vector, share: float) -> Reach:
        """Return the settings within reach that are near a row; all arms are near each other."""
        coding = self.coding
        if isinstance(coding, FiniteCoding) and isinstance(coding.domain, Arms):
            return reach
        distance = np.maximum(share, gaps_between(coding))
        distance = np.where(coding.categorical, 1.0, distance) + NEAR
        lower, upper = (
            np.maximum(reach.lower, row - distance),
            np.minimum(reach.upper, row + distance),
        )
        return reach._replace(lower=lower, upper=upper)

    def _lower_bounds(self, settings: list[ParameterValues], request: Request) -> Vector:
        """Return posterior means minus standard deviations and movement costs."""
        rows, reach = np.array([self.coding.row(setting) for setting in settings]), request.reach
        mean, deviation = self.belief([s | request.context for s in settings], request.time)
        if reach is None or reach.cost is None:
            return mean - deviation
        gap = np.abs(rows - reach.here)
        return mean - deviation - np.where(self.coding.categorical, gap > NEAR, gap) @ reach.cost

    def _meets_limits(self, setting: ParameterValues, time: float) -> bool | None:
        """Return whether a setting is predicted to meet all limits; None before measurements."""
        return True

    @abstractmethod
    def _unscheduled(self, request: Request) -> ParameterValues:
        """Compute a suggestion without the schedule."""

    @abstractmethod
    def _search(self, request: Request, *, explore: float) -> Vector:
        """Return the row with the highest upper confidence bound, or mean if `explore` is 0."""
