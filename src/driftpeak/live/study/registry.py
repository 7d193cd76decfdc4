"""The registry of stored policies: public tags and their constructors.

Stored policies contain no names of code. A tag that is not in this table is rejected. A class may
be moved or renamed, and a constructor may get a further argument with a default; stored studies
stay valid. A released tag and the meaning of its arguments never change. If a constructor no longer
accepts them, this table has a function of the old arguments instead.

Policies other than `DriftingGP` are in `driftpeak.live.study.registered_policies`, which is
imported only when it is needed.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from driftpeak._core.arguments import Parameters, parameters_of
from driftpeak.gp import dynamics as motions
from driftpeak.gp import forgetting, kernels
from driftpeak.gp.feature_matrix import Kronecker
from driftpeak.gp.features import Features
from driftpeak.gp.means import Profile
from driftpeak.gp.priors import Prior
from driftpeak.inference import information
from driftpeak.live.engines.drifting_gp import DriftingGP
from driftpeak.policies import widths


class Entry(NamedTuple):
    """A constructor, and the function with the defaults of its `**options` if it has any."""

    make: type
    options: Callable[..., Any] | None = None

    @property
    def parameters(self) -> Parameters:
        """Parameters of the constructor."""
        return parameters_of(*self)


PARTS: dict[str, Entry] = {
    "drifting-gp": Entry(DriftingGP),
    "prior": Entry(Prior),
    "features": Entry(Features),
    "kronecker": Entry(Kronecker),
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
    # drift models, and a periodic mean
    "markov-motion": Entry(motions.MarkovMotion),
    "smooth-motion": Entry(motions.SmoothMotion),
    "oscillation": Entry(motions.Oscillation),
    "sum-motion": Entry(motions.SumMotion),
    "profile": Entry(Profile),
}
"""Parts of policies, and `DriftingGP`."""


def entry_of(tag: str | None) -> Entry | None:
    """Return the entry of a tag, or None."""
    return None if tag is None else PARTS.get(tag) or tags().get(tag)


def tag_of(kind: type) -> str | None:
    """Return the tag of a class, or None."""
    return _names(PARTS).get(kind) or _names(tags()).get(kind)


def tags() -> dict[str, Entry]:
    """Return all tags, including those of policies."""
    from driftpeak.live.study.registered_policies import POLICIES

    return PARTS | POLICIES


def _names(tags: dict[str, Entry]) -> dict[type, str]:
    return {entry.make: tag for tag, entry in tags.items()}
