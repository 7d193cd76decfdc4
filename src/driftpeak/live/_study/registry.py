"""The registry of stored policies: public tags and their constructors.

Stored policies contain no names of code. A tag that is not in this table is rejected. A class may
be moved or renamed, and a constructor may get a further argument with a default; stored studies
stay valid. A released tag and the meaning of its arguments never change. If a constructor no longer
accepts them, this table has a function of the old arguments instead.

The policies that `simulate` plays declare their tags themselves (`driftpeak.policies.catalogue`).
"""

from driftpeak._core.arguments import Constructor
from driftpeak.gp import dynamics as motions, forgetting, kernels
from driftpeak.gp.feature_matrix import Kronecker
from driftpeak.gp.features import Features
from driftpeak.gp.means import PeriodicMean
from driftpeak.gp.priors import Prior
from driftpeak.inference import information
from driftpeak.live._engines.drifting_gp import DriftingGP
from driftpeak.policies import widths
from driftpeak.policies.catalogue import STORED, stored_classes

PARTS: dict[str, Constructor] = {
    "drifting-gp": Constructor(DriftingGP),
    "prior": Constructor(Prior),
    "features": Constructor(Features),
    "kronecker": Constructor(Kronecker),
    # kernels
    "se": Constructor(kernels.SE),
    "matern": Constructor(kernels.Matern),
    "rational-quadratic": Constructor(kernels.RationalQuadratic),
    "periodic": Constructor(kernels.Periodic),
    "linear": Constructor(kernels.Linear),
    "table": Constructor(kernels.Table),
    "sum": Constructor(kernels.Sum),
    "product": Constructor(kernels.Product),
    "scaled": Constructor(kernels.Scaled),
    # forgetting rules
    "keep": Constructor(forgetting.Keep),
    "restart": Constructor(forgetting.Restart),
    "window": Constructor(forgetting.Window),
    "drift": Constructor(forgetting.Drift),
    "discount": Constructor(forgetting.Discount),
    "weights": Constructor(forgetting.Weights),
    "injection": Constructor(forgetting.Injection),
    "space-time": Constructor(forgetting.SpaceTime),
    # widths and gains
    "scaled-log": Constructor(widths.ScaledLog),
    "constant": Constructor(widths.Constant),
    "finite-domain": Constructor(widths.FiniteDomain),
    "bayesian": Constructor(widths.Bayesian),
    "igp": Constructor(widths.IGP),
    "confidence": Constructor(widths.Confidence),
    "sliding-confidence": Constructor(widths.SlidingConfidence),
    "heteroscedastic": Constructor(widths.Heteroscedastic),
    "fixed-design": Constructor(widths.FixedDesign),
    "elimination": Constructor(widths.Elimination),
    "realised-gain": Constructor(information.RealisedGain),
    "tabulated-gain": Constructor(information.TabulatedGain),
    # drift models, and a periodic mean
    "markov-motion": Constructor(motions.MarkovMotion),
    "smooth-motion": Constructor(motions.Matern32),
    "oscillation": Constructor(motions.DampedOscillator),
    "sum-motion": Constructor(motions.SumMotion),
    "profile": Constructor(PeriodicMean),
}
"""Parts of policies, and `DriftingGP`."""


def tags() -> dict[str, Constructor]:
    """Return the constructors of all tags, with those of `driftpeak.policies`."""
    return PARTS | stored_classes()


def constructor_of(tag: str | None) -> Constructor | None:
    """Return the constructor that a tag stands for; None: there is none."""
    # The usual tags are parts: all policies are loaded for other tags only.
    return None if tag is None else PARTS.get(tag) or stored_classes().get(tag)


def tag_of(kind: type) -> str | None:
    """Return the tag of a class; None: it has none."""
    loaded = PARTS | STORED  # with the class, because the caller has it
    return next((tag for tag, constructor in loaded.items() if constructor.make is kind), None)
