r"""Epsilon-greedy: the best average, and sometimes any arm (Sutton and Barto 2018)."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from driftpeak._core.argument_types import checked
from driftpeak._core.arguments import RecordsArguments
from driftpeak._core.errors import unit_interval
from driftpeak._core.types import Scalar
from driftpeak.gp.priors import Prior
from driftpeak.policies.catalogue import given, policy, tuned
from driftpeak.policies.player import Query, checked_reward
from driftpeak.policies.protocol import ActingPolicy
from driftpeak.policies.randomised import sometimes_uniform


class GreedyState(NamedTuple):
    """The number of decisions, the observations and estimate of each arm, and the random key."""

    asked: Int[Array, ""]
    counts: Float[Array, " n"]
    means: Float[Array, " n"]
    key: PRNGKeyArray


@policy(
    "epsilon-greedy",
    memory="averages, or exponential averages; arms are independent (Sutton and Barto 2018)",
    width="none",
    defaults={"epsilon": 0.1},
    simple=tuned(
        "epsilon-greedy",
        "epsilon",
        (0.003, 0.01, 0.05, 0.2),
        lambda known: 0.1,
        arguments=given(),
        second=("step_size", (0.1, 0.5, 1.0)),
    ),
)
class EpsilonGreedy(RecordsArguments, ActingPolicy[GreedyState]):
    r"""Epsilon-greedy: the arm with the best estimate, or with a small probability any arm.

    Sutton and Barto (Reinforcement Learning, 2018), section 2.4. With probability \(\epsilon\) an
    arm is drawn uniformly. Otherwise the arm with the largest estimate Q is sampled. After a reward
    R of arm i,

    \[Q_i \leftarrow Q_i + \alpha_i (R - Q_i).\]

    Without `step_size`, \(\alpha_i = 1 / N_i\), so that Q is the average of the \(N_i\) rewards
    (2.3). A constant step size discounts old rewards (2.5). An arm without observations comes
    first, and its first reward is its first estimate; this is our choice. Correlations of the prior
    are not used.

    Arguments:
        prior: the number of points; its mean and covariance are not used.
        epsilon: \(\epsilon\) in [0, 1].
        step_size: \(\alpha\) in (0, 1], constant; by default 1 / N.

    Raises:
        DriftpeakError: epsilon outside [0, 1]; step_size outside (0, 1].

    Example:
        >>> import driftpeak as dp
        >>> prior = dp.Prior(dp.Grid([0, 1], size=20), dp.SE(lengthscale=0.2), noise_variance=0.01)
        >>> policy = dp.EpsilonGreedy(prior, epsilon=0.1)
    """

    epsilon: Scalar
    step_size: Any
    size: int = eqx.field(static=True)

    @checked
    def __init__(self, prior: Prior, *, epsilon: float, step_size: float | None = None) -> None:
        self.epsilon = np.float64(unit_interval("epsilon", epsilon))
        step = 0.0 if step_size is None else unit_interval("step_size", step_size, low_open=True)
        self.step_size = np.float64(step)  # 0 for averages
        self.size = len(prior)

    @property
    def points(self) -> int:
        return self.size

    def init(self, key: PRNGKeyArray) -> GreedyState:
        return GreedyState(jnp.zeros((), int), jnp.zeros(self.size), jnp.zeros(self.size), key)

    def ask(self, state: GreedyState, time: Scalar) -> tuple[GreedyState, Query]:
        best = jnp.argmax(jnp.where(state.counts > 0, state.means, jnp.inf))
        key = jax.random.fold_in(state.key, state.asked)
        query = sometimes_uniform(key, best, self.epsilon, self.size)
        return state._replace(asked=state.asked + 1), query

    def tell(self, state: GreedyState, query: Query, reward: Scalar, time: Scalar) -> GreedyState:
        counts = state.counts.at[query].add(1.0)
        average = 1 / counts[query]
        step = jnp.where((self.step_size > 0) & (counts[query] > 1), self.step_size, average)
        change = step * (checked_reward(reward) - state.means[query])
        return state._replace(counts=counts, means=state.means.at[query].add(change))
