"""What happens to an optimiser. Its state is a function of its configuration and these, in order.

Events hold numbers, text and lists only, so that they can be written as JSON and read back equal.
A computation whose outcome must not depend on the machine that repeats it, a search or a fit, is
an event by its outcome: replaying a study repeats none.
"""

from dataclasses import asdict, dataclass
from typing import Any

from driftpeak.errors import DriftpeakError
from driftpeak.live.clock import Kind
from driftpeak.live.space import ParameterValues


@dataclass(frozen=True)
class Asked:
    """A suggestion went out."""

    id: int
    time: float
    kind: Kind
    parameters: ParameterValues


@dataclass(frozen=True)
class Told:
    """A reward came in; `id` is None if nobody had asked.

    `expected` is the mean and the standard deviation, noise included, of what had been expected of
    the reward just before, if anything.
    """

    id: int | None
    time: float
    kind: Kind
    parameters: ParameterValues
    reward: float
    expected: tuple[float, float] | None = None


@dataclass(frozen=True)
class Learned:
    """Hyperparameters were learned."""

    values: dict[str, Any]


@dataclass(frozen=True)
class Answered:
    """An expert answered side queries; None where it did not."""

    time: float
    kind: Kind
    queries: list[ParameterValues]
    answers: list[float | None]


@dataclass(frozen=True)
class Cancelled:
    """A suggestion will never be told."""

    id: int


@dataclass(frozen=True)
class Forgot:
    """Observations made before a time, or all, are no longer believed."""

    before: float | None = None


@dataclass(frozen=True)
class Reset:
    """Everything starts again, but for the numbers of suggestions."""


Event = Asked | Told | Learned | Answered | Cancelled | Forgot | Reset
KINDS = {kind.__name__: kind for kind in (Asked, Told, Learned, Answered, Cancelled, Forgot, Reset)}


def to_dict(event: Event) -> dict[str, Any]:
    """The event as a dictionary fit for JSON; its type is under "event"."""
    return {"event": type(event).__name__, **asdict(event)}


def from_dict(written: dict[str, Any]) -> Event:
    """The event that `to_dict` wrote.

    Raises:
        DriftpeakError: no such event, or one with other fields.
    """
    fields = dict(written)
    kind = KINDS.get(fields.pop("event", None))
    if isinstance(fields.get("expected"), list):
        fields["expected"] = tuple(fields["expected"])
    try:
        return kind(**fields)  # type: ignore[misc]
    except TypeError:
        raise DriftpeakError(f"this is no event of an optimiser: {written}") from None
