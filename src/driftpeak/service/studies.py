"""The studies of a service: opened when they are needed, and closed for want of room.

A study is computed with in a thread, by one request after the other. Requests for other studies are
computed in the order in which they came, a few at once; what takes longer than half a second no
longer counts among these, so that a slow study never blocks another.
"""

import asyncio
import os
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import jax
import numpy as np

from driftpeak._core.errors import DriftpeakError, StorageError, StudyNotFoundError, shown
from driftpeak.live import Optimizer
from driftpeak.live.study.events import Event, Told
from driftpeak.service.limits import Limits
from driftpeak.service.names import WORDS, is_name
from driftpeak.service.problems import WAIT, ProblemError
from driftpeak.service.study_directory import Place
from driftpeak.service.study_index import Books, Counts
from driftpeak.service.warning_capture import warnings_of

Result = TypeVar("Result")
COMPUTING = 64  # threads, so at most as many studies at the same moment
AT_ONCE = 2 * (os.cpu_count() or 1)  # computations, besides those that take long
LONG = 0.5  # seconds of a computation that counts no longer among these
READING = 8
GONE = StorageError, StudyNotFoundError  # what is kept in memory is to be read again
FURTHER = 2**20  # bytes of an optimiser besides its arrays


class Kept:
    """One study, as far as it is in memory."""

    def __init__(self, name: str, books: Books) -> None:
        self.name, self.books = name, books
        self.optimizer: Optimizer | None = None
        self.lock = asyncio.Lock()  # one computation at a time
        self.waiting = 0
        self.size = 0
        self.listeners: set[asyncio.Event] = set()

    def announce(self) -> None:
        """Something has changed."""
        for one in self.listeners:
            one.set()


class Changed:
    """What a change came to.

    Attributes:
        result: of the call.
        events: that it made.
        warnings: that it gave, in words.
        counts: of the study, just after.
    """

    def __init__(self, result: Any, events: list[Event], warned: list[str], counts: Counts) -> None:
        self.result, self.events, self.warnings, self.counts = result, events, warned, counts

    @property
    def told(self) -> bool:
        """Whether a reward was stored."""
        return any(isinstance(event, Told) for event in self.events)


