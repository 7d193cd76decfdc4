"""The data sets of the papers and similar ones, with publishers, licences and formats."""

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from driftpeak._core.errors import DriftpeakError, nearest
from driftpeak.offline.data._grids import read_grid
from driftpeak.offline.data._intel import read_intel_lab
from driftpeak.offline.data._monthly import read_monthly
from driftpeak.offline.data._tables import read_table
from driftpeak.offline.data._traffic import read_speeds


@dataclass(frozen=True)
class DataSet:
    """A data set.

    Attributes:
        name: its name on the command line.
        title: a description.
        publisher, licence: who to credit, and the terms of use, if known.
        file: the name of its file in the data folder.
        page: a page with the file or its sources.
        format: the format that `read` expects.
        read: the loader, a function of the path.
        address: the publisher's address of this file; None if there is no direct download.
        sha256: checksum of the publisher's file, if the file is known not to change.
    """

    name: str
    title: str
    publisher: str
    licence: str
    file: str
    page: str
    format: str
    read: Callable[..., Any]
    address: str | None = None
    sha256: str | None = None


READERS = {read.__name__: read for read in (
    read_grid, read_intel_lab, read_monthly, read_speeds, read_table,
)}  # fmt: skip
_FILE = Path(__file__).with_name("data_sets.toml")
DATA_SETS: dict[str, DataSet] = {
    name: DataSet(name, **data | {"read": READERS[data["read"]]})
    for name, data in tomllib.loads(_FILE.read_text(encoding="utf-8")).items()
}
"""All data sets by name."""


def data_set(name: str) -> DataSet:
    """Return the data set of this name.

    Raises:
        DriftpeakError: there is no such data set.
    """
    if name not in DATA_SETS:
        raise DriftpeakError(
            f"unknown data set {name!r}; known: {', '.join(DATA_SETS)}.{nearest(name, DATA_SETS)}"
        )
    return DATA_SETS[name]
