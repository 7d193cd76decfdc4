"""An optimiser's life in a store: read what others have done, then do something, durably."""

import json
import warnings
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any, Protocol, runtime_checkable

from driftpeak.errors import DriftpeakError, DriftpeakWarning
from driftpeak.live.description import space_from_data, space_to_data
from driftpeak.live.events import Event, from_dict, to_dict
from driftpeak.live.policy_data import can_be_made, differences
from driftpeak.live.storage.store import Position, Store

FORMAT = 3  # 1: one kind of drift only; 2: policies by the names of their classes
EVERY = 1_000  # events between two snapshots
DEFAULT_NAME = "study"


@runtime_checkable
class State(Protocol):
    """What is kept: an optimiser."""

    def begin(self) -> None:
        """Be as new."""

    def replay(self, events: Iterable[Event]) -> None:
        """Let events take effect, in order."""

    def snapshot(self) -> bytes:
        """The whole state."""

    def restore(self, snapshot: bytes) -> None:
        """Take over a state."""


class Study:
    """A study that is kept, seen from one optimiser.

    Arguments:
        store: of this one study.
        state: the optimiser, as new; it is brought up to date.
        description: of the optimiser: equal ones have equal states after equal events.

    Raises:
        DriftpeakError: a study of another description, or of a newer driftpeak, has this name; the
            store is locked or corrupt.
    """

    def __init__(self, store: Store, state: State, description: dict[str, Any]) -> None:
        self.store, self._state = store, state
        self._added: list[Event] = []
        self._inside = False
        self._sound = False  # whether the state is that of `_position`
        with store.locked():
            found = store.describe()
            if found is None:
                name = store.name or DEFAULT_NAME
                made_by = {"format": FORMAT, "version": version("driftpeak"), "name": name}
                store.create(made_by | description)
            else:
                check_format(found, store)
                _compare(found, description, store)
            self._position: Position = store.start()
            self._catch_up()

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Hold the study, up to date; what is added in here is durable in the end, or undone."""
        if self._inside:
            yield
            return
        self._inside = True
        try:
            with self.store.locked():
                self._catch_up()
                before, self._added = self._position[0], []
                yield
                if self._added:
                    written = [to_dict(event) for event in self._added]
                    after = self.store.append(self._position, written)
        finally:
            self._inside = False
        if self._added:
            self._position, self._sound = after, True
            if after[0] // EVERY > before // EVERY:
                self._keep_snapshot()

    def refresh(self) -> None:
        """Read what others have done; the study is not held afterwards."""
        if not self._inside:
            with self.store.locked():
                self._catch_up()

    def add(self, event: Event) -> None:
        """Store an event with the rest of this change. The caller lets it take effect."""
        self._sound = False  # until it is durable: after an error or Ctrl-C, begin again
        self._added.append(event)

    def _catch_up(self) -> None:
        if not self._sound:
            self._state.begin()
            self._position = self.store.start()
            self._restore()
        self._sound = False
        try:
            self._state.replay(self._news())
        except (LookupError, TypeError) as error:
            raise DriftpeakError(
                f"event {self._position[0] + 1} in {self.store.where} does not fit what came "
                f"before: {error}"
            ) from error
        self._sound = True

    def _news(self) -> Iterator[Event]:
        """What was added since; the position moves on when the next one is asked for."""
        for position, written in self.store.read(self._position):
            yield from_dict(written)
            self._position = position

    def _restore(self) -> None:
        kept = self.store.snapshot()
        if kept is None:
            return
        line, _, state = kept.partition(b"\n")
        try:
            head = json.loads(line)
            whole = head["check"] == zlib.crc32(state)
            position = tuple(head["position"])
            known = head["version"] == version("driftpeak") and head["format"] == FORMAT
        except (ValueError, LookupError, TypeError):
            whole = known = False
            position = ()
        if not (whole and known and self.store.holds(position)):
            warnings.warn(
                f"the snapshot in {self.store.where} is of another version or state: all events "
                "are read instead",
                DriftpeakWarning,
                stacklevel=2,
            )
            return
        self._state.restore(state)
        self._position = position

    def _keep_snapshot(self) -> None:
        """Losing a snapshot loses time only, so a failure is told, and not an error."""
        state = self._state.snapshot()
        head = {
            "format": FORMAT,
            "version": version("driftpeak"),
            "position": self._position,
            "check": zlib.crc32(state),
        }
        try:
            self.store.keep(json.dumps(head).encode() + b"\n" + state)
        except DriftpeakError as error:
            warnings.warn(f"no snapshot was kept: {error}", DriftpeakWarning, stacklevel=2)


def check_format(found: dict[str, Any], store: Store) -> None:
    """Refuse a study that another version of driftpeak wrote in another way.

    Raises:
        DriftpeakError: naming the versions.
    """
    if found.get("format") != FORMAT:
        raise DriftpeakError(
            f"study {found.get('name')!r} in {store.where} was written by driftpeak "
            f"{found.get('version')} in format {found.get('format')}; this version "
            f"({version('driftpeak')}) reads format {FORMAT}"
        )


def _compare(found: dict[str, Any], description: dict[str, Any], store: Store) -> None:
    whose = f"study {found['name']!r} in {store.where}"
    for key, given in json.loads(json.dumps(description)).items():
        stored = found.get(key)
        if key == "policy":
            _compare_policies(stored, given, whose)
            continue
        # as text: the order of a box's parameters counts
        wanted = json.dumps(given)
        stored = json.dumps(space_to_data(space_from_data(stored)) if key == "space" else stored)
        if stored != wanted:
            raise DriftpeakError(
                f"{whose} has another {key}: {_shown(stored)}, not {_shown(wanted)}; "
                "give another name, or use Optimizer.load to go on with it"
            )


def _compare_policies(stored: Any, given: Any, whose: str) -> None:
    found = list(differences(stored, given))
    places = ", ".join(dict.fromkeys(where for where, _ in found))
    if any(certain for _, certain in found) and can_be_made(stored):
        raise DriftpeakError(
            f"{whose} has another policy: {places} differs. Give another name, or use "
            "Optimizer.load to go on with it"
        )
    if found:
        warnings.warn(
            f"{whose} was made with a policy that this version cannot make again; what was given "
            f"is taken for the same, though {places} may differ",
            DriftpeakWarning,
            stacklevel=2,
        )


def _shown(text: str) -> str:
    return text if len(text) <= 100 else text[:97] + "..."
