"""GP regression under a forgetting rule: one posterior, computed in the cheapest of five forms."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
