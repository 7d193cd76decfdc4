"""What an optimiser hands out: suggestions, estimates, and the record of what was told."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from driftpeak._core.errors import DriftpeakError, shown
from driftpeak.live.space.encoding import Coding, FiniteCoding
from driftpeak.live.space.parameters import ParameterValues, Value
from driftpeak.live.study.clock import Kind, show_time
from driftpeak.live.study.events import Asked, Told


class NamedValues(Mapping[str, Value]):
    """Parameters by name, and in `context` what the world said, if anything. Base class."""

    def __init__(
        self, parameters: Mapping[str, Value], coding: Coding, context: Mapping[str, Value]
    ) -> None:
        self._parameters = dict(parameters)
        self._coding = coding
        self.context = dict(context)

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

    @property
    def _in_context(self) -> str:
        return f", context={self.context}" if self.context else ""


class Suggestion(NamedValues):
    """Where to sample next: a mapping of parameters. Made by `Optimizer.ask`.

    Attributes:
        id: its number, from 1.
        time: when it is to be sampled.
        hold: whether it is to stay where the system was.
        context: what the world said when it was asked for; empty if it says nothing.
        chances: the probability, by limit, that what is measured there keeps it, as is believed;
            empty where nothing is known yet.
        feasible: whether every limit is kept with the probability stated for it. If nothing is
            believed to, this is the setting that most probably does. None where nothing is known.
    """

    def __init__(
        self,
        number: int,
        time: Any,
        parameters: Mapping[str, Value],
        coding: Coding,
        *,
        hold: bool = False,
        context: Mapping[str, Value] | None = None,
        chances: Mapping[str, float] | None = None,
        feasible: bool | None = None,
    ) -> None:
        super().__init__(parameters, coding, context or {})
        self.chances, self.feasible = dict(chances or {}), feasible
        self.id, self.time, self.hold = number, time, hold

    def __repr__(self) -> str:
        hold = ", hold" if self.hold else ""
        broken = ", not feasible" if self.feasible is False else ""
        return (
            f"Suggestion({self.id}, {self._parameters}, time={self.time!r}{self._in_context}"
            f"{hold}{broken})"
        )


class EstimatedPeak(NamedValues):
    """An estimated peak: a mapping of parameters. Made by `Optimizer.best` and `peaks`.

    Attributes:
        time: for which it is estimated.
        mean, deviation: of the noiseless reward there, in its unit.
        context: in which; empty if the world says nothing.
    """

    def __init__(
        self,
        time: Any,
        mean: float,
        deviation: float,
        parameters: Mapping[str, Value],
        coding: Coding,
        context: Mapping[str, Value] | None = None,
    ) -> None:
        super().__init__(parameters, coding, context or {})
        self.time, self.mean, self.deviation = time, mean, deviation

    def __repr__(self) -> str:
        return (
            f"EstimatedPeak({self._parameters}, mean={self.mean:.4g}, "
            f"deviation={self.deviation:.3g}, time={self.time!r}{self._in_context})"
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
        context: what the world said; empty if it says nothing.
        constraints: what was measured of the quantities with limits.
        chances: with which its suggestion was believed to keep them; empty where it was not
            followed, or nothing was known.
        trials: of how many measurements it is the mean, if that was told; else None.
        used: whether the policy learned from it. It does not from a reward that is dated before an
            earlier `forget`, or that comes too late for a policy other than a `DriftingGP`.
    """

    id: int | None
    parameters: ParameterValues
    reward: float
    number: float
    kind: Kind
    expected: tuple[float, float] | None
    noise: float | None = None
    context: ParameterValues = field(default_factory=dict)
    constraints: dict[str, float] = field(default_factory=dict)
    chances: dict[str, float] = field(default_factory=dict)
    trials: int | None = None
    used: bool = True

    @property
    def time(self) -> Any:
        """When, as the user writes it."""
        return show_time(self.number, self.kind)

    @staticmethod
    def of(
        event: Told, chances: dict[str, float] | None = None, *, used: bool = True
    ) -> "Observation":
        """Make the record of an event.

        Arguments:
            event: the reward.
            chances: with which its suggestion keeps limits.
            used: whether the policy learns from it.
        """
        return Observation(
            event.id,
            event.parameters,
            event.reward,
            event.time,
            event.kind,
            event.expected,
            event.noise,
            event.context,
            event.constraints,
            chances or {},
            event.trials,
            used,
        )

    def to_list(self) -> list[Any]:
        """For JSON."""
        return list(asdict(self).values())

    @staticmethod
    def from_list(written: list[Any]) -> "Observation":
        """What `to_list` wrote; what an event cannot say is refused."""
        number, parameters, reward, time, kind, expected, noise, *newer = written
        context, constraints, chances, trials, *rest = newer or [{}, {}, {}, None]
        (used,) = rest or [True]
        if not isinstance(used, bool):
            raise DriftpeakError(f"used must be True or False; got {shown(used)}")
        Asked(1, 0.0, "steps", {}, {}, chances)  # checked as in an event
        expected = None if expected is None else tuple(expected)
        told = Told(
            number, time, kind, parameters, reward, expected, noise, context, constraints, trials
        )
        return Observation.of(told, chances, used=used)
