"""JAX functions with a known set of compiled programs and a cache of these on disk.

JAX's own cache saves a process the compilation, but each process still traces and lowers every
program, which takes longer than the rest of its work. This cache stores the machine code under a
hash of everything that it depends on.
"""

import hashlib
import logging
import os
import pickle
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache, wraps
from pathlib import Path
from threading import Lock
from typing import Any, ParamSpec, TypeVar

import jax
from jax.experimental import serialize_executable

from driftpeak._core.numerics import disk_cache
from driftpeak._core.numerics.compiler import soon

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

COMPILATION = "driftpeak.compilation"
"""The logger of compilations, which may take seconds; level INFO."""

_WITHOUT = Lock()
_MAKING: list[dict[Hashable, Lock]] = []  # the locks of all functions


class NotCompiledError(Exception):
    """A call needs a program that this process has not compiled yet."""


_may_compile: ContextVar[Callable[[], bool]] = ContextVar("_may_compile", default=lambda: True)


@contextmanager
def compiling_only_if(allowed: Callable[[], bool]) -> Iterator[None]:
    """Refuse to compile inside the block while `allowed()` is false.

    Raises:
        NotCompiledError: a `compiled` function is called with new shapes or types.
    """
    before = _may_compile.set(allowed)
    try:
        yield
    finally:
        _may_compile.reset(before)


def compiled(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Compile as `jax.jit` does, and cache programs on disk if `disk_cache` has a folder."""
    jitted = jax.jit(function)
    programs: dict[Hashable, Callable[..., Result]] = {}
    making: dict[Hashable, Lock] = {}
    _MAKING.append(making)

    @wraps(function)
    def call(*args: Arguments.args, **named: Arguments.kwargs) -> Result:
        if named:
            return jitted(*args, **named)
        leaves, tree = jax.tree.flatten(args)
        if any(isinstance(leaf, jax.core.Tracer) for leaf in leaves):
            return jitted(*args)
        key = tree, tuple(map(_kind, leaves)), jax.config.read("jax_enable_x64"), disk_cache.is_on()
        if key not in programs:
            if not _may_compile.get()():
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


def _program(function: Any, tree: Any, leaves: list[Any], key: tuple[Any, ...]) -> Any:
    """Return the program, a function of the leaves of the arguments.

    If a cache folder is set, the program is read from it, or else compiled and stored there.
    """

    def flat(*leaves: Any) -> Any:
        return function(*jax.tree.unflatten(tree, leaves))

    flat.__name__ = function.__name__
    called_with = " ".join(map(str, key))
    compiling = logging.getLogger(COMPILATION)
    # a key with the memory address of a foreign function cannot identify a program
    if not disk_cache.is_on() or " at 0x" in called_with:
        compiling.info("compiling %s", flat.__name__)
        return jax.jit(flat, compiler_options=soon())
    written = "\n".join((_code(), function.__module__, function.__qualname__, called_with))
    name = f"{function.__name__}-{hashlib.sha256(written.encode()).hexdigest()}"
    content = disk_cache.read(name)
    if content is not None:
        # the file is complete, but another release of JAX may have written it
        with suppress(Exception):
            return _loaded(content, len(leaves))
    compiling.info("compiling %s", flat.__name__)
    lowered = jax.jit(flat).lower(*leaves)
    with _without_cache_of_jax():
        program = lowered.compile(compiler_options=soon())
    disk_cache.write(name, _stored(program))
    return program


def jax_caches() -> bool:
    """Return whether JAX's own cache is on."""
    values = jax.config.values
    return (
        values["jax_enable_compilation_cache"] and values["jax_compilation_cache_dir"] is not None
    )


@contextmanager
def _without_cache_of_jax() -> Iterator[None]:
    """Do not use JAX's own cache inside the block.

    XLA cannot store a program that it has itself read from a cache: functions are missing.
    """
    if not jax_caches():
        yield
        return
    from jax.experimental.compilation_cache.compilation_cache import reset_cache

    with _WITHOUT:
        jax.config.update("jax_enable_compilation_cache", False)
        reset_cache()  # JAX looks at the option once
        try:
            yield
        finally:
            jax.config.update("jax_enable_compilation_cache", True)
            reset_cache()


def _stored(program: jax.stages.Compiled) -> bytes:
    """Return machine code and the structure of the result."""
    code, _, result = serialize_executable.serialize(program)
    return pickle.dumps((code, result))


def _loaded(content: bytes, arguments: int) -> jax.stages.Compiled:
    """Return the program that `_stored` described.

    Pickled data may run code, as the machine code itself does. `program_folder` therefore accepts
    only a folder that no other user can write to.
    """
    code, result = pickle.loads(content)
    return executable(code, jax.tree.structure(((0,) * arguments, {})), result)


def executable(code: bytes, arguments: Any, result: Any) -> jax.stages.Compiled:
    """Return a program from its machine code and the structures of arguments and result."""
    _find_lapack()
    return serialize_executable.deserialize_and_load(code, arguments, result)


@cache
def _find_lapack() -> None:
    """Load LAPACK by lowering one call; programs compiled by other processes crash without it."""
    jax.jit(jax.lax.linalg.cholesky).lower(jax.ShapeDtypeStruct((1, 1), float))


def _kind(leaf: Any) -> Any:
    """Return the shape, type and weak type of an argument; for a Python number, its type."""
    if isinstance(leaf, bool | int | float):
        return type(leaf)
    return leaf.shape, leaf.dtype, getattr(leaf, "weak_type", False)


@cache
def _code() -> str:
    """Return the version of what a program depends on: this package, JAX and the device."""
    root = Path(__file__).parents[2]
    states = [(str(path), path.stat()) for path in sorted(root.rglob("*.py"))]
    files = [(name, state.st_mtime_ns, state.st_size) for name, state in states]
    return repr((files, environment()))


def environment() -> str:
    """Return the version of JAX, the device, and the flags of XLA."""
    device = jax.devices()[0].device_kind
    return repr((jax.__version__, device, os.environ.get("XLA_FLAGS")))


def _after_fork() -> None:
    """Renew the locks in a child process, because another thread of the parent may hold them."""
    for making in _MAKING:
        making.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
