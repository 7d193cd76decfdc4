"""Programs of JAX: which there are already is known, and they are kept where a folder is named.

JAX's own cache spares a short command the compilation, but every process traces and lowers each
program anew, which takes longer than all else it does. What is kept here is the lowered program
(StableHLO, by `jax.export`), under a name that says all it depends on.
"""

import hashlib
import os
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache, wraps
from pathlib import Path
from threading import Lock
from typing import Any, ParamSpec, TypeVar

import jax

from driftpeak._core.numerics import disk_cache as kept
from driftpeak._core.numerics.compiler import soon

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
Tuple = TypeVar("Tuple", bound=type)


class NotCompiledError(Exception):
    """A program is needed that this process has not compiled yet."""


_only_known: ContextVar[bool] = ContextVar("_only_known", default=False)


@contextmanager
def nothing_new() -> Iterator[None]:
    """Where nobody shall wait for a compiler.

    Raises:
        NotCompiledError: a `compiled` function is called as it never was before.
    """
    before = _only_known.set(True)
    try:
        yield
    finally:
        _only_known.reset(before)


def compiled(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Compile as `jax.jit` does; lowered programs are kept on disk if `disk_cache` names a folder.

    What it returns is made of tuples, arrays and `returned` named tuples.
    """
    jitted = jax.jit(function)
    programs: dict[Hashable, Callable[..., Result]] = {}
    making: dict[Hashable, Lock] = {}

    @wraps(function)
    def call(*args: Arguments.args, **named: Arguments.kwargs) -> Result:
        if named:
            return jitted(*args, **named)
        leaves, tree = jax.tree.flatten(args)
        if any(isinstance(leaf, jax.core.Tracer) for leaf in leaves):
            return jitted(*args)
        key = tree, tuple(map(_kind, leaves)), jax.config.read("jax_enable_x64"), kept.is_on()
        if key not in programs:
            if _only_known.get():
                raise NotCompiledError
            # the first call compiles: other threads would do the same work beside it
            with making.setdefault(key, Lock()):
                if key not in programs:
                    program = _program(function, tree, leaves, key)
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


def _program(function: Any, tree: Any, leaves: list[Any], key: tuple[Any, ...]) -> Any:
    """Of the leaves of the arguments; if programs are kept, read, or else lowered and kept."""

    def flat(*leaves: Any) -> Any:
        return function(*jax.tree.unflatten(tree, leaves))

    flat.__name__ = function.__name__
    called_with = " ".join(map(str, key))
    # the address of a function of somebody else's says nothing
    if not kept.is_on() or " at 0x" in called_with:
        return jax.jit(flat, compiler_options=soon())
    export = _export()
    written = "\n".join((_code(), function.__module__, function.__qualname__, called_with))
    name = f"{function.__name__}-{hashlib.sha256(written.encode()).hexdigest()}"
    content = kept.read(name)
    if content is not None:
        # whole, but of another release of JAX for all that
        with suppress(Exception):
            program = export.deserialize(bytearray(content)).call
            _find_lapack()
            return jax.jit(program, compiler_options=soon())
    lowered = export.export(jax.jit(flat))(*leaves)
    kept.write(name, bytes(lowered.serialize()))
    return jax.jit(lowered.call, compiler_options=soon())


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


def _kind(leaf: Any) -> Any:
    """What a program is lowered for; of a number of Python's own, its type."""
    if isinstance(leaf, bool | int | float):
        return type(leaf)
    return leaf.shape, leaf.dtype, getattr(leaf, "weak_type", False)


@cache
def _code() -> str:
    """What else a program depends on: this package as it is, and JAX."""
    root = Path(__file__).parents[1]
    states = [(str(one), one.stat()) for one in sorted(root.rglob("*.py"))]
    files = [(name, state.st_mtime_ns, state.st_size) for name, state in states]
    return repr((files, jax.__version__, jax.default_backend(), os.environ.get("XLA_FLAGS")))
