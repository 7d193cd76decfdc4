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

OURS = ("driftpeak", "equinox", "builtins", "abc", "typing")
"""Packages whose code a version stands for; that of other classes is a part of them."""


def fingerprint(thing: Any) -> str:
    """A digest of what an object is made of: types, fields, arrays to the last bit.

    Of classes of the user's own also the code of their methods, as far as it stands there: a policy
    whose `ask` was rewritten is another one. Private fields (`_name`) of classes that are no
    Equinox modules are taken to follow from the others.
    """
    found = hashlib.sha256()
    for part in _parts(thing, ()):
        found.update(len(part).to_bytes(8, "little") + part)
    return found.hexdigest()


def _parts(thing: Any, above: tuple[int, ...]) -> Iterator[bytes]:
    """The object in pieces, unlike those of any other."""
    if id(thing) in above:  # it holds itself
        yield f"above {len(above) - above.index(id(thing))}".encode()
        return
    above = (*above, id(thing))
    thing = thing.item() if isinstance(thing, np.generic) else thing
    if thing is None or isinstance(thing, str | bytes | enum.Enum | Number):
        yield f"{type(thing).__name__} {thing!r}".encode()
    elif isinstance(thing, np.ndarray | jax.Array):
        yield from _array(thing)
    elif isinstance(thing, Mapping):
        yield f"mapping {len(thing)}".encode()
        for key, value in thing.items():
            yield from _parts(key, above)
            yield from _parts(value, above)
    elif isinstance(thing, list | tuple):
        yield f"{type(thing).__name__} {len(thing)}".encode()
        for one in thing:
            yield from _parts(one, above)
    elif isinstance(thing, set | frozenset):
        yield f"set {len(thing)}".encode()
        yield from sorted(fingerprint(one).encode() for one in thing)
    elif isinstance(thing, type):
        yield _name(thing)
        yield from _code_of_class(thing)
    elif isinstance(thing, functools.partial):
        yield b"partial"
        yield from _parts((thing.func, thing.args, thing.keywords), above)
    elif isinstance(thing, types.MethodType):
        yield from _parts((thing.__func__, thing.__self__), above)
    elif isinstance(code := getattr(inspect.unwrap(thing), "__code__", None), types.CodeType):
        yield _name(thing)
        if not _ours(thing):
            yield from _code(code)
            closure = getattr(inspect.unwrap(thing), "__closure__", None) or ()
            yield from _parts([cell.cell_contents for cell in closure], above)
    elif callable(thing) and hasattr(thing, "__name__"):  # a function of another language
        yield _name(thing)
    else:
        yield _name(type(thing))
        yield from _code_of_class(type(thing))
        yield from _parts(_fields(thing), above)


def _array(array: Any) -> Iterator[bytes]:
    if isinstance(array, jax.Array) and jnp.issubdtype(array.dtype, jax.dtypes.prng_key):
        array = jax.random.key_data(array)
    numbers = np.asarray(array)
    yield f"array {numbers.dtype.str} {numbers.shape}".encode()
    if numbers.dtype.hasobject:
        yield from _parts(numbers.tolist(), ())
    else:
        yield hashlib.sha256(np.ascontiguousarray(numbers).tobytes()).digest()


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


def _code_of_class(cls: type) -> Iterator[bytes]:
    for one in cls.__mro__:
        if not _ours(one):
            for name, member in sorted(vars(one).items()):
                # Equinox, properties and class methods each wrap a function in their own way
                inner = next(
                    (
                        found
                        for word in ("method", "fget", "__func__")
                        if (found := getattr(member, word, None)) is not None
                    ),
                    member,
                )
                code = getattr(inspect.unwrap(inner), "__code__", None)
                if isinstance(code, types.CodeType):
                    yield name.encode()
                    yield from _code(code)


def _code(code: types.CodeType) -> Iterator[bytes]:
    """What a function does, without where it stands."""
    yield code.co_code
    yield repr((code.co_names, code.co_varnames, code.co_freevars)).encode()
    for one in code.co_consts:
        if isinstance(one, types.CodeType):
            yield from _code(one)
        else:
            yield repr(sorted(map(repr, one)) if isinstance(one, frozenset) else one).encode()


def _name(thing: Any) -> bytes:
    # a user's class stays the same when it moves from a script to a module: its code is told apart
    module = str(getattr(thing, "__module__", "")) if _ours(thing) else "own"
    name = getattr(thing, "__qualname__", None) or thing.__name__
    return f"{module}.{name}".encode()


def _ours(thing: Any) -> bool:
    return str(getattr(thing, "__module__", "")).split(".")[0] in OURS
