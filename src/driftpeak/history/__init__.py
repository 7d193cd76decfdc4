"""What recorded rows say of the function to come: mean, rhythm, covariance, motion, noise."""

from driftpeak.history.calendar import calendar_periods
from driftpeak.history.learned import Learned, learn

__all__ = ["Learned", "calendar_periods", "learn"]
