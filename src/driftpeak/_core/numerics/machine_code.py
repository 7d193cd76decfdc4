"""Compiled programs are kept in a folder: processes share them, and the next need not compile.

JAX's own persistent cache, switched on for processes of the command line and of `local_workers`. It
holds machine code: a folder is used only if nobody else can write into it, and every kind of
processor and release of jaxlib has one of its own.
"""

import hashlib
import os
import platform
import re
import stat
import sys
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

from driftpeak._core.errors import DriftpeakError

MOST_BYTES = 256 * 2**20
"""Of all kept programs together; beyond, the oldest are removed."""

_DAMAGED = re.compile(r"Error reading persistent compilation cache entry for '([\w<>.-]+)'")
_UNKEPT = "Error writing persistent compilation cache entry"


def keep_programs_in(folder: Path, hint: str = "") -> None:
    """Keep what is compiled from now on in this folder, which `program_folder` gave.

    Arguments:
        hint: behind what is said when a program cannot be read or kept.
    """
    # XLA compares the processor with features that only its compiler knows, and complains in vain
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import jax

    from driftpeak._core.numerics.disk_cache import keep_in

    keep_in(folder)
    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_enable_xla_caches", "none")
    _mend(folder, hint)


def program_folder(root: Path) -> Path:
    """The folder below `root` for this kind of processor and this jaxlib; the oldest are removed.

    Raises:
        DriftpeakError: it cannot be made or written, or others could put machine code there.
    """
    folder = folder_below(root)
    try:
        _private(folder)
        _prune(folder)
    except OSError as error:
        why = f"{error.filename} cannot be used ({error.strerror or error})"
        raise DriftpeakError(f"{why}: name another folder") from None
    return folder


def folder_below(root: Path) -> Path:
    """Others would load what they cannot run."""
    made_for = "\n".join((platform.machine(), _processor(), version("jaxlib"), sys.platform))
    return root / "programs" / hashlib.sha256(made_for.encode()).hexdigest()[:16]


def _processor() -> str:
    """What the processor can do, as far as the system says."""
    try:
        told = Path("/proc/cpuinfo").read_text(errors="replace")
    except OSError:
        return platform.processor()
    return next((line for line in told.splitlines() if line.startswith(("flags", "Features"))), "")


def _private(folder: Path) -> Path:
    """The folder, made if it is missing.

    Raises:
        OSError: it cannot be made or written.
        DriftpeakError: others could put machine code there.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        raise PermissionError(13, "no permission to write there", str(folder))
    state = folder.stat()
    if hasattr(os, "geteuid") and (
        state.st_uid != os.geteuid() or state.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    ):
        raise DriftpeakError(
            f"other users may write into {folder}, and so make you run what they like"
        )
    return folder


def _prune(folder: Path) -> None:
    """Remove the oldest entries beyond the most that is kept, of this and other processors."""
    entries = [(one.stat(), one) for one in folder.parent.glob("*/*") if one.is_file()]
    total = sum(state.st_size for state, _ in entries)
    for state, entry in sorted(entries, key=lambda pair: pair[0].st_mtime):
        if total <= MOST_BYTES:
            return
        entry.unlink(missing_ok=True)
        total -= state.st_size


def _mend(folder: Path, hint: str) -> None:
    """Remove damaged entries when JAX warns of them, before it writes what it has compiled."""
    show = warnings.showwarning
    told: set[str] = set()

    def mend(message: Any, *rest: Any, **named: Any) -> None:
        text = str(message)
        if found := _DAMAGED.match(text):
            for entry in folder.glob(f"{found[1]}-*"):
                entry.unlink(missing_ok=True)
            what = "a compiled program that was kept cannot be read: it is compiled again"
        elif text.startswith(_UNKEPT):
            what = f"compiled programs cannot be kept in {folder}: {text.rpartition(': ')[2]}"
        else:
            show(message, *rest, **named)
            return
        if what not in told:
            told.add(what)
            tell(f"{what}{hint}")

    warnings.showwarning = mend


def tell(text: str) -> None:
    """A line on the error output."""
    print(f"driftpeak: {text}", file=sys.stderr)
