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
from driftpeak.policies.discounted_ucb import DUCB
from driftpeak.policies.doubling import Doubling
from driftpeak.policies.elimination import PE, RPERP
from driftpeak.policies.event_triggered import ETGPUCB
from driftpeak.policies.glr_klucb import GLRKLUCB
from driftpeak.policies.in_context import InContext
from driftpeak.policies.opkb import ADAOPKB, OPKB, ROPKB
from driftpeak.policies.player import Player, Prediction, Reading
from driftpeak.policies.protocol import ActingPolicy, Policy
from driftpeak.policies.random_start import RandomStart
from driftpeak.policies.side_queries import AdaptiveSparQ, SparQ, WSparQ
from driftpeak.policies.transformed import Transformed
from driftpeak.policies.ucb import ABO, GPUCB, IGPUCB, RGPUCB, SWGPUCB, TVGPUCB, UIGPUCB, WGPUCB
from driftpeak.policies.virtual import VirtualGPUCB

__all__ = [
    "ABO",
    "ADAOPKB",
    "DUCB",
    "ETGPUCB",
    "GLRKLUCB",
    "GPUCB",
    "IGPUCB",
    "OPKB",
    "PE",
    "RGPUCB",
    "ROPKB",
    "RPERP",
    "SWGPUCB",
    "TVGPUCB",
    "UIGPUCB",
    "WGPUCB",
    "ActingPolicy",
    "AdaptiveRPERP",
    "AdaptiveSparQ",
    "Auto",
    "BeliefPolicy",
    "BestFixedArm",
    "Clairvoyant",
    "Doubling",
    "InContext",
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
