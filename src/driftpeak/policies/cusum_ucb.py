r"""CUSUM-UCB: a cumulative-sum test for each of several independent arms (Liu et al. 2018)."""

import math
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from driftpeak._core.argument_types import checked
from driftpeak._core.arguments import RecordsArguments
from driftpeak._core.errors import (
    MOST_STEPS,
    at_least,
    at_least_integer,
    positive,
    unit_interval,
)
from driftpeak._core.types import Scalar
from driftpeak.gp.priors import Prior
from driftpeak.policies.catalogue import given, policy, tuned
from driftpeak.policies.fixed_horizon import PlannedPolicy
from driftpeak.policies.independent_arms import upper_bounds
from driftpeak.policies.player import Query, checked_reward
from driftpeak.policies.randomised import sometimes_uniform
from driftpeak.policies.reward_range import RewardRange


class CUSUMState(NamedTuple):
    """The decisions made, the restarts, and for each arm the sums since its restart.

    `first` is the sum of the first M rewards since the restart; `rise` and `fall` are the two
    cumulative sums of the test.
    """

    asked: Int[Array, ""]
    restarts: Int[Array, ""]
    counts: Float[Array, " n"]
    sums: Float[Array, " n"]
    first: Float[Array, " n"]
    rise: Float[Array, " n"]
    fall: Float[Array, " n"]
    key: PRNGKeyArray


@policy(
    "cusum-ucb",
    memory="restarts an arm when a test detects a change; arms are independent (Liu et al. 2018)",
    width="its own",
    schedule=r":math:`h = \log(T / \Upsilon_T)`",
    simple=tuned(
        "CUSUM-UCB",
        "threshold",
        (0.1, 0.3, 1.0),
        lambda known: None,
        arguments=given("horizon", "reward_bound"),
        second=("bonus", (1.0, 0.002)),
    ),
)
class CUSUMUCB(RecordsArguments, PlannedPolicy[CUSUMState], RewardRange[CUSUMState]):
    r"""CUSUM-UCB: UCB that restarts an arm after a two-sided CUSUM test detects a change.

    Liu, Lee and Shroff (AAAI 2018), algorithms 1 to 3. Rewards y are scaled to [0, 1]. With
    probability \(\alpha\) an arm is drawn uniformly. Otherwise the arm with the largest index

    \[\bar y_i + \sqrt{\xi \log(n) / N_i}\]

    is sampled, where the average and the number \(N_i\) are those since the restart of arm i, and
    \(n = \sum_i N_i\). An arm without observations comes first. The mean of the first M rewards
    after a restart, \(\hat u\), is the reference of the test. After each further reward,

    \[g^+ \leftarrow \max(0, g^+ + y - \hat u - \epsilon), \qquad
      g^- \leftarrow \max(0, g^- + \hat u - y - \epsilon),\]

    and the arm restarts if one of them reaches h. Correlations of the prior are not used.

    Arguments:
        prior: the number of points and the prior mean.
        horizon: T, the number of decisions; `Doubling` removes the limit.
        changes: \(\Upsilon_T\), at least 1, of which the defaults below are functions.
        exploration: \(\alpha\) in [0, 1]; by default
            \(\min(1, \sqrt{\Upsilon_T \log(T / \Upsilon_T) / T})\).
        threshold: h, positive; by default \(\log(T / \Upsilon_T)\), at least 0.1.
        tolerance: \(\epsilon\), at least 0; the default is ours.
        samples: M, at least 1; the default is ours.
        bonus: \(\xi\), positive.
        reward_bound: rewards, noise included, lie between the smallest prior mean less this and the
            largest plus this; default three deviations of a reward under the prior.

    Raises:
        DriftpeakError: a number out of range; a run longer than the horizon.

    Example:
        >>> import driftpeak as dp
        >>> prior = dp.Prior(dp.Grid([0, 1], size=20), dp.SE(lengthscale=0.2), noise_variance=0.01)
        >>> policy = dp.CUSUMUCB(prior, horizon=500)
    """

    exploration: Scalar
    threshold: Scalar
    tolerance: Scalar
    samples: Scalar
    bonus: Scalar
    horizon: int = eqx.field(static=True)
    size: int = eqx.field(static=True)

    @checked
    def __init__(
        self,
        prior: Prior,
        *,
        horizon: int,
        changes: float = 1.0,
        exploration: float | None = None,
        threshold: float | None = None,
        tolerance: float = 0.02,
        samples: int = 5,
        bonus: float = 1.0,
        reward_bound: float | None = None,
    ) -> None:
        self._set_range(prior, reward_bound)
        self.horizon = at_least_integer("horizon", horizon, 1, MOST_STEPS)
        self.size = len(prior)
        length = max(self.horizon / at_least("changes", changes, 1.0), 1.0)
        if exploration is None:
            exploration = min(1.0, math.sqrt(math.log(length) / length))
        if threshold is None:
            threshold = max(math.log(length), 0.1)
        self.exploration = np.float64(unit_interval("exploration", exploration))
        self.threshold = np.float64(positive("threshold", threshold))
        self.tolerance = np.float64(at_least("tolerance", tolerance, 0.0))
        self.samples = np.float64(at_least_integer("samples", samples, 1, MOST_STEPS))
        self.bonus = np.float64(positive("bonus", bonus))

    def init(self, key: PRNGKeyArray) -> CUSUMState:
        none = jnp.zeros((), int)
        zeros = jnp.zeros(self.size)
        return CUSUMState(none, none, zeros, zeros, zeros, zeros, zeros, key)

    def ask(self, state: CUSUMState, time: Scalar) -> tuple[CUSUMState, Query]:
        index = upper_bounds(state.counts, state.sums, state.counts.sum(), 1.0, self.bonus)
        key = jax.random.fold_in(state.key, state.asked)
        query = sometimes_uniform(key, jnp.argmax(index), self.exploration, self.size)
        return state._replace(asked=state.asked + 1), query

    def tell(self, state: CUSUMState, query: Query, reward: Scalar, time: Scalar) -> CUSUMState:
        scaled = self._scaled(checked_reward(reward))
        counts = state.counts.at[query].add(1.0)
        tested = counts[query] > self.samples
        first = state.first.at[query].add(jnp.where(tested, 0.0, scaled))
        excess = scaled - first[query] / self.samples
        rise = jnp.maximum(state.rise[query] + excess - self.tolerance, 0.0)
        fall = jnp.maximum(state.fall[query] - excess - self.tolerance, 0.0)
        changed = tested & (jnp.maximum(rise, fall) >= self.threshold)
        restarted = changed & (jnp.arange(self.size) == query)
        since = {
            "counts": counts,
            "sums": state.sums.at[query].add(scaled),
            "first": first,
            "rise": state.rise.at[query].set(jnp.where(tested, rise, 0.0)),
            "fall": state.fall.at[query].set(jnp.where(tested, fall, 0.0)),
        }
        return state._replace(
            restarts=state.restarts + changed,
            **{name: jnp.where(restarted, 0.0, values) for name, values in since.items()},
        )

    def restarts(self, state: CUSUMState) -> Int[Array, ""]:
        return state.restarts
