r"""M-UCB: UCB that restarts when the mean of an arm changes in a window (Cao et al. 2019)."""

import math
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from driftpeak._core.argument_types import checked
from driftpeak._core.arguments import RecordsArguments
from driftpeak._core.errors import (
    MOST_STEPS,
    DriftpeakError,
    at_least,
    at_least_integer,
    positive,
    unit_interval,
)
from driftpeak._core.types import Scalar
from driftpeak.gp.priors import Prior
from driftpeak.policies.catalogue import given, policy, tuned
from driftpeak.policies.fixed_horizon import PlannedPolicy
from driftpeak.policies.independent_arms import upper_bounds, with_forced
from driftpeak.policies.player import Query, checked_reward
from driftpeak.policies.reward_range import RewardRange


class MonitoredState(NamedTuple):
    """The decisions, the restarts, the decisions before the last restart, and sums since then.

    `recent` has the last w rewards of each arm, in a ring.
    """

    asked: Int[Array, ""]
    restarts: Int[Array, ""]
    start: Int[Array, ""]
    counts: Int[Array, " n"]
    sums: Float[Array, " n"]
    recent: Float[Array, "n w"]


@policy(
    "m-ucb",
    memory="restarts all arms when a test detects a change; arms are independent (Cao et al. 2019)",
    width="its own",
    schedule=r":math:`b = \sqrt{(w / 2) \log(2 n T^2)}`",
    simple=tuned(
        "M-UCB",
        "threshold",
        (0.3, 1.0, 3.0),
        lambda known: None,
        arguments=lambda known: {
            **given("horizon", "reward_bound")(known),
            "window": 10,
            "exploration": 0.1,
        },
        second=("bonus", (2.0, 0.002)),
    ),
)
class MUCB(RecordsArguments, PlannedPolicy[MonitoredState], RewardRange[MonitoredState]):
    r"""M-UCB: monitored UCB, which restarts after a change (Cao, Wen, Kveton and Xie 2019).

    AISTATS 2019, algorithms 1 and 2. Rewards are scaled to [0, 1]. Let \(\tau\) be the number of
    steps before the last restart. In step t, arm \((t - \tau) \bmod \lfloor n / \gamma \rfloor\) is
    sampled if this is one of 1, ..., n. Otherwise the arm with the largest index is sampled,

    \[\bar X_i + \sqrt{\xi \log(t - \tau) / N_i},\]

    where average and number \(N_i\) are those since the restart; an arm without observations comes
    first. All arms restart if an arm with at least w rewards has, among its last w,

    \[\Bigl|\sum_{j > w/2} X_j - \sum_{j \le w/2} X_j\Bigr| > b.\]

    Correlations of the prior are not used.

    Arguments:
        prior: the number of points n and the prior mean.
        horizon: T, the number of decisions; `Doubling` removes the limit.
        window: w, even; the default is ours.
        changes: number of changes, at least 1, for the default of exploration.
        threshold: b, positive; by default \(\sqrt{(w / 2) \log(2 n T^2)}\). A threshold of w/2 or
            more restarts never.
        exploration: \(\gamma\) in (0, 1]; by default that of the paper's experiments, at most 1:
            \(\sqrt{M n (2 b + 3 \sqrt w) / (2 T)}\) for M changes.
        bonus: \(\xi\), positive; 2 in the paper.
        reward_bound: rewards, noise included, lie between the smallest prior mean less this and the
            largest plus this; default three deviations of a reward under the prior.

    Raises:
        DriftpeakError: a number out of range, an odd window, or a run longer than the horizon.

    Example:
        >>> import driftpeak as dp
        >>> prior = dp.Prior(dp.Grid([0, 1], size=20), dp.SE(lengthscale=0.2), noise_variance=0.01)
        >>> policy = dp.MUCB(prior, horizon=500)
    """

    threshold: Scalar
    exploration: Scalar
    bonus: Scalar
    window: int = eqx.field(static=True)
    horizon: int = eqx.field(static=True)
    size: int = eqx.field(static=True)
    deterministic = True

    @checked
    def __init__(
        self,
        prior: Prior,
        *,
        horizon: int,
        window: int = 50,
        changes: float = 1.0,
        threshold: float | None = None,
        exploration: float | None = None,
        bonus: float = 2.0,
        reward_bound: float | None = None,
    ) -> None:
        self._set_range(prior, reward_bound)
        self.horizon = at_least_integer("horizon", horizon, 1, MOST_STEPS)
        self.window = at_least_integer("window", window, 2, MOST_STEPS)
        if self.window % 2:
            raise DriftpeakError(
                f"window must be an even integer of at least 2; got {window}. Use {window + 1}"
            )
        self.size = n = len(prior)
        if threshold is None:
            threshold = math.sqrt(self.window / 2 * math.log(2 * n * self.horizon**2))
        self.threshold = np.float64(positive("threshold", threshold))
        delay = 2 * float(self.threshold) + 3 * math.sqrt(self.window)
        number = at_least("changes", changes, 1.0)
        if exploration is None:
            exploration = min(1.0, math.sqrt(number * n * delay / (2 * self.horizon)))
        self.exploration = np.float64(unit_interval("exploration", exploration, low_open=True))
        self.bonus = np.float64(positive("bonus", bonus))

    def init(self, key: PRNGKeyArray) -> MonitoredState:
        none = jnp.zeros((), int)
        return MonitoredState(
            asked=none,
            restarts=none,
            start=none,
            counts=jnp.zeros(self.size, int),
            sums=jnp.zeros(self.size),
            recent=jnp.zeros((self.size, self.window)),
        )

    def ask(self, state: MonitoredState, time: Scalar) -> tuple[MonitoredState, Query]:
        elapsed = state.asked + 1 - state.start
        cycle = jnp.floor(self.size / self.exploration).astype(int)
        counts = state.counts.astype(float)
        best = jnp.argmax(upper_bounds(counts, state.sums, elapsed, 1.0, self.bonus))
        query = with_forced(best, elapsed, cycle, self.size)
        return state._replace(asked=state.asked + 1), query

    def tell(
        self, state: MonitoredState, query: Query, reward: Scalar, time: Scalar
    ) -> MonitoredState:
        scaled = self._scaled(checked_reward(reward))
        recent = state.recent.at[query, state.counts[query] % self.window].set(scaled)
        counts = state.counts.at[query].add(1)
        changed = (counts[query] >= self.window) & self._changed(recent[query], counts[query])
        return MonitoredState(
            asked=state.asked,
            restarts=state.restarts + changed,
            start=jnp.where(changed, state.asked, state.start),
            counts=jnp.where(changed, 0, counts),
            sums=jnp.where(changed, 0.0, state.sums.at[query].add(scaled)),
            recent=recent,
        )

    def restarts(self, state: MonitoredState) -> Int[Array, ""]:
        return state.restarts

    def _changed(self, recent: Float[Array, " w"], count: Int[Array, ""]) -> Array:
        """Return whether the halves of an arm's last w rewards differ by more than b."""
        age = (count - 1 - jnp.arange(self.window)) % self.window
        signs = jnp.where(age < self.window // 2, 1.0, -1.0)
        return jnp.abs((signs * recent).sum()) > self.threshold
