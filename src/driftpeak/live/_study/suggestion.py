"""Results of an optimiser: suggestions, estimated peaks and records of observations."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

import attrs

from driftpeak._core.errors import rejected
from driftpeak.live._space.parameters import ParameterValues, Value
from driftpeak.live._study.clock import Kind, show_time
from driftpeak.live._study.events import Asked, Told

if TYPE_CHECKING:
    from driftpeak.live._space.encoding import Coding


def _copied(values: Mapping[str, Any] | None) -> dict[str, Any]:
    return dict(values or {})


class NamedValues(Mapping[str, Value]):
    """A mapping of parameters, with the values of the context in `context`. Base class.

    Attributes:
        parameters: the same values as a dictionary.
    """

    parameters: ParameterValues
    context: ParameterValues
    _coding: "Coding | None"

    @property
    def index(self) -> int | None:
        """Number of the arm or grid point; None in a box, and from a `Client`."""
        number = getattr(self._coding, "number", None)
        return None if number is None else number(self.parameters)

    def __getitem__(self, name: str) -> Value:
        return self.parameters[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.parameters)

    def __len__(self) -> int:
        return len(self.parameters)

    @property
    def _in_context(self) -> str:
        return f", context={self.context}" if self.context else ""


@attrs.define(eq=False, repr=False, slots=False)
class Suggestion(NamedValues):
    """A suggestion of `Optimizer.ask`: a mapping of parameters to sample next.

    Attributes:
        id: number of the suggestion, from 1.
        time: when it is to be sampled.
        hold: whether it repeats the current setting.
        context: the context it was made in; empty without a context.
        chances: posterior probability of meeting each limit, by name; empty before the first
            measurements.
        feasible: whether each limit is met with its stated probability. If no setting meets them,
            the suggestion has the highest probability. None before the first measurements.
    """

    id: int
    time: Any
    parameters: ParameterValues = attrs.field(converter=_copied)
    _coding: "Coding | None" = None
    hold: bool = attrs.field(default=False, kw_only=True)
    context: ParameterValues = attrs.field(factory=dict, converter=_copied, kw_only=True)
    chances: dict[str, float] = attrs.field(factory=dict, converter=_copied, kw_only=True)
    feasible: bool | None = attrs.field(default=None, kw_only=True)

    def __repr__(self) -> str:
        hold = ", hold" if self.hold else ""
        broken = ", not feasible" if self.feasible is False else ""
        return (
            f"Suggestion({self.id}, {self.parameters}, time={self.time!r}{self._in_context}"
            f"{hold}{broken})"
        )


@attrs.define(eq=False, repr=False, slots=False)
class EstimatedPeak(NamedValues):
    """An estimated peak of `Optimizer.best` or `peaks`: a mapping of parameters.

    Attributes:
        time: the time of the estimate.
        mean, deviation: posterior mean and standard deviation of the noiseless reward at the peak.
        context: the context of the estimate; empty without a context.
    """

    time: Any
    mean: float
    deviation: float
    parameters: ParameterValues = attrs.field(converter=_copied)
    _coding: "Coding | None" = None
    context: ParameterValues = attrs.field(factory=dict, converter=_copied)

    def __repr__(self) -> str:
        return (
            f"EstimatedPeak({self.parameters}, mean={self.mean:.4g}, "
            f"deviation={self.deviation:.3g}, time={self.time!r}{self._in_context})"
        )


@dataclass(frozen=True)
class Observation:
    """An observation: a reward with all that was told about it.

    Attributes:
        id: number of the suggestion; None if the setting was not suggested.
        parameters: the setting.
        reward: the reward.
        number, kind: the time as a number, and its kind; see `time`.
        expected: mean and deviation (noise included) of the one-step forecast; None without one.
        noise: standard deviation of the noise, if it was told; else None.
        context: values of the context; empty without a context.
        constraints: measurements of the quantities with limits.
        chances: posterior probabilities of its suggestion to meet the limits; empty if the
            suggestion was not followed, and before the first measurements.
        trials: number of measurements that the reward averages, if it was told; else None.
        used: whether the policy uses the reward. It does not if the reward is dated before an
            earlier `forget`, or is too late for a policy other than a `DriftingGP`.
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
        """Time of the reward in the user's type."""
        return show_time(self.number, self.kind)

    @staticmethod
    def of(
        event: Told, chances: dict[str, float] | None = None, *, used: bool = True
    ) -> "Observation":
        """Return the observation of an event.

        Arguments:
            event: the event of a reward.
            chances: posterior probabilities of its suggestion to meet the limits.
            used: whether the policy uses the reward.
        """
        known = vars(event) | {"number": event.time, "chances": chances or {}, "used": used}
        return Observation(**{name: known[name] for name in FIELDS})

    def to_list(self) -> list[Any]:
        """Return the fields as JSON-compatible data."""
        return list(asdict(self).values())

    @staticmethod
    def from_list(written: list[Any]) -> "Observation":
        """Return the observation that `to_list` wrote.

        Raises:
            DriftpeakError: a field is invalid.
        """
        stored: dict[str, Any] = {"chances": {}, "used": True}  # which older ones lack
        stored |= dict(zip(FIELDS[: len(written)], written, strict=True))
        chances, used = stored.pop("chances"), stored.pop("used")
        if not isinstance(used, bool):
            raise rejected("used", used, "be True or False")
        Asked(1, 0.0, "steps", {}, {}, chances)  # checks the chances
        expected, time = stored.pop("expected"), stored.pop("number")
        expected = None if expected is None else tuple(expected)
        return Observation.of(Told(time=time, expected=expected, **stored), chances, used=used)


FIELDS = tuple(each.name for each in fields(Observation))
"""Names of an observation's fields, in the order of `to_list`."""
