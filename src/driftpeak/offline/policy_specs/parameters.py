"""What a constructor can be told in text: read from its own signature, so that it stands once."""

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
    """One of a constructor's arguments that text can give.

    Attributes:
        name: of the argument.
        kind: one of `KINDS`.
        default: what the constructor takes if it is not given; None if it finds that out itself.
        required: whether it has no default at all.
    """

    name: str
    kind: type
    default: Any = None
    required: bool = False

    def __str__(self) -> str:
        if self.default is None:
            return self.name
        if isinstance(self.default, bool):
            return f"{self.name}={str(self.default).lower()}"  # as `convert` reads it
        value = f"{self.default:g}" if isinstance(self.default, float) else self.default
        return f"{self.name}={value}"


def parameters(make: Callable[..., Any], more: Mapping[str, Any]) -> dict[str, Parameter]:
    """The arguments of `make` that are numbers, words or truth values, by name.

    Arguments:
        make: a class or a function.
        more: for `**name` without types of its own, by its name: a dataclass, whose fields it
            stands for, or another constructor, whose arguments it hands on to.
    """
    function: Any = make.__init__ if isinstance(make, type) else make  # type: ignore[misc]
    hints = get_type_hints(function)
    found: dict[str, Parameter] = {}
    for name, argument in inspect.signature(make).parameters.items():
        hint = hints.get(name, Any)
        if argument.kind is inspect.Parameter.VAR_KEYWORD:
            found |= _handed_on(make, get_args(hint)[0] if get_args(hint) else more.get(name), more)
        elif (kind := _kind(hint)) is not None:
            required = argument.default is inspect.Parameter.empty
            found[name] = Parameter(name, kind, None if required else argument.default, required)
    return found


def convert(what: str, parameter: Parameter, value: str) -> Any:
    """The value that `value` writes.

    Raises:
        DriftpeakError: it writes none of the kind.
    """
    if parameter.kind is bool and value in ("true", "false"):
        return value == "true"
    try:
        if parameter.kind is bool:
            raise ValueError
        return parameter.kind(value)
    except ValueError:
        wanted = KINDS[parameter.kind]
        raise DriftpeakError(f"{what} must be {wanted}; got {value!r}") from None


def split(text: str, known: Mapping[str, Parameter]) -> dict[str, Any]:
    """The arguments that `NAME:key=value,...` gives.

    Raises:
        DriftpeakError: a key that is not in `known`, a value of another kind.
    """
    name, _, rest = text.partition(":")
    given = {}
    for pair in filter(None, rest.split(",")):
        key, equals, value = pair.partition("=")
        if not equals or key not in known:
            accepted = ", ".join(f"{one}=..." for one in known) or "none"
            raise DriftpeakError(
                f"{text}: {pair!r} is not a parameter of {name}; accepted: {accepted}."
                + nearest(key, list(known))
            )
        given[key] = convert(f"{text}: {key}", known[key], value)
    return given


def summary(make: Callable[..., Any]) -> str:
    """The first sentence of the docstring."""
    return (inspect.getdoc(make) or "").split("\n\n")[0].replace("\n", " ")


def _handed_on(make: Any, to: Any, more: Mapping[str, Any]) -> dict[str, Parameter]:
    """The arguments behind `**name`; the defaults of a TypedDict's are those of what is made."""
    if to is None:
        return {}
    if is_dataclass(to):
        hints = get_type_hints(to)
        return {f.name: Parameter(f.name, hints[f.name]) for f in fields(to)}
    if not is_typeddict(to):
        return parameters(to, more)
    defaults = _defaults(get_type_hints(make).get("return", make))
    hints = get_type_hints(to)
    kinds = {name: kind for name, hint in hints.items() if (kind := _kind(hint)) is not None}
    return {name: Parameter(name, kind, defaults.get(name)) for name, kind in kinds.items()}


def _defaults(made: type) -> dict[str, Any]:
    """The defaults that a class and its bases give to arguments, wherever they are taken."""
    found: dict[str, Any] = {}
    for base in reversed(made.__mro__):
        for function in vars(base).values():
            if inspect.isfunction(function):
                for name, argument in inspect.signature(function).parameters.items():
                    if argument.default not in (inspect.Parameter.empty, None):
                        found[name] = argument.default
    return found


def _kind(hint: Any) -> type | None:
    """The kind of text that a type asks for, if it is one."""
    if get_origin(hint) is Literal:
        return str
    if get_origin(hint) in (Union, UnionType):
        kinds = [kind for one in get_args(hint) if (kind := _kind(one)) is not None]
        return kinds[0] if len(kinds) == 1 else None
    return hint if hint in KINDS else None
