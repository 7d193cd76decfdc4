"""An optimiser's life in a store: read what others have done, then do something, durably."""

import json
import uuid
import zlib
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import version
from typing import Any, Protocol, TypeVar, runtime_checkable

from driftpeak._core.errors import (
    DriftpeakError,
    StorageCorruptError,
    StorageError,
    StudyMismatchError,
    StudyNotFoundError,
    warn,
)
from driftpeak._core.numerics.compiled import NotCompiledError, nothing_new
from driftpeak.live.space.serialization import space_from_data, space_to_data
from driftpeak.live.study.events import Event, Reset, Told, from_dict, to_dict
from driftpeak.live.study.policy_data import can_be_made, differences
from driftpeak.live.study.storage.store import News, Position, Store
from driftpeak.live.study.storage.turns import turn
from driftpeak.live.study.study_state import Ledger
from driftpeak.live.study.suggestion import Observation

HEAD = {"format", "version", "name", "id"}  # of a description, besides the optimiser's arguments
FORMAT = 3  # 1: one kind of drift only; 2: policies by the names of their classes, no heads
EVERY = 1_000  # events between two snapshots
TURNS = 64  # taken by who has lost a race, before the next
STEP = 200  # events between two reports of progress
DEFAULT_NAME = "study"
Result = TypeVar("Result")
Progress = Callable[[int, int], None]
"""Called with the number of events done, and of all."""


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

    def mark(self) -> Any:
        """What is needed to come `back` to this state, quickly."""

    def back(self, mark: Any) -> None:
        """Undo all events since a mark."""


