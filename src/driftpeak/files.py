"""Files and result directories that are whole or not there."""

import json
import math
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from driftpeak.errors import DriftpeakError, shown

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
def new_file(path: Path) -> Iterator[Path]:
    """Another name beside `path` to write to; the file takes its own when the block ends well.

    Raises:
        DriftpeakError: writing failed; nothing is left behind, and what was there stays.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield part
        part.replace(path)
    except OSError as error:
        raise DriftpeakError(f"{path} cannot be written: {error.strerror or error}") from None
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
    if directory.exists() and not directory.is_dir():
        raise DriftpeakError(f"{directory} is a file; name a directory")
    there = {path.name for path in directory.iterdir()} if directory.is_dir() else set()
    others = sorted(there - (RESULTS if _kind(directory) == kind else set()))
    if others and not overwrite:
        raise DriftpeakError(
            f"{directory} holds something other than results of `driftpeak {kind}`, "
            f"{shown(others[0])}; name another directory, or allow replacing it (overwrite)"
        )
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=directory.parent).close()
    except OSError as error:
        raise DriftpeakError(f"{directory} cannot be written: {error.strerror or error}") from None


@contextmanager
def new_directory(directory: Path) -> Iterator[Path]:
    """A directory to fill under another name; it takes its own when the block ends well.

    Raises:
        DriftpeakError: writing failed; nothing is left behind.
    """
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
    except OSError as error:
        raise DriftpeakError(f"{directory} cannot be written: {error.strerror or error}") from None
    finally:
        shutil.rmtree(part, ignore_errors=True)


def write_results(
    directory: Path,
    runs: "xr.Dataset",
    summary: dict[str, object],
    pictures: dict[str, Callable[[], Any]],
) -> None:
    """Write `results.nc`, `summary.json` and pictures (by names out of `RESULTS`, drawn here).

    Raises:
        DriftpeakError: the directory cannot be written.
    """
    with new_directory(directory) as part:
        runs.to_netcdf(part / "results.nc", engine="h5netcdf")
        (part / SUMMARY).write_text(json.dumps(summary, indent=2, allow_nan=False) + "\n")
        for name, draw in pictures.items():
            draw().savefig(part / name, dpi=150)


def write_dataset(data: "xr.Dataset | xr.DataTree", path: Path) -> None:
    """Write a NetCDF file that is whole or not there.

    Raises:
        DriftpeakError: the disk is full or the folder not writable.
    """
    import xarray as xr

    with new_file(path) as part:
        if isinstance(data, xr.Dataset):
            data.to_netcdf(part, engine="h5netcdf", encoding=_compressed(data))
        else:
            encoding = {node.path: _compressed(node.dataset) for node in data.leaves}
            data.to_netcdf(part, engine="h5netcdf", encoding=encoding)


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


def check_regular(path: Path) -> None:
    """Refuse to read from what may never end.

    Raises:
        DriftpeakError: the path is a pipe or a device.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        raise DriftpeakError(f"{path}: is a pipe or a device; write its content into a file first")
