"""Learning from a log of choices and their rewards, without the rewards of other choices."""

import lazy_loader

# Names from `__init__.pyi` are loaded on first use: reading a log needs no JAX.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
