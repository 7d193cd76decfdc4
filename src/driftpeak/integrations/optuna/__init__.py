"""A sampler for Optuna that tracks a drifting optimum.

It needs Optuna 5: `pip install 'driftpeak[optuna]'`.
"""

from driftpeak.integrations.optuna._sampler import DriftSampler

__all__ = ["DriftSampler"]
