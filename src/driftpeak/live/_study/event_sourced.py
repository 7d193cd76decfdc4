"""The state of an optimiser, a function of its arguments and of its events in order."""

import io
import json
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import jax
import numpy as np

from driftpeak._core.errors import (
    DriftpeakError,
    StorageCorruptError,
    StudyMismatchError,
    shown,
)
from driftpeak._core.numerics.threads import single_threaded_lapack
from driftpeak.live._engines.engine import Engine
from driftpeak.live._space.encoding import Coding
from driftpeak.live._space.records import Arrays, Sample
from driftpeak.live._space.rules import Rules
from driftpeak.live._study import events as happened
from driftpeak.live._study.events import Event
from driftpeak.live._study.study_state import StudyState


class EventSourced(ABC):
    """The part of an `Optimizer` that only events change: state and engine. Base class."""

    coding: Coding
    rules: Rules
    _engine: Engine
    _sign: float  # of rewards that the engine maximises

    @abstractmethod
    def describe(self) -> dict[str, object]:
        """Return the arguments as JSON-compatible data."""

    def begin(self) -> None:
        """Return to the state before the first event."""
        with computing():
            self._engine.reset()
        self._state = StudyState()
        self._fits = 0  # number of `Learned` events

    def mark(self) -> Any:
        """Return a cheap copy of the state for `back`."""
        return self._state.copy(), self._engine.mark(), self._fits

    def back(self, mark: Any) -> None:
        """Restore the state of a mark."""
        self._state, engine, self._fits = mark
        self._engine.back(engine)

    def apply(self, event: Event) -> None:
        """Apply an event of this study.

        Raises:
            DriftpeakError: the event does not fit the study. The state is unchanged.
        """
        if not isinstance(event, Event):
            raise DriftpeakError(f"event must be an event of an optimiser; got {shown(event)}")
        before = self.mark()
        with computing(), self._undone_on_error(before):
            self._apply(event)

    def replay(self, events: Iterable[Event]) -> None:
        """Apply all events of a study, in order.

        Raises:
            DriftpeakError: an event does not fit the study. The state is unchanged. If the
                iterator `events` raises, the events before stay applied.
        """
        before = self.mark()
        with computing():
            for event in events:
                with self._undone_on_error(before):
                    self._apply(event)
            self._engine.settle()

    @contextmanager
    def _undone_on_error(self, before: Any) -> Iterator[None]:
        """Return to the state of a mark after an error."""
        try:
            yield
        except BaseException:
            self.back(before)
            raise

    def _is_used(self, time: float) -> bool:
        """Return whether the policy uses a reward of this time."""
        return time >= self._state.forgotten and not self._engine.is_too_late(time)

    def snapshot(self) -> bytes:
        """Return the whole state as bytes for `restore`, which is faster than replaying events."""
        with computing():
            arrays, rest = self._engine.save()
        shell = {"of": self._code(), "ledger": self._state.save(), "engine": rest}
        target = io.BytesIO()
        written = np.frombuffer(json.dumps(shell).encode(), np.uint8)
        np.savez(target, allow_pickle=False, shell=written, **arrays)
        return target.getvalue()

    def restore(self, snapshot: bytes) -> None:
        """Restore the state of an optimiser with equal arguments.

        Raises:
            StorageCorruptError: the bytes are not a snapshot, or a damaged one. The state is
                unchanged.
            StudyMismatchError: the snapshot is of an optimiser with other arguments. The state is
                unchanged.
        """
        if not isinstance(snapshot, bytes | bytearray | memoryview):
            raise DriftpeakError(f"snapshot must be bytes; got {shown(snapshot)}")
        arrays, shell = _read_snapshot(bytes(snapshot))
        if shell.get("of") != self._code():
            raise StudyMismatchError(
                "the snapshot must be of an optimiser with the same space, direction, policy, seed "
                "and horizon. Create this optimiser with equal arguments"
            )
        with computing():
            before = self.mark()
            try:
                state = StudyState.load(shell["ledger"])
                records: list[Any] = [*state.pending.values(), *state.history]
                for record in records:
                    self.coding.clean_context(record.context)
                    self.rules.known_limits(record.chances)
                settings = [record.parameters for record in records]
                if state.newest_reward is not None:
                    settings.append(state.newest_reward.parameters)
                for setting in settings:
                    self.coding.clean(setting)
                self._engine.load(arrays, shell["engine"])
            except Exception as error:  # any class: the values may be arbitrary
                self.back(before)
                raise StorageCorruptError(f"the snapshot is damaged: {shown(error)}") from None
        self._state = state

    def _code(self) -> int:
        """Return a checksum of the arguments."""
        return zlib.crc32(json.dumps(self.describe(), sort_keys=True).encode())

    def _apply(self, event: Event) -> None:
        if isinstance(event, happened.Asked | happened.Told):
            self.coding.clean(event.parameters)  # raises if it is outside the space
            self.coding.clean_context(event.context)
            self.rules.known_limits(
                event.chances if isinstance(event, happened.Asked) else event.constraints
            )
        too_late = isinstance(event, happened.Told) and self._engine.is_too_late(event.time)
        self._state.enter(event, too_late=too_late)
        match event:
            case happened.Asked():
                self._engine.asked(event.time)
            case happened.Told():
                self._engine.check(event.reward, event.noise, event.trials)
                if not self._state.history[-1].used:
                    return
                reward = self._sign * event.reward
                setting = event.parameters | event.context
                sample = Sample(setting, event.time, event.noise, event.trials)
                self._engine.observe(sample, reward)
                if event.constraints:
                    chances = self._state.history[-1].chances
                    self._engine.measured(sample, event.constraints, chances)
            case happened.Learned():
                self._engine.learned(event.values)
                self._fits += 1
            case happened.Answered():
                signed = [None if value is None else self._sign * value for value in event.answers]
                self._engine.answered(event.queries, signed, event.time)
            case happened.Forgot():
                self._engine.forgot(event.before)
            case happened.Reset():
                self._engine.reset()


@contextmanager
def computing() -> Iterator[None]:
    """Compute in double precision and in one thread, which suits many small matrices."""
    with jax.enable_x64(True), single_threaded_lapack():
        yield


def _read_snapshot(snapshot: bytes) -> tuple[Arrays, dict[str, Any]]:
    """Return the arrays and the JSON data of a snapshot."""
    try:
        with np.load(io.BytesIO(snapshot), allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        shell = json.loads(arrays.pop("shell").tobytes())
        if isinstance(shell, dict):
            return arrays, shell
    # all errors that a damaged archive can cause
    except (OSError, ValueError, LookupError, AttributeError, TypeError, EOFError) as error:
        raise StorageCorruptError(
            f"snapshot must be from Optimizer.snapshot(); got other data: {shown(error)}"
        ) from None
    except (zipfile.BadZipFile, zlib.error, RuntimeError, MemoryError) as error:
        raise StorageCorruptError(f"the snapshot is damaged: {shown(error)}") from None
    raise StorageCorruptError("snapshot must be from Optimizer.snapshot(); got other data")
