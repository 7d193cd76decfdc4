"""Baselines: policies to beat, and policies with knowledge of the true function."""

import math
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from driftpeak._core.argument_types import checked
from driftpeak._core.arguments import RecordsArguments
from driftpeak._core.errors import (
    MOST_STEPS,
    DriftpeakError,
    at_least_integer,
    finite_array,
    positive,
)
from driftpeak._core.types import Scalar
from driftpeak.gp.priors import Prior
from driftpeak.policies.catalogue import given, policy, tuned
from driftpeak.policies.fixed_horizon import PlannedPolicy
from driftpeak.policies.player import Foresight, Query, State, checked_reward
from driftpeak.policies.protocol import ActingPolicy
from driftpeak.policies.randomised import draw, mixed
from driftpeak.policies.reward_range import RewardRange
from driftpeak.theory.schedules import rexp3_batch_length


class RandomState(NamedTuple):
    """The number of decisions, and the random key."""

    step: Int[Array, ""]
    key: PRNGKeyArray


class Ignorant(ActingPolicy[State]):
    """A baseline whose choices do not depend on the rewards. Base class."""

    size: eqx.AbstractVar[int]

    @property
    def points(self) -> int:
        return self.size

    def tell(self, state: State, query: Query, reward: Scalar, time: Scalar) -> State:
        return state


@policy("random", tag="uniform-random")
class UniformRandom(RecordsArguments, Ignorant[RandomState]):
    """A baseline that samples a point uniformly at random.

    Arguments:
        prior: a prior, of which only the number of points is used.
    """

    size: int = eqx.field(static=True)

    @checked
    def __init__(self, prior: Prior) -> None:
        self.size = len(prior)

    def init(self, key: PRNGKeyArray) -> RandomState:
        return RandomState(jnp.zeros((), int), key)

    def ask(self, state: RandomState, time: Scalar) -> tuple[RandomState, Query]:
        key = jax.random.fold_in(state.key, state.step)
        return state._replace(step=state.step + 1), jax.random.randint(key, (), 0, self.size)


class Foreseeing(Ignorant[Float[Array, " n"]]):
    """A baseline that samples the largest of the values it was shown. Base class."""

    size: int = eqx.field(static=True)
    deterministic = True

    @checked
    def __init__(self, prior: Prior) -> None:
        self.size = len(prior)

    def init(self, key: PRNGKeyArray) -> Float[Array, " n"]:
        return jnp.zeros(self.size)

    def ask(self, state: Any, time: Scalar) -> tuple[Any, Query]:
        return state, jnp.argmax(state)


@policy("clairvoyant", tag="", memory="none; samples the true maximum")
class Clairvoyant(Foreseeing):
    """A baseline that samples the true maximum at every step: regret 0.

    Arguments:
        prior: a prior, of which only the number of points is used.
    """

    foresight: ClassVar[Foresight] = "present"

    def inform(self, state: Any, values: Float[Array, " n"]) -> Any:
        return values


@policy("best-fixed-arm", tag="", memory="none; uses the true functions")
class BestFixedArm(Foreseeing):
    """A baseline that samples at every step the single point that is best on average over the run.

    Arguments:
        prior: a prior, of which only the number of points is used.
    """

    foresight: ClassVar[Foresight] = "all"

    def inform(self, state: Any, values: Float[Array, " n"]) -> Any:
        return state + values


