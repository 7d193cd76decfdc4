"""The data folder: where data sets lie, and how they get there, whole or not at all."""

import hashlib
import os
import urllib.error
import urllib.request
from http.client import HTTPException
from pathlib import Path
from typing import IO, Any

from driftpeak.data.catalogue import DataSet, data_set
from driftpeak.errors import DriftpeakError
from driftpeak.files import new_file

TIMEOUT = 20  # seconds without an answer
BLOCK = 1 << 20


def data_folder() -> Path:
    """The folder of the data sets, whether it is there or not.

    Returns:
        `$DRIFTPEAK_DATA`, else `$XDG_CACHE_HOME/driftpeak`, else `~/.cache/driftpeak`.
    """
    own = os.environ.get("DRIFTPEAK_DATA")
    if own:
        return Path(own).expanduser()
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser() / "driftpeak"


def data_path(name: str, folder: Path | None = None) -> Path:
    """Where the file of a data set is, or would be: in `folder`, else in the data folder.

    Arguments:
        name: of the data set, one of `DATA_SETS`.
        folder: to look in; by default `data_folder()`.

    Raises:
        DriftpeakError: an unknown name.
    """
    return (folder or data_folder()) / data_set(name).file


def require_data(name: str, folder: Path | None = None) -> Path:
    """Where the file of a data set is: in `folder`, else in the data folder.

    Arguments:
        name: of the data set, one of `DATA_SETS`.
        folder: to look in; by default `data_folder()`.

    Raises:
        DriftpeakError: an unknown name, or it is not there; says how to put it there.
    """
    path = data_path(name, folder)
    if not path.is_file():
        elsewhere = "" if folder is None else f" in {data_folder()}, which is used without --data"
        raise DriftpeakError(f"{path}: there is no such file. {remedy(data_set(name))}{elsewhere}")
    return path


def load_data(name: str, **options: Any) -> Any:
    """Read a data set from the data folder; options as its loader, see `driftpeak.data`.

    Arguments:
        name: of the data set, one of `DATA_SETS`.
        options: as its loader takes them.

    Raises:
        DriftpeakError: as `require_data` and the loader.
    """
    return data_set(name).read(require_data(name), **options)


def remedy(data: DataSet) -> str:
    """In words, how to put the file in its place."""
    by_hand = f"`driftpeak data fetch {data.name} --from FILE`"
    if data.address is None:
        return f"Make it from {data.page} ({data.format}) and put it in place with {by_hand}"
    return (
        f"`driftpeak data fetch {data.name}` downloads it from {data.address}; "
        f"without a connection copy it from elsewhere with {by_hand}"
    )


def fetch_data(name: str, source: str | None = None, *, overwrite: bool = False) -> Path:
    """Put the file of a data set into the data folder.

    Written under another name and renamed when complete: an interrupted download leaves nothing
    under the final name.

    Arguments:
        name: of the data set.
        source: a file or an http(s) address; by default the publisher's address. A checksum is
            compared only with the publisher's own file.
        overwrite: replace a file that is there.

    Returns:
        Where the file is.

    Raises:
        DriftpeakError: an unknown name, no address and no source, a file that is there already, a
            source that cannot be read, a download cut short, a checksum that differs, a folder that
            cannot be written.
    """
    data = data_set(name)
    path = data_path(name)
    if path.exists() and not overwrite:
        raise DriftpeakError(f"{path} is there already; replace it with overwrite")
    origin = source or data.address
    if origin is None:
        raise DriftpeakError(f"{name} cannot be downloaded by a program. {remedy(data)}")
    checksum = data.sha256 if source is None else None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DriftpeakError(f"{path} cannot be written: {error.strerror or error}") from None
    with new_file(path) as part:
        with part.open("wb") as file:
            digest = _copy(origin, file, data)
        if checksum is not None and digest != checksum:
            raise DriftpeakError(
                f"{origin}: the checksum (SHA-256) is {digest}, not {checksum}: the download is "
                "damaged or the publisher has replaced the file"
            )
    return path


def _copy(origin: str, file: IO[bytes], data: DataSet) -> str:
    """Copy everything and return its SHA-256; reading errors are told, writing errors raised."""
    digest = hashlib.sha256()
    read = 0
    try:
        source, expected = _open(origin)
    except (OSError, HTTPException, ValueError) as error:
        raise DriftpeakError(_unreadable(origin, error, data)) from None
    with source:
        while True:
            try:
                block = source.read(BLOCK)
            except (OSError, HTTPException) as error:
                raise DriftpeakError(_unreadable(origin, error, data)) from None
            if not block:
                break
            file.write(block)
            digest.update(block)
            read += len(block)
    if read == 0:
        raise DriftpeakError(f"{origin}: the file is empty")
    if expected is not None and read != expected:
        raise DriftpeakError(
            f"{origin}: the download was cut short, {read} of {expected} bytes; try again"
        )
    return digest.hexdigest()


def _open(origin: str) -> tuple[Any, int | None]:
    """Something to read from, and how much there is, if that is known."""
    if origin.startswith(("http://", "https://")):
        response = urllib.request.urlopen(origin, timeout=TIMEOUT)
        length = response.headers.get("Content-Length")
        return response, int(length) if length else None
    if "://" in origin:
        raise ValueError("only http and https addresses, or a file")
    return Path(origin).expanduser().open("rb"), None


def _unreadable(origin: str, error: Exception, data: DataSet) -> str:
    if isinstance(error, urllib.error.HTTPError):
        why = f"the server answers {error.code} {error.reason}"
    elif isinstance(error, urllib.error.URLError):
        why = f"no connection ({getattr(error.reason, 'strerror', None) or error.reason})"
    else:
        why = str(getattr(error, "strerror", None) or error) or type(error).__name__
    by_hand = f"driftpeak data fetch {data.name} --from FILE"
    return (
        f"{origin} cannot be read: {why}. The file wanted is {data.file}, from {data.page} "
        f"({data.format}); once you have it: {by_hand}"
    )
