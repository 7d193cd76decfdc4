"""Events of an optimiser. Its state is a function of its configuration and its events, in order.

Events hold only numbers, text and lists, so that they can be written as JSON and read back equal.
The results of searches and fits are stored as events, because such computations may differ between
machines. Replaying a study does not repeat them.

The constructor of an event checks the types of its fields. Applying the event checks that it fits
the study, its space and earlier events.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from driftpeak._core.errors import DriftpeakError, rejected, shown, stored_number, whole
from driftpeak.live._space.parameters import ParameterValues
from driftpeak.live._study.clock import Kind, check_number

LONGEST_KEY = 200


class Checked:
    """An event whose constructor checks the types of its fields. Base class."""

    def __post_init__(self) -> None:
        fields = vars(self)
        for name, value in fields.items():
            if name in CHECKS:
                CHECKS[name](name, value)
        if "kind" in fields:
            check_number(fields["time"], fields["kind"])


@dataclass(frozen=True)
class Asked(Checked):
    """The event of a suggestion.

    `context` has the values of the context, if any. `chances` are the posterior probabilities of
    meeting each limit, by name.
    """

    id: int
    time: float
    kind: Kind
    parameters: ParameterValues
    context: ParameterValues = field(default_factory=dict)
    chances: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Told(Checked):
    """The event of a reward. `id` is None if the setting was not suggested.

    `expected` is the mean and the standard deviation (noise included) of the one-step forecast, if
    there is one. `noise` is the standard deviation of the noise, if known. `context` has the values
    of the context, and `constraints` the measurements of quantities with limits, if any. `trials`
    is the number of measurements that the reward averages, if given. `key` is the user's name for
    the reward, if given.
    """

    id: int | None
    time: float
    kind: Kind
    parameters: ParameterValues
    reward: float
    expected: tuple[float, float] | None = None
    noise: float | None = None
    context: ParameterValues = field(default_factory=dict)
    constraints: dict[str, float] = field(default_factory=dict)
    trials: int | None = None
    key: str | None = None


@dataclass(frozen=True)
class Learned(Checked):
    """The event of learned hyperparameters."""

    values: dict[str, Any]


@dataclass(frozen=True)
class Answered(Checked):
    """The event of an expert's answers to side queries; None for queries without an answer."""

    time: float
    kind: Kind
    queries: list[ParameterValues]
    answers: list[float | None]


@dataclass(frozen=True)
class Cancelled(Checked):
    """The event of a cancelled suggestion."""

    id: int


@dataclass(frozen=True)
class Forgot(Checked):
    """The event that deletes the observations before a time, or all observations."""

    before: float | None = None


@dataclass(frozen=True)
class Reset(Checked):
    """The event that restarts the study; the numbering of suggestions continues."""


def _number(name: str, value: object) -> None:
    if value is not None and not (whole(value) and value >= 1):
        raise DriftpeakError(f"{name} must be an integer of at least 1; got {shown(value)}")


def _optional(name: str, value: object) -> None:
    if value is not None:
        stored_number(name, value)


def check_key(name: str, value: object) -> None:
    """Check the key of a reward.

    Raises:
        DriftpeakError: the key is not 1 to 200 printable ASCII characters.
    """
    fits = isinstance(value, str) and 1 <= len(value) <= LONGEST_KEY and value.isascii()
    if value is not None and not (fits and str(value).isprintable()):
        raise rejected(name, value, f"be 1 to {LONGEST_KEY} printable ASCII characters")


def _scale(name: str, value: object) -> None:
    if value is not None and stored_number(name, value) <= 0:
        raise DriftpeakError(f"{name} must be above 0; got {shown(value)}")


def _mapping(name: str, value: object) -> None:
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise DriftpeakError(f"{name} must be a mapping with text keys; got {shown(value)}")


def _numbers(name: str, value: object) -> None:
    _mapping(name, value)
    assert isinstance(value, dict)
    for key, number in value.items():
        stored_number(f"{name} {key!r}", number)


def _list_of(check: Any) -> Any:
    def check_list(name: str, value: object) -> None:
        if not isinstance(value, Sequence) or isinstance(value, str):
            raise DriftpeakError(f"{name} must be a list; got {shown(value)}")
        for item in value:
            check(name, item)

    return check_list


def _expectation(name: str, value: object) -> None:
    if value is not None and not (isinstance(value, tuple) and len(value) == 2):
        raise DriftpeakError(f"{name} must be a mean and a deviation; got {shown(value)}")
    for number in value or ():
        stored_number(name, number)


CHECKS: dict[str, Any] = {  # `check_number` checks a time with its kind
    "id": _number,
    "parameters": _mapping,
    "context": _mapping,
    "chances": _numbers,
    "constraints": _numbers,
    "reward": stored_number,
    "expected": _expectation,
    "noise": _scale,
    "trials": _number,
    "key": check_key,
    "values": _mapping,
    "queries": _list_of(_mapping),
    "answers": _list_of(_optional),
    "before": _optional,
}
NEWER: dict[str, Any] = {
    "noise": None,
    "context": {},
    "chances": {},
    "constraints": {},
    "trials": None,
    "key": None,
}
"""Fields that are written only if they differ from these defaults."""
Event = Asked | Told | Learned | Answered | Cancelled | Forgot | Reset
KINDS = {kind.__name__: kind for kind in (Asked, Told, Learned, Answered, Cancelled, Forgot, Reset)}


def to_dict(event: Event) -> dict[str, Any]:
    """Return an event as a JSON-compatible dictionary, with its type under "event"."""
    fields = asdict(event)
    for name, nothing in NEWER.items():
        if fields.get(name, 0.0) == nothing:
            del fields[name]  # as in events of versions without the field
    return {"event": type(event).__name__, **fields}


def from_dict(written: dict[str, Any]) -> Event:
    """Return the event that `to_dict` wrote.

    Raises:
        DriftpeakError: the type or a field is unknown, missing or invalid.
    """
    fields = dict(written)
    name = fields.pop("event", None)
    kind = KINDS.get(name) if isinstance(name, str) else None
    if isinstance(fields.get("expected"), list):
        fields["expected"] = tuple(fields["expected"])
    try:
        return kind(**fields)  # type: ignore[misc]
    except TypeError:
        raise DriftpeakError(
            f"an event must be one of {', '.join(KINDS)} with its fields; got {shown(written)}"
        ) from None
