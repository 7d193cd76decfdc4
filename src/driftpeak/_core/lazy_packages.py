"""Packages that load their public names when they are first used (`lazy_loader`)."""

from functools import cache
from importlib import import_module


@cache
def load_all(package: str) -> None:
    """Load every public name of a package, for example so that decorators declare them all."""
    module = import_module(package)
    for name in module.__all__:
        getattr(module, name)
