"""Follow the peak of a function that keeps moving: time-varying Gaussian-process bandits."""

from importlib.metadata import version

from driftpeak import environments, features, forgetting, kernels, widths
from driftpeak.beliefs import Posterior, make_belief
from driftpeak.domains import Arms, Grid
from driftpeak.environments import AbruptSwitches, MarkovDrift, MovingBump, SlowChange
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
    BeliefPolicy,
    BestFixedArm,
    Clairvoyant,
    Policy,
    UniformRandom,
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
    "Arms",
    "BeliefPolicy",
    "BestFixedArm",
    "Clairvoyant",
    "DriftpeakError",
    "Grid",
    "Linear",
    "MarkovDrift",
    "Matern",
    "MovingBump",
    "Periodic",
    "Policy",
    "Posterior",
    "Prior",
    "RationalQuadratic",
    "RealisedGain",
    "SlowChange",
    "TabulatedGain",
    "UniformRandom",
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
