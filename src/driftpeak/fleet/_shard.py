"""One shard of a `ShardedFleet`, on the Dask worker that has it."""

import threading
from typing import Any

import numpy as np

from driftpeak._core.errors import DriftpeakError, StorageError
from driftpeak.fleet._events import Event
from driftpeak.fleet._fleet import Fleet
from driftpeak.fleet._members import member_ids
from driftpeak.fleet._pending import number_of, serial_of
from driftpeak.fleet._pool import Sample
from driftpeak.live._study.storage import Store, open_store


def store_of(storage: str, name: str, shard: int) -> Store:
    """Return the store of a shard: a journal in a folder, or an entry of a database."""
    where = storage if "://" in storage else f"{storage}/{name}-{shard}.jsonl"
    return open_store(where, f"{name}-{shard}")


class Shard(Fleet):
    """Some members of a sharded fleet.

    A call is repeated if its worker was lost. Each event therefore has the id of its call, and a
    call whose event is stored already returns the first result. Columns have one entry for each
    member or row, and most results are tuples of columns.
    """

    _call: str | None = None

    def run(self, call: str | None, method: str, arguments: dict[str, Any]) -> Any:
        """Return the result of a method.

        Arguments:
            call: the id of a call that changes the shard, None for others.
            method: name of a method below.
            arguments: its arguments.
        """
        if call is not None and self._state.call == call:
            return self._repeated(arguments) if method == "suggest" else self._used()
        self._call = call
        return getattr(self, method)(**arguments)

    @property
    def seen(self) -> dict[Any, int]:
        """The number of observations of each group."""
        return (
            {} if self._pool is None else dict(zip(self._pool.labels, self._pool.seen, strict=True))
        )

    def suggest(self, members: Any, time: Any, context: Any) -> tuple[Any, ...]:
        """Return the ids, choices and times of new suggestions."""
        found = self.ask(members, time=time, context=None if context is None else list(context))
        return found.ids, found.choices, found.times

    def _repeated(self, arguments: dict[str, Any]) -> tuple[Any, ...]:
        """Return the newest suggestions of members."""
        _, rows = self._members.find(arguments["members"])
        ids = self._pending.ids(rows, self._members.serials[rows]) - 1
        points, times = self._pending.find(rows, number_of(ids))
        return ids, points % len(self.space), times

    def _used(self) -> tuple[Any, ...]:
        return () if self._state.used is None else (self._state.used,)

    def pending(self, ids: Any) -> tuple[Any, ...]:
        """Return which suggestions are pending."""
        return (self._pending.known(self._members.rows_of(serial_of(ids)), number_of(ids)),)

    def why_not(self, id: int, name: str) -> Exception:
        """Return the error for an id that is not pending."""
        one = np.array([id], np.int64)
        row, number = self._members.rows_of(serial_of(one)), number_of(one)
        return self._pending.why_not(int(row[0]), int(number[0]), name)

    def answer(self, ids: Any, rewards: Any, time: Any) -> tuple[Any, ...]:
        """Observe the rewards of pending suggestions, and return which are used."""
        return (self.tell(ids, rewards, time=time),)

    def record(self, members: Any, choices: Any, rewards: Any, time: Any) -> tuple[Any, ...]:
        """Observe rewards of other arms, and return which are used."""
        return (self.observe(members, choices, rewards, time=time),)

    def forecast(self, members: Any, time: Any) -> tuple[Any, ...]:
        """Return the arrays of `Fleet.predict`."""
        return self.predict(members, time=time)

    def diagnose(self, members: Any) -> tuple[Any, ...]:
        """Return the columns of `Fleet.diagnostics`, without the members."""
        return tuple(self.diagnostics(members).values())[1:]

    def count(self, members: Any) -> tuple[Any, ...]:
        """Return the number of observations of members."""
        return (self._engine.tells[self._members.find(members)[1]],)

    def insert(self, members: Any, serials: Any, mask: Any, groups: Any) -> None:
        """Add members with these serial numbers."""
        if not len(members):
            return
        rest = {"serials": serials.tolist()}
        if groups is not None:
            rest["groups"] = groups.tolist()
        flat = np.zeros(0, bool) if mask is None else mask.ravel()
        self._change(Event("Added", {"arms": flat}, member_ids(members).tolist(), rest))

    def describe(self) -> dict[str, Any]:
        """Return the members and, if there are any, the groups."""
        members, rows = self._members.find(None)
        return {
            "members": members,
            "serials": self._members.serials[rows],
            "next": self._members.next_serial,
            "arms": None if self._members.arms is None else self._members.arms[rows],
            "pool": None if self._pool is None else self._pool.save(),
        }

    def sample(self, label: Any, most: int) -> Sample | None:
        """Return a sample of the members of a group; None if they have no observations."""
        assert self._pool is not None
        if label not in self._pool.labels:
            return None
        rows = self._state.rows_of_group(self._pool.labels.index(label))
        return self._pool.sample(rows, self._engine, most)

    def take(self, label: Any, population: dict[str, Any]) -> None:
        """Take a new population prior of a group."""
        self._change(Event("Refreshed", {}, rest={"label": label, "population": population}))

    def _refresh(self) -> None:
        """Do nothing: the priors are estimated from all shards."""

    def _change(self, event: Event, decisions: Any = None) -> Any:
        rest = (event.rest or {}) | {"call": self._call}
        return super()._change(event._replace(rest=rest), decisions)


class Open:
    """The open shards of a worker; one call at a time uses them."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.shards: dict[tuple[str, str, int], Shard] = {}

    def run(
        self, storage: str, name: str, shard: int, call: str | None, method: str, arguments: Any
    ) -> tuple[Any, Any]:
        """Return the result of a method of a shard, and the observations of each group.

        A shard that another worker has changed in the meantime is opened again.
        """
        for attempt in (1, 2):
            try:
                if (storage, name, shard) not in self.shards:
                    found: Any = Shard.load(store_of(storage, name, shard))
                    self.shards[storage, name, shard] = found
                one = self.shards[storage, name, shard]
                return one.run(call, method, arguments), one.seen
            except StorageError:
                self.shards.pop((storage, name, shard), None)
                if attempt == 2:
                    raise
        raise AssertionError


def work(
    storage: str,
    name: str,
    call: str | None,
    method: str,
    jobs: dict[int, dict[str, Any]],
    placed: list[int],
) -> dict[int, tuple[Any, Any]]:
    """Run a method of some shards on the worker that executes this.

    Arguments:
        storage, name: where the shards are stored.
        call, method: as for `Shard.run`.
        jobs: arguments by number of shard.
        placed: the shards of this worker; others are closed.

    Returns:
        By number of shard: the result, or an error, and the observations of each group.
    """
    from distributed import get_worker

    opened = vars(get_worker()).setdefault("_driftpeak_shards", Open())
    results: dict[int, tuple[Any, Any]] = {}
    with opened.lock:
        for key in [key for key in opened.shards if key[:2] == (storage, name)]:
            if key[2] not in placed and key[2] not in jobs:
                del opened.shards[key]
        for shard, arguments in jobs.items():
            try:
                results[shard] = opened.run(storage, name, shard, call, method, arguments)
            except DriftpeakError as error:
                results[shard] = error, None
    return results
