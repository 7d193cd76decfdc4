"""What may stand in a stored policy: public tags, and the constructors that they stand for.

Nothing that is stored names code: a tag that is not in this table is refused. A class may move or
be renamed, and a constructor may get a further argument with a default: no stored study notices. A
tag that was released, and the meaning of its arguments, stay for ever; a constructor that no longer
takes them is replaced here by a function of the old ones.

Policies other than `DriftingGP` stand in `driftpeak.live.study.registered_policies`, which is
loaded when one is met: most studies have none.
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
    """A constructor, and where the defaults of its `**options` stand, if it has any."""

    make: type
    options: Callable[..., Any] | None = None

    @property
    def parameters(self) -> Parameters:
        """What it takes."""
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
    # ways of moving, and a mean that comes round
    "markov-motion": Entry(motions.MarkovMotion),
    "smooth-motion": Entry(motions.SmoothMotion),
    "oscillation": Entry(motions.Oscillation),
    "sum-motion": Entry(motions.SumMotion),
    "profile": Entry(Profile),
}
"""Parts of policies, and the policy that needs no other."""


def entry_of(tag: str | None) -> Entry | None:
    """What a tag stands for; None: for nothing."""
    return None if tag is None else PARTS.get(tag) or tags().get(tag)


def tag_of(kind: type) -> str | None:
    """The tag of a class; None: it has none."""
    return _names(PARTS).get(kind) or _names(tags()).get(kind)


def tags() -> dict[str, Entry]:
    """All tags, those of policies too."""
    from driftpeak.live.study.registered_policies import POLICIES

    return PARTS | POLICIES


def _names(tags: dict[str, Entry]) -> dict[type, str]:
    return {entry.make: tag for tag, entry in tags.items()}
