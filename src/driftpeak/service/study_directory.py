"""Where the studies of a service are kept: a folder of journals, or a database."""

from abc import ABC, abstractmethod
from pathlib import Path

from driftpeak._core.errors import DriftpeakError, StorageError, shown
from driftpeak.live.study.storage import Store, open_store
from driftpeak.service.names import is_name

ENDING = ".jsonl"
KINDS = "a folder of journals, sqlite:///PATH or postgresql://USER:PASSWORD@HOST/DATABASE"


class Place(ABC):
    """Many studies in one storage."""

    @abstractmethod
    def names(self) -> list[str]:
        """Of the studies that are there and can be served, in order."""

    @abstractmethod
    def store(self, name: str) -> Store:
        """The store of a study, which need not be there; each caller has its own."""


class Folder(Place):
    """A folder: `NAME.jsonl` in it is the journal of study NAME."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def names(self) -> list[str]:
        try:
            found = [one.stem for one in self.path.iterdir() if one.suffix == ENDING]
        except OSError as error:
            reason = error.strerror or error
            raise StorageError(f"folder {self.path} cannot be read: {reason}") from None
        return sorted(filter(is_name, found))

    def store(self, name: str) -> Store:
        path = self.path / f"{name}{ENDING}"
        # one that is there may have been begun under another name than its file's
        return open_store(path, None if path.exists() else name)


class Tables(Place):
    """A database; its studies share connections."""

    def __init__(self, address: str) -> None:
        # any name will do: it is never begun. This says first if what it needs is not installed
        found = open_store(address, "-")
        from driftpeak.live.study.storage.sql import Database
        from driftpeak.live.study.storage.sqlite import SQLite

        assert isinstance(found, Database)
        if isinstance(found, SQLite) and not found.path.parent.is_dir():
            raise DriftpeakError(
                f"there is no folder {shown(str(found.path.parent))} for the studies: make it "
                "(an absolute path follows sqlite:// and two slashes)"
            )
        self._database = found

    def names(self) -> list[str]:
        return sorted(filter(is_name, self._database.names()))

    def store(self, name: str) -> Store:
        return self._database.of(name)


def open_place(storage: str) -> Place:
    """The place that a path or an address names.

    Raises:
        DriftpeakError: no such folder, no such kind of storage, or a database that cannot be
            reached. Nothing of an address that may hold a password is in the message.
    """
    if not storage:
        raise DriftpeakError(f"STORAGE is {KINDS}; got nothing")
    scheme, separator, rest = storage.partition("://")
    if separator and scheme.partition("+")[0] in ("sqlite", "postgresql"):
        found: Place = Tables(storage)
    elif separator and scheme != "journal":
        open_store(storage)  # says what is wrong, without a password
        raise DriftpeakError(f"STORAGE is {KINDS}")
    else:
        path = Path(rest.removeprefix("/") if separator else storage)
        if path.is_file():
            raise DriftpeakError(
                f"{shown(str(path))} is one journal, and a service serves a folder of them: give "
                f"{shown(str(path.parent))}, where its studies are called as the files, NAME.jsonl"
            )
        if not path.is_dir():
            from driftpeak.live.study.storage.addresses import looks_like_address

            if looks_like_address(storage):
                raise DriftpeakError(f"STORAGE is {KINDS}; what was given is none of these")
            raise DriftpeakError(
                f"there is no folder {shown(str(path))}: make it (mkdir), or give {KINDS}"
            )
        found = Folder(path)
    found.names()  # it can be read
    return found
