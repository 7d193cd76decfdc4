"""The public names of the package. `__init__.py` reads them here, and loads each when used."""

from .choice import FORMS as FORMS, Form as Form, make_belief as make_belief
from .estimation_error import EstimationError as EstimationError
from .function_space import Dense as Dense, Triangular as Triangular
from .growing import Growing as Growing
from .kalman import Kalman as Kalman
from .posterior import Belief as Belief, Posterior as Posterior
from .reweighted import Remembering as Remembering, Scaling as Scaling
from .sliding import Sliding as Sliding
