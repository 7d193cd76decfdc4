"""Atomic writing of files and result directories, and checks of paths."""

import errno
import json
import math
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from datetime import datetime
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from driftpeak._core.errors import DriftpeakError, StorageError, shown
from driftpeak._core.extras import netcdf_engine

if TYPE_CHECKING:
    import xarray as xr  # slow to load, and only for the type

SUMMARY = "summary.json"
PICTURES = {"follow.png", "peak.png", "regret.png", "track.png", "beliefs.png"}
RESULTS = {"results.nc", SUMMARY, *PICTURES}


def cache_folder() -> Path:
    """Return driftpeak's folder in the user's cache folder, `~/.cache/driftpeak` on Linux."""
    from platformdirs import user_cache_path

    return user_cache_path("driftpeak", appauthor=False)


def json_number(value: float) -> float | None:
    """Return `value` as JSON can store it: None if it is NaN or infinite."""
    return value if math.isfinite(value) else None


def json_ready(content: Any) -> Any:
    """Return content as JSON can store it: dates as strings, None for NaN and infinities."""
    if hasattr(content, "tolist"):  # an array or a number of NumPy
        content = content.tolist()
    if isinstance(content, dict):
        return {str(key): json_ready(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [json_ready(entry) for entry in content]
    if isinstance(content, datetime):
        return content.isoformat()
    return json_number(content) if isinstance(content, float) else content


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Convert an OSError in the block, which writes `path`, to a StorageError of one line.

    Raises:
        StorageError: the path cannot be written.
    """
    try:
        yield
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror or error}") from None


def check_writable(folder: Path) -> None:
    """Check, before any work is done, that a file can be created in a folder. No file remains.

    Raises:
        StorageError: the folder cannot be written.
    """
    with writing(folder):
        tempfile.TemporaryFile(dir=folder).close()


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path in the folder of `path`, and rename it to `path` on success.

    Raises:
        StorageError: writing failed. The temporary file is removed and an older file is kept.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    with writing(path):
        try:
            yield part
            part.replace(path)
        finally:
            with suppress(OSError):
                part.unlink(missing_ok=True)


def check_output(directory: Path, kind: str, *, overwrite: bool = False) -> None:
    """Check, before any work is done, that a directory may be written.

    Earlier results of the same command may be replaced. If the directory contains anything else,
    even one more file, `overwrite` is necessary.

    Raises:
        DriftpeakError: the directory is a file or contains something else, or cannot be written.
    """
    there = content(directory)
    ours = RESULTS if _kind(directory) == kind else set()
    others = sorted(path.name for path in there if path.name not in ours or path.is_dir())
    if others and not overwrite:
        raise DriftpeakError(
            f"{directory} must be empty or contain results of `driftpeak {kind}` only; got "
            f"{shown(others[0])}. Name another directory, or allow replacing it (overwrite)."
        )
    with writing(directory):
        directory.parent.mkdir(parents=True, exist_ok=True)
    check_writable(directory.parent)


def check_apart(output: Path, folder: Path) -> None:
    """Check, before any work is done, that writing an output would not replace a folder.

    Raises:
        DriftpeakError: the two are the same, or one is inside the other.
    """
    # realpath follows links, and accepts paths that do not exist yet
    new, kept = (Path(os.path.realpath(path)) for path in (output, folder))
    if new.is_relative_to(kept) or kept.is_relative_to(new):
        how = "is" if new == kept else "is inside" if new.is_relative_to(kept) else "contains"
        raise DriftpeakError(
            f"the output must not be inside {folder}, nor contain it; got {output}, which {how} "
            "it. Results replace their whole directory: name separate directories."
        )


def content(directory: Path) -> list[Path]:
    """Return the entries of a directory; an empty list if it does not exist.

    Raises:
        DriftpeakError: it is a file, or it cannot be read.
    """
    with writing(directory):
        if directory.exists() and not directory.is_dir():
            raise DriftpeakError(f"{directory} must be a directory; got a file. Name a directory.")
        return list(directory.iterdir()) if directory.is_dir() else []


@contextmanager
def new_directory(directory: Path) -> Iterator[Path]:
    """Yield a temporary directory to fill, and rename it to `directory` on success.

    Raises:
        StorageError: writing failed. The temporary directory is removed.
    """
    with writing(directory):
        part = Path(tempfile.mkdtemp(dir=directory.parent, prefix=f".{directory.name}-"))
        try:
            yield part
            part.chmod(0o755)  # mkdtemp makes it private
            if directory.exists():
                old = Path(tempfile.mkdtemp(dir=directory.parent, prefix=f".{directory.name}-"))
                directory.rename(old / "old")
                part.rename(directory)
                shutil.rmtree(old)
            else:
                part.rename(directory)
        finally:
            shutil.rmtree(part, ignore_errors=True)


def write_results(
    directory: Path,
    runs: "xr.Dataset",
    summary: dict[str, object],
    pictures: dict[str, Callable[[], Any]],
    *,
    overwrite: bool = False,
) -> None:
    """Write `results.nc`, `summary.json` and figures.

    Arguments:
        directory: to write; earlier results of the same command are replaced.
        runs: the contents of `results.nc`.
        summary: the contents of `summary.json`; its "command" names the command.
        pictures: functions that draw the figures, by file name out of `RESULTS`.
        overwrite: whether to replace other contents of the directory.

    Raises:
        StorageError: the directory cannot be written.
        DriftpeakError: the directory now contains something else.
    """
    with new_directory(directory) as part:
        (part / "results.nc").write_bytes(_netcdf(runs))
        (part / SUMMARY).write_text(json.dumps(summary, indent=2, allow_nan=False) + "\n")
        for name, draw in pictures.items():
            draw().savefig(part / name, dpi=150)
        # checked again: the run may have taken days
        check_output(directory, str(summary["command"]), overwrite=overwrite)


def write_dataset(data: "xr.Dataset | xr.DataTree", path: Path) -> None:
    """Write a NetCDF file atomically.

    Raises:
        StorageError: the disk is full, or the folder is not writable.
    """
    content = netcdf(data)
    with new_file(path) as part:
        part.write_bytes(content)


def netcdf(data: "xr.Dataset | xr.DataTree") -> bytes:
    """Return the bytes of a NetCDF file, with large variables compressed."""
    import xarray as xr

    if isinstance(data, xr.Dataset):
        return _netcdf(data, _compressed(data))
    return _netcdf(data, {node.path: _compressed(node.dataset) for node in data.leaves})


def _netcdf(data: "xr.Dataset | xr.DataTree", encoding: dict[str, Any] | None = None) -> bytes:
    """Return a NetCDF file built in memory, because HDF5 crashes when the disk is full."""
    dask = sys.modules.get("dask")
    # with a dask client, xarray would request a lock for the file name from its scheduler
    alone = nullcontext() if dask is None else dask.config.set(scheduler="synchronous")
    # the memory view that xarray would return makes Python 3.13 warn after a failed write
    with alone, BytesIO() as file:
        data.to_netcdf(file, engine=netcdf_engine(), encoding=encoding)
        return file.getvalue()


def _compressed(data: "xr.Dataset") -> dict[str, dict[str, int]]:
    """Return the encoding that compresses numeric variables of two or more dimensions, fast."""
    large = [n for n in data.data_vars if data[n].dtype.kind in "iuf" and data[n].ndim > 1]
    return {str(name): {"zlib": 1, "complevel": 1} for name in large}


def _kind(directory: Path) -> str | None:
    """Return the command that wrote the directory, from its summary; None if there is none."""
    try:
        return str(json.loads((directory / SUMMARY).read_text())["command"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def open_regular(path: str | os.PathLike[str], *, write: bool = False) -> BinaryIO:
    """Open an existing regular file, unbuffered; with `write` for reading and writing.

    Pipes and devices are refused: reading may never end, and opening a pipe waits for a writer.

    Raises:
        OSError: the file does not exist, cannot be opened, or is not a regular file.
        ValueError: the path contains a null character.
    """
    flags = (os.O_RDWR if write else os.O_RDONLY) | getattr(os, "O_BINARY", 0)
    # O_NONBLOCK: opening a pipe returns at once. The check is on the open file, not on its name.
    number = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    mode = os.fstat(number).st_mode
    if stat.S_ISREG(mode):
        return open(number, "r+b" if write else "rb", buffering=0)
    os.close(number)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    raise OSError(errno.EINVAL, "it is a pipe or a device; name a regular file")


def read_regular(path: str | os.PathLike[str]) -> bytes:
    """Return the content of a regular file.

    Raises:
        OSError, ValueError: as `open_regular`.
    """
    with open_regular(path) as file:
        return file.read()
