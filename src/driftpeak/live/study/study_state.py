"""The books of a study: which suggestions are out, what was told, and how its times are counted."""

import math
from collections import deque
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from driftpeak._core.errors import (
    DriftpeakError,
    UnknownSuggestionError,
    shown,
    whole,
)
from driftpeak.live.space.movement import Place
from driftpeak.live.space.parameters import ParameterValues
from driftpeak.live.space.records import PENDING, Outstanding
from driftpeak.live.study import events as happened
from driftpeak.live.study.clock import Kind, Time, check_number, read_time, show_time
from driftpeak.live.study.events import Event
from driftpeak.live.study.suggestion import Observation

HISTORY = 10_000
TIMED = happened.Asked | happened.Told | happened.Answered
MOST_STEPS = 2.0**53  # from here on, the next whole number is no float


class Stand(NamedTuple):
    """When and where a reward was made, and after which suggestion; before all times if unknown."""

    time: float
    after: int
    parameters: ParameterValues


class Keyed(NamedTuple):
    """A reward that was told under a key: of which suggestion, where, and how much."""

    id: int | None
    parameters: ParameterValues
    reward: float


class Ledger:
    """What an optimiser must remember whatever its policy; a function of the events so far.

    Attributes:
        kind: how the study counts time; None before the first time.
        latest: the latest time asked or told of.
        asked: the number of the newest suggestion.
        pending: the suggestions that are out and not yet told, oldest first.
        history: the rewards told, in the order of telling; the newest 10,000.
        told_last: where, when and after which suggestion the reward of the latest time was made.
        keys: rewards by the keys that they were told under, if under one; the newest 10,000.
        forgotten: a reward dated before this time does not count: `forget` came after that time.
    """

    def __init__(
        self, asked: int = 0, place: Place | None = None, keys: dict[str, Keyed] | None = None
    ) -> None:
        self.told_last: Stand | None
        self.told_last = None if place is None else Stand(-math.inf, 0, place.parameters)
        self.kind: Kind | None = None
        self.latest: float | None = None
        self.asked = asked
        self.pending: dict[int, Outstanding] = {}
        self.history: deque[Observation] = deque(maxlen=HISTORY)
        self.keys = {} if keys is None else keys
        self.forgotten = -math.inf

    def enter(self, event: Event, *, too_late: bool = False) -> None:
        """Write an event down. After a reset, a new ledger begins instead.

        Arguments:
            event: what happened.
            too_late: the policy can no longer use a reward of this time; only the policy knows.

        Raises:
            DriftpeakError: it answers a suggestion that is not out, asks with another number than
                the next or for more than may be out, or its time cannot be compared.
        """
        if isinstance(event, TIMED) and self.kind not in (None, event.kind):
            raise DriftpeakError(f"an event counts time in {event.kind}, the study in {self.kind}")
        match event:
            case happened.Asked():
                self.check_room(1)
                if event.id != self.asked + 1:
                    raise DriftpeakError(
                        f"an event is suggestion {event.id}, after {self.asked}: events must be "
                        "applied once each, in order"
                    )
                place = self.place
                hold = place is not None and place.parameters == event.parameters
                self.asked = event.id
                self.pending[event.id] = Outstanding(
                    event.parameters, event.time, hold, event.context, event.chances
                )
            case happened.Told():
                chances: dict[str, float] = {}
                if event.id is not None:
                    one = self._settle(event.id)
                    chances = one.chances if one.parameters == event.parameters else {}
                used = event.time >= self.forgotten and not too_late
                self.history.append(Observation.of(event, chances, used=used))
                if event.key is not None:
                    self.keys[event.key] = Keyed(event.id, event.parameters, event.reward)
                    if len(self.keys) > HISTORY:
                        del self.keys[next(iter(self.keys))]
                told = Stand(event.time, event.id or self.asked, event.parameters)
                if self.told_last is None or told[:2] >= self.told_last[:2]:
                    self.told_last = told
            case happened.Cancelled():
                self._settle(event.id)
            case happened.Forgot() if self.latest is not None:
                # what is measured after this call counts, even if `before` lies ahead
                before = math.inf if event.before is None else event.before
                self.forgotten = max(self.forgotten, min(before, self.latest))
        if isinstance(event, TIMED):
            self.kind = event.kind
        # answers come before the decision at their time, which is still to be made
        if isinstance(event, happened.Asked | happened.Told):
            self.latest = max(event.time, -np.inf if self.latest is None else self.latest)

    def _settle(self, number: int) -> Outstanding:
        found = self.pending.pop(number, None)
        if found is None:
            raise DriftpeakError(
                f"an event answers suggestion {number}, which is not out: events must be applied "
                "once each, in order, to an optimiser that has seen the earlier ones"
            )
        return found

    @property
    def place(self) -> Place | None:
        """Where the system stands, or is on its way to.

        That is the setting of the latest time, suggested and not taken back, or told; at equal
        times that of the latest suggestion.
        """
        latest = [] if self.told_last is None else [self.told_last]
        if self.pending:
            number, one = max(self.pending.items(), key=lambda item: (item[1].time, item[0]))
            latest.append(Stand(one.time, number, one.parameters))
        if not latest:
            return None
        found = max(latest, key=lambda told: told[:2])
        return Place(found.parameters, found.time)

    def check_room(self, count: int) -> None:
        """Refuse to have more than 1,000 suggestions out."""
        if count > PENDING:
            raise DriftpeakError(f"at most {PENDING} suggestions may be out; got count={count}")
        if len(self.pending) + count > PENDING:
            raise DriftpeakError(
                f"{len(self.pending)} suggestions are out and not told, and at most {PENDING} may "
                "be: tell or cancel some (pending() lists them, and driftpeak live cancel --all "
                "takes all back)"
            )

    def outstanding(self, number: int) -> Outstanding:
        """The suggestion of this number, if it is out.

        Raises:
            DriftpeakError: it is unknown, already told or cancelled.
        """
        if number not in self.pending:
            known = 1 <= number <= self.asked
            raise UnknownSuggestionError(
                f"suggestion {number} is already told, or cancelled"
                if known
                else f"there is no suggestion {shown(number)}; the newest is {self.asked}"
            )
        return self.pending[number]

    def anew(self) -> "Ledger":
        """The books after a reset: the numbers of suggestions, the place and the keys go on."""
        return Ledger(self.asked, self.place, self.keys.copy())

    def oldest(
        self, parameters: ParameterValues, context: ParameterValues | None = None
    ) -> int | None:
        """The number of the oldest suggestion of this setting that is out, in this context."""
        same = (
            number
            for number, one in self.pending.items()
            if one.parameters == parameters and context in (None, one.context)
        )
        return next(same, None)

    def time_of_ask(self, time: Time | None) -> tuple[float, Kind]:
        """When the next decision is made: without a time, at the next whole step."""
        if time is None:
            if self.kind not in (None, "steps"):
                raise DriftpeakError(
                    "this study's times are given, not counted: give a time with every ask"
                )
            step = float(np.floor(self.latest or 0.0)) + 1.0
            if step >= MOST_STEPS:
                raise DriftpeakError(
                    f"steps are counted up to 2**53, and the latest told of is {self.latest:g}: "
                    "give a time with every ask"
                )
            return step, "steps"
        return self._read(time)

    def _read(self, time: Time, *, counted: bool = False) -> tuple[float, Kind]:
        latest = -math.inf if self.told_last is None else self.told_last.time
        return read_time(time, self.kind, counted=counted, latest=latest)

    def time_to_look(self, time: Time | None) -> float:
        """The time that is meant, or the latest."""
        if time is not None:
            return self._read(time, counted=True)[0]
        return 0.0 if self.latest is None else self.latest

    def time_of_tell(self, time: Time | None, number: int | None) -> tuple[float, Kind]:
        """When a reward was made: without a time, when its suggestion was for, or latest."""
        if time is not None:
            return self._read(time, counted=True)
        if number is not None:
            assert self.kind is not None  # it was asked for at some time
            return self.pending[number].time, self.kind
        return self.time_to_look(None), self.kind or "steps"

    def show(self, time: float) -> Any:
        """A time of the study, as the user writes it."""
        return show_time(time, self.kind)

    def copy(self) -> "Ledger":
        """The same books; what is written into one does not stand in the other."""
        copied = copy(self)
        copied.pending, copied.history = self.pending.copy(), self.history.copy()
        copied.keys = self.keys.copy()
        return copied

    def save(self) -> dict[str, Any]:
        """Everything, for JSON."""
        return {
            "kind": self.kind,
            "latest": self.latest,
            "asked": self.asked,
            "pending": {number: list(one) for number, one in self.pending.items()},
            "history": [one.to_list() for one in self.history],
            "told_last": self.told_last,
            "keys": self.keys,
            "forgotten": None if self.forgotten == -math.inf else self.forgotten,
        }

    @classmethod
    def load(cls, written: dict[str, Any]) -> "Ledger":
        """What `save` wrote.

        Raises:
            DriftpeakError, LookupError, TypeError, ValueError, AttributeError: something else.
        """
        self = cls(written["asked"])
        self.kind, self.latest = written["kind"], written["latest"]
        if self.latest is not None:
            check_number(self.latest, self.kind)
        for number, (parameters, time, hold, *rest) in written["pending"].items():
            # as events they are checked
            asked = happened.Asked(int(number), time, self.kind or "steps", parameters, *rest)
            if not (last := max(self.pending, default=0)) < asked.id <= self.asked:
                raise DriftpeakError(f"suggestion {asked.id} is out after {last}")
            self.pending[asked.id] = Outstanding(
                asked.parameters, asked.time, hold is True, asked.context, asked.chances
            )
        if not (whole(self.asked) and self.asked >= 0 and len(self.pending) <= PENDING):
            raise DriftpeakError(f"{len(self.pending)} suggestions of {self.asked} are out")
        self.history.extend(map(Observation.from_list, written["history"]))
        if (forgotten := written.get("forgotten")) is not None:
            check_number(forgotten, self.kind)
            self.forgotten = forgotten
        if (last := written["told_last"]) is not None:
            time, after, parameters = last
            if time != -math.inf:
                check_number(time, self.kind)
            if not (whole(after) and 0 <= after <= self.asked):
                raise DriftpeakError(f"a reward was told after suggestion {shown(after)}")
            self.told_last = Stand(time, after, parameters)
        for key, (number, parameters, reward) in written.get("keys", {}).items():
            told = happened.Told(number, 0.0, "steps", parameters, reward, key=key)  # checks them
            self.keys[key] = Keyed(told.id, told.parameters, told.reward)
        return self
