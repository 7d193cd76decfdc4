"""What a store of studies must do."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from driftpeak._core.errors import (
    DriftpeakError,
    StorageCorruptError,
    StorageError,
    StorageLockedError,
)

Position = tuple[int, ...]
"""A place between two events: first their number so far, then whatever helps the store find it."""


class News(NamedTuple):
    """Events after some position: how many, and each with the position behind it."""

    number: int
    events: Iterator[tuple[Position, dict[str, Any]]]


class Store(ABC):
    """Where one study is kept: a description, events that only grow in number, and a snapshot.

    Several processes may use the same study. Nothing but `create`, `append` and `keep` writes.

    Attributes:
        name: of the study; None while it is not known.
        where: the storage, for messages; without passwords, in one line.
        timeout: seconds to wait for a lock.
    """

    name: str | None
    where: str
    timeout: float

    @abstractmethod
    def locked(self) -> AbstractContextManager[None]:
        """Hold the study alone: meanwhile nobody else can append.

        Raises:
            StorageLockedError: another process held it for longer than `timeout`.
        """

    @abstractmethod
    def describe(self) -> dict[str, Any] | None:
        """The study's description; None if there is no such study."""

    def others(self) -> str:
        """A sentence on the other studies here, if there are any: " It holds ..."."""
        return ""

    @abstractmethod
    def create(self, description: dict[str, Any]) -> bool:
        """Begin the study; False if it is there already, perhaps since this moment."""

    @abstractmethod
    def start(self) -> Position:
        """The position before the first event."""

    @abstractmethod
    def read(self, position: Position) -> News:
        """The events after a position; they are checked as they are taken.

        Raises:
            StorageCorruptError: what is stored is corrupt, and where, or has become shorter.
            StorageError: it is not the study that was described any more; it cannot be read.
        """

    @abstractmethod
    def append(self, position: Position, events: list[dict[str, Any]]) -> Position | None:
        """Store events behind `position`; all of them are on disk when this returns, or none.

        Returns:
            The new last position; None, and nothing is stored, if others have appended since.

        Raises:
            StorageError: they could not be stored, or as `read`.
        """

    @abstractmethod
    def holds(self, position: Position) -> bool:
        """Whether this position, of an earlier run perhaps, is one of the study as it is now."""

    @abstractmethod
    def snapshot(self) -> bytes | None:
        """The newest snapshot kept, if any."""

    @abstractmethod
    def keep(self, snapshot: bytes) -> None:
        """Replace the snapshot. It may be lost, but not half written.

        Raises:
            StorageError: it could not be written; the old one is still there.
        """

    def after_fork(self) -> None:  # noqa: B027, most have nothing to do
        """A process was forked, and this is its child: share nothing with the parent."""

    def inspect(self) -> None:  # noqa: B027
        """What else a store can look at when all of a study is verified.

        Raises:
            StorageCorruptError: something is wrong.
        """

    # what is wrong, in the same words everywhere

    def _another(self) -> DriftpeakError:
        return StorageError(
            f"{self.where} holds another study than when this optimiser opened it: it was "
            "replaced. Nothing was changed; use Optimizer.load to go on with the one that is there "
            "now"
        )

    def _locked(self) -> DriftpeakError:
        return StorageLockedError(
            f"{self.where} is locked: another process has held it for {self.timeout:g} s. Try "
            "again later, or wait longer: add ?timeout=SECONDS to its address"
        )

    def _shorter(self, count: int, there: int | str) -> DriftpeakError:
        return StorageCorruptError(
            f"{self.where} has become shorter: {count} events had been confirmed, {there} are "
            "there. Nothing was changed; restore it from a copy"
        )


def in_line(text: str) -> str:
    """Text in one line: what cannot be printed as its escape."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
