"""What a store of studies must do."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

Position = tuple[int, ...]
"""A place between two events: first their number so far, then whatever helps the store find it."""


class Store(ABC):
    """Where one study is kept: a description, events that only grow in number, and a snapshot.

    Several processes may use the same study. All methods but `locked`, `describe` and those of
    snapshots are called while it is locked.

    Attributes:
        name: of the study; None while it is not known.
        where: the storage, for messages; without passwords.
        timeout: seconds to wait for a lock.
    """

    name: str | None
    where: str
    timeout: float

    @abstractmethod
    def locked(self) -> AbstractContextManager[None]:
        """Hold the study alone.

        What was appended is on disk when the block has ended, and nothing of it is stored if the
        block ended by an error.

        Raises:
            DriftpeakError: another process held it for longer than `timeout`, or what was appended
                could not be stored.
        """

    @abstractmethod
    def describe(self) -> dict[str, Any] | None:
        """The study's description; None if there is no such study."""

    def others(self) -> str:
        """A sentence on the other studies here, if there are any: " It holds ..."."""
        return ""

    @abstractmethod
    def create(self, description: dict[str, Any]) -> None:
        """Begin the study, which does not exist."""

    @abstractmethod
    def start(self) -> Position:
        """The position before the first event."""

    @abstractmethod
    def read(self, position: Position) -> Iterator[tuple[Position, dict[str, Any]]]:
        """The events after a position, each with the position behind it.

        Raises:
            DriftpeakError: what is stored is corrupt, and where.
        """

    @abstractmethod
    def append(self, position: Position, events: list[dict[str, Any]]) -> Position:
        """Store events behind `position`, which is the last there is; the new last position."""

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
            DriftpeakError: it could not be written; the old one is still there.
        """
