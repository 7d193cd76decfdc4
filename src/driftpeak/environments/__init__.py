"""Environments: functions that move."""

import lazy_loader

# Loaded when used: a live study needs no environment.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
