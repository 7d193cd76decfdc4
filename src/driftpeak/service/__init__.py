"""The HTTP service of live studies, run by `driftpeak serve`. It needs the extra `serve`."""

import lazy_loader

# Loaded when used: the client needs neither the server nor JAX.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
