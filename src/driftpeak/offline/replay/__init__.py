"""Evaluation of policies on recorded data, and recommendation of the arm to use next."""

from driftpeak.offline.replay._arms import arms_over_time
from driftpeak.offline.replay._following import Following, following
from driftpeak.offline.replay._play import replay
from driftpeak.offline.replay._plots import follow_figure
from driftpeak.offline.replay._prior import Mean, prior_from_history
from driftpeak.offline.replay._recommendation import Advice, Expected, advise, chosen_policy
from driftpeak.offline.replay._stored import policy_for_live

__all__ = [
    "Advice",
    "Expected",
    "Following",
    "Mean",
    "advise",
    "arms_over_time",
    "chosen_policy",
    "follow_figure",
    "following",
    "policy_for_live",
    "prior_from_history",
    "replay",
]
