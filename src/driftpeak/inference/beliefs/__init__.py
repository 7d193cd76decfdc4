"""GP regression under a forgetting rule: one posterior, computed in the cheapest of five forms."""

from driftpeak.inference.beliefs.choice import FORMS, Form, make_belief
from driftpeak.inference.beliefs.estimation_error import EstimationError
from driftpeak.inference.beliefs.function_space import Dense, Triangular
from driftpeak.inference.beliefs.growing import Growing
from driftpeak.inference.beliefs.kalman import Kalman
from driftpeak.inference.beliefs.posterior import Belief, Posterior
from driftpeak.inference.beliefs.reweighted import Remembering, Scaling
from driftpeak.inference.beliefs.sliding import Sliding

__all__ = [
    "FORMS",
    "Belief",
    "Dense",
    "EstimationError",
    "Form",
    "Growing",
    "Kalman",
    "Posterior",
    "Remembering",
    "Scaling",
    "Sliding",
    "Triangular",
    "make_belief",
]
