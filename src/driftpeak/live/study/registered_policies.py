"""Tags of policies other than `DriftingGP`; see `driftpeak.live.study.registry`."""

from driftpeak import policies
from driftpeak.live.study.registry import Entry
from driftpeak.policies import query_times as asking
from driftpeak.policies.batch_elimination import BatchElimination
from driftpeak.policies.elimination import PhasedElimination
from driftpeak.policies.opkb import OptimizationBased
from driftpeak.policies.opkb_constants import Constants
from driftpeak.policies.side_queries import SideQueryPolicy

POLICIES: dict[str, Entry] = {
    "belief-policy": Entry(policies.BeliefPolicy),
    "side-queries": Entry(SideQueryPolicy, policies.BeliefPolicy.__init__),
    "every-step": Entry(asking.EveryStep),
    "windows": Entry(asking.Windows),
    "feedback": Entry(asking.Feedback),
    "et-gp-ucb": Entry(policies.ETGPUCB, policies.BeliefPolicy.__init__),
    "uniform-random": Entry(policies.UniformRandom),
    "auto": Entry(policies.Auto),
    "phased-elimination": Entry(PhasedElimination, BatchElimination._configure),
    "adaptive-r-perp": Entry(policies.AdaptiveRPERP, BatchElimination._configure),
    "opkb": Entry(OptimizationBased),
    "opkb-constants": Entry(Constants),
    "rexp3": Entry(policies.RExp3),
    "timetable": Entry(policies.Timetable),
    # wrappers of policies
    "random-start": Entry(policies.RandomStart),
    "doubling": Entry(policies.Doubling),
    "transformed": Entry(policies.Transformed),
}
"""Policies of `driftpeak.policies`, and their parts."""
