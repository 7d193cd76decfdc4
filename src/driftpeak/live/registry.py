"""What may stand in a stored policy: public tags, and the constructors that they stand for.

Nothing that is stored names code: a tag that is not in this table is refused. A class may move or
be renamed, and a constructor may get a further argument with a default: no stored study notices. A
tag that was released, and the meaning of its arguments, stay for ever; a constructor that no longer
takes them is replaced here by a function of the old ones.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from driftpeak import forgetting, information, kernels, motions, policies, widths
from driftpeak.arguments import Parameters, parameters_of
from driftpeak.features import Features
from driftpeak.live.gp_engine import DriftingGP
from driftpeak.policies import asking
from driftpeak.policies.batch_elimination import BatchElimination
from driftpeak.policies.elimination import PhasedElimination
from driftpeak.policies.opkb import OptimizationBased
from driftpeak.policies.opkb_constants import Constants
from driftpeak.policies.side_queries import SideQueryPolicy
from driftpeak.priors import Prior
from driftpeak.profiles import Profile


class Entry(NamedTuple):
    """A constructor, and where the defaults of its `**options` stand, if it has any."""

    make: type
    options: Callable[..., Any] | None = None

    @property
    def parameters(self) -> Parameters:
        """What it takes."""
        return parameters_of(*self)


TAGS: dict[str, Entry] = {
    "drifting-gp": Entry(DriftingGP),
    "prior": Entry(Prior),
    "features": Entry(Features),
    # kernels
    "se": Entry(kernels.SE),
    "matern": Entry(kernels.Matern),
    "rational-quadratic": Entry(kernels.RationalQuadratic),
    "periodic": Entry(kernels.Periodic),
    "linear": Entry(kernels.Linear),
    "table": Entry(kernels.Table),
    "sum": Entry(kernels.Sum),
    "product": Entry(kernels.Product),
    "scaled": Entry(kernels.Scaled),
    # forgetting rules
    "keep": Entry(forgetting.Keep),
    "restart": Entry(forgetting.Restart),
    "window": Entry(forgetting.Window),
    "drift": Entry(forgetting.Drift),
    "discount": Entry(forgetting.Discount),
    "weights": Entry(forgetting.Weights),
    "injection": Entry(forgetting.Injection),
    "space-time": Entry(forgetting.SpaceTime),
    # widths and gains
    "scaled-log": Entry(widths.ScaledLog),
    "constant": Entry(widths.Constant),
    "finite-domain": Entry(widths.FiniteDomain),
    "bayesian": Entry(widths.Bayesian),
    "igp": Entry(widths.IGP),
    "confidence": Entry(widths.Confidence),
    "sliding-confidence": Entry(widths.SlidingConfidence),
    "heteroscedastic": Entry(widths.Heteroscedastic),
    "fixed-design": Entry(widths.FixedDesign),
    "elimination": Entry(widths.Elimination),
    "realised-gain": Entry(information.RealisedGain),
    "tabulated-gain": Entry(information.TabulatedGain),
    # policies
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
    # ways of moving, and a mean that comes round
    "markov-motion": Entry(motions.MarkovMotion),
    "smooth-motion": Entry(motions.SmoothMotion),
    "oscillation": Entry(motions.Oscillation),
    "sum-motion": Entry(motions.SumMotion),
    "profile": Entry(Profile),
    # around policies
    "random-start": Entry(policies.RandomStart),
    "doubling": Entry(policies.Doubling),
}
NAMES = {entry.make: tag for tag, entry in TAGS.items()}
