"""Run-time checks of argument types against the type hints, by the decorator `checked`.

Numbers and arrays of numbers are checked by the function itself, which also checks their range
(`driftpeak._core.errors`).
"""

import collections.abc
import functools
import inspect
import os
import types
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass
from numbers import Real
from typing import (
    Any,
    Literal,
    NamedTuple,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import numpy as np

from driftpeak._core.errors import DriftpeakError, nearest, shown

Checked = TypeVar("Checked", bound=Callable[..., Any])

WORDS = {
    "Prior": "a Prior, such as dp.Prior(dp.Grid([0, 1], size=20), dp.SE(0.2), noise_variance=0.1)",
    "Kernel": "a kernel of driftpeak.gp.kernels, such as dp.SE(0.2)",
    "Policy": "a policy, such as dp.GPUCB(prior)",
    "LivePolicy": "a DriftingGP or a policy of driftpeak, such as dp.Auto(prior)",
    "Width": "a width of driftpeak.policies.widths, such as widths.Constant(2.0)",
    "Forgetting": "a rule of driftpeak.gp.forgetting, such as forgetting.Drift(0.02)",
    "Environment": "an environment, such as dp.MarkovDrift(prior, drift=0.02)",
    "Motion": "a motion of driftpeak.gp.dynamics, such as MarkovMotion([0.02])",
    "Features": "made by a function of driftpeak.gp.features, such as "
    "pivoted_cholesky(prior.kernel, prior.domain)",
    "Gain": "an information gain, such as dp.RealisedGain()",
    "Parameter": "a Float, Integer, Categorical or Boolean",
    "BaseSampler": "a sampler of Optuna",
    "Dataset": "a Dataset of runs, as simulate returns it",
}
"""Descriptions of the most common classes in messages; other classes appear by name."""


@dataclass(frozen=True)
class Kind:
    """The values that a type hint accepts, and their description in messages.

    Attributes:
        accepts: whether a value is accepted.
        words: a description of the accepted values, as in "must be {words}".
        choices: the accepted strings, if only some are accepted.
        wrong_entry: returns index or key, value and kind of the first wrong entry of a container;
            None if the value is wrong as a whole.
    """

    accepts: Callable[[Any], bool]
    words: str
    choices: tuple[str, ...] = ()
    wrong_entry: "Callable[[Any], tuple[Any, Any, Kind] | None]" = lambda value: None


def checked(made: Checked) -> Checked:
    """Decorate a callable so that calls reject arguments that contradict its type hints.

    Arguments:
        made: a function, a constructor, or a class whose constructor is generated.

    Raises:
        DriftpeakError: on a call, an argument has another type. The message names the argument.
    """
    if isinstance(made, type):
        made.__init__ = checked(made.__init__)  # type: ignore[misc]
        return made

    parameters: list[Parameters] = []  # set on the first call

    @functools.wraps(made)
    def call(*given: Any, **named: Any) -> Any:
        if not parameters:
            parameters.append(_parameters(made))
        positional, kinds, known = parameters[0]
        for name, value in zip(positional, given, strict=False):
            if name in kinds and not kinds[name].accepts(value):
                raise _rejected(name, value, kinds[name])
        for name, value in named.items():
            if known and name not in known:
                raise _unknown(made, name, known)
            if name in kinds and not kinds[name].accepts(value):
                raise _rejected(name, value, kinds[name])
        return made(*given, **named)

    return call  # type: ignore[return-value]


def _unknown(made: Callable[..., Any], name: str, known: tuple[str, ...]) -> TypeError:
    called = made.__qualname__.removesuffix(".__init__")
    names = ", ".join(known)
    return TypeError(
        f"{called} has no argument {name!r}.{nearest(name, known)} Its arguments are {names}"
    )


def _rejected(name: str, value: Any, kind: Kind) -> DriftpeakError:
    while (entry := kind.wrong_entry(value)) is not None:
        place, value, kind = entry
        name += f"[{shown(place)}]"
    near = nearest(value, kind.choices) if isinstance(value, str) else ""
    return DriftpeakError(f"{name} must be {kind.words}; got {shown(value)}{near and '.'}{near}")


class Parameters(NamedTuple):
    """The parameters of a function.

    Attributes:
        positional: names of the positional parameters.
        kinds: kinds of the checked parameters by name.
        known: names that may be given by keyword; empty if any name is accepted.
    """

    positional: tuple[str, ...]
    kinds: Mapping[str, Kind]
    known: tuple[str, ...]


def _parameters(function: Callable[..., Any]) -> Parameters:
    """Return the parameters of a function."""
    made = inspect.unwrap(function)
    positional: list[str] = []
    known: list[str] = []
    open_ended = False
    hints: dict[str, Any] = {}
    for name, parameter in inspect.signature(made).parameters.items():
        annotation, kind = parameter.annotation, parameter.kind
        hint = Any if annotation is parameter.empty else _resolved(annotation, made)
        if kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            positional.append(name)
        if kind is parameter.VAR_KEYWORD:
            (table,) = get_args(hint) or (None,)  # the argument of Unpack
            options = get_type_hints(table) if is_typeddict(table) else {}
            hints |= options
            known.extend(options)
            open_ended = not options
        elif kind is not parameter.VAR_POSITIONAL:
            hints[name] = hint
            if kind is not parameter.POSITIONAL_ONLY and name != "self":
                known.append(name)
    accepted = {name: kind_of(hint) for name, hint in hints.items()}
    kinds = {name: kind for name, kind in accepted.items() if kind is not None}
    return Parameters(tuple(positional), kinds, () if open_ended else tuple(known))


def _resolved(annotation: Any, function: Callable[..., Any]) -> Any:
    """Return the type hint; `Any` for a name that is imported for the type checker only."""
    holder = types.SimpleNamespace(__annotations__={"it": annotation})
    try:
        return get_type_hints(holder, function.__globals__)["it"]
    except NameError:
        return Any


def kind_of(hint: Any) -> Kind | None:
    """Return the values that a type hint accepts.

    Returns:
        None for hints that are not checked here: numbers, arrays, `Any`.
    """
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _any_of([kind_of(member) for member in inner])
    if origin is Literal:
        words = f"one of {', '.join(inner)}"
        return Kind(lambda value: isinstance(value, str) and value in inner, words, inner)
    if origin is not None:
        entries = [kind_of(entry) for entry in inner if entry is not ...]
        return _container(origin, entries, ... in inner)
    if hint is types.NoneType:
        return Kind(lambda value: value is None, "None")
    if hint is bool:
        return Kind(lambda value: isinstance(value, bool | np.bool_), "True or False")
    if hint is str:
        return Kind(lambda value: isinstance(value, str), "a string")
    if (
        hint in (Any, object)
        or not isinstance(hint, type)
        or issubclass(hint, int | float | np.generic | np.ndarray)
    ):
        return None
    if hint.__module__.startswith(("jax", "numpy")):
        return None
    return Kind(lambda value: isinstance(value, hint), _called(hint))


def _called(made: type) -> str:
    name = made.__name__
    return WORDS.get(name, f"{'an' if name[0] in 'AEIO' else 'a'} {name}")


def _any_of(kinds: Sequence[Kind | None]) -> Kind | None:
    known = [kind for kind in kinds if kind is not None]
    if len(known) < len(kinds):
        return None
    *rest, last = dict.fromkeys(kind.words for kind in known)
    listed = ", ".join(rest).replace("True or False", "True, False")
    return Kind(
        lambda value: any(kind.accepts(value) for kind in known),
        f"{listed}{',' if ', ' in listed or 'each' in listed else ''} or {last}" if rest else last,
        tuple(choice for kind in known for choice in kind.choices),
        lambda value: next(filter(None, (kind.wrong_entry(value) for kind in known)), None),
    )


def _container(origin: Any, inner: Sequence[Kind | None], several: bool) -> Kind | None:
    """Return the kind of a generic type; entries of sequences and mappings are checked too."""
    if origin is collections.abc.Callable:
        return Kind(callable, "a function")
    if not isinstance(origin, type) or issubclass(origin, np.ndarray):
        return None
    if issubclass(origin, os.PathLike):
        return Kind(lambda value: isinstance(value, os.PathLike), "a path")
    if issubclass(origin, Mapping):
        keys, values = inner

        def is_mapping(value: Any) -> bool:
            return isinstance(value, Mapping) and _all(keys, value)

        named = "" if keys is None else " with string keys"
        return Kind(
            lambda value: is_mapping(value) and _all(values, value.values()),
            f"a mapping{named}" + _of_each(values),
            wrong_entry=lambda value: _first(values, value.items()) if is_mapping(value) else None,
        )
    if origin is tuple and inner and not any(inner) and not several:
        count = len(inner)
        return Kind(lambda value: _numbers(value, count), f"{count} numbers")
    if issubclass(origin, Iterable):
        each = inner[0] if len(inner) == 1 else None
        sized = issubclass(origin, Sized)  # an iterator can be read only once

        def is_sequence(value: Any) -> bool:
            return _listed(value, sized)

        return Kind(
            lambda value: is_sequence(value) and (not sized or _all(each, value)),
            "a sequence" + _of_each(each),
            wrong_entry=lambda value: (
                _first(each, enumerate(value)) if sized and is_sequence(value) else None
            ),
        )
    return Kind(lambda value: isinstance(value, origin), _called(origin))


def _of_each(kind: Kind | None) -> str:
    if kind is not None and kind.words == "a string":
        return " of strings"
    return "" if kind is None else f" in which each is {kind.words}"


def _all(kind: Kind | None, values: Iterable[Any]) -> bool:
    return kind is None or all(map(kind.accepts, values))


def _first(kind: Kind | None, entries: Iterable[tuple[Any, Any]]) -> tuple[Any, Any, Kind] | None:
    """Return index or key, value and kind of the first entry that the kind does not accept."""
    if kind is None:
        return None
    return next(((place, entry, kind) for place, entry in entries if not kind.accepts(entry)), None)


def _numbers(value: Any, count: int) -> bool:
    if not _listed(value, True) or len(value) != count:
        return False
    return all(isinstance(entry, Real) and not isinstance(entry, bool) for entry in value)


def _listed(value: Any, sized: bool) -> bool:
    """Return whether `value` is a list, a tuple, an array or a column; a string or set is not."""
    if isinstance(value, str | bytes | bytearray | Mapping | collections.abc.Set | type):
        return False
    if getattr(value, "ndim", 1) == 0:
        return False
    return isinstance(value, Iterable) and (not sized or hasattr(value, "__len__"))
