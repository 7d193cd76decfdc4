"""Fingerprints of policies and environments: equal for equal configurations, in every process."""

import dataclasses
import enum
import functools
import hashlib
import inspect
import types
from collections.abc import Iterator, Mapping
from numbers import Number
from typing import Any

import attrs
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from driftpeak._core.former_names import former_class_name, former_name

OURS = (
    *("driftpeak", "jax", "jaxlib", "equinox", "numpy", "scipy", "xarray"),
    *("builtins", "abc", "typing"),
)
"""Packages whose version identifies their code; the code of other classes is hashed."""
_PLAIN = (types.NoneType, str, bytes, enum.Enum, Number, np.ndarray, jax.Array)
_KEPT = (tuple, frozenset)  # immutable; mutable containers may be caches of a run
_CHANGING = (list, set, dict)


def fingerprint(thing: Any) -> str:
    """Return a SHA-256 digest of an object's types, fields and arrays, exact to the last bit.

    For the user's own classes and functions, the digest includes their code: methods, defaults,
    closures, class constants, and the functions, classes and constants that they use of their own
    module. A policy with a rewritten `ask` therefore has another digest. Code in other modules is
    not included. Private fields (`_name`) of classes other than Equinox modules are assumed to
    follow from the public fields. Private lists, sets and mappings of a class or module are assumed
    to be caches.
    """
    digest = hashlib.sha256()
    for part in _Walk().of(thing, ()):
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()


def ours(thing: Any) -> bool:
    """Return whether a package version identifies the code of a class or function."""
    return str(getattr(thing, "__module__", "")).split(".")[0] in OURS


class _Walk:
    """Serialiser of objects to pieces that differ for different objects; code appears once."""

    def __init__(self) -> None:
        self._seen: set[int] = set()

    def of(self, thing: Any, above: tuple[int, ...]) -> Iterator[bytes]:
        """Yield the pieces of an object.

        Arguments:
            above: identities of the objects that contain it, to end cycles.
        """
        if id(thing) in above:
            yield f"above {len(above) - above.index(id(thing))}".encode()
            return
        above = (*above, id(thing))
        thing = thing.item() if isinstance(thing, np.generic) else thing
        if thing is None or isinstance(thing, str | bytes | enum.Enum | Number):
            yield f"{type(thing).__name__} {thing!r}".encode()
        elif isinstance(thing, np.ndarray | jax.Array):
            yield from self._array(thing)
        elif isinstance(thing, Mapping):
            yield f"mapping {len(thing)}".encode()
            for key, value in thing.items():
                yield from self.of(key, above)
                yield from self.of(value, above)
        elif isinstance(thing, list | tuple):
            yield f"{type(thing).__name__} {len(thing)}".encode()
            for item in thing:
                yield from self.of(item, above)
        elif isinstance(thing, set | frozenset):
            yield f"set {len(thing)}".encode()
            yield from sorted(fingerprint(item).encode() for item in thing)
        elif isinstance(thing, types.ModuleType):
            yield f"module {thing.__name__}".encode()
        elif isinstance(thing, type):
            yield _name(thing)
            yield from self._class(thing, above)
        elif isinstance(thing, functools.partial):
            yield b"partial"
            yield from self.of((thing.func, thing.args, thing.keywords), above)
        elif isinstance(thing, types.MethodType):
            yield from self.of((thing.__func__, thing.__self__), above)
        elif isinstance(function := inspect.unwrap(thing), types.FunctionType):
            yield _name(thing)
            yield from self._function(function, above)
        elif callable(thing) and hasattr(thing, "__name__"):  # a function written in C
            yield _name(thing)
        else:
            yield _name(type(thing))
            yield from self._class(type(thing), above)
            yield from self.of(_fields(thing), above)

    def _array(self, array: Any) -> Iterator[bytes]:
        if isinstance(array, jax.Array) and jnp.issubdtype(array.dtype, jax.dtypes.prng_key):
            array = jax.random.key_data(array)
        numbers = np.asarray(array)
        yield f"array {numbers.dtype.str} {numbers.shape}".encode()
        if numbers.dtype.hasobject:
            yield from self.of(numbers.tolist(), ())
        else:
            yield hashlib.sha256(np.ascontiguousarray(numbers).tobytes()).digest()

    def _class(self, cls: type, above: tuple[int, ...]) -> Iterator[bytes]:
        """Yield the code and the constants of a class and its base classes."""
        for base in cls.__mro__:
            if ours(base) or id(base) in self._seen:
                continue
            self._seen.add(id(base))
            fields = _field_names(base) or []  # defaults are not hashed: the object's values are
            for name, member in sorted(vars(base).items()):
                inner = _unwrapped(member)
                if isinstance(inner, types.FunctionType):
                    yield name.encode()
                    yield from self._function(inner, above)
                elif not (name.startswith("__") or name in fields) and (
                    isinstance(member, type) or _constant(name, member)
                ):
                    yield name.encode()
                    yield from self.of(member, above)

    def _function(self, function: types.FunctionType, above: tuple[int, ...]) -> Iterator[bytes]:
        """Yield a function's code and the values that it uses of its closure and module."""
        if ours(function) or id(function) in self._seen:
            return
        self._seen.add(id(function))
        yield from _code(function.__code__)
        yield from self.of((function.__defaults__, function.__kwdefaults__), above)
        for cell in function.__closure__ or ():
            try:
                yield from self.of(cell.cell_contents, above)
            except ValueError:  # the cell is not assigned yet
                yield b"empty"
        for name in sorted(_names(function.__code__)):
            if name in function.__globals__:
                used = function.__globals__[name]
                near = getattr(used, "__module__", None) == function.__module__
                if _constant(name, used) or (near and _is_code(used)):
                    yield name.encode()
                    yield from self.of(used, above)


