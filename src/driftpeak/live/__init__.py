"""Live use: an ask-and-tell optimiser for a real system that drifts."""

import lazy_loader

# Loaded when used: a client of a service needs the results of live studies, but not JAX.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
