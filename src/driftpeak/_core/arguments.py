"""The constructor arguments of an object, for code that serialises it.

Most classes keep each argument in a field of the same name. Classes that convert their arguments
inherit from `RecordsArguments`.
"""

import copy
import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

import numpy as np

Parameters = Mapping[str, tuple[Any, Any]]
"""Type hint and default by name; the default is `inspect.Parameter.empty` if there is none."""


class RecordsArguments:
    """Base class that records constructor arguments, for classes whose fields do not hold them.

    A changed copy, for example by `jax.tree.map`, has no recorded arguments.
    """

    def __new__(cls, *args: Any, **named: Any) -> Any:
        self = super().__new__(cls)
        # the caller may change an array afterwards
        args = tuple(map(_kept, args))
        # not a field, which a changed copy would inherit; Equinox forbids ordinary assignment
        named = {name: _kept(value) for name, value in named.items()}
        object.__setattr__(self, "_given", (args, named))
        return self


def arguments_of(made: Any, parameters: Parameters) -> dict[str, Any] | None:
    """Return the arguments that construct an object equal to `made`; None if not known."""
    if not isinstance(made, RecordsArguments):
        return {name: _asked(getattr(made, name), hint) for name, (hint, _) in parameters.items()}
    if not hasattr(made, "_given"):
        return None
    args, named = made._given
    given = dict(zip(parameters, args, strict=False)) | named
    return {
        name: given.get(name, default)
        for name, (_, default) in parameters.items()
        if name in given or default is not inspect.Parameter.empty
    }


@cache
def parameters_of(make: type, options: Callable[..., Any] | None = None) -> Parameters:
    """Return the parameters of a constructor.

    Arguments:
        make: the class.
        options: the function that receives the constructor's `**options`. They are listed one by
            one, with the defaults of this function.
    """
    hints, accepted = get_type_hints(make.__init__), {}  # type: ignore[misc]
    for name, parameter in list(inspect.signature(make.__init__).parameters.items())[1:]:  # type: ignore[misc]
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD:
            accepted[name] = hints.get(name, Any), parameter.default
            continue
        assert options is not None, f"{make.__name__} takes **{name}: register their function"
        defaults = inspect.signature(options).parameters
        (table,) = get_args(hints[name])
        for option, hint in get_type_hints(table).items():
            accepted[option] = hint, defaults[option].default
    return accepted


class Constructor(NamedTuple):
    """A class, and the function that has the defaults of its `**options`, if it has any."""

    make: type
    options: Callable[..., Any] | None = None

    @property
    def parameters(self) -> Parameters:
        """Return the parameters of the constructor."""
        return parameters_of(*self)


def fits(value: Any, hint: Any) -> bool:
    """Return whether a value agrees with a type hint; entries of containers are checked too."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return any(fits(value, member) for member in inner)
    if origin is Literal:
        return isinstance(value, str) and value in inner
    if origin is tuple and inner[1:] == (...,):
        return isinstance(value, tuple) and all(fits(entry, inner[0]) for entry in value)
    if origin is tuple:
        same = isinstance(value, list | tuple) and len(value) == len(inner)
        return same and all(map(fits, value, inner))
    if origin in (list, Sequence):
        return isinstance(value, list | tuple) and all(fits(entry, inner[0]) for entry in value)
    if origin is dict:
        pairs = value.items() if isinstance(value, dict) else [(None, None)]
        return all(fits(key, inner[0]) and fits(entry, inner[1]) for key, entry in pairs)
    if hint in (float, int):
        kind = Real if hint is float else Integral
        return isinstance(value, kind) and not isinstance(value, bool)
    if hint is None or hint is Any:
        return hint is Any or value is None
    hint = hint if origin is None else origin
    return isinstance(value, hint) if isinstance(hint, type) else True


def _asked(value: Any, hint: Any) -> Any:
    """Return a field's value in its hinted type: some integer arguments are stored as floats."""
    if isinstance(value, float) and not fits(value, hint) and fits(int(value), hint):
        return int(value)
    return value


def _kept(value: Any) -> Any:
    return copy.copy(value) if isinstance(value, list | dict | np.ndarray) else value
