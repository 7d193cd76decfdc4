"""What recorded rows say of the function to come: mean, rhythm, covariance, motion, noise."""

from driftpeak.offline.history.calendar import calendar_periods
from driftpeak.offline.history.in_context import ContextsLearned, learn_contexts
from driftpeak.offline.history.learned import Learned, learn

__all__ = ["ContextsLearned", "Learned", "calendar_periods", "learn", "learn_contexts"]
