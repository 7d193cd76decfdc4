"""What recorded rows say of the function to come: mean, rhythm, covariance, motion, noise."""

from driftpeak.history.calendar import calendar_periods
from driftpeak.history.in_context import ContextsLearned, learn_contexts
from driftpeak.history.learned import Learned, learn

__all__ = ["ContextsLearned", "Learned", "calendar_periods", "learn", "learn_contexts"]
