"""A stored study: apply events of other processes, then compute and store changes."""

import json
import uuid
import zlib
from collections.abc import Callable, Iterator
from importlib.metadata import version
from typing import Any, TypeVar

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import (
    DriftpeakError,
    StorageCorruptError,
    StorageError,
    StudyMismatchError,
    StudyNotFoundError,
    warn,
)
from driftpeak._core.numerics.compiled import NotCompiledError, compiling_only_if
from driftpeak.live._space.serialization import space_from_data, space_to_data
from driftpeak.live._study.event_sourced import EventSourced
from driftpeak.live._study.events import Event, Reset, Told, from_dict, to_dict
from driftpeak.live._study.policy_data import can_be_made, differences
from driftpeak.live._study.storage.contention import turn
from driftpeak.live._study.storage.store import News, Position, Store
from driftpeak.live._study.study_state import StudyState
from driftpeak.live._study.suggestion import Observation

HEAD = {"format", "version", "name", "id"}  # fields of a description that are not arguments
FORMAT = 3  # 1: one kind of drift only; 2: policies by the names of their classes, no heads
EVERY = 1_000  # events between two snapshots
TURNS = 64  # changes in turn after another process was faster
STEP = 200  # events between two reports of progress
DEFAULT_NAME = "study"
Result = TypeVar("Result")
Progress = Callable[[int, int], None]
"""Called with the number of events read so far, and of all events."""


