"""The open studies of a service: opened on demand, and closed above the memory limit.

The computations of a study run in a thread, one request at a time. Computations of different
studies run in order of arrival, a few at once. A computation of more than half a second does not
count towards this number, so that a slow study never blocks another.
"""

import asyncio
import os
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import jax
import numpy as np

from driftpeak._core.errors import DriftpeakError, StorageError, StudyNotFoundError, shown
from driftpeak.fleet._log import is_fleet
from driftpeak.live import Optimizer
from driftpeak.live._study.events import Event, Told
from driftpeak.service._limits import Limits
from driftpeak.service._names import WORDS, is_name
from driftpeak.service._problems import WAIT, ProblemError
from driftpeak.service._study_directory import Place
from driftpeak.service._study_index import Counts, StudyIndex
from driftpeak.service._warning_capture import warnings_of

Result = TypeVar("Result")
COMPUTING = 64  # threads, so at most as many studies at the same moment
AT_ONCE = 2 * (os.cpu_count() or 1)  # computations, without the long ones
LONG = 0.5  # seconds after which a computation counts as long
READING = 8  # threads
GONE = StorageError, StudyNotFoundError  # after these, a study is read again
FURTHER = 2**20  # bytes of an optimiser without its arrays


class Turns:
    """Requests for one study or fleet, of which one at a time is served. Base class."""

    def __init__(self) -> None:
        self.waiting = 0  # requests, with the one that is served
        self._lock = asyncio.Lock()

    @asynccontextmanager
    async def turn(self, what: str, most: int) -> AsyncIterator[None]:
        """Wait for this request's turn.

        Raises:
            ProblemError: `most` requests wait already.
        """
        if self.waiting >= most:
            raise ProblemError("busy", f"{most} requests wait for {what}; try again later", WAIT)
        self.waiting += 1
        try:
            async with self._lock:
                yield
        finally:
            self.waiting -= 1


class OpenStudy(Turns):
    """The parts of a study that are in memory."""

    def __init__(self, name: str, index: StudyIndex) -> None:
        super().__init__()
        self.name, self.index = name, index
        self.optimizer: Optimizer | None = None
        self.size = 0
        self.listeners: set[asyncio.Event] = set()

    def announce(self) -> None:
        """Notify the listeners of a change."""
        for listener in self.listeners:
            listener.set()


class Changed:
    """The result of a change.

    Attributes:
        result: the return value of the call.
        events: the new events.
        warnings: the texts of its warnings.
        counts: the study's counts after the change.
    """

    def __init__(self, result: Any, events: list[Event], warned: list[str], counts: Counts) -> None:
        self.result, self.events, self.warnings, self.counts = result, events, warned, counts

    @property
    def told(self) -> bool:
        """Return whether a reward was stored."""
        return any(isinstance(event, Told) for event in self.events)


