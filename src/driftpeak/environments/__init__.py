"""Environments: functions that move."""

from driftpeak.environments.adversarial import MovingBump
from driftpeak.environments.against_queries import AgainstQueries
from driftpeak.environments.arms import MovingCosine, SignSwitches
from driftpeak.environments.bursts import Bursts
from driftpeak.environments.coefficients import MovingCoefficients
from driftpeak.environments.in_context import ContextualEnvironment
from driftpeak.environments.injection import InjectedDrift
from driftpeak.environments.moving import MarkovDrift, Moving
from driftpeak.environments.protocol import Environment
from driftpeak.environments.recorded import RecordedRewards
from driftpeak.environments.rkhs import AbruptSwitches, SlowChange

__all__ = [
    "AbruptSwitches",
    "AgainstQueries",
    "Bursts",
    "ContextualEnvironment",
    "Environment",
    "InjectedDrift",
    "MarkovDrift",
    "Moving",
    "MovingBump",
    "MovingCoefficients",
    "MovingCosine",
    "RecordedRewards",
    "SignSwitches",
    "SlowChange",
]
