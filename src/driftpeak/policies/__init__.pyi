"""The public names of the package. `__init__.py` reads them here, and loads each when used."""

from . import opkb_constants as opkb_constants, query_times as query_times, widths as widths
from .adaptive_elimination import AdaptiveRPERP as AdaptiveRPERP
from .auto import Auto as Auto
from .baselines import (
    BestFixedArm as BestFixedArm,
    Clairvoyant as Clairvoyant,
    RExp3 as RExp3,
    Timetable as Timetable,
    UniformRandom as UniformRandom,
)
from .belief_policy import BeliefPolicy as BeliefPolicy
from .cusum_ucb import CUSUMUCB as CUSUMUCB
from .discounted_thompson import DiscountedTS as DiscountedTS
from .discounted_ucb import DUCB as DUCB, UCB1 as UCB1
from .doubling import Doubling as Doubling
from .elimination import PE as PE, RPERP as RPERP
from .epsilon_greedy import EpsilonGreedy as EpsilonGreedy
from .event_triggered import ETGPUCB as ETGPUCB
from .exp3s import Exp3S as Exp3S
from .glr_klucb import GLRKLUCB as GLRKLUCB
from .in_context import InContext as InContext
from .linucb import LinUCB as LinUCB
from .monitored_ucb import MUCB as MUCB
from .opkb import ADAOPKB as ADAOPKB, OPKB as OPKB, ROPKB as ROPKB
from .player import Player as Player, Prediction as Prediction, Reading as Reading
from .protocol import ActingPolicy as ActingPolicy, Policy as Policy
from .random_start import RandomStart as RandomStart
from .side_queries import AdaptiveSparQ as AdaptiveSparQ, SparQ as SparQ, WSparQ as WSparQ
from .sliding_window_ucb import SWUCB as SWUCB
from .transformed import Transformed as Transformed
from .ucb import (
    ABO as ABO,
    GPUCB as GPUCB,
    IGPUCB as IGPUCB,
    RGPUCB as RGPUCB,
    SWGPUCB as SWGPUCB,
    TVGPUCB as TVGPUCB,
    UIGPUCB as UIGPUCB,
    WGPUCB as WGPUCB,
)
from .virtual import VirtualGPUCB as VirtualGPUCB
