"""Studies in an SQLite file."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from driftpeak._core.errors import (
    DriftpeakError,
    StorageCorruptError,
    StorageError,
    StorageLockedError,
)
from driftpeak.live._study.storage.sql import Database
from driftpeak.live._study.storage.store import in_line

KINDS: dict[int, type[StorageError]] = {
    sqlite3.SQLITE_BUSY: StorageLockedError,
    sqlite3.SQLITE_LOCKED: StorageLockedError,
    sqlite3.SQLITE_CORRUPT: StorageCorruptError,
    sqlite3.SQLITE_NOTADB: StorageCorruptError,
}


class SQLite(Database):
    """A study in an SQLite file: `sqlite:///relative/path`, `sqlite:////absolute/path`."""

    def __init__(self, url: sa.URL, name: str | None, timeout: float) -> None:
        if url.database in (None, "", ":memory:"):
            raise DriftpeakError(
                "an sqlite address must name a file, as in sqlite:///study.db; got a database in "
                "memory"
            )
        self.path = Path(str(url.database))
        self._writing = Lock()  # shared by all studies that share connections
        super().__init__(url, name, timeout)

    def _make_engine(self, url: sa.URL) -> sa.Engine:
        engine = sa.create_engine(url, connect_args={"timeout": self.timeout}, hide_parameters=True)

        @sa.event.listens_for(engine, "connect")
        def connected(connection: Any, _: Any) -> None:
            connection.isolation_level = None  # transactions are begun below, not by the driver
            connection.execute("PRAGMA synchronous=EXTRA")  # on disk, with its folder, at a commit
            connection.execute("PRAGMA foreign_keys=ON")

        @sa.event.listens_for(engine, "begin")
        def begun(connection: sa.Connection) -> None:
            # writers lock at the start: two that read first could not both write
            write = connection.get_execution_options().get("driftpeak_write", True)
            connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

        return engine

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Serialise the writers of this process, because SQLite makes waiting writers poll."""
        if not self._writing.acquire(timeout=self.timeout):
            raise self._locked()
        try:
            yield
        finally:
            self._writing.release()

    def after_fork(self) -> None:
        super().after_fork()
        self._writing = Lock()  # another thread of the parent may have held it

    def _kind(self, error: DBAPIError) -> type[StorageError]:
        code = getattr(error.orig, "sqlite_errorcode", 0) & 0xFF  # without the extended part
        return KINDS.get(code, StorageError)

    def names(self) -> list[str]:
        return super().names() if self._is_there() else []

    def describe(self) -> dict[str, Any] | None:
        return super().describe() if self._is_there() else None

    def _is_there(self) -> bool:
        """Return whether the file exists; connecting would create it."""
        try:
            self.path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return False
        except (OSError, ValueError) as error:
            why = in_line(getattr(error, "strerror", None) or str(error))
            raise StorageError(f"{self.where} cannot be read: {why}") from None
        return True

    def inspect(self) -> None:
        with self._connected() as connection:
            results = list(connection.exec_driver_sql("PRAGMA integrity_check").scalars())
        if results != ["ok"]:
            raise StorageCorruptError(
                f"{self.where} is corrupt: {results[0]}. Restore it from a copy"
            )