class Studies:
    """All studies of a storage, for the requests of one event loop."""

    def __init__(self, place: Place, limits: Limits) -> None:
        self.limits, self.place = limits, place
        self._opened: OrderedDict[str, OpenStudy] = OrderedDict()  # ordered by last use
        self._creating = asyncio.Lock()
        self._computing = ThreadPoolExecutor(COMPUTING, "computing")
        self._at_once = asyncio.Semaphore(AT_ONCE)
        self._reading = ThreadPoolExecutor(READING, "reading")
        self.streams = 0
        self.closing = False

    def close(self) -> None:
        """End all event streams."""
        self.closing = True
        for study in self._opened.values():
            study.announce()

    def shut(self) -> None:
        """Wait for the running computations, and stop the threads."""
        self._computing.shutdown()
        self._reading.shutdown()

    async def read(self, act: Callable[[], Result]) -> Result:
        """Run a function that needs no engine in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._reading, act)

    async def read_of(self, study: OpenStudy, act: Callable[[], Result]) -> Result:
        """Run a function that needs only a study's index in a thread."""
        try:
            return await self.read(act)
        except GONE:
            self._drop(study)
            raise

    def _drop(self, study: OpenStudy) -> None:
        """Remove a study from memory: it may have been deleted or restored on disk."""
        if self._opened.get(study.name) is study:
            del self._opened[study.name]

    async def names(self) -> list[str]:
        """Return the names of all studies."""
        return await self.read(self.place.names)

    async def open(self, name: str) -> OpenStudy:
        """Return an existing study, and open it if necessary.

        Raises:
            StudyNotFoundError: there is no such study.
            DriftpeakError: the name is invalid, or the study cannot be read.
        """
        if not is_name(name):
            raise DriftpeakError(f"a study's name must have {WORDS}; got {shown(name)}")
        if (study := self._opened.get(name)) is None:
            index = await self.read(lambda: self._open(name))
            study = self._opened.setdefault(name, OpenStudy(name, index))
        return study

    def _open(self, name: str) -> StudyIndex:
        if name not in self.place.names():
            raise StudyNotFoundError(f"there is no study {name!r} here")
        store = self.place.store(name)
        if is_fleet(store):
            raise StudyNotFoundError(f"{name!r} is a fleet, not a study. Use /api/fleets/{name}")
        return StudyIndex(store)

    async def create(self, name: str, make: Callable[[Any], Optimizer]) -> bool:
        """Create a study, or check that the existing study has equal arguments.

        Arguments:
            name: the name of the study.
            make: creates or loads the optimiser in a store.

        Returns:
            Whether the study is new.

        Raises:
            ProblemError: there are too many studies.
            StudyMismatchError: there is another study of this name.
            DriftpeakError: an argument is invalid.
        """
        if not is_name(name):
            raise DriftpeakError(f"a study's name must have {WORDS}; got {shown(name)}")
        async with self._creating:
            names = await self.names()
            there = name in names
            if not there and len(names) >= self.limits.studies:
                raise ProblemError(
                    "too-many-studies",
                    f"the service allows {self.limits.studies} studies; there are {len(names)}. "
                    "Remove some from the storage, or start the service with a larger --studies.",
                )
            if not there:
                await self.compute(lambda: make(self.place.store(name)))
        study = await self.open(name)
        if there:
            # compares every argument with the stored ones
            await self._with(study, lambda: make(self.place.store(name)))
        return not there

    async def delete(self, name: str) -> None:
        """Delete a study from the storage."""
        study = await self.open(name)

        def act() -> None:
            store = self.place.store(name)
            store.describe()
            store.delete()

        await self._with(study, act)
        self._drop(study)
        study.announce()

    async def look(self, name: str, act: Callable[[Optimizer], Result]) -> Result:
        """Run a function that only reads a study's optimiser."""
        study = await self.open(name)
        return await self._with(study, lambda: act(self._optimizer(study)))

    async def change(self, name: str, act: Callable[[Optimizer], Any]) -> Changed:
        """Run a function that changes a study, and return when the change is on disk."""
        study = await self.open(name)

        def run() -> Changed:
            optimizer = self._optimizer(study)
            events: list[Event] = []
            optimizer.on_event = events.append
            with warnings_of() as warned:
                result = act(optimizer)
            return Changed(result, events, warned, study.index.counts())

        changed = await self._with(study, run)
        if changed.events:
            study.announce()
        return changed

    async def _with(self, study: OpenStudy, act: Callable[[], Result]) -> Result:
        """Run a computation with a study, one at a time for each study."""
        async with study.turn(f"study {study.name!r}", self.limits.waiting):
            if study.name in self._opened:
                self._opened.move_to_end(study.name)
            try:
                return await self.compute(act)
            except GONE:
                self._drop(study)
                raise
            finally:
                self._make_room(study)

    async def compute(self, act: Callable[[], Result]) -> Result:
        """Run a computation in a thread, when fewer than `AT_ONCE` others are running.

        With many more at once, all would take as long as the longest. A computation that takes
        longer than `LONG` continues, but no longer counts.
        """
        async with self._at_once:
            loop = asyncio.get_running_loop()
            computed = loop.run_in_executor(self._computing, act)
            await asyncio.wait({computed}, timeout=LONG)
        return await computed

    def _optimizer(self, study: OpenStudy) -> Optimizer:
        if study.optimizer is None:
            study.optimizer = Optimizer.load(self.place.store(study.name))
        study.size = FURTHER + study.index.size * 2 + size_of(study.optimizer)
        return study.optimizer

    def _make_room(self, used: OpenStudy) -> None:
        """Close least recently used studies above the memory limit, except those in use."""
        taken = sum(study.size or study.index.size for study in self._opened.values())
        for study in list(self._opened.values()):
            if taken <= self.limits.memory:
                return
            if study is used or study.waiting or study.listeners:
                continue
            taken -= study.size or study.index.size
            del self._opened[study.name]


def size_of(optimizer: Optimizer) -> int:
    """Return the bytes of all arrays in the optimiser's engine."""
    seen: set[int] = set()
    return _bytes(vars(optimizer._engine), seen)


def _bytes(part: Any, seen: set[int]) -> int:
    if id(part) in seen:
        return 0
    seen.add(id(part))
    if isinstance(part, np.ndarray | jax.Array):
        return part.nbytes
    if isinstance(part, dict):
        return sum(_bytes(value, seen) for value in part.values())
    if isinstance(part, list | tuple):
        return sum(_bytes(value, seen) for value in part)
    if type(part).__module__.startswith("driftpeak."):
        return _bytes(getattr(part, "__dict__", {}), seen)
    return 0
