"""The part of a study that follows from its events: counts, pending suggestions, rewards.

It is read without the engine, so that it is available at once while the study computes. Nothing
here computes a posterior or writes.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any, NamedTuple

from driftpeak.live._space.constraint_data import constraints_from_data
from driftpeak.live._space.constraints import Limit
from driftpeak.live._study.events import Reset, Told, from_dict
from driftpeak.live._study.storage import Store, description_of
from driftpeak.live._study.study_state import StudyState
from driftpeak.live._study.suggestion import Observation, Suggestion

PER_REWARD = 1_500  # bytes of memory for an observation


class Counts(NamedTuple):
    """Counts of a study: all events, all rewards, rewards since a reset, pending suggestions."""

    events: int
    ever: int
    told: int
    pending: int
    latest: Any


class StudyIndex:
    """The state of one study, from the events that have been read.

    Raises:
        DriftpeakError: the study does not exist, has another version, or is corrupt.
    """

    def __init__(self, store: Store) -> None:
        self.description = description_of(store)
        self._store, self._position = store, store.start()
        self._state, self._ever, self._before = StudyState(), 0, 0
        self._lock = Lock()
        constraints = constraints_from_data(self.description.get("constraints", {}))
        self._limits = {name: rule for name, rule in constraints.items() if isinstance(rule, Limit)}

    def counts(self) -> Counts:
        """Return the present counts of the study."""
        with self._current() as state:
            return self._counts(state)

    def pending(self) -> list[Suggestion]:
        """Return the pending suggestions, oldest first."""
        with self._current() as state:
            return [state.suggestion(number, self._limits) for number in state.pending]

    def history(self, after: int, limit: int) -> tuple[list[tuple[int, Observation]], Counts]:
        """Return at most `limit` rewards with numbers above `after`, and the counts.

        Rewards are numbered from the study's start, also across resets. The newest 10,000 since the
        last reset are available.
        """
        with self._current() as state:
            first = self._ever - len(state.history) + 1
            start = max(after + 1 - first, 0)
            some = state.history[start : start + limit]
            return list(enumerate(some, first + start)), self._counts(state)

    @property
    def size(self) -> int:
        """Return the approximate bytes of memory."""
        return PER_REWARD * len(self._state.history)

    @contextmanager
    def _current(self) -> Iterator[StudyState]:
        """Yield the state, updated from the store, under a lock."""
        with self._lock:
            self._refresh()
            yield self._state

    def _refresh(self) -> None:
        for position, written in self._store.read(self._position).events:
            event = from_dict(written)
            self._state.enter(event)
            if isinstance(event, Reset):
                self._before = self._ever
            self._ever += isinstance(event, Told)
            self._position = position

    def _counts(self, state: StudyState) -> Counts:
        latest = None if state.latest is None else state.show(state.latest)
        rewards = self._ever - self._before
        return Counts(self._position[0], self._ever, rewards, len(state.pending), latest)
