"""GP-UCB in the virtual setting of M25: every past point is asked again at every step."""

from typing import Any, NamedTuple, Unpack

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, PRNGKeyArray

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import one_of
from driftpeak._core.times import Horizon, TimesLike, check_times
from driftpeak._core.types import Scalar
from driftpeak.gp.priors import Prior
from driftpeak.policies.belief_policy import ActsByBelief, BeliefPolicy
from driftpeak.policies.catalogue import policy
from driftpeak.policies.player import ASKS, Asks, Query
from driftpeak.policies.side_queries import AnsweringPlayer
from driftpeak.policies.ucb import GPUCB, Options


@policy(
    "virtual-gp-ucb",
    memory="an answer for every past sample (:doc:`side-queries`)",
    width="``Heteroscedastic``",
    options=BeliefPolicy.__init__,
)
class VirtualGPUCB(ActsByBelief):
    r"""GP-UCB on the virtual data that SparQ approximates: all past points, asked again (M25).

    At every step the expert re-evaluates the current function once for each past sample:
    \([Y_T]_t = f_T(x_t) + \epsilon_t\) for all t. The posterior is that of a function that does not
    move. The side queries of T steps number about \(T^2/2\), so this is a baseline: it has the
    information that policies with fewer side queries lack.

    If the expert answers only some queries, the posterior is computed from those answers; if none,
    earlier observations are kept.

    Arguments:
        prior: domain, kernel, mean and noise variance.
        asks: side queries "before" the decision, or "after" the reward, as in M25.
        options: as for `driftpeak.policies.ucb`.

    Raises:
        DriftpeakError: another value of `asks`, or errors of GP-UCB.

    Source: M25 section 3.1.
    """

    acting: BeliefPolicy
    asks: Asks

    @checked
    def __init__(self, prior: Prior, *, asks: Asks = "before", **options: Unpack[Options]) -> None:
        self.acting = GPUCB(prior, **options)
        self.asks = one_of("asks", asks, ASKS)

    def prepare(self, times: TimesLike | Horizon) -> "VirtualPlayer":
        return VirtualPlayer(self.acting.prepare(times), self.asks, len(check_times(times)))


class VirtualState(NamedTuple):
    """The state of GP-UCB, and the points sampled so far in their order."""

    acting: Any
    arms: Int[Array, " steps"]
    sampled: Int[Array, ""]


class VirtualPlayer(AnsweringPlayer):
    """GP-UCB's player whose observations are replaced by answers at every step."""

    def init(self, key: PRNGKeyArray) -> VirtualState:
        arms = jnp.zeros(self.capacity, int)
        return VirtualState(self.actor.init(key), arms, jnp.zeros((), int))

    def consult(
        self, state: VirtualState, time: Scalar
    ) -> tuple[VirtualState, Int[Array, " q"], Bool[Array, " q"]]:
        return state, state.arms, jnp.arange(self.capacity) < state.sampled

    def tell(self, state: VirtualState, query: Query, reward: Scalar, time: Scalar) -> VirtualState:
        return VirtualState(
            self.actor.tell(state.acting, query, reward, time),
            state.arms.at[state.sampled % self.capacity].set(query),
            state.sampled + 1,
        )
