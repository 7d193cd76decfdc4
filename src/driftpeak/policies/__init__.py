"""Policies: rules that decide which point to sample next."""

from driftpeak.policies.adaptive_elimination import AdaptiveRPERP
from driftpeak.policies.auto import Auto
from driftpeak.policies.baselines import (
    BestFixedArm,
    Clairvoyant,
    RExp3,
    Timetable,
    UniformRandom,
)
from driftpeak.policies.belief_policy import BeliefPolicy
from driftpeak.policies.cusum_ucb import CUSUMUCB
from driftpeak.policies.discounted_thompson import DiscountedTS
from driftpeak.policies.discounted_ucb import DUCB, UCB1
from driftpeak.policies.doubling import Doubling
from driftpeak.policies.elimination import PE, RPERP
from driftpeak.policies.epsilon_greedy import EpsilonGreedy
from driftpeak.policies.event_triggered import ETGPUCB
from driftpeak.policies.exp3s import Exp3S
from driftpeak.policies.glr_klucb import GLRKLUCB
from driftpeak.policies.in_context import InContext
from driftpeak.policies.linucb import LinUCB
from driftpeak.policies.monitored_ucb import MUCB
from driftpeak.policies.opkb import ADAOPKB, OPKB, ROPKB
from driftpeak.policies.player import Player, Prediction, Reading
from driftpeak.policies.protocol import ActingPolicy, Policy
from driftpeak.policies.random_start import RandomStart
from driftpeak.policies.side_queries import AdaptiveSparQ, SparQ, WSparQ
from driftpeak.policies.sliding_window_ucb import SWUCB
from driftpeak.policies.transformed import Transformed
from driftpeak.policies.ucb import ABO, GPUCB, IGPUCB, RGPUCB, SWGPUCB, TVGPUCB, UIGPUCB, WGPUCB
from driftpeak.policies.virtual import VirtualGPUCB

__all__ = [
    "ABO",
    "ADAOPKB",
    "CUSUMUCB",
    "DUCB",
    "ETGPUCB",
    "GLRKLUCB",
    "GPUCB",
    "IGPUCB",
    "MUCB",
    "OPKB",
    "PE",
    "RGPUCB",
    "ROPKB",
    "RPERP",
    "SWGPUCB",
    "SWUCB",
    "TVGPUCB",
    "UCB1",
    "UIGPUCB",
    "WGPUCB",
    "ActingPolicy",
    "AdaptiveRPERP",
    "AdaptiveSparQ",
    "Auto",
    "BeliefPolicy",
    "BestFixedArm",
    "Clairvoyant",
    "DiscountedTS",
    "Doubling",
    "EpsilonGreedy",
    "Exp3S",
    "InContext",
    "LinUCB",
    "Player",
    "Policy",
    "Prediction",
    "RExp3",
    "RandomStart",
    "Reading",
    "SparQ",
    "Timetable",
    "Transformed",
    "UniformRandom",
    "VirtualGPUCB",
    "WSparQ",
]