class Studies:
    """All studies of a place, for requests of one event loop."""

    def __init__(self, place: Place, limits: Limits) -> None:
        self.limits, self._place = limits, place
        self._kept: OrderedDict[str, Kept] = OrderedDict()  # the one used last is last
        self._creating = asyncio.Lock()
        self._computing = ThreadPoolExecutor(COMPUTING, "computing")
        self._at_once = asyncio.Semaphore(AT_ONCE)
        self._reading = ThreadPoolExecutor(READING, "reading")
        self.streams = 0
        self.closing = False

    def close(self) -> None:
        """Let streams of events end."""
        self.closing = True
        for one in self._kept.values():
            one.announce()

    def shut(self) -> None:
        """Wait for what is being computed, and end the threads."""
        self._computing.shutdown()
        self._reading.shutdown()

    async def read(self, act: Callable[[], Result]) -> Result:
        """Do what needs no engine, in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._reading, act)

    async def read_of(self, kept: Kept, act: Callable[[], Result]) -> Result:
        """Do what needs no engine with a study's books."""
        try:
            return await self.read(act)
        except GONE:
            self._drop(kept)
            raise

    def _drop(self, kept: Kept) -> None:
        """Read a study again when it is asked for: it may have been removed, or restored."""
        if self._kept.get(kept.name) is kept:
            del self._kept[kept.name]

    async def names(self) -> list[str]:
        """Of all studies."""
        return await self.read(self._place.names)

    async def kept(self, name: str) -> Kept:
        """A study that is there.

        Raises:
            StudyNotFoundError: there is no such study.
            DriftpeakError: the name is invalid, or the study cannot be read.
        """
        if not is_name(name):
            raise DriftpeakError(f"a study's name must have {WORDS}; got {shown(name)}")
        if (found := self._kept.get(name)) is None:
            books = await self.read(lambda: self._open(name))
            found = self._kept.setdefault(name, Kept(name, books))
        return found

    def _open(self, name: str) -> Books:
        if name not in self._place.names():
            raise StudyNotFoundError(f"there is no study {name!r} here")
        return Books(self._place.store(name))

    async def create(self, name: str, make: Callable[[Any], Optimizer]) -> bool:
        """Begin a study, or check that there is just such a one; whether it is new.

        Arguments:
            make: an optimiser in a store.

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
                    f"there are {len(names)} studies, and no more may be: remove some from the "
                    "storage, or start the service with a larger --studies",
                )
            if not there:
                await self._compute(lambda: make(self._place.store(name)))
        kept = await self.kept(name)
        if there:
            # compares every argument with the stored ones
            await self._with(kept, lambda: make(self._place.store(name)))
        return not there

    async def look(self, name: str, act: Callable[[Optimizer], Result]) -> Result:
        """Look at a study with its engine; nothing is changed."""
        kept = await self.kept(name)
        return await self._with(kept, lambda: act(self._optimizer(kept)))

    async def change(self, name: str, act: Callable[[Optimizer], Any]) -> Changed:
        """Change a study; what was done is on disk in the end."""
        kept = await self.kept(name)

        def run() -> Changed:
            optimizer = self._optimizer(kept)
            events: list[Event] = []
            optimizer.on_event = events.append
            with warnings_of() as warned:
                result = act(optimizer)
            return Changed(result, events, warned, kept.books.counts())

        changed = await self._with(kept, run)
        if changed.events:
            kept.announce()
        return changed

    async def _with(self, kept: Kept, act: Callable[[], Result]) -> Result:
        """Compute with a study that nobody else computes with meanwhile."""
        if kept.waiting >= self.limits.waiting:
            raise ProblemError(
                "busy",
                f"{kept.waiting} requests wait for study {kept.name!r}: try again in a while",
                WAIT,
            )
        kept.waiting += 1
        try:
            async with kept.lock:
                if kept.name in self._kept:
                    self._kept.move_to_end(kept.name)
                try:
                    return await self._compute(act)
                except GONE:
                    self._drop(kept)
                    raise
                finally:
                    self._make_room(kept)
        finally:
            kept.waiting -= 1

    async def _compute(self, act: Callable[[], Result]) -> Result:
        """Do it in a thread, in its turn: with many more at once, all take as long as the longest.

        What takes longer than `LONG` goes on, and gives its turn to others.
        """
        async with self._at_once:
            loop = asyncio.get_running_loop()
            computed = loop.run_in_executor(self._computing, act)
            await asyncio.wait({computed}, timeout=LONG)
        return await computed

    def _optimizer(self, kept: Kept) -> Optimizer:
        if kept.optimizer is None:
            kept.optimizer = Optimizer.load(self._place.store(kept.name))
        kept.size = FURTHER + kept.books.size * 2 + size_of(kept.optimizer)
        return kept.optimizer

    def _make_room(self, used: Kept) -> None:
        """Close the studies used least recently that nobody waits for, beyond the memory limit."""
        taken = sum(one.size or one.books.size for one in self._kept.values())
        for one in list(self._kept.values()):
            if taken <= self.limits.memory:
                return
            if one is used or one.waiting or one.listeners:
                continue
            taken -= one.size or one.books.size
            del self._kept[one.name]


def size_of(optimizer: Optimizer) -> int:
    """Bytes of the arrays that its engine holds."""
    seen: set[int] = set()
    return _bytes(vars(optimizer._engine), seen)


def _bytes(one: Any, seen: set[int]) -> int:
    if id(one) in seen:
        return 0
    seen.add(id(one))
    if isinstance(one, np.ndarray | jax.Array):
        return one.nbytes
    if isinstance(one, dict):
        return sum(_bytes(value, seen) for value in one.values())
    if isinstance(one, list | tuple):
        return sum(_bytes(value, seen) for value in one)
    if type(one).__module__.startswith("driftpeak."):
        return _bytes(getattr(one, "__dict__", {}), seen)
    return 0
