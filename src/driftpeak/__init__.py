"""Follow the peak of a function that keeps moving: time-varying Gaussian-process bandits."""

from importlib.metadata import version

import lazy_loader

from driftpeak._core import former_names

# The names are those of `__init__.pyi`. They are loaded when they are used: JAX alone takes longer
# than the command line may take to print its help.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

__version__ = version("driftpeak")

former_names.install()
