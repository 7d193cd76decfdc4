r"""UCB1 (Auer et al. 2002) and its discounted form D-UCB (Garivier and Moulines 2011)."""

import math
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from driftpeak._core.argument_types import checked
from driftpeak._core.arguments import RecordsArguments
from driftpeak._core.errors import positive, unit_interval
from driftpeak._core.types import Scalar
from driftpeak.gp.priors import Prior
from driftpeak.policies.catalogue import DISCOUNTS, LONG_DISCOUNTS, given, policy, tuned
from driftpeak.policies.independent_arms import DiscountedState, discounted, upper_bounds
from driftpeak.policies.player import Query, checked_reward
from driftpeak.policies.reward_range import RewardRange


class AverageUCB(RewardRange[DiscountedState]):
    """A policy that maximises an upper confidence bound of discounted averages. Base class."""

    discount: Scalar
    exploration: Scalar
    size: int = eqx.field(static=True)
    deterministic = True

    @property
    def width(self) -> Any:
        """Factor of the square root in the index, in units of the reward."""
        return self.range

    def init(self, key: PRNGKeyArray) -> DiscountedState:
        return DiscountedState(jnp.zeros(self.size), jnp.zeros(self.size))

    def ask(self, state: DiscountedState, time: Scalar) -> tuple[DiscountedState, Query]:
        total = state.counts.sum()
        index = upper_bounds(state.counts, state.sums, total, self.width, self.exploration)
        return state, jnp.argmax(index)

    def tell(
        self, state: DiscountedState, query: Query, reward: Scalar, time: Scalar
    ) -> DiscountedState:
        reward = checked_reward(reward) - self.low
        return DiscountedState(*discounted(*state, self.discount, query, reward))


@policy(
    "ucb1",
    memory="all observations; arms are independent (Auer et al. 2002)",
    width="its own",
    simple=tuned(
        "UCB1",
        "exploration",
        (0.0002, 0.002, 0.02, 0.2),
        lambda known: 2.0,
        arguments=given("reward_bound"),
    ),
)
class UCB1(RecordsArguments, AverageUCB):
    r"""UCB1: the largest upper confidence bound of an average (Auer et al. 2002, figure 1).

    After n observations it samples the arm that maximises

    \[\bar X_i + B \sqrt{\xi \log(n) / N_i},\]

    where \(\bar X_i\) is the average of the \(N_i\) rewards of arm i, and B is the range of the
    rewards. An arm without observations comes first. Correlations of the prior are not used.

    Arguments:
        prior: the number of points and the prior mean.
        exploration: \(\xi\), positive; 2 in the paper.
        reward_bound: rewards, noise included, lie between the smallest prior mean less this and the
            largest plus this; default three deviations of a reward under the prior.

    Raises:
        DriftpeakError: exploration or reward_bound not positive.

    Example:
        >>> import driftpeak as dp
        >>> prior = dp.Prior(dp.Grid([0, 1], size=20), dp.SE(lengthscale=0.2), noise_variance=0.01)
        >>> policy = dp.UCB1(prior)
    """

    @checked
    def __init__(
        self, prior: Prior, *, exploration: float = 2.0, reward_bound: float | None = None
    ) -> None:
        self._set_range(prior, reward_bound)
        self.discount = np.float64(1.0)
        self.exploration = np.float64(positive("exploration", exploration))
        self.size = len(prior)


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
        arguments=given("reward_bound"),
    ),
    simple=tuned(
        "D-UCB",
        "discount",
        LONG_DISCOUNTS,
        lambda known: 1 - 0.25 * math.sqrt(1 / known.horizon),
        arguments=given("reward_bound"),
        second=("exploration", (0.6, 0.0005)),
    ),
)
class DUCB(RecordsArguments, AverageUCB):
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

    @property
    def width(self) -> Any:
        return 2 * self.range
