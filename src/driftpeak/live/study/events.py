"""What happens to an optimiser. Its state is a function of its configuration and these, in order.

Events hold numbers, text and lists only, so that they can be written as JSON and read back equal.
A computation whose outcome must not depend on the machine that repeats it, a search or a fit, is
an event by its outcome: replaying a study repeats none.

Whatever wrote them, events that exist have fields of the right kinds. Whether they fit a study, its
space and what came before, is seen when they take effect.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from driftpeak._core.errors import DriftpeakError, shown, stored_number, whole
from driftpeak.live.space.parameters import ParameterValues
from driftpeak.live.study.clock import Kind, check_number

LONGEST_KEY = 200


class Checked:
    """Base class of events: an error instead of one with a field of another kind."""

    def __post_init__(self) -> None:
        fields = vars(self)
        for name, value in fields.items():
            CHECKS[name](name, value)
        if "kind" in fields:
            check_number(fields["time"], fields["kind"])


@dataclass(frozen=True)
class Asked(Checked):
    """A suggestion went out; `context` is what the world said, if anything.

    `chances` are the probabilities, by limit, with which it keeps them, as was believed.
    """

    id: int
    time: float
    kind: Kind
    parameters: ParameterValues
    context: ParameterValues = field(default_factory=dict)
    chances: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Told(Checked):
    """A reward came in; `id` is None if nobody had asked.

    `expected` is the mean and the standard deviation, noise included, of what had been expected of
    the reward just before, if anything; `noise` is the standard deviation of its noise, if known;
    `context` is what the world said, and `constraints` what was measured of limits, if anything;
    `trials` of how many measurements the reward is the mean, if of several; `key` the teller's own
    name for it, if it has one.
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
    """Hyperparameters were learned."""

    values: dict[str, Any]


@dataclass(frozen=True)
class Answered(Checked):
    """An expert answered side queries; None where it did not."""

    time: float
    kind: Kind
    queries: list[ParameterValues]
    answers: list[float | None]


@dataclass(frozen=True)
class Cancelled(Checked):
    """A suggestion will never be told."""

    id: int


@dataclass(frozen=True)
class Forgot(Checked):
    """Observations made before a time, or all, are no longer believed."""

    before: float | None = None


@dataclass(frozen=True)
class Reset(Checked):
    """Everything starts again, but for the numbers of suggestions."""


def _any(name: str, value: object) -> None:
    """Checked elsewhere."""


def _number(name: str, value: object) -> None:
    if value is not None and not (whole(value) and value >= 1):
        raise DriftpeakError(f"{name} must be a whole number from 1 on; got {shown(value)}")


def _optional(name: str, value: object) -> None:
    if value is not None:
        stored_number(name, value)


def check_key(name: str, value: object) -> None:
    """Refuse what is no key of a reward.

    Raises:
        DriftpeakError: with what is accepted.
    """
    fits = isinstance(value, str) and 1 <= len(value) <= LONGEST_KEY and value.isascii()
    if value is not None and not (fits and str(value).isprintable()):
        raise DriftpeakError(
            f"{name} must be 1 to {LONGEST_KEY} printable ASCII characters; got {shown(value)}"
        )


def _scale(name: str, value: object) -> None:
    if value is not None and stored_number(name, value) <= 0:
        raise DriftpeakError(f"{name} must be above 0; got {shown(value)}")


def _mapping(name: str, value: object) -> None:
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise DriftpeakError(f"{name} must be an object with names; got {shown(value)}")


def _numbers(name: str, value: object) -> None:
    _mapping(name, value)
    assert isinstance(value, dict)
    for key, one in value.items():
        stored_number(f"{name} {key!r}", one)


def _list_of(check: Any) -> Any:
    def check_list(name: str, value: object) -> None:
        if not isinstance(value, Sequence) or isinstance(value, str):
            raise DriftpeakError(f"{name} must be a list; got {shown(value)}")
        for one in value:
            check(name, one)

    return check_list


def _expectation(name: str, value: object) -> None:
    if value is not None and not (isinstance(value, tuple) and len(value) == 2):
        raise DriftpeakError(f"{name} must be a mean and a deviation; got {shown(value)}")
    for one in value or ():
        stored_number(name, one)


CHECKS: dict[str, Any] = {
    "id": _number,
    "time": _any,  # with its kind
    "kind": _any,
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
"""Fields that are written only where they say something."""
Event = Asked | Told | Learned | Answered | Cancelled | Forgot | Reset
KINDS = {kind.__name__: kind for kind in (Asked, Told, Learned, Answered, Cancelled, Forgot, Reset)}


def to_dict(event: Event) -> dict[str, Any]:
    """The event as a dictionary fit for JSON; its type is under "event"."""
    fields = asdict(event)
    for name, nothing in NEWER.items():
        if fields.get(name, 0.0) == nothing:
            del fields[name]  # as it was before there was such a thing
    return {"event": type(event).__name__, **fields}


def from_dict(written: dict[str, Any]) -> Event:
    """The event that `to_dict` wrote.

    Raises:
        DriftpeakError: no such event, or one with other fields.
    """
    fields = dict(written)
    name = fields.pop("event", None)
    kind = KINDS.get(name) if isinstance(name, str) else None
    if isinstance(fields.get("expected"), list):
        fields["expected"] = tuple(fields["expected"])
    try:
        return kind(**fields)  # type: ignore[misc]
    except TypeError:
        raise DriftpeakError(f"this is no event of an optimiser: {shown(written)}") from None
