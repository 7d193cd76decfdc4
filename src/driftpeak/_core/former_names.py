"""Former names: use of one fails with the new name; fingerprints still use them."""

import sys
from functools import cache
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

PACKAGE = "driftpeak"
ROOT = Path(__file__).parents[1]
ENDS = ("/__init__.py", ".py")
"""Ends of the paths of packages and modules."""
NEW_CLASS_NAMES = {
    "AtMost": "Horizon",
    "Bank": "InteractingMultipleModel",
    "Columns": "ColumnMajor",
    "Computed": "LazyGram",
    "Lags": "ToeplitzGram",
    "Loadings": "FeatureMatrix",
    "Oscillation": "DampedOscillator",
    "Profile": "PeriodicMean",
    "Recorded": "RecordsArguments",
    "Rows": "RowMajor",
    "SmoothMotion": "Matern32",
    "WorldInContext": "ContextualEnvironment",
}
"""Classes that were renamed and that users or stored simulations may name."""
NEW_PUBLIC_NAMES = {
    "Profile": "PeriodicMean",
    "WorldInContext": "ContextualEnvironment",
    "learn": "fit_history",
}
"""Names of `driftpeak` that changed."""
_FORMER_CLASSES = {new: former for former, new in NEW_CLASS_NAMES.items()}


@cache
def new_names() -> dict[str, str]:
    """Return the present names of modules and packages that moved, by former name.

    Submodules moved with their package. The names are without the underscores of private modules,
    which had none before either.
    """
    text = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8")
    return dict(line.split() for line in text.splitlines())


@cache
def _former_names() -> dict[str, str]:
    return {new: former for former, new in new_names().items()}


def new_name(name: str) -> str | None:
    """Return the present name of a module that moved or became private, or None."""
    package, _, inner = name.partition(".")
    if package != PACKAGE:
        return None
    present = _present(_renamed(inner, new_names()))
    return None if present == name else present


def check_renamed(module: str, name: str, names: dict[str, str]) -> None:
    """Raise an error with the new name if a module had a name before.

    A module whose names changed calls it in its `__getattr__`. The error is not an AttributeError,
    because `from module import name` would replace its message.

    Raises:
        ImportError: the name was renamed.
    """
    if (new := names.get(name)) is not None:
        raise ImportError(f"{module}.{name} is now {module}.{new}")


def former_name(name: str) -> str:
    """Return the former name of a module, or its name if it has not moved."""
    package, _, inner = name.partition(".")
    if package != PACKAGE or not inner:
        return name
    first, *rest = inner.split(".")
    public = ".".join([first, *(part.removeprefix("_") for part in rest)])
    return f"{PACKAGE}.{_renamed(public, _former_names())}"


def former_class_name(name: str) -> str:
    """Return the qualified name within its module that a class of driftpeak had before."""
    first, dot, rest = name.partition(".")
    return _FORMER_CLASSES.get(first, first) + dot + rest


def _renamed(name: str, names: dict[str, str]) -> str:
    """Replace the longest leading part of a dotted name that the table contains."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        if (replacement := names.get(".".join(parts[:count]))) is not None:
            return ".".join([replacement, *parts[count:]])
    return name


def _present(name: str) -> str:
    """Add the package and the underscores of private modules to a name, as the files have them."""
    folder, parts = ROOT, [PACKAGE]
    for part in name.split("."):
        names = (part, f"_{part}")
        present = [n for n in names if any((folder / f"{n}{end}").exists() for end in ENDS)]
        parts.append(present[0] if present else part)
        folder /= parts[-1]
    return ".".join(parts)


class FormerNames(MetaPathFinder):
    """Raise an error that gives the new name when a module is imported by its former name."""

    def find_spec(
        self, fullname: str, path: Any, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return None for all other names.

        Raises:
            ModuleNotFoundError: the module has moved or became private.
        """
        if (name := new_name(fullname)) is not None:
            raise ModuleNotFoundError(f"{fullname} is now {name}{_hint(name)}", name=fullname)
        return None


def _hint(name: str) -> str:
    """Return what to import instead of a private module."""
    public = name.partition("._")[0]
    exports = public not in (name, PACKAGE)
    return f", which is private; {public} exports its public names" if exports else ""


def install() -> None:
    """Consult `FormerNames` after all other finders."""
    if not any(isinstance(finder, FormerNames) for finder in sys.meta_path):
        sys.meta_path.append(FormerNames())
