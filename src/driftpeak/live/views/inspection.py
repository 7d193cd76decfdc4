"""What may be looked at of an optimiser: nothing here changes it."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from driftpeak._core.errors import DriftpeakError, shown, unit_interval
from driftpeak.live.engines.setup import LivePolicy
from driftpeak.live.space.encoding import FiniteCoding
from driftpeak.live.space.parameters import ParameterValues
from driftpeak.live.space.records import Peak
from driftpeak.live.study.clock import Time
from driftpeak.live.study.event_sourced import EventSourced, computing
from driftpeak.live.study.sharing import Shared, looking
from driftpeak.live.study.suggestion import EstimatedPeak, Observation, Suggestion
from driftpeak.live.views.diagnostics import Calibration, Diagnostics, calibration, diagnostics
from driftpeak.live.views.frame import history_frame
from driftpeak.live.views.violations import Violations, violations

if TYPE_CHECKING:
    import pandas as pd

Said = Mapping[str, object] | None
"""A context, as it is given."""


class Inspectable(Shared, EventSourced):
    """The views of an `Optimizer`: of other processes' changes, too, where it is stored."""

    maximize: bool
    policy: LivePolicy

    @looking
    def best(self, time: Time | None = None, *, context: Said = None) -> EstimatedPeak:
        """Return the estimated peak at `time`, by default the latest time seen, or a forecast.

        For an interval of its value, give it to `interval`.

        Arguments:
            time: of the peak.
            context: what the world says then, for a space with a context.

        Raises:
            NoObservationsError: there are no observations yet.
            DriftpeakError: a context that is missing, misspelt or out of range.
        """
        when, said = self._ledger.time_to_look(time), self.coding.clean_context(context)
        with computing():
            peak = self._engine.peak(when, said)
        return self._estimate(peak, when, said)

    @looking
    def belief(
        self,
        points: Sequence[Mapping[str, object]] | None = None,
        time: Time | None = None,
        *,
        context: Said = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """What is believed of the system at `time`: by default the latest time seen.

        Arguments:
            points: settings of the parameters; by default all points of an `Arms` or a `Grid`.
            time: of the belief.
            context: what the world says then, for a space with a context.

        Returns:
            Mean and standard deviation of the noiseless reward, one for each point: of the
            probability of a 1 where rewards are 0 and 1, of the mean count where they are counts.

        Raises:
            DriftpeakError: no points of a box given; points outside the space, a time that cannot
                be compared.
        """
        settings = self._points(points)
        when, said = self._ledger.time_to_look(time), self.coding.clean_context(context)
        with computing():
            mean, deviation = self._engine.belief([one | said for one in settings], when)
        return self._sign * mean, deviation

    @looking
    def interval(
        self,
        points: Sequence[Mapping[str, object]] | None = None,
        time: Time | None = None,
        *,
        level: float = 0.95,
        context: Said = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return central intervals of the noiseless reward, or of the rate behind 0s or counts.

        Intervals of a `DriftingGP` average over the hyperparameters
        (`driftpeak.live.model.averaging`); `belief` and `best` give mean and deviation conditional
        on the most probable ones, which the decisions use. With `learn=False`, for rates, and for
        other policies, intervals are those of that mean and deviation. The average is computed once
        after every reward, in about 0.2 s for 100 rewards.

        Arguments:
            points, time, context: as for `belief`.
            level: the probability with which a value lies in its interval, in (0, 1).

        Returns:
            Lower and upper ends, one for each point. Those of a probability lie between 0 and 1,
            those of a mean count above 0.

        Raises:
            DriftpeakError: as `belief`; a level that does not lie in (0, 1).
        """
        level = unit_interval("level", level, low_open=True, high_open=True)
        settings = self._points(points)
        when, said = self._ledger.time_to_look(time), self.coding.clean_context(context)
        tail = (1 - level) / 2  # not 0.5 + level / 2, which rounds to 1 for a level just below it
        with computing():
            settings = [one | said for one in settings]
            ends = self._engine.quantiles(settings, when, tail)
        low, high = (self._sign * np.asarray(end) for end in ends)
        return (low, high) if self.maximize else (high, low)

    def _points(self, points: Sequence[Mapping[str, object]] | None) -> list[ParameterValues]:
        """Settings to look at; by default all points of an `Arms` or a `Grid`."""
        if points is not None:
            return self._settings("points", points)
        if not isinstance(self.coding, FiniteCoding):
            raise DriftpeakError("give the points of the box to look at")
        return [self.coding.at(number) for number in range(len(self.coding))]

    @looking
    def history(self) -> list[Observation]:
        """The rewards told, in the order of telling; the newest 10,000."""
        return list(self._ledger.history)

    @looking
    def to_dataframe(self) -> "pd.DataFrame":
        """The history as a tidy table of pandas, and what is pending below it.

        A row for each of the newest 10,000 rewards told, in the order of telling, then one for each
        suggestion that is out and not yet told.

        Returns:
            With the columns `suggestion` (its number; missing if nobody had asked), `status` (told,
            not used, see `Observation.used`, or pending), `time` (integers for steps, floats for
            other numbers, or dates, in UTC if they have a zone), one for each parameter and each
            part of the context (floats, integers or categories) and for each measured quantity
            (what is called as one of these columns has `parameter_` before its name), `reward`, and
            `expected` and `expected_deviation`, mean and standard deviation, noise included,
            foretold just before a reward. Numbers that do not exist are NaN.
        """
        return history_frame(self.coding, self.history(), self.pending(), list(self.rules.limits))

    @looking
    def pending(self) -> list[Suggestion]:
        """The suggestions that are out and not yet told."""
        return [self._suggestion(number) for number in self._ledger.pending]

    @looking
    def peaks(self, times: Sequence[Time], *, context: Said = None) -> list[EstimatedPeak]:
        """The estimated peak at past times, in hindsight where the policy can look back.

        Times that are too long ago to be known are left out. All are of one `context`, for a space
        with one.
        """
        said = self.coding.clean_context(context)
        times = listed("times", times, "times")
        numbers = np.array([self._ledger.time_to_look(time) for time in times], float)
        with computing():
            known, found = self._engine.peaks(np.sort(numbers), said)
        return [self._estimate(peak, when, said) for when, peak in zip(known, found, strict=True)]

    @looking
    def diagnostics(self, time: Time | None = None) -> Diagnostics:
        """What the belief thinks: memory, drift, noise, age of the data."""
        when = self._ledger.time_to_look(time)
        with computing():
            report = self._engine.report(when)
        return diagnostics(report, len(self._ledger.pending))

    @looking
    def calibration(self) -> Calibration:
        """How well rewards were foretold, one step ahead, over the history."""
        return calibration(self.history(), self._engine.kind)

    @looking
    def chances(
        self,
        points: Sequence[Mapping[str, object]],
        time: Time | None = None,
        *,
        context: Said = None,
    ) -> dict[str, np.ndarray]:
        """How probably limits are kept at `time`: by default the latest time seen.

        Arguments:
            points: settings of the parameters.
            time: of the belief.
            context: what the world says then, for a space with a context.

        Returns:
            For every measured quantity by name, a probability for each point, that of a
            measurement within its limit; without those never measured.
        """
        settings = self._settings("points", points)
        when, said = self._ledger.time_to_look(time), self.coding.clean_context(context)
        with computing():
            return self._engine.chances([one | said for one in settings], when)

    @looking
    def violations(self) -> dict[str, Violations]:
        """How often limits were broken over the history, beside how often they may be."""
        return violations(self.rules.limits, self.history())

    def _suggestion(self, number: int) -> Suggestion:
        """One that is out."""
        one = self._ledger.pending[number]
        time = self._ledger.show(one.time)
        limits = self.rules.limits
        feasible = [limits[name].believes(chance) for name, chance in one.chances.items()]
        return Suggestion(
            number,
            time,
            one.parameters,
            self.coding,
            hold=one.hold,
            context=one.context,
            chances=one.chances,
            feasible=all(feasible) if feasible else None,
        )

    def _settings(self, what: str, given: object) -> list[ParameterValues]:
        """Several settings of the parameters, checked."""
        kind = f"mappings of {', '.join(self.coding.names)}"
        return [self.coding.clean(one) for one in listed(what, given, kind)]

    def _estimate(self, peak: Peak, when: float, context: ParameterValues) -> EstimatedPeak:
        return EstimatedPeak(
            self._ledger.show(float(when)),
            self._sign * peak.mean,
            peak.deviation,
            peak.parameters,
            self.coding,
            context,
        )


def listed(what: str, given: Any, kind: str) -> list[Any]:
    try:
        if not isinstance(given, str | bytes | Mapping):
            return list(given)
    except TypeError:
        pass
    raise DriftpeakError(f"{what} must be a sequence of {kind}; got {shown(given)}")
