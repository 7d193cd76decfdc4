"""Simulation of policies on environments, all trials at once."""

import lazy_loader

# Loaded when used: the command line answers `--help` without JAX.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
