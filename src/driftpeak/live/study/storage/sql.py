"""Studies in a database, through SQLAlchemy: three tables, and one transaction per change.

Every event has a checksum of itself and of all before it, and the study knows how many events there
are and the checksum of the last.
"""

import json
import os
import weakref
import zlib
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from copy import copy
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from driftpeak._core.errors import (
    DriftpeakError,
    StorageCorruptError,
    StorageError,
    StorageLockedError,
    nearest,
)
from driftpeak.live.study.storage.addresses import Secrets, shown
from driftpeak.live.study.storage.store import News, Position, Store, in_line

TABLES = sa.MetaData()
STUDIES = sa.Table(
    "driftpeak_studies",
    TABLES,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("description", sa.Text, nullable=False),
    sa.Column("events", sa.BigInteger, nullable=False),  # how many there are
    sa.Column("last", sa.BigInteger, nullable=False),  # the checksum of the last
)
EVENTS = sa.Table(
    "driftpeak_events",
    TABLES,
    sa.Column("study", sa.ForeignKey(STUDIES.c.id, ondelete="CASCADE"), primary_key=True),
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),  # from 1
    sa.Column("event", sa.Text, nullable=False),
    sa.Column("checksum", sa.BigInteger, nullable=False),
)
SNAPSHOTS = sa.Table(
    "driftpeak_snapshots",
    TABLES,
    sa.Column("study", sa.ForeignKey(STUDIES.c.id, ondelete="CASCADE"), primary_key=True),
    sa.Column("state", sa.LargeBinary, nullable=False),
)


