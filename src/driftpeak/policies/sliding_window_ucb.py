r"""SW-UCB: UCB with the averages of a sliding window (Garivier and Moulines 2011)."""

import math
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from driftpeak._core.argument_types import checked
from driftpeak._core.arguments import RecordsArguments
from driftpeak._core.errors import MOST_STEPS, at_least_integer, positive
from driftpeak._core.types import Scalar
from driftpeak.gp.priors import Prior
from driftpeak.policies.catalogue import given, policy, tuned
from driftpeak.policies.independent_arms import upper_bounds
from driftpeak.policies.player import Query, checked_reward
from driftpeak.policies.reward_range import RewardRange


class WindowState(NamedTuple):
    """The number of observations, those of the window, and their number and sum for each arm."""

    observed: Int[Array, ""]
    arms: Int[Array, " w"]
    rewards: Float[Array, " w"]
    counts: Float[Array, " n"]
    sums: Float[Array, " n"]


@policy(
    "sw-ucb",
    memory="a sliding window; arms are independent (Garivier and Moulines 2011)",
    width="its own",
    schedule=r":math:`\tau = 2 B \sqrt{T \log(T) / \Upsilon_T}`",
    defaults={"window": 100},
    simple=tuned(
        "SW-UCB",
        "window",
        (100, 250, 1000),
        lambda known: min(
            math.ceil(2 * math.sqrt(known.horizon * math.log(known.horizon))), known.horizon
        ),
        arguments=given("reward_bound"),
        second=("exploration", (0.6, 0.002)),
    ),
)
class SWUCB(RecordsArguments, RewardRange[WindowState]):
    r"""SW-UCB: UCB with averages over the last observations (Garivier and Moulines 2011).

    ALT 2011, section 3. At step t it samples the arm that maximises

    \[\bar X_i + B \sqrt{\xi \log(n) / N_i},\]

    where \(\bar X_i\) and \(N_i\) are average and number of the rewards of arm i among the last
    \(\tau\) observations, \(n = \min(t - 1, \tau)\) is the number of these observations, and B is
    the range of the rewards. The paper writes \(\min(t, \tau)\); counting the known observations
    is our choice. An arm without observations in the window comes first. Correlations of the prior
    are not used.

    Arguments:
        prior: the number of points and the prior mean.
        window: \(\tau\), a number of observations of at least 1. The paper's value for
            \(\Upsilon_T\) changes in T steps is \(2 B \sqrt{T \log(T) / \Upsilon_T}\), with B = 1
            for scaled rewards.
        exploration: \(\xi\), positive; the regret bound needs more than 1/2.
        reward_bound: rewards, noise included, lie between the smallest prior mean less this and the
            largest plus this; default three deviations of a reward under the prior.

    Raises:
        DriftpeakError: window below 1; exploration or reward_bound not positive.

    Example:
        >>> import driftpeak as dp
        >>> prior = dp.Prior(dp.Grid([0, 1], size=20), dp.SE(lengthscale=0.2), noise_variance=0.01)
        >>> policy = dp.SWUCB(prior, window=100)
    """

    exploration: Scalar
    window: int = eqx.field(static=True)
    size: int = eqx.field(static=True)
    deterministic = True

    @checked
    def __init__(
        self,
        prior: Prior,
        *,
        window: int,
        exploration: float = 0.6,
        reward_bound: float | None = None,
    ) -> None:
        self._set_range(prior, reward_bound)
        self.window = at_least_integer("window", window, 1, MOST_STEPS)
        self.exploration = np.float64(positive("exploration", exploration))
        self.size = len(prior)

    def init(self, key: PRNGKeyArray) -> WindowState:
        return WindowState(
            observed=jnp.zeros((), int),
            arms=jnp.zeros(self.window, int),
            rewards=jnp.zeros(self.window),
            counts=jnp.zeros(self.size),
            sums=jnp.zeros(self.size),
        )

    def ask(self, state: WindowState, time: Scalar) -> tuple[WindowState, Query]:
        total = state.counts.sum()
        return state, jnp.argmax(
            upper_bounds(state.counts, state.sums, total, self.range, self.exploration)
        )

    def tell(self, state: WindowState, query: Query, reward: Scalar, time: Scalar) -> WindowState:
        reward = checked_reward(reward) - self.low
        place = state.observed % self.window
        oldest = state.arms[place]
        leaves = jnp.where(state.observed >= self.window, 1.0, 0.0)
        counts = state.counts.at[oldest].add(-leaves)
        sums = state.sums.at[oldest].add(-leaves * state.rewards[place])
        sums = jnp.where(counts > 0, sums, 0.0)  # removes rounding errors
        return WindowState(
            observed=state.observed + 1,
            arms=state.arms.at[place].set(query),
            rewards=state.rewards.at[place].set(reward),
            counts=counts.at[query].add(1.0),
            sums=sums.at[query].add(reward),
        )
