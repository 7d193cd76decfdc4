r"""GLR-klUCB: a change-point test for each of several independent arms (Besson et al. 2022)."""

import math
import sys
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import xlogy
from jaxtyping import Array, Float, Int, PRNGKeyArray

from driftpeak._core.argument_types import checked
from driftpeak._core.arguments import RecordsArguments
from driftpeak._core.errors import MOST_STEPS, at_least_integer, one_of, unit_interval
from driftpeak._core.types import Scalar
from driftpeak.gp.priors import Prior
from driftpeak.policies.catalogue import given, policy, tuned
from driftpeak.policies.fixed_horizon import PlannedPolicy
from driftpeak.policies.independent_arms import with_forced
from driftpeak.policies.player import Query, checked_reward
from driftpeak.policies.reward_range import RewardRange

Restarts = Literal["local", "global"]
RESTARTS: tuple[Restarts, ...] = ("local", "global")
TINY = sys.float_info.epsilon
BISECTIONS = 40
"""Halvings of [mean, 1] for the index: its error is at most 1e-12."""


class GLRState(NamedTuple):
    """The decisions made, the observations in order, and the number before each arm's restart."""

    asked: Int[Array, ""]
    observed: Int[Array, ""]
    restarts: Int[Array, ""]
    arms: Int[Array, " t"]
    rewards: Float[Array, " t"]
    starts: Int[Array, " n"]
    counts: Float[Array, " n"]
    sums: Float[Array, " n"]


FAMILY = tuned(
    "GLR-klUCB",
    "exploration",
    (0.01, 0.1, 0.5),
    lambda known: None,
    arguments=given("horizon", "reward_bound"),
)


