"""Compilation of lowered programs, and caches of these in memory and on disk.

`driftpeak._core.numerics.compiled` stores programs of functions of this package, and a process that
reads one need not trace the function. The policies and environments of a simulation or a fleet may
be of any class. Each process therefore traces and lowers their programs, and identifies them by the
result.
"""

import hashlib
import os
import re
import time
from collections.abc import Hashable
from contextlib import suppress
from functools import cache
from threading import Lock
from typing import Any

import jax
from jax.experimental import serialize_executable

from driftpeak._core.numerics import disk_cache
from driftpeak._core.numerics.compiled import environment, executable, jax_caches
from driftpeak._core.numerics.compiler import soon

MOST_PROGRAMS = 256
"""Number of programs in memory; the oldest are removed above it."""
_programs: dict[Hashable, jax.stages.Compiled] = {}
_adding = Lock()


def program_of(
    function: Any,
    arguments: tuple[Any, ...],
    *,
    static: tuple[Hashable, ...] = (),
    little: bool = False,
) -> tuple[jax.stages.Compiled, float]:
    """Return the compiled program for arguments of these shapes, and the compilation time.

    The time is in seconds, and 0 for a program of this process. `jax.jit` remembers programs, too,
    but compiles inside the first call, where the compilation cannot be timed, and it does not read
    programs of earlier processes.

    Arguments:
        function: a function compiled by `jax.jit`, with `keep_unused=True`.
        arguments: pytrees of arrays of JAX or NumPy.
        static: the static arguments, which come first.
        little: compile faster, with less optimisation, because there is little to compute. Results
            differ only by rounding.
    """
    leaves, structure = jax.tree.flatten(arguments)
    # a program is compiled for the device of its arguments
    arrays = (leaf for leaf in leaves if isinstance(leaf, jax.Array))
    devices = frozenset[Any]().union(*(array.devices() for array in arrays))
    shapes = tuple((leaf.shape, leaf.dtype) for leaf in leaves)
    key = (function, static, structure, shapes, devices, little)
    if (known := _programs.get(key)) is not None:
        return known, 0.0
    started = time.perf_counter()
    lowered = function.lower(*static, *arguments)
    program = compile_lowered(lowered, soon() if little else None)
    with _adding:
        if len(_programs) >= MOST_PROGRAMS:
            del _programs[next(iter(_programs))]
        _programs[key] = program
    return program, time.perf_counter() - started


def call(function: Any, *arguments: Any, static: tuple[Hashable, ...] = ()) -> Any:
    """Call a function with its program, which `program_of` returns."""
    return program_of(function, arguments, static=static)[0](*arguments)


def forget_programs() -> None:
    """Remove the programs from memory; they are read or compiled again when needed."""
    with _adding:
        _programs.clear()


def compile_lowered(
    lowered: jax.stages.Lowered, options: dict[str, bool | str] | None = None
) -> jax.stages.Compiled:
    """Compile a lowered program, or read it from the cache on disk if `disk_cache` has a folder.

    A program in the cache is identified by its lowered text. The text does not tell which arguments
    JAX left out because the function does not use them; `jax.jit(keep_unused=True)` keeps them.
    Other programs are not cached. If JAX's own cache is on, it is used instead.
    """
    if not disk_cache.is_on() or jax_caches():
        return lowered.compile(options)
    text = lowered.as_text()
    signature = next((line for line in text.splitlines() if "@main(" in line), "")
    tree: Any = lowered.in_tree
    if len(re.findall(r"%arg\d+: ", signature)) != tree.num_leaves:
        return lowered.compile(options)
    written = "\n".join((environment(), _threads(), repr(options), _without_names(text)))
    name = f"lowered-{hashlib.sha256(written.encode()).hexdigest()}"
    content = disk_cache.read(name)
    if content is not None:
        with suppress(Exception):  # another release of JAX may have written it
            return executable(content, lowered.in_tree, lowered.out_tree)
    program = lowered.compile(options)
    with suppress(Exception):  # JAX cannot store all programs, such as those that call Python
        disk_cache.write(name, serialize_executable.serialize(program)[0])
    return program


def _without_names(text: str) -> str:
    """Replace the names of private functions in a lowered program by hashes of their bodies.

    JAX may lower equal functions once or repeatedly, and numbers their names accordingly. Which of
    them it does depends on what its weak references still hold.
    """
    module, *parts = re.split(r"^ *func\.func \w+ @", text, flags=re.MULTILINE)
    named = (part.rstrip("}\n ").split("(", 1) for part in parts)  # the last one ends the module
    bodies = dict(named)

    @cache
    def renamed(name: str) -> str:
        def reference(match: re.Match[str]) -> str:
            called = match[1]
            if called not in bodies:
                return match[0]
            return f"@{hashlib.sha256(renamed(called).encode()).hexdigest()}"

        return re.sub(r"@([\w.]+)", reference, bodies[name])

    return module + renamed("main")


def _threads() -> str:
    """Return what determines the number of threads among which XLA divides a large operation."""
    here = hasattr(os, "sched_getaffinity")
    cores = len(os.sched_getaffinity(0)) if here else os.cpu_count()
    return repr((cores, os.environ.get("NPROC")))