def _unwrapped(member: Any) -> Any:
    """Return the function wrapped by an Equinox method, a property or a class method."""
    for word in ("method", "fget", "__func__", "func"):
        if (wrapped := getattr(member, word, None)) is not None:
            return inspect.unwrap(wrapped)
    return inspect.unwrap(member)


def _is_code(thing: Any) -> bool:
    return isinstance(thing, type) or isinstance(inspect.unwrap(thing), types.FunctionType)


def _constant(name: str, thing: Any) -> bool:
    """Return whether a value consists of numbers, texts and arrays; if private, immutable."""
    containers = _KEPT if name.startswith("_") else _KEPT + _CHANGING
    if isinstance(thing, dict) and isinstance(thing, containers):
        return all(_constant(name, item) for pair in thing.items() for item in pair)
    if isinstance(thing, containers):
        return all(_constant(name, item) for item in thing)
    return isinstance(thing, _PLAIN)


def _field_names(cls: type) -> list[str] | None:
    """Return the names of the fields that a class declares, in order; None for other classes."""
    if attrs.has(cls):
        return [field.name for field in attrs.fields(cls)]
    if dataclasses.is_dataclass(cls):
        return [field.name for field in dataclasses.fields(cls)]
    return None


def _fields(thing: Any) -> dict[str, Any]:
    """Return the values of an object's fields by name."""
    names = _field_names(type(thing))
    names = sorted(getattr(thing, "__dict__", {})) if names is None else names
    if not isinstance(thing, eqx.Module):
        names = [name for name in names if not name.startswith("_")]
    return {name: getattr(thing, name) for name in names if hasattr(thing, name)}


def _code(code: types.CodeType) -> Iterator[bytes]:
    """Yield a function's byte code, names and constants, without file and line numbers."""
    yield code.co_code
    yield repr((code.co_names, code.co_varnames, code.co_freevars)).encode()
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _code(constant)
        else:
            # the order of a set differs from process to process
            ordered = isinstance(constant, frozenset)
            yield repr(sorted(map(repr, constant)) if ordered else constant).encode()


def _names(code: types.CodeType) -> set[str]:
    """Return the global names used by a code object and by functions within it."""
    inner = (constant for constant in code.co_consts if isinstance(constant, types.CodeType))
    return set(code.co_names).union(*map(_names, inner))


def _name(thing: Any) -> bytes:
    # a user's class may move from a script to a module: its code is hashed anyway; a class of
    # driftpeak may move within the package: folders of earlier runs are still resumed
    name = getattr(thing, "__qualname__", None) or thing.__name__
    if not ours(thing):
        return f"own.{name}".encode()
    module = former_name(str(getattr(thing, "__module__", "")))
    return f"{module}.{former_class_name(name)}".encode()
