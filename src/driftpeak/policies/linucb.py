r"""LinUCB with disjoint linear models and a context made from the time (Li et al. 2010)."""

import math
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from driftpeak._core.argument_types import checked
from driftpeak._core.arguments import RecordsArguments
from driftpeak._core.errors import at_least_integer, positive
from driftpeak._core.types import Scalar
from driftpeak.gp.priors import Prior
from driftpeak.policies.catalogue import policy, tuned
from driftpeak.policies.player import Query, checked_reward
from driftpeak.policies.reward_range import RewardRange

MOST_HARMONICS = 100
"""Largest number of harmonics of the period."""


class LinUCBState(NamedTuple):
    r"""\(A_i^{-1}\) and \(b_i\) of each arm."""

    inverses: Float[Array, "n d d"]
    sums: Float[Array, "n d"]


@policy(
    "linucb",
    memory="all observations, linear in a context; arms are independent (Li et al. 2010)",
    width="its own",
    simple=tuned(
        "LinUCB",
        "alpha",
        (0.003, 0.01, 0.03, 0.1, 0.3, 1.0),
        lambda known: None,
        arguments=lambda known: {
            "reward_bound": known.reward_bound,
            "period": float(known.period) if known.period > 1 else None,
        },
    ),
)
class LinUCB(RecordsArguments, RewardRange[LinUCBState]):
    r"""LinUCB: upper confidence bounds of a linear model per arm (Li et al. 2010, algorithm 1).

    Rewards are scaled to [-1/2, 1/2], so that the ridge penalty of an arm without observations
    means the middle of the range; the paper has rewards in [0, 1]. The context x is known from the
    time t and equal for all arms:

    \[x = (1, \cos(2 \pi t / P), \sin(2 \pi t / P), \cos(4 \pi t / P), \ldots)\]

    with a period P, and (1) without. Each arm has the ridge sums \(A = I + \sum x x^T\) and
    \(b = \sum r x\) over its rewards r. The arm with the largest

    \[x^T A^{-1} b + \alpha \sqrt{x^T A^{-1} x}\]

    is sampled. The context is our choice; the paper's context describes users and articles.
    \(A^{-1}\) is updated by the formula of Sherman and Morrison. Correlations of the prior are not
    used.

    Arguments:
        prior: the number of points and the prior mean.
        alpha: \(\alpha\), positive; by default \(1 + \sqrt{\log(2 / \delta) / 2}\) with
            \(\delta = 0.05\).
        period: P, in units of time; by default there is none.
        harmonics: number of harmonics of the period, at most 100.
        reward_bound: rewards, noise included, lie between the smallest prior mean less this and the
            largest plus this; default three deviations of a reward under the prior.

    Raises:
        DriftpeakError: alpha, period or reward_bound not positive; harmonics below 1.

    Example:
        >>> import driftpeak as dp
        >>> prior = dp.Prior(dp.Grid([0, 1], size=20), dp.SE(lengthscale=0.2), noise_variance=0.01)
        >>> policy = dp.LinUCB(prior, period=24.0)
    """

    alpha: Scalar
    period: Scalar
    harmonics: int = eqx.field(static=True)
    size: int = eqx.field(static=True)
    deterministic = True

    @checked
    def __init__(
        self,
        prior: Prior,
        *,
        alpha: float | None = None,
        period: float | None = None,
        harmonics: int = 1,
        reward_bound: float | None = None,
    ) -> None:
        self._set_range(prior, reward_bound)
        default = 1 + math.sqrt(math.log(2 / 0.05) / 2)
        self.alpha = np.float64(default if alpha is None else positive("alpha", alpha))
        number = at_least_integer("harmonics", harmonics, 1, MOST_HARMONICS)
        self.harmonics = 0 if period is None else number
        self.period = np.float64(1.0 if period is None else positive("period", period))
        self.size = len(prior)

    def init(self, key: PRNGKeyArray) -> LinUCBState:
        dimension = 1 + 2 * self.harmonics
        inverses = jnp.broadcast_to(jnp.eye(dimension), (self.size, dimension, dimension))
        return LinUCBState(inverses, jnp.zeros((self.size, dimension)))

    def ask(self, state: LinUCBState, time: Scalar) -> tuple[LinUCBState, Query]:
        leverages = state.inverses @ self._context(time)  # (n, d)
        means = (leverages * state.sums).sum(axis=1)
        squares = leverages @ self._context(time)
        return state, jnp.argmax(means + self.alpha * jnp.sqrt(squares))

    def tell(self, state: LinUCBState, query: Query, reward: Scalar, time: Scalar) -> LinUCBState:
        scaled = self._scaled(checked_reward(reward)) - 0.5
        context = self._context(time)
        leverage = state.inverses[query] @ context
        change = jnp.outer(leverage, leverage) / (1 + context @ leverage)
        return LinUCBState(
            inverses=state.inverses.at[query].add(-change),
            sums=state.sums.at[query].add(scaled * context),
        )

    def _context(self, time: Scalar) -> Float[Array, " d"]:
        phases = 2 * math.pi * jnp.arange(1, self.harmonics + 1) * jnp.mod(time / self.period, 1.0)
        waves = jnp.stack([jnp.cos(phases), jnp.sin(phases)], axis=1).ravel()
        return jnp.concatenate([jnp.ones(1), waves])