class Study:
    """A study that is kept, seen from one optimiser.

    Nothing is locked while the optimiser computes: a change is computed first, and stored if nobody
    else has changed the study meanwhile; otherwise it is undone, and computed again.

    Where many want to change it, most of that would be in vain, and take the processor from the one
    that is about to succeed. Who was too slow once therefore takes turns with the other processes
    of this machine for a while. Who is too slow in its turn computes while the study is held, but
    compiles nothing then.

    Arguments:
        store: of this one study.
        state: the optimiser, as new; it is brought up to date.
        description: of the optimiser: equal ones have equal states after equal events.
        progress: told of, now and then, while many events are read.

    Raises:
        DriftpeakError: a study of another description, or of a newer driftpeak, has this name; the
            store is locked or corrupt.
    """

    def __init__(
        self,
        store: Store,
        state: State,
        description: dict[str, Any],
        progress: Progress | None = None,
    ) -> None:
        self.store, self._state, self._progress = store, state, progress
        self._added: list[Event] = []
        self._inside = False
        self._turns = 0  # to take before a race is risked again
        self._sound = False  # whether the state is that of `_position`
        self._replayed = 0  # events since the newest snapshot
        found = store.describe()
        if found is None:
            name = store.name or DEFAULT_NAME
            made = {"format": FORMAT, "version": version("driftpeak"), "name": name}
            made["id"] = uuid.uuid4().hex[:16]
            if not store.create(made | description):
                found = store.describe()  # somebody else has just begun it
        if found is not None:
            check_format(found, store)
            _compare(found, description, store)
        self._id = str((found or made)["id"])
        self._known = self._position = store.start()
        self._catch_up()

    def change(self, act: Callable[[], Result], told: Callable[[Event], None]) -> Result:
        """Do something to the study as it is now; what `act` adds is durable in the end, or undone.

        Arguments:
            act: adds events, and lets them take effect; called again if somebody else was quicker.
            told: called with each event once it is durable.
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
            told(event)
        if self._replayed >= EVERY:
            self._keep_snapshot()
        return result  # type: ignore[return-value]

    def _attempt_in_turn(self, act: Callable[[], Result]) -> tuple[bool, Result | None]:
        """While no other process of this machine tries that has lost a race, too."""
        with turn(self._id, self._catch_up) as mine:
            if not mine:
                self._turns = 0  # who has it may have been halted
            self._catch_up()
            return self._attempt(act)

    def _attempt_held(self, act: Callable[[], Result]) -> tuple[bool, Result | None]:
        """While nobody else can change the study; not done if something must be compiled first."""
        self._catch_up()  # most of it, before anybody has to wait
        with self.store.locked():
            self._catch_up()
            try:
                with nothing_new():
                    return self._attempt(act)
            except NotCompiledError:
                return False, None

    def _attempt(self, act: Callable[[], Result]) -> tuple[bool, Result | None]:
        """Whether it was done, or somebody else was quicker."""
        before, self._added = self._state.mark(), []
        self._sound = False  # until what happens is durable
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
        """Read what others have done."""
        if not self._inside:
            self._catch_up()

    def add(self, event: Event) -> None:
        """Store an event with the rest of this change. The caller lets it take effect."""
        self._added.append(event)

    def after_fork(self) -> None:
        """A process was forked, and this is its child."""
        self._inside = self._sound = False
        self.store.after_fork()

    def _catch_up(self) -> None:
        if not self._sound:
            if not self.store.holds(self._known):
                self.store.describe()  # refuses another study
                raise StorageCorruptError(
                    f"{self.store.where} is not what it was: event {self._known[0]} is missing, or "
                    "another than was confirmed. Nothing was changed; restore it from a copy, or "
                    "use Optimizer.load to go on with what is there now"
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
        except Exception as error:  # of any kind: whoever wrote the events chose them
            raise StorageCorruptError(
                f"event {self._position[0] + 1} in {self.store.where} does not fit what came "
                f"before: {type(error).__name__} {error}"
            ) from error
        self._known = max(self._known, self._position)

    def _taken(self, news: News) -> Iterator[Event]:
        """What was added since; the position moves on when the next one is asked for."""
        for number, (position, written) in enumerate(news.events, start=1):
            event = from_dict(written)
            self._sound = False  # until it has taken effect
            yield event
            self._sound, self._position = True, position
            self._replayed += 1
            if self._progress is not None and news.number > STEP and number % STEP == 0:
                self._progress(number, news.number)
        if self._progress is not None and news.number > STEP:
            self._progress(news.number, news.number)

    def _restore(self) -> None:
        kept = self.store.snapshot()
        if kept is None:
            return
        position, state = read_snapshot(kept)
        try:
            if position is not None and self.store.holds(position):
                self._state.restore(state)
                self._position = position
                return
        except Exception:  # of whatever layout it is
            self._state.begin()
        warn(
            f"the snapshot in {self.store.where} is of another version, layout or history: all "
            "events are read instead"
        )

    def _keep_snapshot(self) -> None:
        """Losing a snapshot loses time only, so a failure is told, and not an error."""
        try:
            self.store.keep(write_snapshot(self._position, self._state.snapshot()))
        except DriftpeakError as error:
            warn(f"no snapshot was kept: {error}")
        self._replayed = 0


def write_snapshot(position: Position, state: bytes) -> bytes:
    """A state, bound to a place in a history and to this version, with a checksum of all of it."""
    head = {"format": FORMAT, "version": version("driftpeak"), "position": position}
    line = json.dumps(head).encode() + b"\n"
    return b"%08x\n" % zlib.crc32(line + state) + line + state


def read_snapshot(kept: bytes) -> tuple[Position | None, bytes]:
    """The position and the state; None if they are damaged or of another version."""
    check, _, rest = kept.partition(b"\n")
    line, _, state = rest.partition(b"\n")
    try:
        if int(check, 16) != zlib.crc32(rest):
            return None, b""
        head = json.loads(line)
        ours = head["version"] == version("driftpeak") and head["format"] == FORMAT
        return (tuple(head["position"]) if ours else None), state
    except (ValueError, LookupError, TypeError, RecursionError):
        return None, b""


def verify(store: Store) -> dict[str, Any]:
    """Check every byte of a study against its checksums, and that every event can be read.

    Returns:
        Its name, the number of events, and whether there is a snapshot and it is of this history.

    Raises:
        DriftpeakError: no such study, or what is wrong with it, and where.
    """
    found = store.describe()
    if found is None:
        raise missing(store)
    check_format(found, store)
    store.inspect()
    count = 0
    for position, written in store.read(store.start()).events:
        count = position[0]
        from_dict(written)
    kept = store.snapshot()
    snapshot = "none"
    if kept is not None:
        place, _ = read_snapshot(kept)
        fits = place is not None and store.holds(place)
        snapshot = "of this history" if fits else "of another version or history, not used"
    return {"name": store.name, "events": count, "snapshot": snapshot}


def rewards(store: Store) -> list[Observation]:
    """Return all rewards since the start, or the last reset, in the order of telling.

    No policy is computed. `used` is therefore False only for a reward that is dated before an
    earlier `forget`, not for one that came too late for the policy.

    Raises:
        DriftpeakError: no such study, or one that is corrupt, and where.
    """
    found = store.describe()
    if found is None:
        raise missing(store)
    check_format(found, store)
    told: list[Observation] = []
    ledger = Ledger()
    for _, written in store.read(store.start()).events:
        event = from_dict(written)
        if isinstance(event, Reset):
            told, ledger = [], ledger.anew()
        else:
            ledger.enter(event)
        if isinstance(event, Told):
            told.append(ledger.history[-1])
    return told


def missing(store: Store) -> DriftpeakError:
    """There is no such study."""
    wanted = "no study" if store.name is None else f"no study {store.name!r}"
    others = store.others() or " `driftpeak live create` or dp.Optimizer(storage=...) makes one"
    return StudyNotFoundError(f"there is {wanted} in {store.where}.{others}")


def check_format(found: dict[str, Any], store: Store) -> None:
    """Refuse a study that another version of driftpeak wrote in another way, or something else.

    Raises:
        DriftpeakError: naming the versions, or what is wrong.
    """
    if found.get("format") == FORMAT:
        try:
            space_from_data(found["space"])
            kinds = {"name": str, "maximize": bool, "seed": int, "horizon": int}
            wrong = [name for name, kind in kinds.items() if type(found.get(name)) is not kind]
        except Exception:  # of any kind: whoever wrote it chose it
            wrong = ["space"]
        if wrong:
            raise StorageCorruptError(
                f"the description of a study in {store.where} has no {wrong[0]}"
            )
    if found.get("format") != FORMAT:
        raise StorageError(
            f"study {found.get('name')!r} in {store.where} was written by driftpeak "
            f"{found.get('version')} in format {found.get('format')}; this version "
            f"({version('driftpeak')}) reads format {FORMAT}"
        )


def _compare(found: dict[str, Any], description: dict[str, Any], store: Store) -> None:
    whose = f"study {found['name']!r} in {store.where}"
    given_as = json.loads(json.dumps(description))
    for key in (*given_as, *sorted(found.keys() - given_as.keys() - HEAD)):
        given = given_as.get(key)
        stored = found.get(key)
        if key == "policy":
            _compare_policies(stored, given, whose)
            continue
        # as text: the order of a box's parameters counts
        wanted = json.dumps(given)
        stored = json.dumps(space_to_data(space_from_data(stored)) if key == "space" else stored)
        if stored != wanted:
            raise StudyMismatchError(
                f"{whose} has another {key}: {_shown(stored)}, not {_shown(wanted)}; "
                "give another name, or use Optimizer.load to go on with it"
            )


def _compare_policies(stored: Any, given: Any, whose: str) -> None:
    found = list(differences(stored, given))
    places = ", ".join(dict.fromkeys(where for where, _ in found))
    if any(certain for _, certain in found) and can_be_made(stored):
        raise StudyMismatchError(
            f"{whose} has another policy: {places} differs. Give another name, or use "
            "Optimizer.load to go on with it"
        )
    if found:
        warn(
            f"{whose} was made with a policy that this version cannot make again; what was given "
            f"is taken for the same, though {places} may differ"
        )


def _shown(text: str) -> str:
    return text if len(text) <= 100 else text[:97] + "..."
