from driftpeak.integrations.optuna import DriftSampler


__all__ = ["DriftSampler"]
