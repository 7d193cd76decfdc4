"""Fitting of hyperparameters and forgetting rules to data."""

from driftpeak.inference.fitting.cross_validation import Choice, cross_validate
from driftpeak.inference.fitting.maximum_likelihood import (
    Estimate,
    Fit,
    fit,
    log_marginal_likelihood,
)
from driftpeak.inference.fitting.observations import Observations

__all__ = [
    "Choice",
    "Estimate",
    "Fit",
    "Observations",
    "cross_validate",
    "fit",
    "log_marginal_likelihood",
]
