"""GP regression under a forgetting rule: one posterior, in the cheapest of five forms."""

from driftpeak.beliefs.choice import FORMS, Form, check_form, make_belief
from driftpeak.beliefs.function_space import Dense, Triangular
from driftpeak.beliefs.growing import Growing
from driftpeak.beliefs.kalman import Kalman
from driftpeak.beliefs.posterior import Belief, Posterior
from driftpeak.beliefs.reweighted import Remembering, Scaling
from driftpeak.beliefs.sliding import Sliding

__all__ = [
    "FORMS",
    "Belief",
    "Dense",
    "Form",
    "Growing",
    "Kalman",
    "Posterior",
    "Remembering",
    "Scaling",
    "Sliding",
    "Triangular",
    "check_form",
    "make_belief",
]