class Database(Store):
    """A study in a database. A position is (events, checksum). Base class."""

    def __init__(self, url: sa.URL, name: str | None, timeout: float) -> None:
        self.where, self._secrets = shown(url), Secrets(url)
        self.timeout = timeout
        self._engine = self._make_engine(url)
        self._process = os.getpid()
        weakref.finalize(self, _dispose, self._engine, self._process)
        self._connection: sa.Connection | None = None
        self._row: int | None = None  # of the study
        self._id: str | None = None
        self._start: Position = ()
        self.name = self._only() if name is None else name

    def of(self, name: str) -> "Database":
        """Another study of this database, through the same connections, which this one holds."""
        other = copy(self)
        other._connection = other._row = other._id = None
        other._start, other.name = (), name
        return other

    @abstractmethod
    def _make_engine(self, url: sa.URL) -> sa.Engine:
        """The engine for the database."""

    def _turn(self) -> AbstractContextManager[object]:
        """Wait until no other thread of this process writes, where a database makes them poll."""
        return nullcontext()

    @abstractmethod
    def _begin(self, connection: sa.Connection) -> None:
        """Before anything else in a transaction that will write."""

    @abstractmethod
    def _guard_tables(self, connection: sa.Connection) -> None:
        """Let this transaction alone make tables."""

    @abstractmethod
    def _kind(self, error: DBAPIError) -> type[StorageError]:
        """Return the class of a driver's error: locked, corrupt or another."""

    def after_fork(self) -> None:
        self._connection = None
        self._engine.dispose(close=False)  # the connections are the parent's
        self._process = os.getpid()

    @contextmanager
    def locked(self) -> Iterator[None]:
        with self._connected(write=True) as connection:
            self._own_row(connection)
            self._connection = connection
            try:
                yield
            finally:
                self._connection = None

    @contextmanager
    def _connected(self, *, write: bool = False) -> Iterator[sa.Connection]:
        """The transaction that is under way, or one for this block."""
        if self._connection is not None:
            yield self._connection
            return
        if self._process != os.getpid():
            self.after_fork()
        try:
            with (
                self._turn() if write else nullcontext(),
                self._engine.execution_options(driftpeak_write=write).begin() as connection,
            ):
                if write:
                    self._begin(connection)
                yield connection
        except (SQLAlchemyError, UnicodeError, OverflowError) as error:
            raise self._failed(error) from None  # its text and its chain may hold a password

    def _failed(self, error: Exception) -> DriftpeakError:
        kind = self._kind(error) if isinstance(error, DBAPIError) else StorageError
        if kind is StorageLockedError:
            return self._locked()
        reason = str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
        reason = in_line(self._secrets.hidden(reason))
        return kind(f"{self.where}: nothing was changed, since {reason}")

    def names(self) -> list[str]:
        """Of all studies in this database, in order."""
        with self._connected() as connection:
            if not sa.inspect(connection).has_table(STUDIES.name):
                return []
            names = list(connection.scalars(sa.select(STUDIES.c.name).order_by(STUDIES.c.name)))
        if not all(isinstance(name, str) for name in names):
            raise StorageCorruptError(f"{self.where} is damaged: the name of a study is no text")
        return names

    def _only(self) -> str | None:
        names = self.names()
        if len(names) > 1:
            raise DriftpeakError(f"{self.where} holds several studies: name one of {_some(names)}")
        return names[0] if names else None

    def describe(self) -> dict[str, Any] | None:
        with self._connected() as connection:
            if not sa.inspect(connection).has_table(STUDIES.name):
                return None
            chosen = sa.select(STUDIES.c.id, STUDIES.c.description)
            found = connection.execute(chosen.where(STUDIES.c.name == self.name)).first()
        if found is None:
            return None
        try:
            description: dict[str, Any] = json.loads(found.description)
            identity = description["id"]
        except (ValueError, LookupError, TypeError, RecursionError):
            raise self._corrupt(0, "its description cannot be read") from None
        if self._id not in (None, identity):
            raise self._another()
        self._row, self._id = found.id, identity
        self._start = 0, self._first(found.description)
        return description

    def _first(self, description: str) -> int:
        """The checksum from which that of the first event goes on."""
        return zlib.crc32(description.encode(), zlib.crc32(str(self.name).encode()))

    def others(self) -> str:
        names = self.names()
        hint = nearest(self.name or "", names)
        return f" It holds {_some(names)}.{hint}" if names else ""

    def create(self, description: dict[str, Any]) -> bool:
        self.name, text = description["name"], json.dumps(description)
        first = self._first(text)
        with self._connected(write=True) as connection:
            self._guard_tables(connection)
            TABLES.create_all(connection)
            there = sa.select(STUDIES.c.id).where(STUDIES.c.name == self.name)
            if connection.scalar(there) is not None:
                return False
            row = {"name": self.name, "description": text, "events": 0, "last": first}
            made = connection.execute(sa.insert(STUDIES).values(row))
            self._row = made.inserted_primary_key[0]  # type: ignore[index]
        self._id, self._start = description["id"], (0, first)
        return True

    def start(self) -> Position:
        return self._start

    def _own_row(self, connection: sa.Connection, *, lock: bool = True) -> Sequence[Any]:
        """How many events there are, the last checksum, and the description."""
        if self._row is None:  # not begun yet
            return 0, 0
        chosen = sa.select(STUDIES.c.events, STUDIES.c.last).where(STUDIES.c.id == self._row)
        found = connection.execute(chosen.with_for_update() if lock else chosen).first()
        if found is None:
            raise StorageError(f"{self.where} has no study {self.name!r} any more: it was deleted")
        return found

    def read(self, position: Position) -> News:
        number, check = position
        chosen = sa.select(EVENTS.c.number, EVENTS.c.event, EVENTS.c.checksum)
        chosen = chosen.where(EVENTS.c.study == self._row).order_by(EVENTS.c.number)
        with self._connected() as connection:
            count, last = self._own_row(connection, lock=False)
            if (count, last) == (number, check):
                return News(0, iter(()))
            self._check_place(connection, position, count)
            # no further than the study's row says: others may have added some since that was read
            there = EVENTS.c.number.between(number + 1, count)
            rows = connection.execute(chosen.where(there)).all()
        return News(len(rows), self._checked(rows, position, (count, last)))

    def _check_place(self, connection: sa.Connection, position: Position, count: int) -> None:
        """Refuse a position that is not one of this study any more."""
        number, check = position
        if count < number:
            self.describe()  # which may find another study
            raise self._shorter(number, count)
        if self._at(connection, number) != check:
            self.describe()
            raise self._corrupt(number, "it is another than was confirmed")

    def _at(self, connection: sa.Connection, number: int) -> Any:
        """The checksum at an event, as stored."""
        if number == 0:
            text = sa.select(STUDIES.c.description).where(STUDIES.c.id == self._row)
            return self._first(str(connection.scalar(text)))
        chosen = sa.select(EVENTS.c.checksum).where(EVENTS.c.study == self._row)
        return connection.scalar(chosen.where(EVENTS.c.number == number))

    def _checked(
        self, rows: Sequence[Any], position: Position, end: tuple[int, int]
    ) -> Iterator[tuple[Position, dict[str, Any]]]:
        number, check = position
        for found, event, stored in rows:
            if found != number + 1:
                raise self._corrupt(number + 1, "it is missing")
            try:
                check = zlib.crc32(event.encode(), check)
                content = json.loads(event)
            except (ValueError, AttributeError, RecursionError):
                raise self._corrupt(found, "it cannot be read") from None
            if check != stored:
                raise self._corrupt(found, "its checksum is wrong")
            number = found
            yield (number, check), content
        if (number, check) != end:
            raise self._shorter(end[0], number)

    def _corrupt(self, number: int, why: str) -> DriftpeakError:
        return StorageCorruptError(
            f"{self.where} is corrupt at event {number} of study {self.name!r}: {why}. Nothing was "
            "changed; restore the database from a copy"
        )

    def append(self, position: Position, events: list[dict[str, Any]]) -> Position | None:
        number, check = position
        rows = []
        for event in events:
            number, text = number + 1, json.dumps(event)
            check = zlib.crc32(text.encode(), check)
            rows.append({"study": self._row, "number": number, "event": text, "checksum": check})
        with self._connected(write=True) as connection:
            count, last = self._own_row(connection)
            if (count, last) != position:
                self._check_place(connection, position, count)
                if count > position[0]:
                    return None
                raise self._corrupt(count, "its checksum is wrong")
            connection.execute(sa.insert(EVENTS), rows)
            changed = sa.update(STUDIES).where(STUDIES.c.id == self._row)
            connection.execute(changed.values(events=number, last=check))
        return number, check

    def holds(self, position: Position) -> bool:
        if len(position) != 2:
            return False
        with self._connected() as connection:
            count, _ = self._own_row(connection, lock=False)
            return position[0] <= count and self._at(connection, position[0]) == position[1]

    def snapshot(self) -> bytes | None:
        chosen = sa.select(SNAPSHOTS.c.state).where(SNAPSHOTS.c.study == self._row)
        with self._connected() as connection:
            found = connection.scalar(chosen)
        return found if isinstance(found, bytes | None) else bytes(0)

    def keep(self, snapshot: bytes) -> None:
        with self._connected(write=True) as connection:
            connection.execute(sa.delete(SNAPSHOTS).where(SNAPSHOTS.c.study == self._row))
            connection.execute(sa.insert(SNAPSHOTS).values(study=self._row, state=snapshot))


def _dispose(engine: sa.Engine, process: int) -> None:
    """Close the connections, if they are this process's own."""
    engine.dispose(close=process == os.getpid())


def _some(names: list[str]) -> str:
    return ", ".join(map(repr, names[:8])) + (", ..." if len(names) > 8 else "")
