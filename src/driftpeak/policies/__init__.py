"""Policies: rules that decide where to sample next."""

from driftpeak.policies.baselines import BestFixedArm, Clairvoyant, UniformRandom
from driftpeak.policies.belief_policy import BeliefPolicy
from driftpeak.policies.protocol import Policy
from driftpeak.policies.side_queries import AdaptiveSparQ, SparQ, WSparQ
from driftpeak.policies.ucb import GPUCB, IGPUCB, RGPUCB, SWGPUCB, TVGPUCB, UIGPUCB, WGPUCB

__all__ = [
    "GPUCB",
    "IGPUCB",
    "RGPUCB",
    "SWGPUCB",
    "TVGPUCB",
    "UIGPUCB",
    "WGPUCB",
    "AdaptiveSparQ",
    "BeliefPolicy",
    "BestFixedArm",
    "Clairvoyant",
    "Policy",
    "SparQ",
    "UniformRandom",
    "WSparQ",
]
