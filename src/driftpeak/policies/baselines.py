"""Yardsticks: what the policies should beat, and what nobody can."""

import math
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from driftpeak._core.argument_types import checked
from driftpeak._core.arguments import Recorded
from driftpeak._core.errors import (
    MOST_STEPS,
    DriftpeakError,
    at_least_integer,
    finite_array,
    positive,
)
from driftpeak._core.types import Scalar
from driftpeak.gp.priors import Prior
from driftpeak.policies.fixed_horizon import PlannedPolicy
from driftpeak.policies.player import Foresight, Query, checked_reward
from driftpeak.policies.protocol import ActingPolicy
from driftpeak.policies.randomised import default_reward_bound, draw
from driftpeak.theory.schedules import rexp3_batch_length


class RandomState(NamedTuple):
    """The number of decisions made, and the source of randomness."""

    step: Int[Array, ""]
    key: PRNGKeyArray


class UniformRandom(Recorded, ActingPolicy[RandomState]):
    """Sample a point uniformly at random. The prior only says how many there are.

    Arguments:
        prior: of which only the number of points is used.
    """

    size: int = eqx.field(static=True)

    @checked
    def __init__(self, prior: Prior) -> None:
        self.size = len(prior)

    @property
    def points(self) -> int:
        return self.size

    def init(self, key: PRNGKeyArray) -> RandomState:
        return RandomState(jnp.zeros((), int), key)

    def ask(self, state: RandomState, time: Scalar) -> tuple[RandomState, Query]:
        key = jax.random.fold_in(state.key, state.step)
        return state._replace(step=state.step + 1), jax.random.randint(key, (), 0, self.size)

    def tell(self, state: RandomState, query: Query, reward: Scalar, time: Scalar) -> RandomState:
        return state


class Foreseeing(ActingPolicy[Float[Array, " n"]]):
    """Sample the largest of the values it was shown. Base class."""

    size: int = eqx.field(static=True)

    @checked
    def __init__(self, prior: Prior) -> None:
        self.size = len(prior)

    @property
    def points(self) -> int:
        return self.size

    @property
    def deterministic(self) -> bool:
        return True

    def init(self, key: PRNGKeyArray) -> Float[Array, " n"]:
        return jnp.zeros(self.size)

    def ask(self, state: Any, time: Scalar) -> tuple[Any, Query]:
        return state, jnp.argmax(state)

    def tell(self, state: Any, query: Query, reward: Scalar, time: Scalar) -> Any:
        return state


class Clairvoyant(Foreseeing):
    """Sample the true maximum of every step: regret 0.

    Arguments:
        prior: of which only the number of points is used.
    """

    foresight: ClassVar[Foresight] = "present"

    def inform(self, state: Any, values: Float[Array, " n"]) -> Any:
        return values


class BestFixedArm(Foreseeing):
    """Sample, at every step, the one point that is best on average over the whole run.

    Arguments:
        prior: of which only the number of points is used.
    """

    foresight: ClassVar[Foresight] = "all"

    def inform(self, state: Any, values: Float[Array, " n"]) -> Any:
        return state + values


class Timetable(Recorded, ActingPolicy[Int[Array, ""]]):
    """Play what history says, and learn nothing: the arm that was best at this time of the cycle.

    Who has a history needs no bandit that does not beat this. With a period of one step it is the
    arm that was best on average.

    Arguments:
        history: rewards, shape `(steps, arms)`; the last row is at time 0, as for
            `driftpeak.learn`.
        period: steps in a cycle. A time of the cycle that no row shows has the arms' averages.

    Raises:
        DriftpeakError: no rows, values that are not finite, a period below 1.
    """

    arms: Any  # (period,), the best at times 1, 2, ...
    size: int = eqx.field(static=True)

    @checked
    def __init__(self, history: Any, period: int = 1) -> None:
        rows = finite_array("history", history, 2)
        period = at_least_integer("period", period, 1)
        if len(rows) == 0:
            raise DriftpeakError("history must have at least one row")
        self.size = rows.shape[1]
        places = np.arange(-len(rows), 0) % period  # of times 1 - T, ..., 0, counted from time 1
        means = np.tile(rows.mean(axis=0), (period, 1))
        for place in np.unique(places):
            means[place] = rows[places == place].mean(axis=0)
        self.arms = means.argmax(axis=1)

    @property
    def points(self) -> int:
        return self.size

    @property
    def deterministic(self) -> bool:
        return True

    def init(self, key: PRNGKeyArray) -> Int[Array, ""]:
        return jnp.zeros((), int)

    def ask(self, state: Any, time: Scalar) -> tuple[Any, Query]:
        arms = jnp.asarray(self.arms)
        return state, arms[jnp.rint(time - 1).astype(int) % len(arms)]

    def tell(self, state: Any, query: Query, reward: Scalar, time: Scalar) -> Any:
        return state