@policy(
    tag="timetable",
    memory="none; the best arm at this time of day in recorded rows "
    "(:func:`~driftpeak.fit_history`)",
)
class Timetable(RecordsArguments, Ignorant[Int[Array, ""]]):
    """A baseline that plays the arm with the best history at this phase of the cycle.

    It does not learn. A policy that does not beat it is not worth using if there is a history. With
    a period of one step it plays the arm with the best average.

    Arguments:
        history: rewards, shape `(steps, arms)`; the last row is at time 0, as for
            `driftpeak.fit_history`.
        period: steps in a cycle. Phases without rows use the averages of the arms.

    Raises:
        DriftpeakError: no rows, values that are not finite, or a period below 1.
    """

    arms: Any  # (period,), the best arm at times 1, 2, ...
    size: int = eqx.field(static=True)
    deterministic = True

    @checked
    def __init__(self, history: Any, period: int = 1) -> None:
        rows = finite_array("history", history, 2)
        period = at_least_integer("period", period, 1)
        if len(rows) == 0:
            raise DriftpeakError("history must have at least one row; got none")
        self.size = rows.shape[1]
        places = np.arange(-len(rows), 0) % period  # of times 1 - T, ..., 0, counted from time 1
        means = np.tile(rows.mean(axis=0), (period, 1))
        for place in np.unique(places):
            means[place] = rows[places == place].mean(axis=0)
        self.arms = means.argmax(axis=1)

    def init(self, key: PRNGKeyArray) -> Int[Array, ""]:
        return jnp.zeros((), int)

    def ask(self, state: Any, time: Scalar) -> tuple[Any, Query]:
        arms = jnp.asarray(self.arms)
        return state, arms[jnp.rint(time - 1).astype(int) % len(arms)]


class RExp3State(NamedTuple):
    """The number of decisions, the logarithms of the weights, and the random key."""

    step: Int[Array, ""]
    log_weights: Float[Array, " n"]
    key: PRNGKeyArray


REXP3 = tuned(
    "RExp3",
    "variation",
    (1, 10, 100),
    lambda known: None if known.variation is None else max(known.variation, 1e-6),
    arguments=given("horizon", "reward_bound"),
)


@policy(
    "rexp3",
    memory="none; restarts (:doc:`near-optimal`)",
    schedule=":func:`~driftpeak.theory.schedules.rexp3_batch_length`",
    family=REXP3,
    simple=REXP3,
)
class RExp3(RecordsArguments, PlannedPolicy[RExp3State], RewardRange[RExp3State]):
    r"""Exp3 with scheduled restarts (Besbes, Gur and Zeevi 2014, Theorem 2).

    It does not use the kernel. Points are drawn with probability
    \(p = (1 - \gamma) w / \sum w + \gamma / n\). A reward z in [0, 1] multiplies the weight of its
    point by \(\exp(\gamma z / (n p))\). After every \(\Delta = \lceil (n \log n)^{1/3}
    (T / V_T)^{2/3} \rceil\) steps all weights are reset to one, and
    \(\gamma = \min(1, \sqrt{n \log n / ((e - 1) \Delta)})\).

    Arguments:
        prior: the number of points and the prior mean.
        horizon: T, the number of decisions; `Doubling` removes the limit.
        variation: V_T, the sum over time of the largest change of the function, in units of the
            reward; by default the range of the rewards.
        reward_bound: rewards, noise included, lie between the smallest prior mean minus this bound
            and the largest plus this bound; by default three standard deviations of a reward under
            the prior.

    Raises:
        DriftpeakError: a number out of range, or a run longer than the horizon.
    """

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
        self._set_range(prior, reward_bound)
        self.horizon = at_least_integer("horizon", horizon, 1, MOST_STEPS)
        self.size = len(prior)
        scaled = 1.0 if variation is None else positive("variation", variation) / self.range
        self.batch_length = rexp3_batch_length(self.size, horizon=self.horizon, variation=scaled)
        share = self.size * math.log(self.size) / ((math.e - 1) * self.batch_length)
        self.exploration = np.float64(min(1.0, math.sqrt(share)))

    def init(self, key: PRNGKeyArray) -> RExp3State:
        return RExp3State(jnp.zeros((), int), jnp.zeros(self.size), key)

    def ask(self, state: RExp3State, time: Scalar) -> tuple[RExp3State, Query]:
        fresh = state.step % self.batch_length == 0
        log_weights = jnp.where(fresh, 0.0, state.log_weights)
        key = jax.random.fold_in(state.key, state.step)
        query = draw(key, mixed(log_weights, self.exploration))
        return RExp3State(state.step + 1, log_weights, state.key), query

    def tell(self, state: RExp3State, query: Query, reward: Scalar, time: Scalar) -> RExp3State:
        scaled = self._scaled(checked_reward(reward))
        estimate = scaled / mixed(state.log_weights, self.exploration)[query]
        gain = self.exploration / self.size * estimate
        return state._replace(log_weights=state.log_weights.at[query].add(gain))
