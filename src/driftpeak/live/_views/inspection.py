"""The methods of an optimiser that do not change it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from driftpeak._core.errors import DriftpeakError, shown, unit_interval
from driftpeak.live._engines.setup import LivePolicy
from driftpeak.live._space.encoding import FiniteCoding
from driftpeak.live._space.parameters import ParameterValues
from driftpeak.live._space.records import Peak
from driftpeak.live._study.clock import DATES, Time
from driftpeak.live._study.event_sourced import EventSourced, computing
from driftpeak.live._study.sharing import Shared, looking
from driftpeak.live._study.suggestion import EstimatedPeak, Observation, Suggestion
from driftpeak.live._views.diagnostics import Calibration, Diagnostics, calibration, durations
from driftpeak.live._views.frame import history_frame
from driftpeak.live._views.violations import Violations, violations

if TYPE_CHECKING:
    import pandas as pd

Said = Mapping[str, object] | None
"""Values of a context, or None."""


class Inspectable(Shared, EventSourced):
    """The views of an `Optimizer`. With a storage, they include changes of other processes."""

    maximize: bool
    policy: LivePolicy

    @looking
    def best(self, time: Time | None = None, *, context: Said = None) -> EstimatedPeak:
        """Return the estimated peak at `time`, which may be a forecast.

        Use `interval` for an interval of its value.

        Arguments:
            time: time of the peak; by default the latest time of the study.
            context: values of the context, for a space with a context.

        Raises:
            NoObservationsError: there are no observations.
            DriftpeakError: the context is missing, misspelt or out of range.
        """
        when, context_values = self._state.time_to_look(time), self.coding.clean_context(context)
        with computing():
            peak = self._engine.peak(when, context_values)
        return self._estimate(peak, when, context_values)

    @looking
    def belief(
        self,
        points: Sequence[Mapping[str, object]] | None = None,
        time: Time | None = None,
        *,
        context: Said = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return posterior mean and standard deviation of the noiseless reward at `time`.

        Arguments:
            points: settings of the parameters; by default all points of an `Arms` or a `Grid`.
            time: time of the prediction; by default the latest time of the study.
            context: values of the context, for a space with a context.

        Returns:
            Mean and standard deviation for each point. For binary rewards they are of the
            probability of a 1, and for counts of the mean count.

        Raises:
            DriftpeakError: points of a box are not given; a point is outside the space; the time
                cannot be compared with the study's times.
        """
        settings, when = self._whole(self._points(points), time, context)
        with computing():
            mean, deviation = self._engine.belief(settings, when)
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
        """Return central intervals of the noiseless reward, a probability or a mean count.

        Intervals of a `DriftingGP` average over the hyperparameters
        (`driftpeak.live._model.averaging`). Mean and deviation of `belief` and `best` are
        conditional on the most probable hyperparameters, which the decisions use. With
        `learn=False`, for binary rewards and counts, and for other policies, intervals are computed
        from this mean and deviation. The average is computed once after each reward, in about
        0.2 s for 100 rewards.

        Arguments:
            points, time, context: as for `belief`.
            level: probability of an interval, in (0, 1).

        Returns:
            Lower and upper ends for each point. Ends of a probability lie between 0 and 1, and
            ends of a mean count above 0.

        Raises:
            DriftpeakError: as `belief`; the level is outside (0, 1).
        """
        level = unit_interval("level", level, low_open=True, high_open=True)
        settings, when = self._whole(self._points(points), time, context)
        tail = (1 - level) / 2  # not 0.5 + level / 2, which rounds to 1 for a level just below it
        with computing():
            ends = self._engine.quantiles(settings, when, tail)
        low, high = (self._sign * np.asarray(end) for end in ends)
        return (low, high) if self.maximize else (high, low)

    def _whole(
        self, settings: list[ParameterValues], time: Time | None, context: Said
    ) -> tuple[list[ParameterValues], float]:
        """Return settings with their context, and the time as a number."""
        when, context_values = self._state.time_to_look(time), self.coding.clean_context(context)
        return [setting | context_values for setting in settings], when

    def _points(self, points: Sequence[Mapping[str, object]] | None) -> list[ParameterValues]:
        """Return valid settings; by default all points of an `Arms` or a `Grid`."""
        if points is not None:
            return self._settings("points", points)
        if not isinstance(self.coding, FiniteCoding):
            raise DriftpeakError(
                "points must be given for a Box; got none. Give a list of settings"
            )
        return [self.coding.at(number) for number in range(len(self.coding))]

    @looking
    def history(self) -> list[Observation]:
        """Return the newest 10,000 observations, in the order of `tell`."""
        return list(self._state.history)

    @looking
    def to_dataframe(self) -> "pd.DataFrame":
        """Return a pandas data frame of the history, followed by pending suggestions.

        It has a row for each of the newest 10,000 observations, in the order of `tell`, and then a
        row for each pending suggestion.

        Returns:
            A data frame with these columns; missing numbers are NaN:

            - `suggestion`: number of the suggestion; missing if the setting was not suggested.
            - `status`: told, not used (see `Observation.used`) or pending.
            - `time`: integers for steps, floats for other numbers, or dates (in UTC if they have a
              time zone).
            - one column for each parameter and each value of the context (floats, integers or
              categories), and for each measured quantity. A name that another column has gets the
              prefix `parameter_`.
            - `reward`: the reward.
            - `expected` and `expected_deviation`: mean and standard deviation (noise included) of
              the one-step forecast.
        """
        return history_frame(self.coding, self.history(), self.pending(), list(self.rules.limits))

    @looking
    def pending(self) -> list[Suggestion]:
        """Return the pending suggestions, oldest first."""
        return [self._suggestion(number) for number in self._state.pending]

    @looking
    def peaks(self, times: Sequence[Time], *, context: Said = None) -> list[EstimatedPeak]:
        """Return the estimated peaks at past times, sorted by time.

        A `DriftingGP` uses all observations, another policy only the observations up to each time.
        Times before the stored observations are left out.

        Arguments:
            times: past times.
            context: values of the context of all peaks, for a space with a context.
        """
        context_values = self.coding.clean_context(context)
        times = listed("times", times, "times")
        numbers = np.array([self._state.time_to_look(time) for time in times], float)
        with computing():
            known, peaks = self._engine.peaks(np.sort(numbers), context_values)
        return [
            self._estimate(peak, when, context_values)
            for when, peak in zip(known, peaks, strict=True)
        ]

    @looking
    def diagnostics(self, time: Time | None = None) -> Diagnostics:
        """Return the state of the model: memory, drift, noise and ages of the observations."""
        when = self._state.time_to_look(time)
        with computing():
            report = self._engine.report(when)
        if report.get("change_points"):
            report["change_points"] = [self._state.show(one) for one in report["change_points"]]
        diagnostics = Diagnostics(pending=len(self._state.pending), **report)
        if self._state.kind not in DATES:
            return diagnostics
        return replace(diagnostics, durations=durations(diagnostics))

    @looking
    def calibration(self) -> Calibration:
        """Return the calibration of one-step forecasts over the history."""
        return calibration(self.history(), self._engine.kind)

    @looking
    def chances(
        self,
        points: Sequence[Mapping[str, object]],
        time: Time | None = None,
        *,
        context: Said = None,
    ) -> dict[str, np.ndarray]:
        """Return the posterior probabilities of meeting the limits at `time`.

        Arguments:
            points: settings of the parameters.
            time: time of the prediction; by default the latest time of the study.
            context: values of the context, for a space with a context.

        Returns:
            For each measured quantity by name, the probability at each point that a measurement
            meets its limit. Quantities without measurements are left out.
        """
        settings, when = self._whole(self._settings("points", points), time, context)
        with computing():
            return self._engine.chances(settings, when)

    @looking
    def violations(self) -> dict[str, Violations]:
        """Return the frequencies of limit violations over the history, and the allowed rates."""
        return violations(self.rules.limits, self.history())

    def _suggestion(self, number: int) -> Suggestion:
        """Return a pending suggestion by number."""
        return self._state.suggestion(number, self.rules.limits, self.coding)

    def _settings(self, what: str, given: object) -> list[ParameterValues]:
        """Return a list of valid settings."""
        kind = f"mappings of {', '.join(self.coding.names)}"
        settings = list[ParameterValues]()
        for number, setting in enumerate(listed(what, given, kind), start=1):
            try:
                settings.append(self.coding.clean(setting))
            except DriftpeakError as error:
                raise DriftpeakError(f"{what}, number {number}: {error}") from None
        return settings

    def _estimate(self, peak: Peak, when: float, context: ParameterValues) -> EstimatedPeak:
        return EstimatedPeak(
            self._state.show(float(when)),
            self._sign * peak.mean,
            peak.deviation,
            peak.parameters,
            self.coding,
            context,
        )


def listed(what: str, given: Any, kind: str) -> list[Any]:
    """Return a sequence as a list.

    Raises:
        DriftpeakError: `given` is not a sequence; the message names `what` and its `kind`.
    """
    try:
        if not isinstance(given, str | bytes | Mapping):
            return list(given)
    except TypeError:
        pass
    raise DriftpeakError(f"{what} must be a sequence of {kind}; got {shown(given)}")