class Study:
    """A stored study of one optimiser.

    The study is not locked while the optimiser computes. A change is computed first. It is stored
    if no other process has changed the study in the meantime; otherwise it is undone and computed
    again.

    If many processes change a study, most of these computations would be discarded, and would slow
    down the process that is about to succeed. A process that was too slow once therefore takes
    turns with the other processes of its machine for some time. A process that is too slow in its
    turn computes while the study is locked, but does not compile programs then.

    Arguments:
        store: the store of this study.
        state: an optimiser without events, to which the stored events are applied.
        description: description of the optimiser. Optimisers with equal descriptions have equal
            states after equal events.
        progress: called regularly while many events are read.

    Raises:
        StudyMismatchError: a study of another description has this name.
        StorageError: the study has another format, or the store is locked or corrupt.
    """

    def __init__(
        self,
        store: Store,
        state: EventSourced,
        description: dict[str, Any],
        progress: Progress | None = None,
    ) -> None:
        self.store, self._state, self._progress = store, state, progress
        self._added: list[Event] = []
        self._inside = False
        self._turns = 0  # remaining changes in turn
        self._sound = False  # whether the state belongs to `_position`
        self._replayed = 0  # events since the newest snapshot
        stored = store.describe()
        if stored is None:
            name = store.name or DEFAULT_NAME
            made = {"format": FORMAT, "version": version("driftpeak"), "name": name}
            made["id"] = uuid.uuid4().hex[:16]
            if not store.create(made | description):
                stored = store.describe()  # another process has just created it
        if stored is not None:
            check_format(stored, store)
            _compare(stored, description, store)
        self._id = str((stored or made)["id"])
        self._known = self._position = store.start()
        self._catch_up()

    def change(self, act: Callable[[], Result], on_event: Callable[[Event], None]) -> Result:
        """Change the current study; the events that `act` adds are durable in the end, or undone.

        Arguments:
            act: adds and applies events; called again if another process was faster.
            on_event: called with each event once it is durable.
        """
        if self._inside:
            return act()
        self._inside = True
        try:
            if self._turns:
                self._turns -= 1
                done, result = self._attempt_in_turn(act)
            else:
                self._catch_up()
                done, result = self._attempt(act)
            while not done:
                self._turns = TURNS
                done, result = self._attempt_in_turn(act)
                if not done:
                    done, result = self._attempt_held(act)
        except BaseException:
            self._added = []
            raise
        finally:
            self._inside = False
        added, self._added = self._added, []
        for event in added:
            on_event(event)
        if self._replayed >= EVERY:
            self._keep_snapshot()
        return result  # type: ignore[return-value]

    def _attempt_in_turn(self, act: Callable[[], Result]) -> tuple[bool, Result | None]:
        """Attempt the change in this process's turn."""
        with turn(self._id, self._catch_up) as mine:
            if not mine:
                self._turns = 0  # the process that has the turn may be suspended
            self._catch_up()
            return self._attempt(act)

    def _attempt_held(self, act: Callable[[], Result]) -> tuple[bool, Result | None]:
        """Attempt the change while the study is locked, unless a program must be compiled."""
        self._catch_up()  # reads most events before other processes have to wait
        with self.store.locked():
            self._catch_up()
            try:
                with compiling_only_if(lambda: False):
                    return self._attempt(act)
            except NotCompiledError:
                return False, None

    def _attempt(self, act: Callable[[], Result]) -> tuple[bool, Result | None]:
        """Attempt the change, and return whether it was stored, and its result."""
        before, self._added = self._state.mark(), []
        self._sound = False  # until the change is durable
        try:
            result = act()
        except BaseException:
            self._state.back(before)
            self._sound = True
            raise
        if not self._added:
            self._sound = True
            return True, result
        after = self.store.append(self._position, [to_dict(event) for event in self._added])
        if after is None:
            self._state.back(before)
        else:
            self._known = self._position = after
            self._replayed += len(self._added)
        self._sound = True
        return after is not None, result

    def refresh(self) -> None:
        """Apply the events of other processes."""
        if not self._inside:
            self._catch_up()

    def add(self, event: Event) -> None:
        """Add an event to the current change. The caller applies it."""
        self._added.append(event)

    def after_fork(self) -> None:
        """Stop sharing resources with the parent, in a forked child process."""
        self._inside = self._sound = False
        self.store.after_fork()

    def _catch_up(self) -> None:
        if not self._sound:
            if not self.store.holds(self._known):
                self.store.describe()  # raises if the study was replaced
                raise StorageCorruptError(
                    f"{self.store.where} has changed: event {self._known[0]} is missing or differs "
                    "from the confirmed event. Nothing was changed. Restore the storage from a "
                    "copy, or use Optimizer.load to resume the current study"
                )
            self._state.begin()
            self._position, self._replayed = self.store.start(), 0
            self._restore()
            self._sound = True
        try:
            news = self.store.read(self._position)
            events = self._taken(news)
            if news.number:
                self._state.replay(events)
            else:
                next(events, None)  # the store checks that nothing is missing
        except DriftpeakError:
            raise
        except Exception as error:  # any class: the stored events may be arbitrary
            raise StorageCorruptError(
                f"event {self._position[0] + 1} in {self.store.where} must fit the events before "
                f"it; got {type(error).__name__}: {error}"
            ) from error
        self._known = max(self._known, self._position)

    def _taken(self, news: News) -> Iterator[Event]:
        """Return new events; the position advances when the next event is requested."""
        for number, (position, written) in enumerate(news.events, start=1):
            event = from_dict(written)
            self._sound = False  # until the event is applied
            yield event
            self._sound, self._position = True, position
            self._replayed += 1
            if self._progress is not None and news.number > STEP and number % STEP == 0:
                self._progress(number, news.number)
        if self._progress is not None and news.number > STEP:
            self._progress(news.number, news.number)

    def _restore(self) -> None:
        snapshot = self.store.snapshot()
        if snapshot is None:
            return
        position, state = read_snapshot(snapshot)
        try:
            if position is not None and self.store.holds(position):
                self._state.restore(state)
                self._position = position
                return
        except Exception:  # any class: the layout may be arbitrary
            self._state.begin()
        warn(
            f"the snapshot in {self.store.where} is not used, as it is of another version, layout "
            "or history. All events are replayed instead"
        )

    def _keep_snapshot(self) -> None:
        """Store a snapshot; a failure is only a warning, as a missing snapshot costs only time."""
        try:
            self.store.keep(write_snapshot(self._position, self._state.snapshot()))
        except DriftpeakError as error:
            warn(f"no snapshot was stored: {error}")
        self._replayed = 0


def write_snapshot(position: Position, state: bytes) -> bytes:
    """Return a snapshot: a state, its position in the history, this version, and a checksum."""
    head = {"format": FORMAT, "version": version("driftpeak"), "position": position}
    line = json.dumps(head).encode() + b"\n"
    return b"%08x\n" % zlib.crc32(line + state) + line + state


def read_snapshot(snapshot: bytes) -> tuple[Position | None, bytes]:
    """Return the position and state of a snapshot; None if damaged or of another version."""
    check, _, rest = snapshot.partition(b"\n")
    line, _, state = rest.partition(b"\n")
    try:
        if int(check, 16) != zlib.crc32(rest):
            return None, b""
        head = json.loads(line)
        ours = head["version"] == version("driftpeak") and head["format"] == FORMAT
        return (tuple(head["position"]) if ours else None), state
    except (ValueError, LookupError, TypeError, RecursionError):
        return None, b""