class RExp3State(NamedTuple):
    """The number of decisions made, the logarithms of the weights, the source of randomness."""

    step: Int[Array, ""]
    log_weights: Float[Array, " n"]
    key: PRNGKeyArray


class RExp3(Recorded, PlannedPolicy[RExp3State]):
    r"""Exp3, started afresh every so many steps (Besbes, Gur and Zeevi 2014, Theorem 2).

    It knows nothing of the kernel. Points are drawn with probability
    \(p = (1 - \gamma) w / \sum w + \gamma / n\); a reward z in [0, 1] multiplies the weight of its
    point by \(\exp(\gamma z / (n p))\); after every \(\Delta = \lceil (n \log n)^{1/3}
    (T / V_T)^{2/3} \rceil\) steps all weights are one again, and
    \(\gamma = \min(1, \sqrt{n \log n / ((e - 1) \Delta)})\).

    Arguments:
        prior: the number of points and the prior mean.
        horizon: T, the number of decisions; `Doubling` lifts the limit.
        variation: V_T, the sum over time of the largest change of the function, in units of the
            reward; if unknown, the range of the rewards stands for it.
        reward_bound: rewards, noise included, lie between the smallest prior mean less this and the
            largest plus this; default three deviations of a reward under the prior.

    Raises:
        DriftpeakError: a number out of range; a run longer than the horizon.
    """

    low: Any
    range: Any
    reward_bound: Any
    exploration: Any
    horizon: int = eqx.field(static=True)
    batch_length: int = eqx.field(static=True)
    size: int = eqx.field(static=True)

    @checked
    def __init__(
        self,
        prior: Prior,
        *,
        horizon: int,
        variation: float | None = None,
        reward_bound: float | None = None,
    ) -> None:
        bound = default_reward_bound(prior) if reward_bound is None else reward_bound
        self.reward_bound = np.float64(positive("reward_bound", bound))
        self.low = prior.mean.min() - bound
        self.range = prior.mean.max() + bound - self.low
        self.horizon = at_least_integer("horizon", horizon, 1, MOST_STEPS)
        self.size = len(prior)
        scaled = 1.0 if variation is None else positive("variation", variation) / self.range
        self.batch_length = rexp3_batch_length(self.size, horizon=self.horizon, variation=scaled)
        share = self.size * math.log(self.size) / ((math.e - 1) * self.batch_length)
        self.exploration = np.float64(min(1.0, math.sqrt(share)))

    @property
    def points(self) -> int:
        return self.size

    def init(self, key: PRNGKeyArray) -> RExp3State:
        return RExp3State(jnp.zeros((), int), jnp.zeros(self.size), key)

    def ask(self, state: RExp3State, time: Scalar) -> tuple[RExp3State, Query]:
        fresh = state.step % self.batch_length == 0
        log_weights = jnp.where(fresh, 0.0, state.log_weights)
        key = jax.random.fold_in(state.key, state.step)
        query = draw(key, self._probabilities(log_weights))
        return RExp3State(state.step + 1, log_weights, state.key), query

    def tell(self, state: RExp3State, query: Query, reward: Scalar, time: Scalar) -> RExp3State:
        scaled = (checked_reward(reward) - self.low) / self.range
        estimate = scaled / self._probabilities(state.log_weights)[query]
        gain = self.exploration / self.size * estimate
        return state._replace(log_weights=state.log_weights.at[query].add(gain))

    def out_of_bounds(self, actions: np.ndarray, rewards: np.ndarray) -> np.ndarray:
        return (rewards < self.low) | (rewards > self.low + self.range)

    @property
    def bounds_in_words(self) -> str:
        # relative to the prior mean, so that it holds for costs, which a policy sees negated
        return f"reward_bound={self.reward_bound:g} beyond the smallest and largest prior mean"

    def _probabilities(self, log_weights: Float[Array, " n"]) -> Float[Array, " n"]:
        share = jax.nn.softmax(log_weights)
        return (1 - self.exploration) * share + self.exploration / self.size
