"""An optimiser inside somebody else's framework, which counts suggestions in its own way."""

from driftpeak.live.optimizer import Optimizer
from driftpeak.live.space.parameters import ParameterValues
from driftpeak.live.study.clock import Time
from driftpeak.live.study.events import Asked


class NumberedOptimizer(Optimizer):
    """An optimiser whose suggestions have the numbers that somebody else gives them."""

    @property
    def latest_number(self) -> int:
        """The number of the suggestion that was made last; 0 before."""
        return self._ledger.asked

    def ask_as(self, number: int, time: Time) -> ParameterValues:
        """The setting of suggestion `number`, made afresh if it was out."""
        self._begin_at(number)
        return dict(self.ask(time))

    def hand_out(self, number: int, time: Time, setting: ParameterValues) -> None:
        """Suggestion `number` is this setting, whoever made it."""
        out = self._ledger.pending.get(number)
        if out is None or out.parameters != setting:
            self._begin_at(number)
            when, kind = self._ledger.time_of_ask(time)
            self.apply(Asked(number, when, kind, setting))

    def take_back(self, number: int) -> None:
        """Suggestion `number` is out no more, if it was."""
        if number in self._ledger.pending:
            self.cancel(number)

    def numbers_out(self) -> list[int]:
        """The numbers of the suggestions that are out."""
        return list(self._ledger.pending)

    def _begin_at(self, number: int) -> None:
        self.take_back(number)
        self._ledger.asked = number - 1
