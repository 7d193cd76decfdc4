"""What a study's events say by themselves: read without its engine, so at once, however busy it is.

Nothing here computes a belief, and nothing writes.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from threading import Lock
from typing import Any, NamedTuple

from driftpeak.live.space.constraints import Limit, constraints_from_data
from driftpeak.live.study.events import Reset, Told, from_dict
from driftpeak.live.study.storage import Store, check_format
from driftpeak.live.study.storage.study import missing
from driftpeak.live.study.study_state import Ledger
from driftpeak.live.study.suggestion import Observation

PER_REWARD = 1_500  # bytes of an observation in memory


class Counts(NamedTuple):
    """Of a study at one moment: all events, rewards since it began and since a reset, and so on."""

    events: int
    ever: int
    told: int
    pending: int
    latest: Any


class Books:
    """The ledger of one study, as far as it has been read.

    Raises:
        DriftpeakError: no such study, or one of another version, or corrupt.
    """

    def __init__(self, store: Store) -> None:
        found = store.describe()
        if found is None:
            raise missing(store)
        check_format(found, store)
        self.description: dict[str, Any] = found
        self._store, self._position = store, store.start()
        self._ledger, self._ever, self._before = Ledger(), 0, 0
        self._lock = Lock()
        rules = found.get("constraints")
        each = {} if rules is None else constraints_from_data(rules)
        self._limits = {name: one for name, one in each.items() if isinstance(one, Limit)}

    def counts(self) -> Counts:
        """As the study is now."""
        with self._current() as ledger:
            return self._counts(ledger)

    def pending(self) -> list[dict[str, Any]]:
        """The suggestions that are out, oldest first."""
        with self._current() as ledger:
            return [self._suggestion(number) for number in ledger.pending]

    def suggestion(self, number: int) -> dict[str, Any]:
        """One that is out."""
        with self._current():
            return self._suggestion(number)

    def history(self, after: int, limit: int) -> tuple[list[tuple[int, Observation]], Counts]:
        """Rewards with their numbers, from the first after `after` on, at most `limit`.

        The number of a reward counts all that were ever told, also before a reset. Of those since
        the last reset, the newest 10,000 are there.
        """
        with self._current() as ledger:
            first = self._ever - len(ledger.history) + 1
            start = max(after + 1 - first, 0)
            some = islice(ledger.history, start, start + limit)
            return list(enumerate(some, first + start)), self._counts(ledger)

    @property
    def size(self) -> int:
        """About how many bytes of memory it takes."""
        return PER_REWARD * len(self._ledger.history)

    @contextmanager
    def _current(self) -> Iterator[Ledger]:
        """The ledger, up to date, while nobody else reads on."""
        with self._lock:
            self._refresh()
            yield self._ledger

    def _refresh(self) -> None:
        for position, written in self._store.read(self._position).events:
            event = from_dict(written)
            if isinstance(event, Reset):
                self._ledger, self._before = self._ledger.anew(), self._ever
            else:
                self._ledger.enter(event)
            self._ever += isinstance(event, Told)
            self._position = position

    def _counts(self, ledger: Ledger) -> Counts:
        latest = None if ledger.latest is None else ledger.show(ledger.latest)
        told = self._ever - self._before
        return Counts(self._position[0], self._ever, told, len(ledger.pending), latest)

    def _suggestion(self, number: int) -> dict[str, Any]:
        one = self._ledger.outstanding(number)
        kept = [self._limits[name].believes(chance) for name, chance in one.chances.items()]
        return {
            "id": number,
            "time": self._ledger.show(one.time),
            "parameters": one.parameters,
            "hold": one.hold,
            "context": one.context,
            "chances": one.chances,
            "feasible": all(kept) if kept else None,
        }
