"""Learning a prior's numbers, and how fast to forget, from data."""

from driftpeak.learning.cross_validation import Choice, cross_validate
from driftpeak.learning.maximum_likelihood import Estimate, Fit, fit, log_marginal_likelihood
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
