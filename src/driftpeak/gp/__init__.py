"""The Gaussian-process model: domains, kernels, priors, features, dynamics, forgetting rules."""

import lazy_loader

# Loaded when used: the command line answers `--help` without JAX.
__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__, submodules=["features", "forgetting", "kernels"]
)
