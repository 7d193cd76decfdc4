"""Studies in a database through SQLAlchemy: three tables, and one transaction per change.

Each event has a checksum of itself and of all earlier events. The study's row has the number of
events and the checksum of the last one.
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
from driftpeak.live._study.storage.addresses import Secrets, shown
from driftpeak.live._study.storage.store import News, Position, Store, in_line

TABLES = sa.MetaData()
STUDIES = sa.Table(
    "driftpeak_studies",
    TABLES,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("description", sa.Text, nullable=False),
    sa.Column("events", sa.BigInteger, nullable=False),  # number of events
    sa.Column("last", sa.BigInteger, nullable=False),  # checksum of the last event
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
        self._row: int | None = None  # id of the study's row
        self._id: str | None = None
        self.name = self._only() if name is None else name

    def of(self, name: str) -> "Database":
        """Return another study of this database, which shares the connections of this object."""
        other = copy(self)
        other._connection = other._row = other._id = None
        other._start, other.name = (), name
        return other

    @abstractmethod
    def _make_engine(self, url: sa.URL) -> sa.Engine:
        """Return SQLAlchemy's engine for the database."""

    def _turn(self) -> AbstractContextManager[object]:
        """Wait for other writing threads of this process, if the database makes writers poll."""
        return nullcontext()

    def _begin(self, connection: sa.Connection) -> None:
        """Prepare a transaction that will write."""

    def _guard_tables(self, connection: sa.Connection) -> None:
        """Let only this transaction create tables, if writers are not already exclusive."""

    @abstractmethod
    def _kind(self, error: DBAPIError) -> type[StorageError]:
        """Return the class of a driver's error: locked, corrupt or another."""

    def after_fork(self) -> None:
        self._connection = None
        self._engine.dispose(close=False)  # the connections belong to the parent
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
        """Return the connection of the current transaction, or begin one for the block."""
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
            raise self._failed(error) from None  # the original error may contain a password

    def _failed(self, error: Exception) -> DriftpeakError:
        kind = self._kind(error) if isinstance(error, DBAPIError) else StorageError
        if kind is StorageLockedError:
            return self._locked()
        reason = str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
        reason = in_line(self._secrets.hidden(reason))
        return kind(f"{self.where} failed: {reason}. Nothing was changed")

    def names(self) -> list[str]:
        """Return the names of all studies in this database, sorted."""
        with self._connected() as connection:
            if not sa.inspect(connection).has_table(STUDIES.name):
                return []
            names = list(connection.scalars(sa.select(STUDIES.c.name).order_by(STUDIES.c.name)))
        if not all(isinstance(name, str) for name in names):
            raise StorageCorruptError(
                f"{self.where} is corrupt: the name of a study must be text. Restore the database "
                "from a copy"
            )
        return names

    def _only(self) -> str | None:
        names = self.names()
        if len(names) > 1:
            raise DriftpeakError(
                f"a name must be given, as {self.where} holds several studies. Give one of "
                f"{_some(names)}"
            )
        return names[0] if names else None

    def describe(self) -> dict[str, Any] | None:
        with self._connected() as connection:
            if not sa.inspect(connection).has_table(STUDIES.name):
                return None
            chosen = sa.select(STUDIES.c.id, STUDIES.c.description)
            row = connection.execute(chosen.where(STUDIES.c.name == self.name)).first()
        if row is None:
            return None
        try:
            description: dict[str, Any] = json.loads(row.description)
            identity = description["id"]
        except (ValueError, LookupError, TypeError, RecursionError):
            raise self._corrupt(0, "its description cannot be decoded") from None
        if self._id not in (None, identity):
            raise self._another()
        self._row, self._id = row.id, identity
        self._start = 0, self._first(row.description)
        return description

    def _first(self, description: str) -> int:
        """Return the checksum before the first event."""
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

    def _own_row(self, connection: sa.Connection, *, lock: bool = True) -> Sequence[Any]:
        """Return the number of events and the last checksum."""
        if self._row is None:  # not created yet
            return 0, 0
        chosen = sa.select(STUDIES.c.events, STUDIES.c.last).where(STUDIES.c.id == self._row)
        row = connection.execute(chosen.with_for_update() if lock else chosen).first()
        if row is None:
            raise StorageError(
                f"study {self.name!r} no longer exists in {self.where}. It was deleted by another "
                "process"
            )
        return row

    def read(self, position: Position) -> News:
        number, check = position
        chosen = sa.select(EVENTS.c.number, EVENTS.c.event, EVENTS.c.checksum)
        chosen = chosen.where(EVENTS.c.study == self._row).order_by(EVENTS.c.number)
        with self._connected() as connection:
            count, last = self._own_row(connection, lock=False)
            if (count, last) == (number, check):
                return News(0, iter(()))
            self._check_place(connection, position, count)
            # only events that the study's row counts: others may have appended since
            there = EVENTS.c.number.between(number + 1, count)
            rows = connection.execute(chosen.where(there)).all()
        return News(len(rows), self._checked(rows, position, (count, last)))

    def _check_place(self, connection: sa.Connection, position: Position, count: int) -> None:
        """Check that a position is still in this study."""
        number, check = position
        if count < number:
            self.describe()  # raises if the study was replaced
            raise self._shorter(number, count)
        if self._at(connection, number) != check:
            self.describe()
            raise self._corrupt(number, "it differs from the confirmed event")

    def _at(self, connection: sa.Connection, number: int) -> Any:
        """Return the stored checksum of an event."""
        if number == 0:
            text = sa.select(STUDIES.c.description).where(STUDIES.c.id == self._row)
            return self._first(str(connection.scalar(text)))
        chosen = sa.select(EVENTS.c.checksum).where(EVENTS.c.study == self._row)
        return connection.scalar(chosen.where(EVENTS.c.number == number))

    def _checked(
        self, rows: Sequence[Any], position: Position, end: tuple[int, int]
    ) -> Iterator[tuple[Position, dict[str, Any]]]:
        number, check = position
        for its_number, event, stored in rows:
            if its_number != number + 1:
                raise self._corrupt(number + 1, "it is missing")
            try:
                check = zlib.crc32(event.encode(), check)
                content = json.loads(event)
            except (ValueError, AttributeError, RecursionError):
                raise self._corrupt(its_number, "it cannot be decoded") from None
            if check != stored:
                raise self._corrupt(its_number, "its checksum is wrong")
            number = its_number
            yield (number, check), content
        if (number, check) != end:
            raise self._shorter(end[0], number)

    def _corrupt(self, number: int, why: str) -> DriftpeakError:
        return StorageCorruptError(
            f"{self.where} is corrupt at event {number} of study {self.name!r}: {why}. Nothing was "
            "changed. Restore the database from a copy"
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
            state = connection.scalar(chosen)
        return state if isinstance(state, bytes | None) else bytes(0)

    def keep(self, snapshot: bytes) -> None:
        with self._connected(write=True) as connection:
            connection.execute(sa.delete(SNAPSHOTS).where(SNAPSHOTS.c.study == self._row))
            connection.execute(sa.insert(SNAPSHOTS).values(study=self._row, state=snapshot))

    def delete(self) -> None:
        with self._connected(write=True) as connection:
            self._own_row(connection)
            for table in (SNAPSHOTS, EVENTS):
                connection.execute(sa.delete(table).where(table.c.study == self._row))
            connection.execute(sa.delete(STUDIES).where(STUDIES.c.id == self._row))


def _dispose(engine: sa.Engine, process: int) -> None:
    """Close the connections if they belong to this process."""
    engine.dispose(close=process == os.getpid())


def _some(names: list[str]) -> str:
    return ", ".join(map(repr, names[:8])) + (", ..." if len(names) > 8 else "")
