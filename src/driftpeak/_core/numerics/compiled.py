"""JAX functions with a known set of compiled programs and a cache of lowered programs on disk.

JAX's own cache saves a short command the compilation, but each process still traces and lowers
every program, which takes longer than the rest of its work. This cache stores the lowered program
(StableHLO, by `jax.export`) under a hash of everything that it depends on.
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

from driftpeak._core.numerics import disk_cache
from driftpeak._core.numerics.compiler import soon

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
Tuple = TypeVar("Tuple", bound=type)


class NotCompiledError(Exception):
    """A call needs a program that this process has not compiled yet."""


_only_known: ContextVar[bool] = ContextVar("_only_known", default=False)


@contextmanager
def nothing_new() -> Iterator[None]:
    """Refuse to compile inside the block, so that no caller waits for the compiler.

    Raises:
        NotCompiledError: a `compiled` function is called with new shapes or types.
    """
    before = _only_known.set(True)
    try:
        yield
    finally:
        _only_known.reset(before)


def compiled(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Compile as `jax.jit` does, and cache lowered programs on disk if `disk_cache` has a folder.

    The function returns tuples, arrays and named tuples that are decorated with `returned`.
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
        key = tree, tuple(map(_kind, leaves)), jax.config.read("jax_enable_x64"), disk_cache.is_on()
        if key not in programs:
            if _only_known.get():
                raise NotCompiledError
            # the first call compiles; the lock stops other threads from compiling it too
            with making.setdefault(key, Lock()):
                if key not in programs:
                    program = _program(function, tree, leaves, key)
                    result = program(*leaves)
                    programs[key] = program
                    return result
        return programs[key](*leaves)

    return call


def returned(kind: Tuple) -> Tuple:
    """Register a named tuple that `compiled` functions return."""
    _unregistered.append(kind)
    return kind


_unregistered: list[Any] = []  # with `jax.export`, which most processes never load


def _program(function: Any, tree: Any, leaves: list[Any], key: tuple[Any, ...]) -> Any:
    """Return the program, a function of the leaves of the arguments.

    If a cache folder is set, the program is read from it, or else lowered and stored there.
    """

    def flat(*leaves: Any) -> Any:
        return function(*jax.tree.unflatten(tree, leaves))

    flat.__name__ = function.__name__
    called_with = " ".join(map(str, key))
    # a key with the memory address of a foreign function cannot identify a program
    if not disk_cache.is_on() or " at 0x" in called_with:
        return jax.jit(flat, compiler_options=soon())
    export = _export()
    written = "\n".join((_code(), function.__module__, function.__qualname__, called_with))
    name = f"{function.__name__}-{hashlib.sha256(written.encode()).hexdigest()}"
    content = disk_cache.read(name)
    if content is not None:
        # the file is complete, but another release of JAX may have written it
        with suppress(Exception):
            program = export.deserialize(bytearray(content)).call
            _find_lapack()
            return jax.jit(program, compiler_options=soon())
    lowered = export.export(jax.jit(flat))(*leaves)
    disk_cache.write(name, bytes(lowered.serialize()))
    return jax.jit(lowered.call, compiler_options=soon())


def _export() -> Any:
    from jax import export

    while _unregistered:
        kind = _unregistered.pop()
        name = f"{kind.__module__}.{kind.__qualname__}"
        export.register_namedtuple_serialization(kind, serialized_name=name)
    return export


@cache
def _find_lapack() -> None:
    """Load LAPACK by lowering one call; programs lowered by other processes crash without it."""
    jax.jit(jax.lax.linalg.cholesky).lower(jax.ShapeDtypeStruct((1, 1), float))


def _kind(leaf: Any) -> Any:
    """Return the shape, type and weak type of an argument; for a Python number, its type."""
    if isinstance(leaf, bool | int | float):
        return type(leaf)
    return leaf.shape, leaf.dtype, getattr(leaf, "weak_type", False)


@cache
def _code() -> str:
    """Return the version of the code that a program depends on: this package, and JAX."""
    root = Path(__file__).parents[1]
    states = [(str(path), path.stat()) for path in sorted(root.rglob("*.py"))]
    files = [(name, state.st_mtime_ns, state.st_size) for name, state in states]
    return repr((files, jax.__version__, jax.default_backend(), os.environ.get("XLA_FLAGS")))
