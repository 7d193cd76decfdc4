"""Follow the peak of a function that keeps moving: time-varying Gaussian-process bandits."""

from importlib.metadata import version

from driftpeak import environments, features, forgetting, kernels, widths
from driftpeak.beliefs import Posterior, make_belief
from driftpeak.domains import Arms, Grid
from driftpeak.environments import (
    AbruptSwitches,
    InjectedDrift,
    MarkovDrift,
    MovingCoefficients,
    SlowChange,
)
from driftpeak.errors import DriftpeakError
from driftpeak.information import (
    RealisedGain,
    TabulatedGain,
    greedy_gain,
    information_gain,
)
from driftpeak.kernels import SE, Linear, Matern, Periodic, RationalQuadratic
from driftpeak.policies import (
    GPUCB,
    IGPUCB,
    RGPUCB,
    SWGPUCB,
    TVGPUCB,
    UIGPUCB,
    WGPUCB,
    AdaptiveSparQ,
    BeliefPolicy,
    BestFixedArm,
    Clairvoyant,
    Policy,
    SparQ,
    UniformRandom,
    WSparQ,
)
from driftpeak.priors import Prior
from driftpeak.simulation import simulate, true_functions

__version__ = version("driftpeak")

__all__ = [
    "GPUCB",
    "IGPUCB",
    "RGPUCB",
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
    "DriftpeakError",
    "Grid",
    "InjectedDrift",
    "Linear",
    "MarkovDrift",
    "Matern",
    "MovingCoefficients",
    "Periodic",
    "Policy",
    "Posterior",
    "Prior",
    "RationalQuadratic",
    "RealisedGain",
    "SlowChange",
    "SparQ",
    "TabulatedGain",
    "UniformRandom",
    "WSparQ",
    "environments",
    "features",
    "forgetting",
    "greedy_gain",
    "information_gain",
    "kernels",
    "make_belief",
    "simulate",
    "true_functions",
    "widths",
]
