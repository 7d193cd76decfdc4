"""The storage of a service's studies: a folder of journals, or a database."""

from abc import ABC, abstractmethod
from pathlib import Path

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DriftpeakError, StorageError, shown
from driftpeak.live._study.storage import Store, open_store
from driftpeak.service._names import is_name

ENDING = ".jsonl"
KINDS = "a folder of journals, sqlite:///PATH or postgresql://USER:PASSWORD@HOST/DATABASE"


class Place(ABC):
    """A storage of many studies. Base class."""

    @abstractmethod
    def names(self) -> list[str]:
        """Return the sorted names of all studies that can be served."""

    @abstractmethod
    def store(self, name: str) -> Store:
        """Return a new store of a study, which need not exist yet."""


class Folder(Place):
    """A folder of journals; `NAME.jsonl` is the journal of study NAME."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def names(self) -> list[str]:
        try:
            names = [path.stem for path in self.path.iterdir() if path.suffix == ENDING]
        except OSError as error:
            reason = error.strerror or error
            raise StorageError(f"folder {self.path} cannot be read: {reason}") from None
        return sorted(filter(is_name, names))

    def store(self, name: str) -> Store:
        path = self.path / f"{name}{ENDING}"
        # an existing study may have been created under another name than its file's
        return open_store(path, None if path.exists() else name)


class Tables(Place):
    """A database, whose studies share connections."""

    def __init__(self, address: str) -> None:
        # the name is arbitrary, as no study is created; this fails first if a driver is missing
        store = open_store(address, "-")
        from driftpeak.live._study.storage.sql import Database
        from driftpeak.live._study.storage.sqlite import SQLite

        assert isinstance(store, Database)
        if isinstance(store, SQLite) and not store.path.parent.is_dir():
            raise DriftpeakError(
                f"the database's folder {shown(str(store.path.parent))} does not exist. Create it. "
                "For an absolute path, write two slashes after sqlite://."
            )
        self._database = store

    def names(self) -> list[str]:
        return sorted(filter(is_name, self._database.names()))

    def store(self, name: str) -> Store:
        return self._database.of(name)


@checked
def open_place(storage: str) -> Place:
    """Open the storage of a path or an address; a missing folder is created.

    Raises:
        DriftpeakError: the folder cannot be created, the type of storage is unknown, or the
            database cannot be reached. The message contains no part of an address that may have a
            password.
    """
    if not storage:
        raise DriftpeakError(f"STORAGE must be {KINDS}; got an empty string")
    scheme, separator, rest = storage.partition("://")
    if separator and scheme.partition("+")[0] in ("sqlite", "postgresql"):
        place: Place = Tables(storage)
    elif separator and scheme != "journal":
        open_store(storage)  # raises an error without a password
        raise DriftpeakError(f"STORAGE must be {KINDS}")
    else:
        path = Path(rest.removeprefix("/") if separator else storage)
        if path.exists() and not path.is_dir():
            raise DriftpeakError(
                f"STORAGE must be a folder of journals; got the file {shown(str(path))}. Give "
                f"{shown(str(path.parent))}; each file NAME.jsonl in it is study NAME."
            )
        if not path.is_dir():
            from driftpeak.live._study.storage.addresses import looks_like_address

            if looks_like_address(storage):
                raise DriftpeakError(f"STORAGE must be {KINDS}; got another type of address")
            try:
                path.mkdir()
            except OSError as error:
                raise DriftpeakError(
                    f"folder {shown(str(path))} does not exist and cannot be created: "
                    f"{error.strerror or error}. Create it, or give {KINDS}."
                ) from None
        place = Folder(path)
    place.names()  # fails if it cannot be read
    return place
