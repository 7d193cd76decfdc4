"""Live use: an ask-and-tell optimiser for a real system that drifts."""

from driftpeak.live.engines.drifting_gp import DriftingGP
from driftpeak.live.loop import optimize
from driftpeak.live.optimizer import Optimizer
from driftpeak.live.space.box import Box
from driftpeak.live.space.constraints import Limit, WeightedSum
from driftpeak.live.space.parameters import Boolean, Categorical, Float, Integer
from driftpeak.live.study.suggestion import EstimatedPeak, Observation, Suggestion
from driftpeak.live.views.diagnostics import Calibration, Diagnostics
from driftpeak.live.views.violations import Violations

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
