"""Constraint functions that are registered by name, so that stored studies can refer to them.

A stored study contains the name and no code. A program that opens the study must register the
function under this name first.
"""

import importlib.util
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DriftpeakError, nearest, rejected, shown

Function = Callable[[dict[str, Any]], bool]
_REGISTERED: dict[str, Function] = {}


@checked
def register_constraint(name: str, function: Callable[..., Any]) -> None:
    """Register a constraint function, so that stored studies can use it.

    Arguments:
        name: its name in stored studies. A function that was registered under this name before is
            replaced.
        function: gets a setting, with the values of the context if there is one, and returns
            whether the setting is allowed.

    Example:
        >>> import driftpeak as dp
        >>> def allowed_pairs(setting):
        ...     return setting["fans"] != 3 or setting["heat"] < 0.5
        >>> dp.live.register_constraint("allowed_pairs", allowed_pairs)
    """
    if not name:
        raise rejected("name", name, "be non-empty text")
    _REGISTERED[name] = function


def name_of(function: object) -> str | None:
    """Return the name under which a function is registered, or None."""
    return next((name for name, known in _REGISTERED.items() if known is function), None)


def function_named(whose: str, name: object) -> Function:
    """Return the function that is registered under a name.

    Raises:
        DriftpeakError: there is none.
    """
    if not isinstance(name, str) or name not in _REGISTERED:
        known = ", ".join(_REGISTERED) or "there are none"
        raise DriftpeakError(
            f"{whose} must name a registered function ({known}); got {shown(name)}."
            + nearest(str(name), _REGISTERED)
            + " Call dp.live.register_constraint(name, function) first, or give --functions FILE "
            "on the command line"
        )
    return _REGISTERED[name]


def register_file(path: Path) -> list[str]:
    """Run a Python file, register its functions by their names, and return these names.

    Raises:
        DriftpeakError: the file does not exist, raises an error or has no functions.
    """
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise DriftpeakError(f"functions must be an existing Python file; got {shown(str(path))}")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise DriftpeakError(
            f"{path} must be a Python file that runs; got {type(error).__name__}: {error}"
        ) from None
    found = [
        (name, function)
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__ and not name.startswith("_")
    ]
    if not found:
        raise DriftpeakError(f"{path} must define at least one function; got none")
    for name, function in found:
        register_constraint(name, function)
    return [name for name, _ in found]
