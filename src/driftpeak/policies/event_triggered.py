r"""ET-GP-UCB: resets when a reward fails a change-point test (Brunzema et al. 2025)."""

import math
from typing import Unpack

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, PRNGKeyArray

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import unit_interval
from driftpeak._core.times import Horizon, TimesLike
from driftpeak._core.types import Scalar
from driftpeak.gp.priors import Prior
from driftpeak.policies.belief_policy import ActsByBelief, BeliefPlayer, BeliefPolicy
from driftpeak.policies.catalogue import policy, tuned
from driftpeak.policies.player import Query, checked_reward
from driftpeak.policies.ucb import GPUCB, Options
from driftpeak.policies.wrappers import WrappedState, Wrapping


@policy(
    "et-gp-ucb",
    memory="``Keep``, reset when a reward fails a test (Brunzema et al. 2025)",
    width="``ScaledLog``",
    options=BeliefPolicy.__init__,
    family=tuned("ET-GP-UCB", "delta", (0.01, 0.5), lambda known: 0.1),
)
class ETGPUCB(ActsByBelief):
    r"""ET-GP-UCB: GP-UCB that resets when a reward fails a change-point test (TMLR 2025, Alg. 1).

    After the t-th decision since the last restart it restarts if
    \(|y - \mu(x)| > \sqrt{\rho_t}\,\sigma(x) + \bar w_t\), with \(\rho_t = 2 \log(2\pi_t/\delta)\),
    \(\bar w_t = \sigma_n \sqrt{2 \log(2\pi_t/\delta)}\) and \(\pi_t = \pi^2 t^2 / 6\). Under the
    prior, without change, the probability that this ever happens is at most delta. The reward that
    failed the test is the first of the new data. The policy needs no drift parameter.

    Arguments:
        prior: domain, kernel, noise variance \(\sigma_n^2\).
        delta: in (0, 1).
        options: as for `driftpeak.policies.ucb`.

    Raises:
        DriftpeakError: delta outside (0, 1), or errors of GP-UCB.
    """

    acting: BeliefPolicy
    delta: Scalar

    @checked
    def __init__(self, prior: Prior, *, delta: float = 0.1, **options: Unpack[Options]) -> None:
        self.acting = GPUCB(prior, **options)
        self.delta = np.float64(unit_interval("delta", delta, low_open=True, high_open=True))

    @property
    def chooses_among(self) -> bool:
        return self.acting.chooses_among

    def prepare(self, times: TimesLike | Horizon) -> "ETGPUCBPlayer":
        return ETGPUCBPlayer(self.acting.prepare(times), self.delta)


class ETGPUCBPlayer(Wrapping):
    """GP-UCB's player with resets; the wrapper counts them."""

    player: BeliefPlayer
    delta: Scalar

    def init(self, key: PRNGKeyArray) -> WrappedState:
        return WrappedState(self.player.init(key), jnp.zeros((), int))

    def tell(self, state: WrappedState, query: Query, reward: Scalar, time: Scalar) -> WrappedState:
        reward, own = checked_reward(reward), state.own
        expected = self.player.predict(own, time)
        spread = jnp.sqrt(jnp.maximum(expected.variance[query], 0.0))
        step = jnp.maximum(own.step, 1)  # decisions since the last restart
        root = jnp.sqrt(2 * jnp.log(2 * math.pi**2 * step**2 / (6 * self.delta)))
        plausible = root * (spread + jnp.sqrt(expected.noise_variance))
        event = jnp.abs(reward - expected.mean[query]) > plausible
        # the key is kept: random draws must not be repeated
        fresh = own._replace(belief=self.player.belief.init(), step=jnp.ones((), int))
        started = jax.tree.map(lambda new, old: jnp.where(event, new, old), fresh, own)
        return WrappedState(self.player.tell(started, query, reward, time), state.more + event)

    def restarts(self, state: WrappedState) -> Int[Array, ""]:
        return state.more