@checked
def verify(store: Store) -> dict[str, Any]:
    """Check a study against its checksums, and decode all events.

    Arguments:
        store: the storage of the study, from `open_store`. It is read only.

    Returns:
        The study's name, the number of events, and whether there is a snapshot of this history.

    Raises:
        StudyNotFoundError: there is no such study.
        StorageCorruptError: the study is corrupt; the message says where.
    """
    description_of(store)
    store.inspect()
    count = 0
    for position, written in store.read(store.start()).events:
        count = position[0]
        from_dict(written)
    content = store.snapshot()
    snapshot = "none"
    if content is not None:
        place, _ = read_snapshot(content)
        fits = place is not None and store.holds(place)
        snapshot = "of this history" if fits else "of another version or history, not used"
    return {"name": store.name, "events": count, "snapshot": snapshot}


def rewards(store: Store) -> list[Observation]:
    """Return all observations since the start or the last reset, in the order of `tell`.

    The policy is not computed. `used` is therefore False only for rewards dated before an earlier
    `forget`, and not for rewards that are too late for the policy.

    Raises:
        StudyNotFoundError: there is no such study.
        StorageCorruptError: the study is corrupt; the message says where.
    """
    description_of(store)
    observations: list[Observation] = []
    state = StudyState()
    for _, written in store.read(store.start()).events:
        event = from_dict(written)
        state.enter(event)
        if isinstance(event, Reset):
            observations = []
        if isinstance(event, Told):
            observations.append(state.history[-1])
    return observations


def description_of(store: Store) -> dict[str, Any]:
    """Return the description of an existing study.

    Raises:
        StudyNotFoundError: there is no such study.
        StorageError: the description is corrupt or has another format.
    """
    description = store.describe()
    if description is None:
        wanted = "no study" if store.name is None else f"no study {store.name!r}"
        others = store.others() or " Use `driftpeak live create` or dp.Optimizer(storage=...)"
        raise StudyNotFoundError(f"there is {wanted} in {store.where}.{others}")
    check_format(description, store)
    return description


def check_format(description: dict[str, Any], store: Store) -> None:
    """Check the format and the types of a study's description.

    Raises:
        StudyNotFoundError: the store has a fleet.
        StorageCorruptError: a field is missing or has another type.
        StorageError: another version of driftpeak wrote the study in another format.
    """
    stated = description.get
    if str(stated("format")).startswith("fleet"):
        raise StudyNotFoundError(f"{store.where} has no study, but a fleet. Use dp.Fleet.load")
    if stated("format") != FORMAT:
        raise StorageError(
            f"study {stated('name')!r} in {store.where} must have format {FORMAT} for this "
            f"version ({version('driftpeak')}); got format {stated('format')}, written by "
            f"driftpeak {stated('version')}. Use that version"
        )
    try:
        space_from_data(description["space"])
        kinds = {"name": str, "maximize": bool, "seed": int, "horizon": int}
        wrong = [name for name, kind in kinds.items() if type(stated(name)) is not kind]
    except Exception:  # any class: the description may be arbitrary
        wrong = ["space"]
    if wrong:
        raise StorageCorruptError(
            f"the description of a study in {store.where} must have a valid {wrong[0]}"
        )


def _compare(present: dict[str, Any], description: dict[str, Any], store: Store) -> None:
    whose = f"study {present['name']!r} in {store.where}"
    given_as = json.loads(json.dumps(description))
    for key in (*given_as, *sorted(present.keys() - given_as.keys() - HEAD)):
        given = given_as.get(key)
        stored = present.get(key)
        if key == "policy":
            _compare_policies(stored, given, whose)
            continue
        # compared as text, because the order of a box's parameters matters
        wanted = json.dumps(given)
        stored = json.dumps(space_to_data(space_from_data(stored)) if key == "space" else stored)
        if stored != wanted:
            raise StudyMismatchError(
                f"{whose} has another {key}: {_shown(stored)}, not {_shown(wanted)}. "
                "Give another name, or use Optimizer.load to resume the study"
            )


def _compare_policies(stored: Any, given: Any, whose: str) -> None:
    differing = list(differences(stored, given))
    places = ", ".join(dict.fromkeys(where for where, _ in differing))
    if any(certain for _, certain in differing) and can_be_made(stored):
        raise StudyMismatchError(
            f"{whose} has another policy: {places} differs. Give another name, or use "
            "Optimizer.load to resume the study"
        )
    if differing:
        warn(
            f"{whose} has a policy that this version cannot construct. The given policy is used, "
            f"although {places} may differ"
        )


def _shown(text: str) -> str:
    return text if len(text) <= 100 else text[:97] + "..."
