"""The cache of compiled programs that all commands share."""

import os

from driftpeak._core.numerics.machine_code import (
    HINT,
    OFF,
    PRECOMPILE,
    keep_programs_in,
    tell,
    usable_folder,
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
    folder = usable_folder(tell)
    if folder is not None:
        keep_programs_in(folder, HINT)
