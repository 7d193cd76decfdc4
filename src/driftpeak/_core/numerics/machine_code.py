"""A folder of compiled programs that processes share, so that later ones need not compile.

An `Optimizer`, a `Fleet` and `simulate` store their programs (`driftpeak._core.numerics.compiled`
and `lowered`). Processes of the command line and of `local_workers` also switch on JAX's own
persistent cache, for all others. The folder contains machine code. It is therefore used only if no
other user can write to it, and each processor type and release of jaxlib has its own folder.
"""

import hashlib
import os
import platform
import re
import stat
import sys
import warnings
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from driftpeak._core.errors import DriftpeakError, warn
from driftpeak._core.files import cache_folder
from driftpeak._core.numerics import disk_cache

VARIABLE = "DRIFTPEAK_CACHE"
PRECOMPILE = "DRIFTPEAK_PRECOMPILE"
OFF = "off"
HINT = f" ({VARIABLE}=DIR or {OFF})"

MOST_BYTES = 256 * 2**20
"""Maximum size of all cached programs together; the oldest are removed above it."""

_DAMAGED = re.compile(r"Error reading persistent compilation cache entry for '([\w<>.-]+)'")
_UNKEPT = "Error writing persistent compilation cache entry"


def usable_folder(report: Callable[[str], None]) -> Path | None:
    """Return the folder for programs; None if the user switched the cache off or uses JAX's own.

    Arguments:
        report: called with the reason if the folder cannot be used; the folder is then None.
    """
    if os.environ.get(VARIABLE) == OFF or os.environ.get("JAX_COMPILATION_CACHE_DIR"):
        return None
    try:
        return program_folder(cache_root())
    except DriftpeakError as error:
        report(f"compiled programs are not cached: {error}{HINT}")
        return None


def cache_root() -> Path:
    """Return the folder of the cache: `$DRIFTPEAK_CACHE`, or the user's cache folder."""
    base = os.environ.get(VARIABLE)
    return Path(base).expanduser() if base else cache_folder()


@cache
def cache_programs() -> None:
    """Store the programs of this process, unless the cache is off or the folder cannot be used.

    XLA prints a line for each program that it reads, unless `$TF_CPP_MIN_LOG_LEVEL` was at least 2
    when JAX was loaded. Nothing is stored then. `import driftpeak` sets it if JAX is not loaded.

    Warns:
        DriftpeakWarning: the folder cannot be created or written, or others can write to it.
    """
    import jax

    quiet = os.environ.get("TF_CPP_MIN_LOG_LEVEL", "0") >= "2"
    if disk_cache.is_on() or jax.config.values["jax_compilation_cache_dir"] or not quiet:
        return
    disk_cache.keep_in(usable_folder(warn))


def keep_programs_in(folder: Path, hint: str = "") -> None:
    """Store programs compiled from now on in this folder.

    Arguments:
        folder: as `program_folder` returns it.
        hint: appended to the messages about programs that cannot be read or stored.
    """
    # XLA warns about processor features that only its compiler has, which is harmless
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import jax

    disk_cache.keep_in(folder)
    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_enable_xla_caches", "none")
    _mend(folder, hint)


def program_folder(root: Path) -> Path:
    """Return the folder below `root` for this processor and jaxlib, and remove old programs.

    Raises:
        DriftpeakError: the folder cannot be created or written, or other users can write to it.
    """
    folder = folder_below(root)
    try:
        _private(folder)
        _prune(folder)
    except OSError as error:
        why = f"{error.filename} cannot be used ({error.strerror or error})"
        raise DriftpeakError(f"{why}. Name another folder.") from None
    return folder


def folder_below(root: Path) -> Path:
    """Return the folder's path, with a hash of the processor: others cannot run its code."""
    made_for = "\n".join((platform.machine(), _processor(), version("jaxlib"), sys.platform))
    return root / "programs" / hashlib.sha256(made_for.encode()).hexdigest()[:16]


def _processor() -> str:
    """Return the processor's features where the system lists them, or else its name."""
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    except OSError:
        return platform.processor()
    return next((line for line in lines if line.startswith(("flags", "Features"))), "")


def _private(folder: Path) -> Path:
    """Return the folder, and create it if it is missing.

    Raises:
        OSError: it cannot be created or written.
        DriftpeakError: other users can write to it.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        raise PermissionError(13, "no permission to write there", str(folder))
    state = folder.stat()
    if hasattr(os, "geteuid") and (
        state.st_uid != os.geteuid() or state.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    ):
        raise DriftpeakError(
            f"{folder} must be writable by you only, because its programs are run; got a folder "
            "that other users own or can write to. Name another folder."
        )
    return folder


def _prune(folder: Path) -> None:
    """Remove the oldest entries above `MOST_BYTES`, of this and other processors."""
    entries = [(path.stat(), path) for path in folder.parent.glob("*/*") if path.is_file()]
    total = sum(state.st_size for state, _ in entries)
    for state, entry in sorted(entries, key=lambda pair: pair[0].st_mtime):
        if total <= MOST_BYTES:
            return
        entry.unlink(missing_ok=True)
        total -= state.st_size


def _mend(folder: Path, hint: str) -> None:
    """Remove damaged entries when JAX warns about them, before it writes the compiled program."""
    show = warnings.showwarning
    reported: set[str] = set()

    def mend(message: Any, *rest: Any, **named: Any) -> None:
        text = str(message)
        if match := _DAMAGED.match(text):
            for entry in folder.glob(f"{match[1]}-*"):
                entry.unlink(missing_ok=True)
            problem = "a cached program cannot be read and is compiled again"
        elif text.startswith(_UNKEPT):
            problem = f"compiled programs cannot be cached in {folder}: {text.rpartition(': ')[2]}"
        else:
            show(message, *rest, **named)
            return
        if problem not in reported:
            reported.add(problem)
            tell(f"{problem}{hint}")

    warnings.showwarning = mend


def tell(text: str) -> None:
    """Print a line on the error output."""
    print(f"driftpeak: {text}", file=sys.stderr)
