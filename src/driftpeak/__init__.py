"""Bayesian optimisation for objectives that drift: time-varying Gaussian-process bandits."""

import os
import sys
from importlib.metadata import version
from typing import Any

import lazy_loader

from driftpeak._core import extras, former_names

# Names from `__init__.pyi` are loaded on first use: importing JAX would slow down `--help`.
_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

__version__ = version("driftpeak")

if "jax" not in sys.modules:  # XLA would print a line for each program that it reads from a cache
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

former_names.install()
extras.install()


def __getattr__(name: str) -> Any:
    former_names.check_renamed(__name__, name, former_names.NEW_PUBLIC_NAMES)
    return _load(name)
