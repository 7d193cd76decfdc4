r"""The error of a weighted estimate if all observations have equal noise (D22 Theorem 2).

Weights \(u_s\) of the observations, relative to the newest, give the posterior mean \(\tilde\mu\)
of D22 (2). Its posterior deviation \(\hat\sigma\) is the error of this mean if old observations
have the inflated noise variance \(\lambda / u_s\). If all have the noise variance \(\lambda\) and
the function is constant, the error is

\[\tilde\sigma^2(x) = \lambda\, \varphi(x)^\top V^{-1} \tilde V V^{-1} \varphi(x), \quad
  V = \sum_s u_s \varphi_s \varphi_s^\top + \lambda I, \quad
  \tilde V = \sum_s u_s^2 \varphi_s \varphi_s^\top + \lambda I,\]

which is never larger than \(\hat\sigma^2\) (Lemma 13).
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from driftpeak._core.errors import DriftpeakError
from driftpeak._core.types import Scalar, Values
from driftpeak.gp.features import Features
from driftpeak.gp.forgetting import Discount, Forgetting, Weights
from driftpeak.gp.priors import Prior
from driftpeak.inference.beliefs.posterior import Belief, FeaturePrior, Posterior
from driftpeak.inference.beliefs.reweighted import Scaling, ScalingState
from driftpeak.inference.beliefs.weights import weight_posterior


class TwiceWeighted(NamedTuple):
    """The observations with their weights, and with the squares of their weights."""

    once: ScalingState
    twice: ScalingState


class EstimationError(Belief[TwiceWeighted]):
    r"""A posterior whose variance is \(\tilde\sigma^2\), for Discount and Weights.

    The mean is that of `Scaling`. The information is \(\frac12 \log\det(I + \lambda^{-1} U K U)\),
    the double-weighted gain (D22 (5)) of the points in memory. A step takes O(n r^2 + r^3).

    Raises:
        DriftpeakError: another forgetting rule.

    Source: D22 Theorem 2, Lemma 13, (5).
    """

    prior: FeaturePrior
    forgetting: Forgetting
    once: Scaling
    twice: Scaling

    def __init__(self, prior: Prior, forgetting: Forgetting, features: Features) -> None:
        self.once = Scaling(prior, forgetting, features)
        self.twice = Scaling(prior, squared(forgetting), features)
        self.prior, self.forgetting = self.once.prior, forgetting

    def init(self) -> TwiceWeighted:
        return TwiceWeighted(self.once.init(), self.twice.init())

    def update(
        self, state: TwiceWeighted, arm: Scalar, reward: Scalar, time: Scalar
    ) -> TwiceWeighted:
        return TwiceWeighted(
            self.once.update(state.once, arm, reward, time),
            self.twice.update(state.twice, arm, reward, time),
        )

    def posterior(self, state: TwiceWeighted, time: Scalar) -> Posterior:
        once, twice = self.once.gathered(state.once, time), self.twice.gathered(state.twice, time)
        learned, features = weight_posterior(once.rows, once.targets), self.prior.features
        covariance = learned.covariance
        spread = jnp.concatenate([covariance, twice.rows @ covariance])
        return Posterior(
            mean=self.prior.mean + features.values(learned.mean),
            variance=self.prior.variance - features.squares() + features.squared_sums(spread),
            information=weight_posterior(twice.rows, twice.targets).information,
            observations=once.observations,
        )

    def sample(self, state: TwiceWeighted, time: Scalar, key: PRNGKeyArray) -> Values:
        raise NotImplementedError("the error of an estimate is no distribution of functions")


def squared(forgetting: Forgetting) -> Forgetting:
    """Return the rule with the squares of the weights.

    Raises:
        DriftpeakError: a rule other than Discount and Weights.
    """
    if isinstance(forgetting, Discount):
        return Discount(forgetting.discount**2, forgetting.reference)
    if isinstance(forgetting, Weights):
        return Weights(log_weights=2 * forgetting.log_weights)
    raise DriftpeakError(
        "forgetting must be Discount or Weights for the deviation of the error; got "
        f"{type(forgetting).__name__}"
    )
