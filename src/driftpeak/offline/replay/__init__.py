"""Evaluation of policies on recorded data, and recommendation of the arm to use next."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
