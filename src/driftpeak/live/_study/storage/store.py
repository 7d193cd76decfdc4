"""The interface of stores of studies."""

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
"""A position between two events: the number of events before it, then data of the store."""


class News(NamedTuple):
    """The events after a position: their number, and each event with the position after it."""

    number: int
    events: Iterator[tuple[Position, dict[str, Any]]]


class Store(ABC):
    """The storage of one study: a description, an append-only list of events, and a snapshot.

    Several processes may use the same study. Only `create`, `append`, `keep` and `delete`
    write.

    Attributes:
        name: name of the study; None while it is unknown.
        where: the storage in messages, in one line and without passwords.
        timeout: seconds to wait for a lock.
    """

    name: str | None
    where: str
    timeout: float
    _start: Position = ()

    @abstractmethod
    def locked(self) -> AbstractContextManager[None]:
        """Lock the study during the block: no other process can append.

        Raises:
            StorageLockedError: another process held the lock for longer than `timeout`.
        """

    @abstractmethod
    def describe(self) -> dict[str, Any] | None:
        """Return the study's description, or None if there is no such study."""

    def others(self) -> str:
        """Return a sentence on other studies in the storage if there are any: " It holds ..."."""
        return ""

    @abstractmethod
    def create(self, description: dict[str, Any]) -> bool:
        """Create the study; return False if it exists already, such as by another process."""

    def start(self) -> Position:
        """Return the position before the first event."""
        return self._start

    @abstractmethod
    def read(self, position: Position) -> News:
        """Return the events after a position; they are checked during the iteration.

        Raises:
            StorageCorruptError: an event is corrupt or missing; the message says which.
            StorageError: the study was replaced, or cannot be read.
        """

    @abstractmethod
    def append(self, position: Position, events: list[dict[str, Any]]) -> Position | None:
        """Append events after `position`; all or none of them are on disk when this returns.

        Returns:
            The new last position; None if other processes appended events before, in which case
            nothing is stored.

        Raises:
            StorageError: the events could not be stored, or as `read`.
        """

    @abstractmethod
    def holds(self, position: Position) -> bool:
        """Return whether a position, such as one of an earlier run, is in the current study."""

    @abstractmethod
    def snapshot(self) -> bytes | None:
        """Return the newest snapshot, or None."""

    @abstractmethod
    def keep(self, snapshot: bytes) -> None:
        """Replace the snapshot. A crash may lose it, but never leaves half of it.

        Raises:
            StorageError: it could not be written. The old snapshot is kept.
        """

    @abstractmethod
    def delete(self) -> None:
        """Delete the study with its events and its snapshot. It must exist."""

    def after_fork(self) -> None:  # noqa: B027, most have nothing to do
        """Stop sharing resources with the parent, in a forked child process."""

    def inspect(self) -> None:  # noqa: B027
        """Check the storage beyond the events, for `verify`.

        Raises:
            StorageCorruptError: the storage is corrupt.
        """

    # errors with equal words in all stores

    def _another(self) -> DriftpeakError:
        return StorageError(
            f"{self.where} holds another study than when this optimiser opened it. Nothing was "
            "changed. Use Optimizer.load to resume the current study"
        )

    def _locked(self) -> DriftpeakError:
        return StorageLockedError(
            f"{self.where} is locked: another process has held the lock for {self.timeout:g} s. "
            "Try again later, or wait longer with ?timeout=SECONDS in the address"
        )

    def _shorter(self, count: int, there: int | str) -> DriftpeakError:
        return StorageCorruptError(
            f"{self.where} must have at least the {count} confirmed events; got {there}. Nothing "
            "was changed. Restore the storage from a copy"
        )


def in_line(text: str) -> str:
    """Return text in one line, with escapes for characters that cannot be printed."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
