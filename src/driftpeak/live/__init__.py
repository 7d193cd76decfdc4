"""Live use: an ask-and-tell optimiser for a real system that drifts."""

from driftpeak.live._engines.drifting_gp import DriftingGP
from driftpeak.live._loop import optimize
from driftpeak.live._optimizer import Optimizer
from driftpeak.live._policy_file import StoredPolicy, read_policy, write_policy
from driftpeak.live._space.box import Box
from driftpeak.live._space.constraints import Limit, WeightedSum
from driftpeak.live._space.parameters import Boolean, Categorical, Float, Integer
from driftpeak.live._space.serialization import space_from_data, space_to_data
from driftpeak.live._study import events
from driftpeak.live._study.storage import Store, open_store, verify
from driftpeak.live._study.suggestion import EstimatedPeak, Observation, Suggestion
from driftpeak.live._views.diagnostics import Calibration, Diagnostics
from driftpeak.live._views.violations import Violations

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
    "Store",
    "StoredPolicy",
    "Suggestion",
    "Violations",
    "WeightedSum",
    "events",
    "open_store",
    "optimize",
    "read_policy",
    "space_from_data",
    "space_to_data",
    "verify",
    "write_policy",
]
