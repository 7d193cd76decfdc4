"""The doubling trick: never-ending use of a policy that must know its horizon."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, PRNGKeyArray

from driftpeak.beliefs import check_times
from driftpeak.errors import DriftpeakError, at_least_integer
from driftpeak.forgetting import TimesLike
from driftpeak.numerics.conditionals import lockstep
from driftpeak.policies.protocol import Policy, Query, Scalar, checked_reward


class Doubling(Policy[Any]):
    """A policy planned for `first` steps, then a new one for twice as many, and so on.

    `Doubling(lambda horizon: RPERP(prior, horizon=horizon))`. A regret bound of order
    horizon^a holds for it at every time, with a constant 2^a / (2^a - 1) times as large
    (Besson and Kaufmann 2018).

    Arguments:
        make: from a horizon, the policy.
        first: the first horizon.

    Raises:
        DriftpeakError: first below 2, a policy that sees the true function.
    """

    make: Callable[[int], Policy[Any]] = eqx.field(static=True)
    first: int = eqx.field(static=True)
    size: int = eqx.field(static=True)
    certain: bool = eqx.field(static=True)

    def __init__(self, make: Callable[[int], Policy[Any]], *, first: int = 128) -> None:
        self.make = make
        self.first = at_least_integer("first", first, 2)
        example = make(self.first)
        if example.foresight != "none":
            raise DriftpeakError("a policy that sees the true function needs no doubling")
        self.size = example.points
        self.certain = example.deterministic

    @property
    def points(self) -> int:
        return self.size

    @property
    def deterministic(self) -> bool:
        return self.certain

    def out_of_bounds(self, actions: Any, rewards: Any) -> Any:
        return self.make(self.first).out_of_bounds(actions, rewards)

    @property
    def bounds_in_words(self) -> str:
        return self.make(self.first).bounds_in_words

    def prepare(self, times: TimesLike) -> "Stages":
        times = check_times(times)
        stages, starts, begin, horizon = [], [], 0, self.first
        while begin < len(times):
            stages.append(self.make(horizon).prepare(times[begin : begin + horizon]))
            starts.append(begin)
            begin, horizon = begin + horizon, 2 * horizon
        return Stages(tuple(stages), np.array(starts))

    def init(self, key: PRNGKeyArray) -> Any:
        raise DriftpeakError("call policy.prepare(times) first: it fixes the number of stages")

    def ask(self, state: Any, time: Scalar) -> tuple[Any, Query]:
        raise DriftpeakError("call policy.prepare(times) first, and ask what it returns")

    def tell(self, state: Any, query: Query, reward: Scalar, time: Scalar) -> Any:
        raise DriftpeakError("call policy.prepare(times) first, and tell what it returns")


class StagesState(NamedTuple):
    """The number of decisions made, and the state of every stage's policy."""

    step: Int[Array, ""]
    states: tuple[Any, ...]


class Stages(Policy[StagesState]):
    """One policy after another: stage i acts from step `starts[i]` (from 0) on."""

    policies: tuple[Policy[Any], ...]
    starts: Any

    @property
    def points(self) -> int:
        return self.policies[0].points

    def init(self, key: PRNGKeyArray) -> StagesState:
        keys = jax.random.split(key, len(self.policies))
        states = tuple(policy.init(k) for policy, k in zip(self.policies, keys, strict=True))
        return StagesState(jnp.zeros((), int), states)

    def ask(self, state: StagesState, time: Scalar) -> tuple[StagesState, Query]:
        states, query = lockstep(_ask, self._stage(state.step), (self, state.states, time))
        return StagesState(state.step + 1, states), query

    def tell(self, state: StagesState, query: Query, reward: Scalar, time: Scalar) -> StagesState:
        own = (self, state.states, query, checked_reward(reward), time)
        return state._replace(states=lockstep(_tell, self._stage(state.step - 1), own))

    def refresh(self, state: StagesState) -> StagesState:
        refreshed = (p.refresh(s) for p, s in zip(self.policies, state.states, strict=True))
        return state._replace(states=tuple(refreshed))

    def restarts(self, state: StagesState) -> Int[Array, ""]:
        counts = [p.restarts(s) for p, s in zip(self.policies, state.states, strict=True)]
        return jnp.stack(counts).sum()

    def _stage(self, step: Any) -> Any:
        return jnp.searchsorted(jnp.asarray(self.starts), step, side="right") - 1


def _replaced(states: tuple[Any, ...], stage: int, state: Any) -> tuple[Any, ...]:
    return (*states[:stage], state, *states[stage + 1 :])


def _ask(stage: Any, own: Any) -> Any:
    self, states, time = own

    def ask(number: int) -> Any:
        state, query = self.policies[number].ask(states[number], time)
        return _replaced(states, number, state), jnp.asarray(query, int)

    return jax.lax.switch(stage, [lambda n=n: ask(n) for n in range(len(states))])


def _tell(stage: Any, own: Any) -> Any:
    self, states, query, reward, time = own

    def tell(number: int) -> Any:
        state = self.policies[number].tell(states[number], query, reward, time)
        return _replaced(states, number, state)

    return jax.lax.switch(stage, [lambda n=n: tell(n) for n in range(len(states))])
