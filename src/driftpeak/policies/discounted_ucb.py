r"""D-UCB: discounted UCB for independent arms (Garivier and Moulines 2011)."""

import math
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from driftpeak._core.argument_types import checked
from driftpeak._core.arguments import RecordsArguments
from driftpeak._core.errors import positive, unit_interval
from driftpeak._core.types import Scalar
from driftpeak.gp.priors import Prior
from driftpeak.policies.catalogue import DISCOUNTS, policy, tuned
from driftpeak.policies.player import Query, checked_reward
from driftpeak.policies.reward_range import RewardRange


class DiscountedState(NamedTuple):
    """The discounted number of observations of each arm, and their discounted sums."""

    counts: Float[Array, " n"]
    sums: Float[Array, " n"]


@policy(
    "d-ucb",
    memory="discounted; arms are independent (Garivier and Moulines 2011)",
    width="its own",
    schedule=r":math:`\gamma = 1 - \frac14 \sqrt{\Upsilon_T / T}`",
    defaults={"discount": 0.98},
    family=tuned(
        "D-UCB",
        "discount",
        DISCOUNTS,
        lambda known: 1 - 0.25 * math.sqrt(1 / known.horizon),
        arguments=lambda known: {"reward_bound": known.reward_bound},
    ),
)
class DUCB(RecordsArguments, RewardRange[DiscountedState]):
    r"""D-UCB: UCB with discounted averages (Garivier and Moulines, ALT 2011, section 3).

    At step t it samples the arm that maximises

    \[\bar X_i + 2 B \sqrt{\xi \log(n) / N_i}, \qquad
      N_i = \sum_{s < t} \gamma^{t - 1 - s} 1[I_s = i], \qquad n = \sum_j N_j,\]

    where \(\bar X_i\) is the average of the rewards of arm i with the same weights, and B is the
    range of the rewards. An arm without observations comes first. Correlations of the prior are not
    used.

    Arguments:
        prior: the number of points and the prior mean.
        discount: \(\gamma\) in (0, 1], per observation. The paper's value is
            \(1 - \frac14 \sqrt{\Upsilon_T / T}\) for \(\Upsilon_T\) changes in T steps.
        exploration: \(\xi\), positive; the regret bound needs more than 1/2.
        reward_bound: rewards, noise included, lie between the smallest prior mean less this and the
            largest plus this; default three deviations of a reward under the prior.

    Raises:
        DriftpeakError: discount outside (0, 1]; exploration or reward_bound not positive.

    Example:
        >>> import driftpeak as dp
        >>> prior = dp.Prior(dp.Grid([0, 1], size=20), dp.SE(lengthscale=0.2), noise_variance=0.01)
        >>> policy = dp.DUCB(prior, discount=0.98)
    """

    discount: Scalar
    exploration: Scalar
    size: int = eqx.field(static=True)
    deterministic = True

    @checked
    def __init__(
        self,
        prior: Prior,
        *,
        discount: float,
        exploration: float = 0.6,
        reward_bound: float | None = None,
    ) -> None:
        self._set_range(prior, reward_bound)
        self.discount = np.float64(unit_interval("discount", discount, low_open=True))
        self.exploration = np.float64(positive("exploration", exploration))
        self.size = len(prior)

    def init(self, key: PRNGKeyArray) -> DiscountedState:
        return DiscountedState(jnp.zeros(self.size), jnp.zeros(self.size))

    def ask(self, state: DiscountedState, time: Scalar) -> tuple[DiscountedState, Query]:
        counts = jnp.where(state.counts > 0, state.counts, 1.0)
        total = jnp.maximum(state.counts.sum(), 1.0)
        bonus = 2 * self.range * jnp.sqrt(self.exploration * jnp.log(total) / counts)
        index = jnp.where(state.counts > 0, state.sums / counts + bonus, jnp.inf)
        return state, jnp.argmax(index)

    def tell(
        self, state: DiscountedState, query: Query, reward: Scalar, time: Scalar
    ) -> DiscountedState:
        reward = checked_reward(reward) - self.low
        return DiscountedState(
            jnp.asarray(self.discount * state.counts).at[query].add(1.0),
            jnp.asarray(self.discount * state.sums).at[query].add(reward),
        )
