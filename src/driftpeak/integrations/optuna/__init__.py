"""A sampler for Optuna that tracks a drifting optimum.

It needs Optuna 5: `pip install 'driftpeak[optuna]'`.
"""

try:
    import optuna  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "optuna":
        raise
    raise ModuleNotFoundError(
        "driftpeak.integrations.optuna needs Optuna: pip install 'driftpeak[optuna]'", name="optuna"
    ) from None

from driftpeak.integrations.optuna._sampler import DriftSampler

__all__ = ["DriftSampler"]
