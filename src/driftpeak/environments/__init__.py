"""Environments: functions that move."""

from driftpeak.environments.adversarial import MovingBump
from driftpeak.environments.arms import MovingCosine, SignSwitches
from driftpeak.environments.markov import MarkovDrift
from driftpeak.environments.protocol import Environment
from driftpeak.environments.rkhs import AbruptSwitches, SlowChange
from driftpeak.environments.table import Table

__all__ = [
    "AbruptSwitches",
    "Environment",
    "MarkovDrift",
    "MovingBump",
    "MovingCosine",
    "SignSwitches",
    "SlowChange",
    "Table",
]
