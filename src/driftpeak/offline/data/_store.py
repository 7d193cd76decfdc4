"""The folder of data sets, and atomic downloads into it."""

import os
import shutil
from pathlib import Path
from typing import Any

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DataError, DriftpeakError
from driftpeak._core.files import cache_folder, new_file, open_regular, writing
from driftpeak.offline.data._catalogue import DataSet, data_set

TIMEOUT = 20  # seconds without an answer
BLOCK = 1 << 20


def data_folder() -> Path:
    """Return the folder of the data sets, whether or not it exists.

    Returns:
        `$DRIFTPEAK_DATA`, else driftpeak's part of the user's cache folder, `~/.cache/driftpeak`.
    """
    own = os.environ.get("DRIFTPEAK_DATA")
    return Path(own).expanduser() if own else cache_folder()


@checked
def data_path(name: str, folder: Path | None = None) -> Path:
    """Return the path of a data set's file, whether or not it exists.

    Arguments:
        name: the name of the data set, one of `DATA_SETS`.
        folder: its folder; by default `data_folder()`.

    Raises:
        DriftpeakError: the name is unknown.
    """
    return (folder or data_folder()) / data_set(name).file


@checked
def require_data(name: str, folder: Path | None = None) -> Path:
    """Return the path of a data set's existing file.

    Arguments:
        name: the name of the data set, one of `DATA_SETS`.
        folder: its folder; by default `data_folder()`.

    Raises:
        DataError: the file does not exist; the message explains how to get it.
        DriftpeakError: the name is unknown.
    """
    path = data_path(name, folder)
    if not path.is_file():
        elsewhere = "" if folder is None else f" in {data_folder()}, the default without --data"
        raise DataError(f"{path}: there is no such file. {remedy(data_set(name))}{elsewhere}")
    return path


@checked
def load_data(name: str, **options: Any) -> Any:
    """Read a data set from the data folder with its loader in `driftpeak.offline.data`.

    Arguments:
        name: the name of the data set, one of `DATA_SETS`.
        options: keyword arguments of its loader.

    Raises:
        DataError, DriftpeakError: as `require_data` and the loader.
    """
    return data_set(name).read(require_data(name), **options)


def remedy(data: DataSet) -> str:
    """Return instructions for getting the file."""
    by_hand = f"`driftpeak data fetch {data.name} --from FILE`"
    if data.address is None:
        return f"Create it from {data.page} ({data.format}) and install it by {by_hand}"
    return (
        f"`driftpeak data fetch {data.name}` downloads it from {data.address}; "
        f"without a connection, install a copy by {by_hand}"
    )


@checked
def fetch_data(name: str, source: str | None = None, *, overwrite: bool = False) -> Path:
    """Copy or download the file of a data set into the data folder.

    The file is written under a temporary name and renamed when it is complete, so that an
    interrupted download leaves no file with the final name.

    Arguments:
        name: the name of the data set.
        source: a file or an http(s) address; by default the publisher's address. The checksum is
            verified for the publisher's file only.
        overwrite: whether to replace an existing file.

    Returns:
        The path of the file.

    Raises:
        DataError: the source cannot be read or is empty, the download is incomplete, or the
            checksum differs.
        DriftpeakError: the name is unknown, there is no address and no source, or the file exists.
        StorageError: the folder cannot be written.
    """
    data = data_set(name)
    path = data_path(name)
    if path.exists() and not overwrite:
        raise DriftpeakError(f"{path} exists already; replace it with overwrite")
    origin = source or data.address
    if origin is None:
        raise DriftpeakError(f"{name} cannot be downloaded by a program. {remedy(data)}")
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    with new_file(path) as part:
        if "://" in origin:
            _download(origin, part, data, data.sha256 if source is None else None)
        else:
            _copy(Path(origin).expanduser(), part, data)
        if part.stat().st_size == 0:
            raise DataError(f"{origin}: the file is empty")
    return path


def _download(address: str, part: Path, data: DataSet, checksum: str | None) -> None:
    import pooch  # imported here: with requests it takes a quarter of a second
    from requests.exceptions import (
        ChunkedEncodingError,
        ConnectionError,
        HTTPError,
        RequestException,
    )

    if not address.startswith(("http://", "https://")):
        raise _unreadable(address, "the source must be an http or https address, or a file", data)
    pooch.get_logger().setLevel("WARNING")
    # the server must not compress the file in transit
    as_stored = {"Accept-Encoding": "identity"}
    loader = pooch.HTTPDownloader(chunk_size=BLOCK, timeout=TIMEOUT, headers=as_stored)
    try:
        pooch.retrieve(address, checksum, fname=part.name, path=part.parent, downloader=loader)
    except HTTPError as error:
        answer = error.response
        assert answer is not None  # every HTTPError has a response
        why = f"the server answers {answer.status_code} {answer.reason}"
        raise _unreadable(address, why, data) from None
    except ConnectionError as error:
        raise _unreadable(address, f"no connection ({_reason(error)})", data) from None
    except ChunkedEncodingError as error:
        why = f"the download is incomplete ({_reason(error)}); try again"
        raise _unreadable(address, why, data) from None
    except RequestException as error:
        raise _unreadable(address, _reason(error), data) from None
    except ValueError:
        raise DataError(
            f"{address}: the checksum (SHA-256) is not {checksum}: the download is damaged or the "
            "publisher has replaced the file"
        ) from None


def _copy(source: Path, part: Path, data: DataSet) -> None:
    try:
        file = open_regular(source)
    except (OSError, ValueError) as error:  # ValueError: a null character in the path
        why = str(getattr(error, "strerror", None) or error)
        raise _unreadable(str(source), why, data) from None
    with file, part.open("wb") as target:
        shutil.copyfileobj(file, target, BLOCK)


def _reason(error: Exception) -> str:
    """Return the message of the innermost error in a chain of wrapped errors."""
    inner: Any = error
    while inner.args and isinstance(inner.args[0], Exception):
        inner = inner.args[0]
    inner = getattr(inner, "reason", None) or inner
    return str(getattr(inner, "strerror", None) or inner).rpartition(": ")[2]


def _unreadable(origin: str, why: str, data: DataSet) -> DataError:
    return DataError(
        f"{origin} cannot be read: {why}. The required file is {data.file}, from {data.page} "
        f"({data.format}); install it by driftpeak data fetch {data.name} --from FILE"
    )
