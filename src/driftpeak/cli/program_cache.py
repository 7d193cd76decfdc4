"""Compiled programs are kept in the user's cache folder for the next call."""

import os
from pathlib import Path

from driftpeak._core.errors import DriftpeakError
from driftpeak._core.files import cache_folder
from driftpeak._core.numerics.machine_code import keep_programs_in, program_folder, tell

VARIABLE = "DRIFTPEAK_CACHE"
OFF = "off"
HINT = f" ({VARIABLE}=DIR or {OFF})"


def keep_programs() -> None:
    """Keep what is compiled from now on, or say in a line why not. JAX is not loaded yet.

    `$DRIFTPEAK_CACHE` names another folder, or is "off". Who has set JAX's own
    `$JAX_COMPILATION_CACHE_DIR` has decided already.
    """
    if os.environ.get(VARIABLE) == OFF or os.environ.get("JAX_COMPILATION_CACHE_DIR"):
        return
    try:
        folder = program_folder(root())
    except DriftpeakError as error:
        tell(f"compiled programs are not kept: {error}{HINT}")
        return
    keep_programs_in(folder, HINT)


def root() -> Path:
    """The folder below which they are kept."""
    base = os.environ.get(VARIABLE)
    return Path(base).expanduser() if base else cache_folder()
