"""Live use: an optimiser with ask and tell, in front of a system that moves."""

from driftpeak.live.constraints import Limit, WeightedSum
from driftpeak.live.diagnostics import Calibration, Diagnostics
from driftpeak.live.drifting_gp import DriftingGP
from driftpeak.live.loop import optimize
from driftpeak.live.optimizer import Optimizer
from driftpeak.live.parameters import Boolean, Categorical, Float, Integer
from driftpeak.live.space import Box
from driftpeak.live.suggestion import EstimatedPeak, Observation, Suggestion
from driftpeak.live.violations import Violations

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
    "Limit",
    "Observation",
    "Optimizer",
    "Suggestion",
    "Violations",
    "WeightedSum",
    "optimize",
]
