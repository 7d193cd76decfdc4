"""Studies in a PostgreSQL database."""

import zlib

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from driftpeak._core.errors import StorageCorruptError, StorageError, StorageLockedError
from driftpeak.live._study.storage.sql import Database

KINDS: dict[str | None, type[StorageError]] = {  # by the codes in PostgreSQL's list of errors
    "55P03": StorageLockedError,  # lock_not_available
    "XX001": StorageCorruptError,  # data_corrupted
    "XX002": StorageCorruptError,  # index_corrupted
}
OURS = zlib.crc32(b"driftpeak")


class PostgreSQL(Database):
    """A study in PostgreSQL: `postgresql://user:password@host/database`, with psycopg 3."""

    def _make_engine(self, url: sa.URL) -> sa.Engine:
        if url.drivername == "postgresql":
            url = url.set(drivername="postgresql+psycopg")
        # the server may have been restarted
        return sa.create_engine(url, pool_pre_ping=True, hide_parameters=True)

    def _begin(self, connection: sa.Connection) -> None:
        wait = sa.text("SELECT set_config('lock_timeout', :wait, true)")
        connection.execute(wait, {"wait": f"{max(round(1000 * self.timeout), 1)}ms"})
        # overrides servers that are configured not to wait for the disk
        connection.execute(sa.text("SET LOCAL synchronous_commit = on"))

    def _guard_tables(self, connection: sa.Connection) -> None:
        connection.execute(sa.text("SELECT pg_advisory_xact_lock(:key)"), {"key": OURS})

    def _kind(self, error: DBAPIError) -> type[StorageError]:
        return KINDS.get(getattr(error.orig, "sqlstate", None), StorageError)
