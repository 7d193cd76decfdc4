"""Policies: rules that decide which point to sample next."""

import lazy_loader

# Loaded when used: a live study needs one policy, or only its width.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
