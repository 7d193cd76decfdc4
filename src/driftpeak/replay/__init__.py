"""Which policy would have followed the peak of recorded data best, and what to follow now?"""

from driftpeak.replay.advice import Advice, Expected, advise, chosen_policy
from driftpeak.replay.arms import arms_over_time
from driftpeak.replay.picture import follow_figure
from driftpeak.replay.play import replay
from driftpeak.replay.prior import Mean, prior_from_history
from driftpeak.replay.stored import policy_for_live

__all__ = [
    "Advice",
    "Expected",
    "Mean",
    "advise",
    "arms_over_time",
    "chosen_policy",
    "follow_figure",
    "policy_for_live",
    "prior_from_history",
    "replay",
]
