"""The state of a study: pending suggestions, observations, and the kind of its times."""

import math
from collections.abc import Mapping
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from driftpeak._core.errors import DriftpeakError, UnknownSuggestionError, rejected, shown, whole
from driftpeak.live._space.constraints import Limit
from driftpeak.live._space.encoding import Coding
from driftpeak.live._space.movement import Place
from driftpeak.live._space.parameters import ParameterValues
from driftpeak.live._space.records import PENDING, Outstanding
from driftpeak.live._study import events as happened
from driftpeak.live._study.clock import WORDS, Kind, Time, check_number, read_time, show_time
from driftpeak.live._study.events import Event
from driftpeak.live._study.newest import Newest, NewestByKey
from driftpeak.live._study.suggestion import Observation, Suggestion

HISTORY = 10_000
TIMED = happened.Asked | happened.Told | happened.Answered
MOST_STEPS = 2.0**53  # larger integers are not exact floats


class Keyed(NamedTuple):
    """A reward that was told with a key: its suggestion, setting and value."""

    id: int | None
    parameters: ParameterValues
    reward: float


class StudyState:
    """The state of a study that does not depend on its policy; a function of the events so far.

    Attributes:
        kind: kind of the study's times; None before the first time.
        latest: latest time of a suggestion or reward.
        asked: number of the newest suggestion.
        pending: pending suggestions, oldest first.
        history: the newest 10,000 observations, in the order of `tell`.
        newest_reward: time, suggestion and setting of the reward with the latest time.
        keys: the newest 10,000 rewards with keys, by key.
        forgotten: rewards dated before this time are not used, because of `forget`.
    """

    def __init__(
        self, asked: int = 0, place: Place | None = None, keys: NewestByKey[Keyed] | None = None
    ) -> None:
        self.newest_reward = None if place is None else Place(-math.inf, 0, place.parameters)
        self.kind: Kind | None = None
        self.latest: float | None = None
        self.asked = asked
        self.pending: dict[int, Outstanding] = {}
        self.history: Newest[Observation] = Newest(HISTORY)
        self.keys: NewestByKey[Keyed] = NewestByKey(HISTORY) if keys is None else keys
        self.forgotten = -math.inf

    def enter(self, event: Event, *, too_late: bool = False) -> None:
        """Record an event. A reset keeps the numbering, the current setting and keys.

        Arguments:
            event: the event.
            too_late: whether the reward is too late for the policy.

        Raises:
            DriftpeakError: the event is about a suggestion that is not pending; the number of a new
                suggestion is not the next; too many suggestions are pending; the time cannot be
                compared with the study's times.
        """
        if isinstance(event, TIMED) and self.kind not in (None, event.kind):
            raise DriftpeakError(
                f"the time of an event must be of the study's kind, {self.kind}; got {event.kind}"
            )
        match event:
            case happened.Asked():
                self.check_room(1)
                if event.id != self.asked + 1:
                    raise DriftpeakError(
                        f"the next suggestion must be {self.asked + 1}; got {event.id}. Apply each "
                        "event once, in order"
                    )
                here = self.place
                hold = here is not None and here.parameters == event.parameters
                self.asked = event.id
                self.pending[event.id] = Outstanding(
                    event.parameters, event.time, hold, event.context, event.chances
                )
            case happened.Told():
                chances: dict[str, float] = {}
                if event.id is not None:
                    asked = self._settle(event.id)
                    chances = asked.chances if asked.parameters == event.parameters else {}
                used = event.time >= self.forgotten and not too_late
                self.history.append(Observation.of(event, chances, used=used))
                if event.key is not None and event.key not in self.keys:
                    keyed = Keyed(event.id, event.parameters, event.reward)
                    self.keys.add(event.key, keyed)
                place = Place(event.time, event.id or self.asked, event.parameters)
                if self.newest_reward is None or place[:2] >= self.newest_reward[:2]:
                    self.newest_reward = place
            case happened.Cancelled():
                self._settle(event.id)
            case happened.Forgot() if self.latest is not None:
                # observations after this call are used, even if `before` is in the future
                before = math.inf if event.before is None else event.before
                self.forgotten = max(self.forgotten, min(before, self.latest))
            case happened.Reset():
                vars(self).update(vars(StudyState(self.asked, self.place, self.keys)))
        if isinstance(event, TIMED):
            self.kind = event.kind
        # answers do not count: they precede the next suggestion at the same time
        if isinstance(event, happened.Asked | happened.Told):
            self.latest = max(event.time, -np.inf if self.latest is None else self.latest)

    def _settle(self, number: int) -> Outstanding:
        suggestion = self.pending.pop(number, None)
        if suggestion is None:
            raise DriftpeakError(
                f"an event must be about a pending suggestion; got {number}. Apply each event "
                "once, in order, to an optimiser with all earlier events"
            )
        return suggestion

    @property
    def place(self) -> Place | None:
        """The current setting of the system, or the one that it moves to.

        It is the setting with the latest time among pending suggestions and observations; at equal
        times, the one of the later suggestion.
        """
        latest = [] if self.newest_reward is None else [self.newest_reward]
        if self.pending:
            number, newest = max(self.pending.items(), key=lambda item: (item[1].time, item[0]))
            latest.append(Place(newest.time, number, newest.parameters))
        return max(latest, key=lambda place: place[:2], default=None)

    def check_room(self, count: int) -> None:
        """Check that at most 1,000 suggestions will be pending."""
        if count > PENDING:
            raise DriftpeakError(f"at most {PENDING} suggestions may be pending; got count={count}")
        if len(self.pending) + count > PENDING:
            raise DriftpeakError(
                f"at most {PENDING} suggestions may be pending; got {len(self.pending)} and "
                f"{count} more. Tell or cancel some: pending() lists them, and driftpeak live "
                "cancel --all cancels all"
            )

    def outstanding(self, number: int) -> Outstanding:
        """Return the pending suggestion with this number.

        Raises:
            UnknownSuggestionError: it is unknown, already told or cancelled.
        """
        if number not in self.pending:
            known = 1 <= number <= self.asked
            raise UnknownSuggestionError(
                f"suggestion {number} is already told or cancelled"
                if known
                else f"there is no suggestion {shown(number)}; the newest is {self.asked}"
            )
        return self.pending[number]

    def suggestion(
        self, number: int, limits: Mapping[str, Limit], coding: Coding | None = None
    ) -> Suggestion:
        """Return a pending suggestion by number."""
        record = self.pending[number]
        feasible = [limits[name].believes(chance) for name, chance in record.chances.items()]
        return Suggestion(
            number,
            self.show(record.time),
            record.parameters,
            coding,
            hold=record.hold,
            context=record.context,
            chances=record.chances,
            feasible=all(feasible) if feasible else None,
        )

    def oldest(
        self, parameters: ParameterValues, context: ParameterValues | None = None
    ) -> int | None:
        """Return the number of the oldest pending suggestion of a setting, or None."""
        same = (
            number
            for number, pending in self.pending.items()
            if pending.parameters == parameters and context in (None, pending.context)
        )
        return next(same, None)

    def time_of_ask(self, time: Time | None) -> tuple[float, Kind]:
        """Return the time of the next suggestion; without a time, it is the next step."""
        if time is None:
            if self.kind not in (None, "steps"):
                raise DriftpeakError(
                    f"time must be given, as this study's times are {WORDS[self.kind]}. Give a "
                    "time with each ask"
                )
            step = float(np.floor(self.latest or 0.0)) + 1.0
            if step >= MOST_STEPS:
                raise DriftpeakError(
                    f"counted steps must be below 2**53; the latest is {self.latest:g}. Give a "
                    "time with each ask"
                )
            return step, "steps"
        return self._read(time)

    def _read(self, time: Time, *, counted: bool = False) -> tuple[float, Kind]:
        latest = -math.inf if self.newest_reward is None else self.newest_reward.time
        return read_time(time, self.kind, counted=counted, latest=latest)

    def time_to_look(self, time: Time | None) -> float:
        """Return the given time as a number, or the latest time."""
        if time is not None:
            return self._read(time, counted=True)[0]
        return 0.0 if self.latest is None else self.latest

    def time_of_tell(self, time: Time | None, number: int | None) -> tuple[float, Kind]:
        """Return the time of a reward; without a time, its suggestion's time or the latest."""
        if time is not None:
            return self._read(time, counted=True)
        if number is not None:
            assert self.kind is not None  # each suggestion has a time
            return self.pending[number].time, self.kind
        return self.time_to_look(None), self.kind or "steps"

    def show(self, time: float) -> Any:
        """Return a time of the study in the user's type."""
        return show_time(time, self.kind)

    def copy(self) -> "StudyState":
        """Return an independent copy."""
        copied = copy(self)
        copied.pending, copied.history = self.pending.copy(), self.history.copy()
        copied.keys = self.keys.copy()
        return copied

    def save(self) -> dict[str, Any]:
        """Return the whole state as JSON-compatible data."""
        return {
            "kind": self.kind,
            "latest": self.latest,
            "asked": self.asked,
            "pending": {number: list(pending) for number, pending in self.pending.items()},
            "history": [observation.to_list() for observation in self.history],
            "told_last": self.newest_reward,
            "keys": dict(self.keys),
            "forgotten": None if self.forgotten == -math.inf else self.forgotten,
        }

    @classmethod
    def load(cls, written: dict[str, Any]) -> "StudyState":
        """Return the state that `save` wrote.

        Raises:
            DriftpeakError, LookupError, TypeError, ValueError, AttributeError: the data are
                invalid.
        """
        self = cls(written["asked"])
        self.kind, self.latest = written["kind"], written["latest"]
        if self.latest is not None:
            check_number(self.latest, self.kind)
        for number, (parameters, time, hold, *rest) in written["pending"].items():
            # the constructor of an event checks its fields
            asked = happened.Asked(int(number), time, self.kind or "steps", parameters, *rest)
            if not (last := max(self.pending, default=0)) < asked.id <= self.asked:
                raise DriftpeakError(
                    f"pending suggestions must be sorted by number, up to {self.asked}; got "
                    f"{asked.id} after {last}"
                )
            self.pending[asked.id] = Outstanding(
                asked.parameters, asked.time, hold is True, asked.context, asked.chances
            )
        if not (whole(self.asked) and self.asked >= 0 and len(self.pending) <= PENDING):
            raise DriftpeakError(
                f"pending suggestions must be at most {PENDING} of a whole number of suggestions; "
                f"got {len(self.pending)} of {shown(self.asked)}"
            )
        self.history = Newest(HISTORY, [Observation.from_list(each) for each in written["history"]])
        if (forgotten := written.get("forgotten")) is not None:
            check_number(forgotten, self.kind)
            self.forgotten = forgotten
        if (last := written["told_last"]) is not None:
            time, number, parameters = last
            if time != -math.inf:
                check_number(time, self.kind)
            if not (whole(number) and 0 <= number <= self.asked):
                accepted = f"follow one of {self.asked} suggestions"
                raise rejected("the latest reward", number, accepted)
            self.newest_reward = Place(time, number, parameters)
        for key, (number, parameters, reward) in written.get("keys", {}).items():
            event = happened.Told(number, 0.0, "steps", parameters, reward, key=key)  # checks them
            self.keys.add(key, Keyed(event.id, event.parameters, event.reward))
        return self
