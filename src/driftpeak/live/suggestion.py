"""What an optimiser hands out: suggestions, estimates, and the record of what was told."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from driftpeak.live.clock import Kind, show_time
from driftpeak.live.coding import Coding, FiniteCoding
from driftpeak.live.events import Told
from driftpeak.live.parameters import ParameterValues, Value


class NamedValues(Mapping[str, Value]):
    """Parameters by name. Base class."""

    def __init__(self, parameters: Mapping[str, Value], coding: Coding) -> None:
        self._parameters = dict(parameters)
        self._coding = coding

    @property
    def index(self) -> int | None:
        """The number of the arm or grid point; None in a box."""
        finite = isinstance(self._coding, FiniteCoding)
        return self._coding.number(self._parameters) if finite else None  # type: ignore[attr-defined]

    def __getitem__(self, name: str) -> Value:
        return self._parameters[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parameters)

    def __len__(self) -> int:
        return len(self._parameters)


class Suggestion(NamedValues):
    """Where to sample next: a mapping of parameters. Made by `Optimizer.ask`.

    Attributes:
        id: its number, from 1.
        time: when it is to be sampled.
        hold: whether it is to stay where the system was.
    """

    def __init__(
        self,
        number: int,
        time: Any,
        parameters: Mapping[str, Value],
        coding: Coding,
        *,
        hold: bool = False,
    ) -> None:
        super().__init__(parameters, coding)
        self.id, self.time, self.hold = number, time, hold

    def __repr__(self) -> str:
        hold = ", hold" if self.hold else ""
        return f"Suggestion({self.id}, {self._parameters}, time={self.time!r}{hold})"


class EstimatedPeak(NamedValues):
    """An estimated peak: a mapping of parameters. Made by `Optimizer.best` and `peaks`.

    Attributes:
        time: for which it is estimated.
        mean, deviation: of the noiseless reward there, in its unit.
    """

    def __init__(
        self,
        time: Any,
        mean: float,
        deviation: float,
        parameters: Mapping[str, Value],
        coding: Coding,
    ) -> None:
        super().__init__(parameters, coding)
        self.time, self.mean, self.deviation = time, mean, deviation

    def __repr__(self) -> str:
        return (
            f"EstimatedPeak({self._parameters}, mean={self.mean:.4g}, "
            f"deviation={self.deviation:.3g}, time={self.time!r})"
        )


@dataclass(frozen=True)
class Observation:
    """One reward, as told.

    Attributes:
        id: of the suggestion; None if nobody had asked.
        parameters: where.
        reward: how much.
        number, kind: when, as the optimiser counts; see `time`.
        expected: mean and deviation, noise included, foretold just before; None if nothing was.
        noise: its standard deviation, if it was told; else None.
    """

    id: int | None
    parameters: ParameterValues
    reward: float
    number: float
    kind: Kind
    expected: tuple[float, float] | None
    noise: float | None = None

    @property
    def time(self) -> Any:
        """When, as the user writes it."""
        return show_time(self.number, self.kind)

    @staticmethod
    def of(event: Told) -> "Observation":
        """What an event says."""
        return Observation(
            event.id,
            event.parameters,
            event.reward,
            event.time,
            event.kind,
            event.expected,
            event.noise,
        )

    def to_list(self) -> list[Any]:
        """For JSON."""
        return list(asdict(self).values())

    @staticmethod
    def from_list(written: list[Any]) -> "Observation":
        """What `to_list` wrote; what an event cannot say is refused."""
        number, parameters, reward, time, kind, expected, noise = written
        expected = None if expected is None else tuple(expected)
        return Observation.of(Told(number, time, kind, parameters, reward, expected, noise))
