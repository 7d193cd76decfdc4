"""Files and result directories that are whole or not there."""

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
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from driftpeak._core.errors import DriftpeakError, StorageError, shown

if TYPE_CHECKING:
    import xarray as xr  # slow to load, and only for the type

SUMMARY = "summary.json"
PICTURES = {"follow.png", "peak.png", "regret.png", "track.png", "beliefs.png"}
RESULTS = {"results.nc", SUMMARY, *PICTURES}


def cache_folder() -> Path:
    """Driftpeak's part of the user's cache folder, `~/.cache/driftpeak` on Linux."""
    from platformdirs import user_cache_path

    return user_cache_path("driftpeak", appauthor=False)


def json_number(value: float) -> float | None:
    """`value` as JSON can hold it: null where it is NaN or infinite."""
    return value if math.isfinite(value) else None


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """A block that writes `path`; what the system refuses is told in one line.

    Raises:
        StorageError: the path cannot be written.
    """
    try:
        yield
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror or error}") from None


def check_writable(folder: Path) -> None:
    """Refuse, before any work is done, a folder in which no file can be made; none stays there.

    Raises:
        StorageError: the folder cannot be written.
    """
    with writing(folder):
        tempfile.TemporaryFile(dir=folder).close()


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Another name beside `path` to write to; the file takes its own when the block ends well.

    Raises:
        StorageError: writing failed; nothing is left behind, and what was there stays.
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
    """Refuse, before any work is done, a directory that must not be written.

    Earlier results of the same kind may be replaced; anything else, also a single file beside them,
    only with `overwrite`.

    Raises:
        DriftpeakError: the directory is a file or holds something else, or cannot be written.
    """
    there = content(directory)
    ours = RESULTS if _kind(directory) == kind else set()
    others = sorted(path.name for path in there if path.name not in ours or path.is_dir())
    if others and not overwrite:
        raise DriftpeakError(
            f"{directory} holds something other than results of `driftpeak {kind}`, "
            f"{shown(others[0])}; name another directory, or allow replacing it (overwrite)"
        )
    with writing(directory):
        directory.parent.mkdir(parents=True, exist_ok=True)
    check_writable(directory.parent)


def check_apart(output: Path, folder: Path) -> None:
    """Refuse, before any work is done, an output that would replace a folder, or a part of it.

    Raises:
        DriftpeakError: one is the other, or lies in it.
    """
    # two names of one place: realpath follows links, and is at ease with what is not there yet
    new, kept = (Path(os.path.realpath(path)) for path in (output, folder))
    if new.is_relative_to(kept) or kept.is_relative_to(new):
        how = "is" if new == kept else "lies in" if new.is_relative_to(kept) else "contains"
        raise DriftpeakError(
            f"the output {output} {how} the folder {folder}, and results replace the whole of "
            "their directory: name two directories side by side"
        )


def content(directory: Path) -> list[Path]:
    """Return what lies in a directory; nothing if it does not exist.

    Raises:
        DriftpeakError: it is a file, or the system refuses to look at it.
    """
    with writing(directory):
        if directory.exists() and not directory.is_dir():
            raise DriftpeakError(f"{directory} is a file; name a directory")
        return list(directory.iterdir()) if directory.is_dir() else []


@contextmanager
def new_directory(directory: Path) -> Iterator[Path]:
    """A directory to fill under another name; it takes its own when the block ends well.

    Raises:
        StorageError: writing failed; nothing is left behind.
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
    """Write `results.nc`, `summary.json` and pictures (by names out of `RESULTS`, drawn here).

    Arguments:
        overwrite: replace whatever is in the directory.

    Raises:
        StorageError: the directory cannot be written.
        DriftpeakError: it holds something else by now.
    """
    with new_directory(directory) as part:
        (part / "results.nc").write_bytes(_netcdf(runs))
        (part / SUMMARY).write_text(json.dumps(summary, indent=2, allow_nan=False) + "\n")
        for name, draw in pictures.items():
            draw().savefig(part / name, dpi=150)
        # again: the policies may have played for days
        check_output(directory, str(summary["command"]), overwrite=overwrite)


def write_dataset(data: "xr.Dataset | xr.DataTree", path: Path) -> None:
    """Write a NetCDF file that is whole or not there.

    Raises:
        StorageError: the disk is full or the folder not writable.
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
    """A NetCDF file made in memory: HDF5 crashes where the disk is full."""
    dask = sys.modules.get("dask")
    # where there is a client of dask, xarray asks its scheduler for a lock by the file's name
    alone = nullcontext() if dask is None else dask.config.set(scheduler="synchronous")
    # bytes, as the view that xarray would return makes Python 3.13 complain after a failed write
    with alone, BytesIO() as file:
        data.to_netcdf(file, engine="h5netcdf", encoding=encoding)
        return file.getvalue()


def _compressed(data: "xr.Dataset") -> dict[str, dict[str, int]]:
    """Fast compression of everything numeric that has a size."""
    large = [n for n in data.data_vars if data[n].dtype.kind in "iuf" and data[n].ndim > 1]
    return {str(name): {"zlib": 1, "complevel": 1} for name in large}


def _kind(directory: Path) -> str | None:
    """What command wrote the directory, as its summary says."""
    try:
        return str(json.loads((directory / SUMMARY).read_text())["command"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def open_regular(path: str | os.PathLike[str], *, write: bool = False) -> BinaryIO:
    """Open an existing regular file, unbuffered; with `write` for reading and writing.

    A pipe or a device is refused: reading it may never end, and opening a pipe waits for a writer.

    Raises:
        OSError: there is no such file, it cannot be opened, or it is not a regular file.
        ValueError: the path contains a null character.
    """
    flags = (os.O_RDWR if write else os.O_RDONLY) | getattr(os, "O_BINARY", 0)
    # opening a pipe returns at once, and the check is of what was opened, not of what had the name
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
