"""Learning a prior's numbers, and how fast to forget, from data."""

from driftpeak.learning.hyperparameters import Estimate, Fit, fit, log_marginal_likelihood
from driftpeak.learning.observations import Observations

__all__ = ["Estimate", "Fit", "Observations", "fit", "log_marginal_likelihood"]
