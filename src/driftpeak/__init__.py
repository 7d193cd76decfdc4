"""Follow the peak of a function that keeps moving: time-varying Gaussian-process bandits."""

from importlib.metadata import version

from driftpeak import environments, features, forgetting, kernels, widths
from driftpeak.beliefs import Posterior, make_belief
from driftpeak.design import balance, optimal_design
from driftpeak.domains import Arms, Grid, unit_sphere
from driftpeak.environments import (
    AbruptSwitches,
    InjectedDrift,
    MarkovDrift,
    MovingBump,
    MovingCoefficients,
    MovingCosine,
    SignSwitches,
    SlowChange,
)
from driftpeak.errors import DriftpeakError, DriftpeakWarning
from driftpeak.information import (
    RealisedGain,
    TabulatedGain,
    fractional_gain,
    greedy_gain,
    information_gain,
)
from driftpeak.kernels import SE, Linear, Matern, Periodic, RationalQuadratic
from driftpeak.policies import (
    ADAOPKB,
    GPUCB,
    IGPUCB,
    OPKB,
    PE,
    RGPUCB,
    ROPKB,
    RPERP,
    SWGPUCB,
    TVGPUCB,
    UIGPUCB,
    WGPUCB,
    AdaptiveSparQ,
    BeliefPolicy,
    BestFixedArm,
    Clairvoyant,
    Doubling,
    Policy,
    RExp3,
    SparQ,
    UniformRandom,
    WSparQ,
)
from driftpeak.priors import Prior
from driftpeak.simulation import simulate, true_functions

__version__ = version("driftpeak")

__all__ = [
    "ADAOPKB",
    "GPUCB",
    "IGPUCB",
    "OPKB",
    "PE",
    "RGPUCB",
    "ROPKB",
    "RPERP",
    "SE",
    "SWGPUCB",
    "TVGPUCB",
    "UIGPUCB",
    "WGPUCB",
    "AbruptSwitches",
    "AdaptiveSparQ",
    "Arms",
    "BeliefPolicy",
    "BestFixedArm",
    "Clairvoyant",
    "Doubling",
    "DriftpeakError",
    "DriftpeakWarning",
    "Grid",
    "InjectedDrift",
    "Linear",
    "MarkovDrift",
    "Matern",
    "MovingBump",
    "MovingCoefficients",
    "MovingCosine",
    "Periodic",
    "Policy",
    "Posterior",
    "Prior",
    "RExp3",
    "RationalQuadratic",
    "RealisedGain",
    "SignSwitches",
    "SlowChange",
    "SparQ",
    "TabulatedGain",
    "UniformRandom",
    "WSparQ",
    "balance",
    "environments",
    "features",
    "forgetting",
    "fractional_gain",
    "greedy_gain",
    "information_gain",
    "kernels",
    "make_belief",
    "optimal_design",
    "simulate",
    "true_functions",
    "unit_sphere",
    "widths",
]
