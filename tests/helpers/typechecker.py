"""The runtime checks of the test suite: an int is welcome where a float is.

jaxtyping's import hook decorates every function so that all of its arrays are checked against each
other, at the price of binding every call's arguments in Python and of checking them twice. Most
functions have no arrays: `install` lets beartype alone check those, as jaxtyping would have.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any, get_args, get_type_hints

import jaxtyping
from beartype import BeartypeConf, beartype

check = beartype(conf=BeartypeConf(is_pep484_tower=True))
_with_shapes = jaxtyping.jaxtyped


def install() -> None:
    """Before driftpeak is imported: its functions are decorated as they are defined."""
    jaxtyping.jaxtyped = _decorator


def _decorator(*, typechecker: Callable[..., Any]) -> Callable[[Any], Any]:
    def decorate(made: Any) -> Any:
        if not inspect.isfunction(made) or not _is_plain(made):
            return _with_shapes(made, typechecker=typechecker)
        checked = typechecker(made)

        @functools.wraps(made)
        def wrapped(*given: Any, **named: Any) -> Any:
            __tracebackhide__ = True
            if jaxtyping.config.jaxtyping_disable:
                return made(*given, **named)
            return checked(*given, **named)

        return wrapped

    return decorate


def _is_plain(function: Any) -> bool:
    """Whether its hints are all there already, and none is of an array or depends on another."""
    if "<locals>" in function.__qualname__:
        return False
    try:
        hints = get_type_hints(function, include_extras=True)
    except Exception:  # a name that is only there while types are checked: jaxtyping passes over it
        return False
    return not any(map(_has_arrays, hints.values()))


def _has_arrays(hint: Any) -> bool:
    if isinstance(hint, type) and issubclass(hint, jaxtyping.AbstractArray):
        return True
    return any(map(_has_arrays, get_args(hint)))
