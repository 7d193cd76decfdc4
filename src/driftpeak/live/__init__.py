"""Live use: an optimiser with ask and tell, in front of a system that moves."""

from driftpeak.live.diagnostics import Calibration, Diagnostics
from driftpeak.live.gp_engine import DriftingGP
from driftpeak.live.optimizer import Optimizer
from driftpeak.live.parameters import Boolean, Categorical, Float, Integer
from driftpeak.live.space import Box
from driftpeak.live.suggestion import EstimatedPeak, Observation, Suggestion

__all__ = [
    "Boolean",
    "Box",
    "Calibration",
    "Categorical",
    "Diagnostics",
    "DriftingGP",
    "EstimatedPeak",
    "Float",
    "Integer",
    "Observation",
    "Optimizer",
    "Suggestion",
]
