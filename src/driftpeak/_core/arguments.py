"""What an object was made from: its constructor's arguments, for whoever writes it down.

Most classes keep every argument in a field of the same name. Those that work theirs into something
else are `Recorded`.
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
"""By name: the type hint and the default, `inspect.Parameter.empty` where there is none."""


class Recorded:
    """Remembers what it was made from: for classes whose fields do not hold their arguments.

    A changed copy (by `jax.tree.map`, say) is made from nothing in particular, and remembers
    nothing.
    """

    def __new__(cls, *args: Any, **named: Any) -> Any:
        self = super().__new__(cls)
        # the caller may change an array afterwards
        args = tuple(map(_kept, args))
        # no field, which a changed copy would take over; Equinox lets nothing else be set
        object.__setattr__(self, "_given", (args, {k: _kept(one) for k, one in named.items()}))
        return self


def arguments_of(made: Any, parameters: Parameters) -> dict[str, Any] | None:
    """The arguments that would make `made` again; None if they are not known."""
    if not isinstance(made, Recorded):
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
    """What a constructor takes; its `**options` one by one, with their defaults from `options`."""
    hints, found = get_type_hints(make.__init__), {}  # type: ignore[misc]
    for name, one in list(inspect.signature(make.__init__).parameters.items())[1:]:  # type: ignore[misc]
        if one.kind is not inspect.Parameter.VAR_KEYWORD:
            found[name] = hints.get(name, Any), one.default
            continue
        assert options is not None, f"{make.__name__} takes **{name}: register what they go to"
        defaults = inspect.signature(options).parameters
        (table,) = get_args(hints[name])
        for option, hint in get_type_hints(table).items():
            found[option] = hint, defaults[option].default
    return found


class Constructor(NamedTuple):
    """A class, and the function that has the defaults of its `**options`, if it has any."""

    make: type
    options: Callable[..., Any] | None = None

    @property
    def parameters(self) -> Parameters:
        """Return the parameters of the constructor."""
        return parameters_of(*self)


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is of the kind that a type hint says; numbers and containers by content."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return any(fits(value, one) for one in inner)
    if origin is Literal:
        return isinstance(value, str) and value in inner
    if origin is tuple and inner[1:] == (...,):
        return isinstance(value, tuple) and all(fits(one, inner[0]) for one in value)
    if origin is tuple:
        same = isinstance(value, list | tuple) and len(value) == len(inner)
        return same and all(map(fits, value, inner))
    if origin in (list, Sequence):
        return isinstance(value, list | tuple) and all(fits(one, inner[0]) for one in value)
    if origin is dict:
        pairs = value.items() if isinstance(value, dict) else [(None, None)]
        return all(fits(key, inner[0]) and fits(one, inner[1]) for key, one in pairs)
    if hint in (float, int):
        kind = Real if hint is float else Integral
        return isinstance(value, kind) and not isinstance(value, bool)
    if hint is None or hint is Any:
        return hint is Any or value is None
    hint = hint if origin is None else origin
    return isinstance(value, hint) if isinstance(hint, type) else True


def _asked(value: Any, hint: Any) -> Any:
    """A field's value as it is asked for: many a whole number is kept as a real one."""
    if isinstance(value, float) and not fits(value, hint) and fits(int(value), hint):
        return int(value)
    return value


def _kept(value: Any) -> Any:
    return copy.copy(value) if isinstance(value, list | dict | np.ndarray) else value
