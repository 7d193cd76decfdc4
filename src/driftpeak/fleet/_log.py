"""The stored history of a fleet: a description, one event for each call, and snapshots."""

import json
import uuid
import zlib
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import numpy as np

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import (
    DriftpeakError,
    StorageError,
    StudyMismatchError,
    StudyNotFoundError,
    warn,
)
from driftpeak.fleet._events import Event, from_dict, to_dict
from driftpeak.live._study.storage.store import Store

FORMAT = "fleet-1"
EVERY = 200_000
"""Rows of events between two snapshots."""
MOST = 900_000_000
"""Largest snapshot in bytes; databases limit the size of one value."""


class Log:
    """The events of a fleet in a store, written by one process at a time.

    Arguments:
        store: the store of the fleet.
        description: the arguments of the fleet.

    Raises:
        StudyMismatchError: the store has a fleet with other arguments.
        StorageError: the store has something else, or cannot be read.
    """

    def __init__(self, store: Store, description: dict[str, Any]) -> None:
        self.store = store
        stored = store.describe()
        if stored is None:
            made = {
                "format": FORMAT,
                "version": version("driftpeak"),
                "name": store.name or "fleet",
            }
            made["id"] = uuid.uuid4().hex[:16]
            if not store.create(made | description):
                stored = store.describe()  # another process has just created it
        if stored is not None:
            check_format(stored, store)
            given = json.loads(json.dumps(description))
            differing = [name for name in given if given[name] != stored.get(name)]
            if differing:
                raise StudyMismatchError(
                    f"fleet {stored['name']!r} in {store.where} has another {differing[0]}. Give "
                    "another name, or use Fleet.load to resume the fleet"
                )
        self.position = store.start()
        self._rows = 0  # since the newest snapshot

    def read(self) -> Iterator[Event]:
        """Return the events after the position, which advances after each."""
        for position, written in self.store.read(self.position).events:
            event = from_dict(written)
            yield event
            self.position = position
            self._count(event)

    def append(self, event: Event) -> None:
        """Store an event; it is on disk when this returns.

        Raises:
            StorageError: another process changed the fleet, or the event could not be stored.
                Nothing was changed.
        """
        after = self.store.append(self.position, [to_dict(event)])
        if after is None:
            raise StorageError(
                f"a fleet must be changed by one process at a time; another process changed the "
                f"fleet in {self.store.where}. Nothing was changed. Use Fleet.load to resume it, "
                "and give each process its own fleet"
            )
        self.position = after
        self._count(event)

    def _count(self, event: Event) -> None:
        self._rows += max((len(array) for array in event.arrays.values()), default=0)

    @property
    def due(self) -> bool:
        """Whether a snapshot is due."""
        return self._rows >= EVERY

    def keep(self, arrays: dict[str, np.ndarray[Any, np.dtype[Any]]], rest: dict[str, Any]) -> None:
        """Store a snapshot; a failure is only a warning, as a missing snapshot costs only time."""
        self._rows = 0
        if sum(array.nbytes for array in arrays.values()) > MOST:
            return
        head = {
            "format": FORMAT,
            "version": version("driftpeak"),
            "position": self.position,
            "arrays": {name: [str(x.dtype), x.shape] for name, x in arrays.items()},
            "rest": rest,
        }
        parts: list[Any] = [json.dumps(head).encode() + b"\n"]
        parts += [np.ascontiguousarray(x).data.cast("B") for x in arrays.values() if x.size]
        check = 0
        for part in parts:
            check = zlib.crc32(part, check)
        try:
            self.store.keep(b"".join([b"%08x\n" % check, *parts]))
        except DriftpeakError as error:
            warn(f"no snapshot was stored: {error}")

    def snapshot(self) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """Return arrays and rest of the newest snapshot if it is valid, and go to its position."""
        found = read_snapshot(self.store.snapshot())
        if found is None:
            return None
        head, content = found
        position = tuple(head["position"])
        if not self.store.holds(position):
            return None
        arrays, first = {}, 0
        for name, (kind, shape) in head["arrays"].items():
            count = int(np.prod(shape))
            array = np.frombuffer(content, kind, count, first) if count else np.zeros(0, kind)
            arrays[name] = array.reshape(shape).copy()
            first += array.nbytes
        self.position = position
        return arrays, head["rest"]


def read_snapshot(kept: bytes | None) -> tuple[dict[str, Any], memoryview] | None:
    """Return head and content of a snapshot; None if absent, damaged or of another version."""
    if kept is None:
        return None
    view = memoryview(kept)
    try:
        if int(bytes(view[:8]), 16) != zlib.crc32(view[9:]):
            return None
        end = kept.index(b"\n", 9)
        head = json.loads(kept[9:end])
        ours = head["version"] == version("driftpeak") and head["format"] == FORMAT
    except (ValueError, LookupError, TypeError):
        return None
    return (head, view[end + 1 :]) if ours else None


def check_format(found: dict[str, Any], store: Store) -> None:
    """Check that a description is of a fleet in the format of this version.

    Raises:
        StorageError: it is not.
    """
    if found.get("format") != FORMAT:
        raise StorageError(
            f"{store.where} must hold a fleet in format {FORMAT} for this version "
            f"({version('driftpeak')}); got format {found.get('format')}, written by driftpeak "
            f"{found.get('version')}. Use that version, or dp.Optimizer.load for a study"
        )


def is_fleet(store: Store) -> bool:
    """Return whether a store has a fleet."""
    try:
        found = store.describe()
    except DriftpeakError:
        return False
    return found is not None and found.get("format") == FORMAT


def holds_study(store: Store) -> bool:
    """Return whether a store has a study, whose format is a number, in place of a fleet.

    Raises:
        StorageError: the store cannot be read.
    """
    return isinstance((store.describe() or {}).get("format"), int)


def description_of(store: Store) -> dict[str, Any]:
    """Return the stored description of a fleet.

    Raises:
        StudyNotFoundError: there is no such fleet.
        StorageError: the store has something else, or a fleet of another version.
    """
    description = store.describe()
    if description is None:
        raise StudyNotFoundError(
            f"there is no fleet in {store.where}. Create it with dp.Fleet(storage=...)"
        )
    check_format(description, store)
    return description


@checked
def verify(store: Store) -> dict[str, Any]:
    """Check a stored fleet against its checksums, and decode all events.

    Arguments:
        store: the storage of the fleet, from `driftpeak.live.open_store`. It is read only.

    Returns:
        The fleet's name, the number of events, the number of observations, and whether there is a
        snapshot of this history.

    Raises:
        StudyNotFoundError: there is no such fleet.
        StorageError: another version wrote the fleet, or the storage cannot be read.
        StorageCorruptError: the fleet is corrupt; the message says where.
    """
    description_of(store)
    store.inspect()
    events = observations = 0
    for position, written in store.read(store.start()).events:
        event = from_dict(written)
        events = position[0]
        observations += len(event.arrays.get("rewards", ()))
    kept = store.snapshot()
    found = read_snapshot(kept)
    fits = found is not None and store.holds(tuple(found[0]["position"]))
    snapshot = "none" if kept is None else "of this history" if fits else "not used"
    return {
        "name": store.name,
        "events": events,
        "observations": observations,
        "snapshot": snapshot,
    }
