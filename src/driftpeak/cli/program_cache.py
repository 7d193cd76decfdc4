"""The cache of compiled programs that all commands share."""

import os

from driftpeak._core.errors import DriftpeakError
from driftpeak._core.numerics.machine_code import (
    HINT,
    OFF,
    PRECOMPILE,
    cache_root,
    is_off,
    keep_programs_in,
    program_folder,
    tell,
)


def keep_programs(*, serving: bool = False) -> None:
    """Cache programs that are compiled from now on. Call it before JAX is loaded.

    Unless the command is `serving` studies, it compiles nothing in advance, because it ends before
    a study needs longer arrays.

    If programs cannot be cached, a line on the error output gives the reason. `$DRIFTPEAK_CACHE`
    names another folder, or is "off". JAX's own `$JAX_COMPILATION_CACHE_DIR` takes precedence.
    """
    if not serving:
        os.environ.setdefault(PRECOMPILE, OFF)
    if is_off():
        return
    try:
        folder = program_folder(cache_root())
    except DriftpeakError as error:
        tell(f"compiled programs are not cached: {error}{HINT}")
        return
    keep_programs_in(folder, HINT)
