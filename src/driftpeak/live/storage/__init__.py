"""Where studies are kept: files and databases."""

from pathlib import Path
from urllib.parse import parse_qs

from driftpeak.errors import DriftpeakError, positive
from driftpeak.live.storage.journal import Journal
from driftpeak.live.storage.store import Position, Store
from driftpeak.live.storage.study import Study, check_format

__all__ = ["Journal", "Position", "Storage", "Store", "Study", "check_format", "open_store"]

Storage = str | Path | Store
TIMEOUT = 30.0  # seconds to wait for another process, which may be compiling its first suggestion
KINDS = "a path, journal:///PATH, sqlite:///PATH or postgresql://USER:PASSWORD@HOST/DATABASE"


def open_store(storage: Storage, name: str | None = None) -> Store:
    """The store that a path or an address names.

    Arguments:
        storage: a path (of a journal), `journal:///path`, `sqlite:///path`, `postgresql://...`, or
            a `Store`. As is usual for sqlite, three slashes precede a relative path, and four
            begin an absolute one. `?timeout=5` behind an address: seconds to wait for a lock.
        name: of the study; by default the only one there is.

    Raises:
        DriftpeakError: no such kind of storage, or what it needs is not installed.
    """
    if name is not None and (not isinstance(name, str) or not name):
        raise DriftpeakError(f"a study's name must be a string that is not empty; got {name!r}")
    if isinstance(storage, Store):
        return storage
    if isinstance(storage, Path):
        return Journal(storage, name, TIMEOUT)
    if not isinstance(storage, str) or not storage:
        raise DriftpeakError(f"storage must be {KINDS}; got {storage!r}")
    scheme, separator, rest = storage.partition("://")
    if not separator:
        return Journal(Path(storage), name, TIMEOUT)
    if scheme == "journal":
        path, _, query = rest.partition("?")
        if not path.startswith("/") or path == "/":
            raise DriftpeakError(f"write journal:///PATH; got {storage!r}")
        return Journal(Path(path[1:]), name, _timeout(parse_qs(query).get("timeout", [])))
    if scheme.partition("+")[0] not in ("sqlite", "postgresql"):
        raise DriftpeakError(f"storage must be {KINDS}; got {storage!r}")
    return _open_database(storage, name)


def _open_database(storage: str, name: str | None) -> Store:
    try:
        import sqlalchemy as sa

        from driftpeak.live.storage.postgresql import PostgreSQL
        from driftpeak.live.storage.sqlite import SQLite
    except ModuleNotFoundError as error:
        raise DriftpeakError(
            f"this storage needs {error.name}: pip install 'driftpeak[live-sql]'"
        ) from None
    try:
        url = sa.make_url(storage)
        timeout = _timeout(url.query.get("timeout"))
        url = url.difference_update_query(["timeout"])
        kind = SQLite if url.get_backend_name() == "sqlite" else PostgreSQL
        return kind(url, name, timeout)
    except (sa.exc.ArgumentError, sa.exc.NoSuchModuleError) as error:
        raise DriftpeakError(f"storage must be {KINDS}: {error}") from None
    except ModuleNotFoundError as error:
        raise DriftpeakError(
            f"this storage needs {error.name}: pip install 'driftpeak[live-sql]'"
        ) from None


def _timeout(given: str | tuple[str, ...] | list[str] | None) -> float:
    if not given:
        return TIMEOUT
    text = given if isinstance(given, str) else given[-1]
    try:
        return positive("timeout", float(text))
    except ValueError:
        raise DriftpeakError(f"timeout must be a number of seconds above 0; got {text!r}") from None
