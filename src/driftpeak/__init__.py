"""Bayesian optimisation for objectives that drift: time-varying Gaussian-process bandits."""

from importlib.metadata import version

import lazy_loader

from driftpeak._core import former_names

# Names from `__init__.pyi` are loaded on first use: importing JAX would slow down `--help`.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

__version__ = version("driftpeak")

former_names.install()
