"""Learning a prior's numbers, and how fast to forget, from data."""

from driftpeak.learning.forgetting import Choice, cross_validate
from driftpeak.learning.hyperparameters import Estimate, Fit, fit, log_marginal_likelihood
from driftpeak.learning.observations import Observations

__all__ = [
    "Choice",
    "Estimate",
    "Fit",
    "Observations",
    "cross_validate",
    "fit",
    "log_marginal_likelihood",
]
