"""The public names of the package. `__init__.py` reads them here, and loads each when used."""

from ._engines.drifting_gp import DriftingGP as DriftingGP
from ._loop import optimize as optimize
from ._optimizer import Optimizer as Optimizer
from ._policy_file import (
    StoredPolicy as StoredPolicy,
    read_policy as read_policy,
    write_policy as write_policy,
)
from ._population import Exploit as Exploit, PopulationBasedBandit as PopulationBasedBandit
from ._space.box import Box as Box
from ._space.constraint_functions import register_constraint as register_constraint
from ._space.constraints import ByContext as ByContext, Limit as Limit, WeightedSum as WeightedSum
from ._space.parameters import (
    Boolean as Boolean,
    Categorical as Categorical,
    Float as Float,
    Integer as Integer,
)
from ._space.schedule import Schedule as Schedule
from ._space.serialization import space_from_data as space_from_data, space_to_data as space_to_data
from ._study import events as events
from ._study.storage import Store as Store, open_store as open_store, verify as verify
from ._study.suggestion import (
    EstimatedPeak as EstimatedPeak,
    Observation as Observation,
    Suggestion as Suggestion,
)
from ._views.diagnostics import Calibration as Calibration, Diagnostics as Diagnostics
from ._views.violations import Violations as Violations
