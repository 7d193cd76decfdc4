r"""Discounted Thompson sampling for independent arms with Gaussian rewards (Qi et al. 2023)."""

import math
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from driftpeak._core.argument_types import checked
from driftpeak._core.arguments import RecordsArguments
from driftpeak._core.errors import positive, unit_interval
from driftpeak._core.types import Scalar
from driftpeak.gp.priors import Prior
from driftpeak.policies.catalogue import LONG_DISCOUNTS, given, policy, tuned
from driftpeak.policies.independent_arms import discounted
from driftpeak.policies.player import Query, checked_reward
from driftpeak.policies.reward_range import RewardRange


class ThompsonState(NamedTuple):
    """The discounted counts and sums of each arm, the number of decisions, and the random key."""

    counts: Float[Array, " n"]
    sums: Float[Array, " n"]
    asked: Int[Array, ""]
    key: PRNGKeyArray


@policy(
    "discounted-ts",
    memory="discounted; arms are independent (Qi, Wang and Zhu 2023)",
    width="samples in place of a width",
    defaults={"discount": 0.98},
    simple=tuned(
        "discounted TS",
        "discount",
        LONG_DISCOUNTS,
        lambda known: 1 - math.sqrt(1 / known.horizon),
        arguments=given("reward_bound"),
        second=("deviation", (1.0, 0.03, 0.01)),
    ),
)
class DiscountedTS(RecordsArguments, RewardRange[ThompsonState]):
    r"""Discounted Thompson sampling with Gaussian posteriors (Qi, Wang and Zhu 2023, algorithm 1).

    At step t it samples the arm with the largest of the independent draws

    \[\theta_i \sim \mathcal N(\bar X_i,\, \sigma^2 B^2 / N_i), \qquad
      N_i = \sum_{s < t} \gamma^{t - 1 - s} 1[I_s = i],\]

    where \(\bar X_i\) is the average of the rewards of arm i with the same weights, and B is the
    range of the rewards. The paper has rewards in [0, 1] and \(\sigma = 1\). An arm without
    observations comes first, and the variance has no upper limit; both are our choices.
    Correlations of the prior are not used. Raj and Kalyani (2017) proposed the same discounts for
    Bernoulli rewards.

    Arguments:
        prior: the number of points and the prior mean.
        discount: \(\gamma\) in (0, 1], per observation; the comparison with simple bandits has
            \(1 - \sqrt{\Upsilon_T / T}\) for \(\Upsilon_T\) changes in T steps.
        deviation: \(\sigma\), positive, in units of the range of the rewards.
        reward_bound: rewards, noise included, lie between the smallest prior mean less this and the
            largest plus this; default three deviations of a reward under the prior.

    Raises:
        DriftpeakError: discount outside (0, 1]; deviation or reward_bound not positive.

    Example:
        >>> import driftpeak as dp
        >>> prior = dp.Prior(dp.Grid([0, 1], size=20), dp.SE(lengthscale=0.2), noise_variance=0.01)
        >>> policy = dp.DiscountedTS(prior, discount=0.98)
    """

    discount: Any
    deviation: Scalar
    size: int = eqx.field(static=True)

    @checked
    def __init__(
        self,
        prior: Prior,
        *,
        discount: float,
        deviation: float = 1.0,
        reward_bound: float | None = None,
    ) -> None:
        self._set_range(prior, reward_bound)
        self.discount = np.float64(unit_interval("discount", discount, low_open=True))
        self.deviation = np.float64(positive("deviation", deviation))
        self.size = len(prior)

    def init(self, key: PRNGKeyArray) -> ThompsonState:
        none = jnp.zeros(self.size)
        return ThompsonState(none, none, asked=jnp.zeros((), int), key=key)

    def ask(self, state: ThompsonState, time: Scalar) -> tuple[ThompsonState, Query]:
        mean, deviation = self._posterior(state)
        key = jax.random.fold_in(state.key, state.asked)
        draws = mean + deviation * jax.random.normal(key, (self.size,))
        query = jnp.argmax(jnp.where(state.counts > 0, draws, jnp.inf))
        return state._replace(asked=state.asked + 1), query

    def tell(
        self, state: ThompsonState, query: Query, reward: Scalar, time: Scalar
    ) -> ThompsonState:
        reward = checked_reward(reward) - self.low
        counts, sums = discounted(state.counts, state.sums, self.discount, query, reward)
        return state._replace(counts=counts, sums=sums)

    def _posterior(self, state: ThompsonState) -> tuple[Array, Array]:
        """Return mean and standard deviation of each arm above `low`; of 1 observation if none."""
        counts = jnp.where(state.counts > 0, state.counts, 1.0)
        return state.sums / counts, self.deviation * self.range / jnp.sqrt(counts)
