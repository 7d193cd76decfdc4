"""The public names of the package. `__init__.py` reads them here, and loads each when used."""

from .adversarial import MovingBump as MovingBump
from .against_queries import AgainstQueries as AgainstQueries
from .arms import MovingCosine as MovingCosine, SignSwitches as SignSwitches
from .bursts import Bursts as Bursts
from .coefficients import MovingCoefficients as MovingCoefficients
from .in_context import ContextualEnvironment as ContextualEnvironment
from .injection import InjectedDrift as InjectedDrift
from .moving import MarkovDrift as MarkovDrift, Moving as Moving
from .protocol import Environment as Environment
from .recorded import RecordedRewards as RecordedRewards
from .rkhs import AbruptSwitches as AbruptSwitches, SlowChange as SlowChange
