"""Studies in a database, through SQLAlchemy: three tables, and one transaction per change."""

import json
import weakref
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from driftpeak.errors import DriftpeakError, nearest
from driftpeak.live.storage.store import Position, Store

TABLES = sa.MetaData()
STUDIES = sa.Table(
    "driftpeak_studies",
    TABLES,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("description", sa.Text, nullable=False),
)
EVENTS = sa.Table(
    "driftpeak_events",
    TABLES,
    sa.Column("study", sa.ForeignKey(STUDIES.c.id, ondelete="CASCADE"), primary_key=True),
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),  # from 1
    sa.Column("event", sa.Text, nullable=False),
)
SNAPSHOTS = sa.Table(
    "driftpeak_snapshots",
    TABLES,
    sa.Column("study", sa.ForeignKey(STUDIES.c.id, ondelete="CASCADE"), primary_key=True),
    sa.Column("state", sa.LargeBinary, nullable=False),
)
MANY = 1_000  # rows fetched at once


class Database(Store):
    """A study in a database. A position is the number of events. Base class."""

    def __init__(self, url: sa.URL, name: str | None, timeout: float) -> None:
        self.where = url.render_as_string(hide_password=True)
        self.timeout = timeout
        self._engine = self._make_engine(url)
        weakref.finalize(self, self._engine.dispose)  # close the connections
        self._connection: sa.Connection | None = None
        self._id: int | None = None
        self.name = self._only() if name is None else name

    @abstractmethod
    def _make_engine(self, url: sa.URL) -> sa.Engine:
        """The engine for the database."""

    @abstractmethod
    def _lock(self, connection: sa.Connection) -> None:
        """Let this transaction alone change the study."""

    @abstractmethod
    def _is_locked(self, error: DBAPIError) -> bool:
        """Whether an error says that a lock could not be had in time."""

    @contextmanager
    def locked(self) -> Iterator[None]:
        with self._connected(lock=True):
            yield

    @contextmanager
    def _connected(self, *, lock: bool = False) -> Iterator[sa.Connection]:
        """The transaction that is under way, or one for this block."""
        if self._connection is not None:
            yield self._connection
            return
        try:
            with self._engine.begin() as connection:
                if lock:
                    self._lock(connection)
                    self._connection = connection
                yield connection
        except DBAPIError as error:
            raise self._failed(error) from error
        finally:
            self._connection = None

    def _failed(self, error: DBAPIError) -> DriftpeakError:
        if self._is_locked(error):
            return DriftpeakError(
                f"{self.where} is locked: another process has held it for {self.timeout:g} s"
            )
        reason = str(error.orig).strip().partition("\n")[0]
        return DriftpeakError(f"{self.where}: nothing was changed, since {reason}")

    def _names(self) -> list[str]:
        with self._connected() as connection:
            if not sa.inspect(connection).has_table(STUDIES.name):
                return []
            return list(connection.scalars(sa.select(STUDIES.c.name).order_by(STUDIES.c.name)))

    def _only(self) -> str | None:
        names = self._names()
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
        self._id = found.id
        description: dict[str, Any] = json.loads(found.description)
        return description

    def others(self) -> str:
        names = self._names()
        hint = nearest(self.name or "", names)
        return f" It holds {_some(names)}.{hint}" if names else ""

    def create(self, description: dict[str, Any]) -> None:
        with self._connected() as connection:
            TABLES.create_all(connection)
            self.name = description["name"]
            row = {"name": self.name, "description": json.dumps(description)}
            made = connection.execute(sa.insert(STUDIES).values(row))
            self._id = made.inserted_primary_key[0]  # type: ignore[index]

    def start(self) -> Position:
        return (0,)

    def read(self, position: Position) -> Iterator[tuple[Position, dict[str, Any]]]:
        (number,) = position
        chosen = sa.select(EVENTS.c.number, EVENTS.c.event).where(EVENTS.c.study == self._id)
        chosen = chosen.where(EVENTS.c.number > number).order_by(EVENTS.c.number)
        with self._connected() as connection:
            # fetched in parts, all of one transaction
            for found, event in connection.execute(chosen).yield_per(MANY):
                if found != number + 1:
                    raise self._corrupt(number + 1, "it is missing")
                try:
                    content = json.loads(event)
                except ValueError:
                    raise self._corrupt(found, "it cannot be read") from None
                number = found
                yield (number,), content

    def _corrupt(self, number: int, why: str) -> DriftpeakError:
        return DriftpeakError(
            f"{self.where} is corrupt at event {number} of study {self.name!r}: {why}. Nothing was "
            "changed; restore the database from a copy"
        )

    def append(self, position: Position, events: list[dict[str, Any]]) -> Position:
        (number,) = position
        rows = [
            {"study": self._id, "number": number + place, "event": json.dumps(event)}
            for place, event in enumerate(events, start=1)
        ]
        with self._connected() as connection:
            connection.execute(sa.insert(EVENTS), rows)
        return (number + len(events),)

    def holds(self, position: Position) -> bool:
        counted = sa.select(sa.func.max(EVENTS.c.number)).where(EVENTS.c.study == self._id)
        with self._connected() as connection:
            return len(position) == 1 and position[0] <= (connection.scalar(counted) or 0)

    def snapshot(self) -> bytes | None:
        chosen = sa.select(SNAPSHOTS.c.state).where(SNAPSHOTS.c.study == self._id)
        with self._connected() as connection:
            found: bytes | None = connection.scalar(chosen)
        return found

    def keep(self, snapshot: bytes) -> None:
        with self._connected(lock=True) as connection:
            connection.execute(sa.delete(SNAPSHOTS).where(SNAPSHOTS.c.study == self._id))
            connection.execute(sa.insert(SNAPSHOTS).values(study=self._id, state=snapshot))


def _some(names: list[str]) -> str:
    return ", ".join(map(repr, names[:8])) + (", ..." if len(names) > 8 else "")
