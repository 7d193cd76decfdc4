"""Programs of JAX that are kept, where a process names a folder to keep things in.

JAX's own cache spares a short command the compilation, but every process traces and lowers each
program anew, which takes longer than all else it does. What is kept here is the lowered program
(StableHLO, by `jax.export`), under a name that says all it depends on.
"""

import hashlib
import os
from collections.abc import Callable, Hashable
from contextlib import suppress
from functools import cache, wraps
from pathlib import Path
from threading import Lock
from typing import Any, ParamSpec, TypeVar

import jax

from driftpeak.numerics import kept

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
Tuple = TypeVar("Tuple", bound=type)


def compiled(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """As `jax.jit`; lowered programs are kept, if anything is: see `driftpeak.numerics.kept`.

    What it returns is made of tuples, arrays and `returned` named tuples.
    """
    jitted = jax.jit(function)
    programs: dict[Hashable, Callable[..., Result]] = {}
    making: dict[Hashable, Lock] = {}

    @wraps(function)
    def call(*args: Arguments.args, **named: Arguments.kwargs) -> Result:
        if not kept.is_on() or named:
            return jitted(*args, **named)
        leaves, tree = jax.tree.flatten(args)
        if any(isinstance(leaf, jax.core.Tracer) for leaf in leaves):
            return jitted(*args)
        key = tree, tuple(map(_kind, leaves)), jax.config.read("jax_enable_x64")
        if key not in programs:
            # the first call compiles: other threads would do the same work beside it
            with making.setdefault(key, Lock()):
                if key not in programs:
                    program = _program(function, tree, leaves, " ".join(map(str, key)))
                    result = program(*leaves)
                    programs[key] = program
                    return result
        return programs[key](*leaves)

    return call


def returned(kind: Tuple) -> Tuple:
    """Lets a `compiled` function return such a named tuple."""
    _unheard.append(kind)
    return kind


_unheard: list[Any] = []  # of by `jax.export`, which most processes never load


def _program(function: Any, tree: Any, leaves: list[Any], called_with: str) -> Any:
    """Read, or else lowered and kept: of the leaves of the arguments."""

    def flat(*leaves: Any) -> Any:
        return function(*jax.tree.unflatten(tree, leaves))

    if " at 0x" in called_with:  # a function of somebody else's, whose address says nothing
        return jax.jit(flat)
    export = _export()
    written = "\n".join((_code(), function.__module__, function.__qualname__, called_with))
    name = f"{function.__name__}-{hashlib.sha256(written.encode()).hexdigest()}"
    content = kept.read(name)
    if content is not None:
        # whole, but of another release of JAX for all that
        with suppress(Exception):
            program = export.deserialize(bytearray(content)).call
            _find_lapack()
            return jax.jit(program)
    lowered = export.export(jax.jit(flat))(*leaves)
    kept.write(name, bytes(lowered.serialize()))
    return jax.jit(lowered.call)


def _export() -> Any:
    from jax import export

    while _unheard:
        kind = _unheard.pop()
        name = f"{kind.__module__}.{kind.__qualname__}"
        export.register_namedtuple_serialization(kind, serialized_name=name)
    return export


@cache
def _find_lapack() -> None:
    """JAX looks LAPACK up when it lowers a call; one that was lowered elsewhere would crash."""
    jax.jit(jax.lax.linalg.cholesky).lower(jax.ShapeDtypeStruct((1, 1), float))


def _kind(leaf: Any) -> tuple[Any, ...]:
    """What a program is lowered for; of a number of Python's own, its type."""
    if isinstance(leaf, bool | int | float):
        return (type(leaf).__name__,)
    return leaf.shape, str(leaf.dtype), getattr(leaf, "weak_type", False)


@cache
def _code() -> str:
    """What else a program depends on: this package as it is, and JAX."""
    root = Path(__file__).parents[1]
    states = [(str(one), one.stat()) for one in sorted(root.rglob("*.py"))]
    files = [(name, state.st_mtime_ns, state.st_size) for name, state in states]
    return repr((files, jax.__version__, jax.default_backend(), os.environ.get("XLA_FLAGS")))
