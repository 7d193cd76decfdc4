"""An optimiser for frameworks that number suggestions themselves."""

from driftpeak.live._optimizer import Optimizer
from driftpeak.live._space.parameters import ParameterValues
from driftpeak.live._study.clock import Time
from driftpeak.live._study.events import Asked


class NumberedOptimizer(Optimizer):
    """An optimiser whose suggestions have numbers that the caller chooses."""

    @property
    def latest_number(self) -> int:
        """Return the number of the latest suggestion; 0 if there is none."""
        return self._state.asked

    def ask_as(
        self, number: int, time: Time, fixed: ParameterValues | None = None
    ) -> ParameterValues:
        """Compute suggestion `number` and return its setting; a pending one is replaced."""
        self._begin_at(number)
        return dict(self.ask(time, fixed=fixed))

    def hand_out(self, number: int, time: Time, setting: ParameterValues) -> None:
        """Register this setting as pending suggestion `number`."""
        pending = self._state.pending.get(number)
        if pending is None or pending.parameters != setting:
            self._begin_at(number)
            when, kind = self._state.time_of_ask(time)
            self.apply(Asked(number, when, kind, setting))

    def take_back(self, number: int) -> None:
        """Cancel suggestion `number` if it is pending."""
        if number in self._state.pending:
            self.cancel(number)

    def numbers_out(self) -> list[int]:
        """Return the numbers of the pending suggestions."""
        return list(self._state.pending)

    def _begin_at(self, number: int) -> None:
        self.take_back(number)
        self._state.asked = number - 1
