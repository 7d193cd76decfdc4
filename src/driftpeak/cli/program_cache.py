"""The cache of compiled programs in the user's cache folder, shared by all commands."""

import os
from pathlib import Path

from driftpeak._core.errors import DriftpeakError
from driftpeak._core.files import cache_folder
from driftpeak._core.numerics.machine_code import keep_programs_in, program_folder, tell

VARIABLE = "DRIFTPEAK_CACHE"
OFF = "off"
HINT = f" ({VARIABLE}=DIR or {OFF})"


def keep_programs() -> None:
    """Cache programs that are compiled from now on. Call it before JAX is loaded.

    If that is not possible, a line on the error output gives the reason. `$DRIFTPEAK_CACHE` names
    another folder, or is "off". JAX's own `$JAX_COMPILATION_CACHE_DIR` takes precedence.
    """
    if os.environ.get(VARIABLE) == OFF or os.environ.get("JAX_COMPILATION_CACHE_DIR"):
        return
    try:
        folder = program_folder(root())
    except DriftpeakError as error:
        tell(f"compiled programs are not cached: {error}{HINT}")
        return
    keep_programs_in(folder, HINT)


def root() -> Path:
    """Return the folder of the cache."""
    base = os.environ.get(VARIABLE)
    return Path(base).expanduser() if base else cache_folder()