@policy(
    "glr-klucb",
    memory="restarts an arm when a test detects a change; arms are independent "
    "(Besson et al. 2022)",
    width="its own",
    family=FAMILY,
    simple=FAMILY,
)
class GLRKLUCB(RecordsArguments, PlannedPolicy[GLRState], RewardRange[GLRState]):
    r"""GLR-klUCB: kl-UCB that restarts an arm when its mean has changed.

    Besson, Kaufmann, Maillard and Seznec (JMLR 2022), Algorithm 2. Rewards are scaled to [0, 1]. In
    step t, arm \(t \bmod \lfloor n / \alpha \rfloor\) is sampled if this is one of 1, ..., n.
    Otherwise the arm with the largest index is sampled,

    \[\max\{q : N_i\, \mathrm{kl}(\hat\mu_i, q) \le \log(t - \tau_i)\},\]

    with the observations since the restart \(\tau_i\) of arm i; an arm without observations comes
    first. After a reward, the arm restarts if one of the splits of its N observations has

    \[s\, \mathrm{kl}(\hat\mu_{1:s}, \hat\mu_{1:N}) +
      (N - s)\, \mathrm{kl}(\hat\mu_{s+1:N}, \hat\mu_{1:N}) \ge \log(N^{3/2} / \delta).\]

    After k - 1 restarts, \(\alpha = \alpha_0 \sqrt{k}\), at most 1. The threshold and the logarithm
    of the index are those of the authors' experiments. Correlations of the prior are not used.

    Arguments:
        prior: the number of points n and the prior mean.
        horizon: T, the number of decisions; `Doubling` lifts the limit.
        exploration: \(\alpha_0\) in (0, 1]; by default \(\sqrt{n \log(T) / T}\), at most 1.
        delta: \(\delta\) in (0, 1), false-alarm probability of the test; default \(1/\sqrt{T}\).
        restart: "local" restarts the arm that has changed, "global" all arms.
        reward_bound: rewards, noise included, lie between the smallest prior mean less this and the
            largest plus this; default three deviations of a reward under the prior. Rewards outside
            this range count as its ends.

    Raises:
        DriftpeakError: a number out of range; a run longer than the horizon.

    Example:
        >>> import driftpeak as dp
        >>> prior = dp.Prior(dp.Grid([0, 1], size=20), dp.SE(lengthscale=0.2), noise_variance=0.01)
        >>> policy = dp.GLRKLUCB(prior, horizon=500)
    """

    exploration: Scalar
    delta: Scalar
    horizon: int = eqx.field(static=True)
    size: int = eqx.field(static=True)
    restart: Restarts = eqx.field(static=True)
    deterministic = True

    @checked
    def __init__(
        self,
        prior: Prior,
        *,
        horizon: int,
        exploration: float | None = None,
        delta: float | None = None,
        restart: Restarts = "local",
        reward_bound: float | None = None,
    ) -> None:
        self.horizon = at_least_integer("horizon", horizon, 1, MOST_STEPS)
        self.size = len(prior)
        self.restart = one_of("restart", restart, RESTARTS)
        self._set_range(prior, reward_bound)
        if exploration is None:
            share = self.size * math.log(self.horizon) / self.horizon
            exploration = min(1.0, math.sqrt(share)) or 1.0  # 0 with a horizon of 1
        self.exploration = np.float64(unit_interval("exploration", exploration, low_open=True))
        delta = min(1 / math.sqrt(self.horizon), 0.5) if delta is None else delta
        self.delta = np.float64(unit_interval("delta", delta, low_open=True, high_open=True))

    def init(self, key: PRNGKeyArray) -> GLRState:
        zero, steps, size = jnp.zeros((), int), self.horizon, self.size
        return GLRState(
            asked=zero,
            observed=zero,
            restarts=zero,
            arms=jnp.zeros(steps, int),
            rewards=jnp.zeros(steps),
            starts=jnp.zeros(size, int),
            counts=jnp.zeros(size),
            sums=jnp.zeros(size),
        )

    def ask(self, state: GLRState, time: Scalar) -> tuple[GLRState, Query]:
        alpha = jnp.minimum(self.exploration * jnp.sqrt(state.restarts + 1.0), 1.0)
        cycle = jnp.floor(self.size / alpha).astype(int)
        best = jnp.argmax(self._index(state))
        query = with_forced(best, state.asked + 1, cycle, self.size)
        return state._replace(asked=state.asked + 1), query

    def tell(self, state: GLRState, query: Query, reward: Scalar, time: Scalar) -> GLRState:
        scaled = jnp.clip(self._scaled(checked_reward(reward)), 0.0, 1.0)
        state = state._replace(
            observed=state.observed + 1,
            arms=state.arms.at[state.observed].set(query),
            rewards=state.rewards.at[state.observed].set(scaled),
            counts=state.counts.at[query].add(1.0),
            sums=state.sums.at[query].add(scaled),
        )
        changed = self._changed(state, query)
        restarted = changed & ((jnp.arange(self.size) == query) | (self.restart == "global"))
        return state._replace(
            restarts=state.restarts + changed,
            starts=jnp.where(restarted, state.observed, state.starts),
            counts=jnp.where(restarted, 0.0, state.counts),
            sums=jnp.where(restarted, 0.0, state.sums),
        )

    def restarts(self, state: GLRState) -> Int[Array, ""]:
        return state.restarts

    def _index(self, state: GLRState) -> Float[Array, " n"]:
        """Return the kl-UCB index of each arm, by bisection."""
        means = state.sums / jnp.maximum(state.counts, 1.0)
        elapsed = jnp.maximum(state.asked - state.starts, 1)
        level = jnp.log(elapsed) / jnp.maximum(state.counts, 1.0)

        def halve(_: Any, ends: Any) -> Any:
            low, high = ends
            middle = (low + high) / 2
            inside = _kl(means, middle) <= level
            return jnp.where(inside, middle, low), jnp.where(inside, high, middle)

        low, _ = jax.lax.fori_loop(0, BISECTIONS, halve, (means, jnp.ones_like(means)))
        return jnp.where(state.counts > 0, low, jnp.inf)

    def _changed(self, state: GLRState, arm: Query) -> Array:
        """Return whether the test detects a change in the observations of an arm."""
        places = jnp.arange(self.horizon)
        counted = (state.arms == arm) & (places >= state.starts[arm]) & (places < state.observed)
        before, sums = jnp.cumsum(counted), jnp.cumsum(jnp.where(counted, state.rewards, 0.0))
        count, total = before[-1], sums[-1]
        after = count - before
        mean = total / count
        statistic = before * _kl(sums / jnp.maximum(before, 1), mean)
        statistic += after * _kl((total - sums) / jnp.maximum(after, 1), mean)
        split = counted & (after > 0)
        threshold = 1.5 * jnp.log(count) - jnp.log(self.delta)
        return jnp.any(split & (statistic >= threshold))


def _kl(p: Array, q: Array) -> Array:
    """Return the Kullback-Leibler divergence of two Bernoulli distributions."""
    p, q = jnp.clip(p, 0.0, 1.0), jnp.clip(q, TINY, 1 - TINY)
    return xlogy(p, p / q) + xlogy(1 - p, (1 - p) / (1 - q))
