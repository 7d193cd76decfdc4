r"""Exp3.S: Exp3 that shares weight among the arms (Auer et al. 2002)."""

import math
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from driftpeak._core.argument_types import checked
from driftpeak._core.arguments import RecordsArguments
from driftpeak._core.errors import MOST_STEPS, at_least, at_least_integer, unit_interval
from driftpeak._core.types import Scalar
from driftpeak.gp.priors import Prior
from driftpeak.policies.catalogue import given, policy, tuned
from driftpeak.policies.fixed_horizon import PlannedPolicy
from driftpeak.policies.player import Query, checked_reward
from driftpeak.policies.randomised import draw, mixed
from driftpeak.policies.reward_range import RewardRange


class Exp3SState(NamedTuple):
    """The number of decisions, the logarithms of the weights, and the random key."""

    asked: Int[Array, ""]
    log_weights: Float[Array, " n"]
    key: PRNGKeyArray


@policy(
    "exp3-s",
    memory="exponential weights that are shared; arms are independent (Auer et al. 2002)",
    width="none",
    schedule=r":math:`\gamma = \sqrt{n (S \log(n T) + e) / ((e - 1) T)}`",
    simple=tuned(
        "Exp3.S",
        "exploration",
        (0.01, 0.03, 0.1, 0.3),
        lambda known: None,
        arguments=given("horizon", "reward_bound"),
    ),
)
class Exp3S(RecordsArguments, PlannedPolicy[Exp3SState], RewardRange[Exp3SState]):
    r"""Exp3.S: exponential weights that recover after a change (Auer et al. 2002, section 8).

    Auer, Cesa-Bianchi, Freund and Schapire (SIAM Journal on Computing 2002), algorithm Exp3.S.
    Points are drawn with probability \(p = (1 - \gamma) w / W + \gamma / n\), where
    \(W = \sum_i w_i\). With z = 0 for the other points, a reward z in [0, 1] changes the weights to

    \[w_i \exp\!\left(\frac{\gamma z_i}{n p_i}\right) + \frac{e \alpha}{n} W.\]

    Correlations of the prior are not used.

    Arguments:
        prior: the number of points n and the prior mean.
        horizon: T, the number of decisions; `Doubling` removes the limit.
        hardness: S, at least 1: the number of changes of the best arm plus one. It only sets the
            default of exploration.
        exploration: \(\gamma\) in (0, 1]; by default
            \(\min(1, \sqrt{n (S \log(n T) + e) / ((e - 1) T)})\) (corollary 8.3).
        share: \(\alpha\) in [0, 1], by default 1 / T (corollary 8.3).
        reward_bound: rewards, noise included, lie between the smallest prior mean less this and the
            largest plus this; default three deviations of a reward under the prior.

    Raises:
        DriftpeakError: a number out of range; a run longer than the horizon.

    Example:
        >>> import driftpeak as dp
        >>> prior = dp.Prior(dp.Grid([0, 1], size=20), dp.SE(lengthscale=0.2), noise_variance=0.01)
        >>> policy = dp.Exp3S(prior, horizon=500)
    """

    exploration: Any
    share: Any
    horizon: int = eqx.field(static=True)
    size: int = eqx.field(static=True)

    @checked
    def __init__(
        self,
        prior: Prior,
        *,
        horizon: int,
        hardness: float = 1.0,
        exploration: float | None = None,
        share: float | None = None,
        reward_bound: float | None = None,
    ) -> None:
        self._set_range(prior, reward_bound)
        self.horizon = at_least_integer("horizon", horizon, 1, MOST_STEPS)
        self.size = n = len(prior)
        logarithm = at_least("hardness", hardness, 1.0) * math.log(n * self.horizon)
        if exploration is None:
            square = n * (logarithm + math.e) / ((math.e - 1) * self.horizon)
            exploration = min(1.0, math.sqrt(square))
        self.exploration = np.float64(unit_interval("exploration", exploration, low_open=True))
        self.share = np.float64(
            1 / self.horizon if share is None else unit_interval("share", share)
        )

    def init(self, key: PRNGKeyArray) -> Exp3SState:
        return Exp3SState(jnp.zeros((), int), jnp.zeros(self.size), key)

    def ask(self, state: Exp3SState, time: Scalar) -> tuple[Exp3SState, Query]:
        key = jax.random.fold_in(state.key, state.asked)
        query = draw(key, mixed(state.log_weights, self.exploration))
        return state._replace(asked=state.asked + 1), query

    def tell(self, state: Exp3SState, query: Query, reward: Scalar, time: Scalar) -> Exp3SState:
        scaled = self._scaled(checked_reward(reward))
        estimate = scaled / mixed(state.log_weights, self.exploration)[query]
        # the weights are divided by their sum, which changes no probability
        logs = jax.nn.log_softmax(state.log_weights)
        logs = logs.at[query].add(self.exploration / self.size * estimate)
        shared = jnp.log(self.share) + 1 - math.log(self.size)
        return state._replace(log_weights=jnp.logaddexp(logs, shared))
