"""Estimation from recorded rows: mean, periods, covariance, drift model, noise, contexts."""

from driftpeak.offline.history._calendar import calendar_periods
from driftpeak.offline.history._in_context import ContextsLearned, learn_contexts
from driftpeak.offline.history._learned import Learned, fit_history

__all__ = ["ContextsLearned", "Learned", "calendar_periods", "fit_history", "learn_contexts"]
