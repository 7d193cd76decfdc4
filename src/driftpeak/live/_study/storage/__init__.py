"""Storage of studies in files and databases."""

import re
from pathlib import Path
from urllib.parse import parse_qs

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DriftpeakError, positive, rejected
from driftpeak._core.extras import message
from driftpeak.live._space.parameters import check_text
from driftpeak.live._study.storage.journal import Journal
from driftpeak.live._study.storage.store import News, Position, Store
from driftpeak.live._study.storage.study import Study, description_of, rewards, verify

__all__ = [
    "Journal",
    "News",
    "Position",
    "Storage",
    "Store",
    "Study",
    "description_of",
    "open_store",
    "rewards",
    "verify",
]

Storage = str | Path | Store
TIMEOUT = 30.0  # seconds to wait for another process
KINDS = "a path, journal:///PATH, sqlite:///PATH or postgresql://USER:PASSWORD@HOST/DATABASE"


@checked
def open_store(storage: Storage, name: str | None = None) -> Store:
    """Return the store of a path or an address.

    Arguments:
        storage: the path of a journal, `journal:///path`, `sqlite:///path`, `postgresql://...`, or
            a `Store`. As usual for sqlite, three slashes precede a relative path, and four an
            absolute one. Append `?timeout=5` to an address to wait up to 5 seconds for a lock.
        name: name of the study; by default the only one in the storage.

    Raises:
        DriftpeakError: the kind of storage is unknown, or a package is missing. The message does
            not contain an address that may hold a password.
    """
    if name is not None:
        check_text("a study's name", name)
        if not name:
            raise rejected("a study's name", name, "be non-empty text")
    if isinstance(storage, Store):
        return storage
    if isinstance(storage, Path):
        return Journal(_checked(storage), name, TIMEOUT)
    if not storage:
        raise rejected("storage", storage, f"be {KINDS}")
    scheme, separator, rest = storage.partition("://")
    if scheme == "journal" and separator:
        path, _, query = rest.partition("?")
        if not path.startswith("/") or path == "/":
            raise DriftpeakError("a journal's address must be journal:///PATH, with three slashes")
        timeout = _timeout(parse_qs(query).get("timeout", []))
        return Journal(_checked(Path(path[1:])), name, timeout)
    if scheme.partition("+")[0] in ("sqlite", "postgresql") and separator:
        try:
            return _open_database(storage, name)
        except ModuleNotFoundError as error:
            raise DriftpeakError(message(str(error.name))) from None
    from driftpeak.live._study.storage.addresses import looks_like_address

    if separator or looks_like_address(storage):
        raise DriftpeakError(
            f"storage must be {KINDS}; got another address, which is not shown as it may hold a "
            "password"
        )
    return Journal(_checked(Path(storage)), name, TIMEOUT)


def _open_database(storage: str, name: str | None) -> Store:
    import sqlalchemy as sa

    from driftpeak.live._study.storage.postgresql import PostgreSQL
    from driftpeak.live._study.storage.sqlite import SQLite

    authority, _, rest = storage.partition("://")[2].partition("/")
    if authority.count("@") > 1 or re.search(r":.*@", rest, re.DOTALL):
        raise DriftpeakError(
            "an address must have one @, before the host. Write %40 for an @ in a password"
        )
    try:
        url = sa.make_url(storage)
    except (sa.exc.ArgumentError, ValueError):  # their messages may contain the address
        raise DriftpeakError(
            f"storage must be {KINDS}; got an address that cannot be parsed"
        ) from None
    timeout = _timeout(url.query.get("timeout"))
    url = url.difference_update_query(["timeout"])
    try:
        kind = SQLite if url.get_backend_name() == "sqlite" else PostgreSQL
        return kind(url, name, timeout)
    except DriftpeakError:
        raise
    except (sa.exc.ArgumentError, sa.exc.NoSuchModuleError, TypeError, ValueError):
        raise DriftpeakError(
            f"storage must be {KINDS}; got an address with an unknown driver or option"
        ) from None


def _checked(path: Path) -> Path:
    if "\0" in str(path):
        raise rejected("a path", str(path), "have no null characters")
    return path


def _timeout(given: str | tuple[str, ...] | list[str] | None) -> float:
    if not given:
        return TIMEOUT
    text = given if isinstance(given, str) else given[-1]
    try:
        return positive("timeout", float(text))
    except ValueError:
        raise DriftpeakError(f"timeout must be a number of seconds above 0; got {text!r}") from None
