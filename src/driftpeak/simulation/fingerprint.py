"""Fingerprints of policies and worlds: equal for what is configured alike, in every process."""

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

from driftpeak._core.former_names import former_name

OURS = (
    *("driftpeak", "jax", "jaxlib", "equinox", "numpy", "scipy", "xarray"),
    *("builtins", "abc", "typing"),
)
"""Packages whose code a version stands for; that of other classes is a part of them."""
_PLAIN = (types.NoneType, str, bytes, enum.Enum, Number, np.ndarray, jax.Array)
_KEPT = (tuple, frozenset)  # they stay as they are; others may be a memory of what was played
_CHANGING = (list, set, dict)


def fingerprint(thing: Any) -> str:
    """A digest of what an object is made of: types, fields, arrays to the last bit.

    Of classes and functions of the user's own also their code: methods, defaults, what a function
    closes over, constants of the class, and what they use of the module in which they stand:
    functions, classes, constants. A policy whose `ask` was rewritten is another one. Code in other
    modules is not looked at. Private fields (`_name`) of classes that are no Equinox modules are
    taken to follow from the others, and private lists, sets and mappings of a class or a module to
    be memories.
    """
    found = hashlib.sha256()
    for part in _Walk().of(thing, ()):
        found.update(len(part).to_bytes(8, "little") + part)
    return found.hexdigest()


def ours(thing: Any) -> bool:
    """Whether a version stands for the code of a class or function."""
    return str(getattr(thing, "__module__", "")).split(".")[0] in OURS


class _Walk:
    """The pieces of an object, unlike those of any other; of the code, each once."""

    def __init__(self) -> None:
        self._seen: set[int] = set()

    def of(self, thing: Any, above: tuple[int, ...]) -> Iterator[bytes]:
        """An object in pieces.

        Arguments:
            above: what it is in; it may hold itself.
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
            for one in thing:
                yield from self.of(one, above)
        elif isinstance(thing, set | frozenset):
            yield f"set {len(thing)}".encode()
            yield from sorted(fingerprint(one).encode() for one in thing)
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
        elif callable(thing) and hasattr(thing, "__name__"):  # a function of another language
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
        """The code and the constants of a class and of those that it inherits from."""
        for one in cls.__mro__:
            if ours(one) or id(one) in self._seen:
                continue
            self._seen.add(id(one))
            fields = _field_names(one)  # their values are the object's
            for name, member in sorted(vars(one).items()):
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
        """What a function does, and what it uses of its surroundings."""
        if ours(function) or id(function) in self._seen:
            return
        self._seen.add(id(function))
        yield from _code(function.__code__)
        yield from self.of((function.__defaults__, function.__kwdefaults__), above)
        for cell in function.__closure__ or ():
            try:
                yield from self.of(cell.cell_contents, above)
            except ValueError:  # nothing is in it yet
                yield b"empty"
        for name in sorted(_names(function.__code__)):
            if name in function.__globals__:
                used = function.__globals__[name]
                near = getattr(used, "__module__", None) == function.__module__
                if _constant(name, used) or (near and _is_code(used)):
                    yield name.encode()
                    yield from self.of(used, above)


def _unwrapped(member: Any) -> Any:
    """Equinox, properties and class methods each wrap a function in their own way."""
    for word in ("method", "fget", "__func__", "func"):
        if (found := getattr(member, word, None)) is not None:
            return inspect.unwrap(found)
    return inspect.unwrap(member)


def _is_code(thing: Any) -> bool:
    return isinstance(thing, type) or isinstance(inspect.unwrap(thing), types.FunctionType)


def _constant(name: str, thing: Any) -> bool:
    """Whether it is numbers, words or arrays, or made of such; private ones may not change."""
    containers = _KEPT if name.startswith("_") else _KEPT + _CHANGING
    if isinstance(thing, dict) and isinstance(thing, containers):
        return all(_constant(name, one) for pair in thing.items() for one in pair)
    if isinstance(thing, containers):
        return all(_constant(name, one) for one in thing)
    return isinstance(thing, _PLAIN)


def _field_names(cls: type) -> set[str]:
    if attrs.has(cls):
        return {one.name for one in attrs.fields(cls)}
    return {one.name for one in dataclasses.fields(cls)} if dataclasses.is_dataclass(cls) else set()


def _fields(thing: Any) -> dict[str, Any]:
    """What an object holds, by name."""
    if isinstance(thing, eqx.Module):
        names = [one.name for one in dataclasses.fields(thing)]
    elif attrs.has(type(thing)):
        names = [one.name for one in attrs.fields(type(thing)) if not one.name.startswith("_")]
    elif dataclasses.is_dataclass(thing):
        names = [one.name for one in dataclasses.fields(thing) if not one.name.startswith("_")]
    else:
        names = sorted(name for name in getattr(thing, "__dict__", {}) if not name.startswith("_"))
    return {name: getattr(thing, name) for name in names if hasattr(thing, name)}


def _code(code: types.CodeType) -> Iterator[bytes]:
    """What a function does, without where it stands."""
    yield code.co_code
    yield repr((code.co_names, code.co_varnames, code.co_freevars)).encode()
    for one in code.co_consts:
        if isinstance(one, types.CodeType):
            yield from _code(one)
        else:
            yield repr(sorted(map(repr, one)) if isinstance(one, frozenset) else one).encode()


def _names(code: types.CodeType) -> set[str]:
    """What is named in it, and in functions within it."""
    inner = (one for one in code.co_consts if isinstance(one, types.CodeType))
    return set(code.co_names).union(*map(_names, inner))


def _name(thing: Any) -> bytes:
    # a user's class stays the same when it moves from a script to a module: its code is told apart
    # and one of ours when it moves within the package: folders of earlier runs are resumed
    module = former_name(str(getattr(thing, "__module__", ""))) if ours(thing) else "own"
    name = getattr(thing, "__qualname__", None) or thing.__name__
    return f"{module}.{name}".encode()
