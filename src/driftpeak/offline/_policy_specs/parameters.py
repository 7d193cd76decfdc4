"""Parameters of a constructor that text can set, read from its signature."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

from driftpeak._core.errors import DriftpeakError, nearest

KINDS: Mapping[type, str] = {
    int: "an integer",
    float: "a number",
    bool: "true or false",
    str: "a word",
}


@dataclass(frozen=True)
class Parameter:
    """An argument of a constructor that text can set.

    Attributes:
        name: the name of the argument.
        kind: its type, one of `KINDS`.
        default: its default; None if the constructor determines it.
        required: whether it has no default.
        words: words that are accepted in place of a value of this type.
    """

    name: str
    kind: type
    default: Any = None
    required: bool = False
    words: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.default is None:
            return self.name
        if isinstance(self.default, bool):
            return f"{self.name}={str(self.default).lower()}"  # as `convert` reads it
        value = f"{self.default:g}" if isinstance(self.default, float) else self.default
        return f"{self.name}={value}"


def parameters(make: Callable[..., Any], more: Mapping[str, Any]) -> dict[str, Parameter]:
    """Return the arguments of `make` that are numbers, strings or booleans, by name.

    Arguments:
        make: a class or a function.
        more: for an untyped `**name`, by this name: a dataclass with its fields, or another
            constructor that receives it.
    """
    function: Any = make.__init__ if isinstance(make, type) else make  # type: ignore[misc]
    hints = get_type_hints(function)
    accepted: dict[str, Parameter] = {}
    for name, argument in inspect.signature(make).parameters.items():
        hint = hints.get(name, Any)
        if argument.kind is inspect.Parameter.VAR_KEYWORD:
            receiver = get_args(hint)[0] if get_args(hint) else more.get(name)
            accepted |= _handed_on(make, receiver, more)
        elif (kind := _kind(hint)) is not None:
            required = argument.default is inspect.Parameter.empty
            default = None if required else argument.default
            accepted[name] = Parameter(name, kind, default, required, _words(hint))
    return accepted


def convert(what: str, parameter: Parameter, value: str) -> Any:
    """Convert a text to a value of the parameter.

    Raises:
        DriftpeakError: the text is not of the parameter's type.
    """
    if value in parameter.words:
        return value
    if parameter.kind is bool and value in ("true", "false"):
        return value == "true"
    try:
        if parameter.kind is bool:
            raise ValueError
        return parameter.kind(value)
    except ValueError:
        wanted = " or ".join([KINDS[parameter.kind], *parameter.words])
        raise DriftpeakError(f"{what} must be {wanted}; got {value!r}") from None


def split(text: str, known: Mapping[str, Parameter]) -> dict[str, Any]:
    """Return the arguments in `NAME:key=value,...`.

    Raises:
        DriftpeakError: a key is not in `known`, or a value has another type.
    """
    name, _, rest = text.partition(":")
    given = {}
    for pair in filter(None, rest.split(",")):
        key, equals, value = pair.partition("=")
        if not equals or key not in known:
            accepted = ", ".join(f"{parameter}=..." for parameter in known) or "none"
            raise DriftpeakError(
                f"{text}: {pair!r} is not a parameter of {name}; accepted: {accepted}."
                + nearest(key, list(known))
            )
        given[key] = convert(f"{text}: {key}", known[key], value)
    return given


def summary(make: Callable[..., Any]) -> str:
    """Return the first paragraph of the docstring on one line."""
    return (inspect.getdoc(make) or "").split("\n\n")[0].replace("\n", " ")


def _handed_on(make: Any, to: Any, more: Mapping[str, Any]) -> dict[str, Parameter]:
    """Return the arguments behind `**name`; a TypedDict has the defaults of the returned class."""
    if to is None:
        return {}
    if is_dataclass(to):
        hints = get_type_hints(to)
        return {f.name: Parameter(f.name, hints[f.name]) for f in fields(to)}
    if not is_typeddict(to):
        return parameters(to, more)
    defaults = _defaults(get_type_hints(make).get("return", make))
    hints = get_type_hints(to)
    return {
        name: Parameter(name, kind, defaults.get(name), words=_words(hint))
        for name, hint in hints.items()
        if (kind := _kind(hint)) is not None
    }


def _defaults(made: type) -> dict[str, Any]:
    """Return all defaults of arguments in the methods of a class and its bases."""
    defaults: dict[str, Any] = {}
    for base in reversed(made.__mro__):
        for function in vars(base).values():
            if inspect.isfunction(function):
                for name, argument in inspect.signature(function).parameters.items():
                    if argument.default not in (inspect.Parameter.empty, None):
                        defaults[name] = argument.default
    return defaults


def _kind(hint: Any) -> type | None:
    """Return the type in `KINDS` for a type hint; None if there is none."""
    if get_origin(hint) is Literal:
        return str
    if get_origin(hint) in (Union, UnionType):
        members = [member for member in get_args(hint) if _kind(member) is not None]
        others = [member for member in members if get_origin(member) is not Literal] or members
        return _kind(others[0]) if len(others) == 1 else None
    return hint if hint in KINDS else None


def _words(hint: Any) -> tuple[str, ...]:
    """Return the words that a union accepts besides a number."""
    if get_origin(hint) not in (Union, UnionType) or _kind(hint) is str:
        return ()
    literals = (member for member in get_args(hint) if get_origin(member) is Literal)
    return tuple(word for member in literals for word in get_args(member))
