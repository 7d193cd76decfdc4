"""Which form of belief to compute with: feature space or function space.

The posterior is the same but for the error of the features: with the default of e = 1e-10 of the
prior variance, variances agree to about e and means to e times reward times prior variance over
noise variance. Only the cost differs. With n points, r features and at most c observations in
memory, a step takes about

| rules | feature space | function space |
| --- | --- | --- |
| Keep, Restart, Drift | 2 n r + 6 r^2 | 8 n c |
| Window | 2 n r + 2 r^2 + `sliding.edge_cost` | n (180 c + 2 c^2) |
| Discount, Weights, Injection | (4 n r^2 + r^3) / 3 | n (180 c + 2 c^2) |

units of time; "auto" takes the smaller. SpaceTime has one form (`growing`): c^2 r + c n r with
the features of the prior where r < c n / (2 c + 2 n), else c^2 n.

Above `features.MANY` points "auto" stays in feature space up to `MANY_FEATURES` features whatever
the memory, and beyond where that is cheaper; there n r stands for what a product costs,
n d r^(1/d) on grids of d dimensions under a kernel that is a product over them. What is held is
then never much more than the lesser of r^2 and n c.
The orders are those of the operations, the factors fitted to measurements on a CPU
(`python -m benchmarks feature_space_vs_function_space`): function space pays for memory of its own
in every trial, trials in feature space share their matrix products.
"""

from typing import Any, Literal

import numpy as np

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DriftpeakError, nearest
from driftpeak._core.times import AtMost, TimesLike, check_times
from driftpeak.gp.features import MANY, Features, separated
from driftpeak.gp.forgetting import Forgetting
from driftpeak.gp.priors import Prior
from driftpeak.inference.beliefs.function_space import Dense, Triangular
from driftpeak.inference.beliefs.growing import Growing
from driftpeak.inference.beliefs.kalman import Kalman
from driftpeak.inference.beliefs.posterior import Belief
from driftpeak.inference.beliefs.reweighted import Remembering, Scaling
from driftpeak.inference.beliefs.sliding import Sliding, step_cost

Form = Literal["auto", "feature-space", "function-space"]
MANY_FEATURES = 256
"""Features up to which "auto" stays in feature space on more than `features.MANY` points."""
FORMS = ("auto", "feature-space", "function-space")
"""How a belief may be kept."""


def check_form(form: str) -> None:
    """Raise DriftpeakError unless `form` is one of `FORMS`."""
    if form not in FORMS:
        raise DriftpeakError(
            f"form must be one of {', '.join(FORMS)}; got {form!r}.{nearest(form, FORMS)}"
        )


@checked
def make_belief(
    prior: Prior,
    forgetting: Forgetting,
    times: TimesLike | AtMost,
    *,
    form: Form = "auto",
    features: Features | None = None,
) -> Belief[Any]:
    """A belief about the function, ready for observations at `times`.

    Arguments:
        prior: what is believed at the start.
        forgetting: how much an old observation is worth.
        times: when observations will come, non-decreasing; or their number, for one at each of the
            times 1, 2, ...; or `AtMost` a number, at any times. The belief reserves room for what
            `forgetting` still needs of them.
        form: "auto", "feature-space" or "function-space"; see the module's table.
        features: a factor of the covariance to use instead of the default; implies feature space.

    Raises:
        DriftpeakError: times that decrease or are none, an unknown form, features for another
            number of points, feature space for a rule that needs function space.
    """
    check_form(form)
    # at times that are not known yet, all may come within one period: the most there can be
    worst = np.ones(times.decisions) if isinstance(times, AtMost) else check_times(times)
    capacity = forgetting.memory(worst)
    if not forgetting.markov:
        if features is not None or form == "feature-space":
            raise DriftpeakError(
                f"{type(forgetting).__name__} needs function space: its past cannot be summed up "
                "in the present; give form='auto' and no features"
            )
        fewer = capacity * len(prior) // (2 * (capacity + len(prior)))
        features = prior.features_within(fewer) if form == "auto" and fewer else None
        return Growing(prior, forgetting, capacity, len(worst), features)
    if features is not None:
        features = prior.features_or(features)
    elif form == "feature-space":
        features = prior.features
    elif form == "auto":
        features = prior.features_within(_most_features(forgetting, prior, capacity))
    if features is None:
        if forgetting.reweighting == "never" and forgetting.window is None:
            return Triangular(prior, forgetting, capacity)
        return Dense(prior, forgetting, capacity)
    if forgetting.reweighting == "scaling":
        return Scaling(prior, forgetting, features)
    if forgetting.reweighting == "general":
        return Remembering(prior, forgetting, features, capacity)
    if forgetting.window is not None:
        return Sliding(prior, forgetting, features, capacity)
    return Kalman(prior, forgetting, features)


def _most_features(forgetting: Forgetting, prior: Prior, capacity: int) -> int:
    """The largest rank at which feature space is taken."""
    points = len(prior)
    if points <= MANY:
        return _break_even_rank(forgetting, points, capacity)
    if not prior.by_row:
        return points
    axes = separated(prior.kernel, prior.domain)
    factors = 1 if axes is None else len(axes)
    return max(MANY_FEATURES, _break_even_rank(forgetting, points, capacity, factors))


def _break_even_rank(forgetting: Forgetting, points: int, capacity: int, factors: int = 1) -> int:
    """The largest rank at which feature space is no dearer than function space.

    `factors`: of which the features are a Kronecker product.
    """
    n, c, r = float(points), float(capacity), np.arange(1.0, points + 1)
    each = factors * r ** (1 / factors)  # operations of a product with the features, of one point
    dense = n * (180 * c + 2 * c**2)
    if forgetting.reweighting != "never":
        feature_space, function_space = (4 * n * r * each + r**3) / 3, dense
    elif forgetting.window is not None:
        feature_space, function_space = step_cost(points, r, capacity, each), dense
    else:
        feature_space, function_space = 2 * n * each + 6 * r**2, 8 * n * c
    return int((feature_space <= function_space).sum())
