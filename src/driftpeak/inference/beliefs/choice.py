"""The choice of the form of a posterior: feature space or function space.

Both forms compute one posterior up to the error of the features. With the default error of
e = 1e-10 of the prior variance, variances agree to about e, and means to e times reward times prior
variance over noise variance. Only the cost differs. With n points, r features and at most c
observations in memory, a step takes about

| rules | feature space | function space |
| --- | --- | --- |
| Keep, Restart, Drift | 2 n r + 6 r^2 | 8 n c |
| Window | n r + 400 n + `sliding.edge_cost` | n (180 c + 2 c^2) |
| Discount, Weights, Injection | (4 n r^2 + r^3) / 3 | n (180 c + 2 c^2) |

units of time; "auto" takes the smaller. SpaceTime has one form (`growing`): c^2 r + c n r with
the features of the prior where r < c n / (2 c + 2 n), else c^2 n.

Above `features.MANY` points, "auto" uses feature space up to `MANY_FEATURES` features, whatever the
memory, and above that number where it is cheaper. There n r stands for the cost of a product, which
is n d r^(1/d) on grids of d dimensions under a kernel that is a product over them. The memory is
then never much more than the smaller of r^2 and n c.
The orders are those of the operations; the factors are fitted to measurements on a CPU
(`python -m benchmarks feature_space_vs_function_space`). In function space every trial has its own
arrays; trials in feature space share their matrix products.
"""

from typing import Any, Literal, get_args

import numpy as np

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DriftpeakError, one_of
from driftpeak._core.times import Horizon, TimesLike, check_times
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
"""Largest number of features for which "auto" uses feature space above `features.MANY` points."""
FORMS: tuple[Form, ...] = get_args(Form)
"""Accepted values of `form`."""


@checked
def make_belief(
    prior: Prior,
    forgetting: Forgetting,
    times: TimesLike | Horizon,
    *,
    form: Form = "auto",
    features: Features | None = None,
) -> Belief[Any]:
    """Return a belief about the function, ready for observations at `times`.

    Arguments:
        prior: the Gaussian process before any observation.
        forgetting: the rule that weights old observations.
        times: times of future observations, non-decreasing; or their number, for the times
            1, 2, ...; or `Horizon` a number, at any times. The belief allocates memory for the
            observations that `forgetting` still needs.
        form: "auto", "feature-space" or "function-space"; see the table of this module.
        features: a factor of the covariance to use instead of the default; implies feature space.

    Raises:
        DriftpeakError: times that decrease or are empty, an unknown form, features for another
            number of points, or feature space for a rule that requires function space.
    """
    one_of("form", form, FORMS)
    # unknown times may all fall into one period: the largest possible number in memory
    worst = np.ones(times.decisions) if isinstance(times, Horizon) else check_times(times)
    capacity = forgetting.memory(worst)
    if not forgetting.markov:
        if features is not None or form == "feature-space":
            raise DriftpeakError(
                f"{type(forgetting).__name__} requires function space, because past observations "
                "have no finite summary. Set form='auto' and omit features"
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
    """Return the largest rank at which feature space is used."""
    points = len(prior)
    if points <= MANY:
        return _break_even_rank(forgetting, points, capacity)
    if not prior.by_row:
        return points
    axes = separated(prior.kernel, prior.domain)
    factors = 1 if axes is None else len(axes)
    return max(MANY_FEATURES, _break_even_rank(forgetting, points, capacity, factors))


def _break_even_rank(forgetting: Forgetting, points: int, capacity: int, factors: int = 1) -> int:
    """Return the largest rank at which feature space is no more expensive than function space.

    `factors` is the number of factors of the features as a Kronecker product.
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
