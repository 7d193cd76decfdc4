"""The doubling trick: a policy with a fixed horizon, used without a horizon."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, PRNGKeyArray

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import MOST_STEPS, DriftpeakError, at_least_integer, shown
from driftpeak._core.numerics.conditionals import lockstep
from driftpeak._core.times import Horizon, TimesLike, check_times
from driftpeak._core.types import Scalar
from driftpeak.policies.catalogue import policy
from driftpeak.policies.player import (
    Asks,
    Player,
    Prediction,
    Query,
    Reading,
    checked_answers,
    checked_reward,
)
from driftpeak.policies.protocol import Policy
from driftpeak.policies.wrappers import WrappingPolicy


@policy(tag="doubling", memory="wraps a policy with a horizon; doubles the horizon when it ends")
class Doubling(WrappingPolicy):
    """A policy planned for `first` steps, then a new one for twice as many, and so on.

    For example, `Doubling(lambda horizon: RPERP(prior, horizon=horizon))`. A regret bound of order
    horizon^a holds for it at every time, with a constant 2^a / (2^a - 1) times as large
    (Besson and Kaufmann 2018).

    Arguments:
        make: a function from a horizon to a policy.
        first: the first horizon.

    Raises:
        DriftpeakError: first below 2, or a policy that sees the true function.
    """

    make: Callable[[int], Policy] = eqx.field(static=True)
    first: int = eqx.field(static=True)

    @checked
    def __init__(self, make: Callable[[int], Policy], *, first: int = 128) -> None:
        self.make = make
        self.first = at_least_integer("first", first, 2, MOST_STEPS)
        self.policy = make(self.first)  # its properties are those of all
        if not isinstance(self.policy, Policy):
            raise DriftpeakError(f"make must return a policy; got {shown(self.policy)}")
        if self.policy.foresight != "none":
            raise DriftpeakError("make must not return a policy that sees the true function")

    def prepare(self, times: TimesLike | Horizon) -> "Stages":
        known = check_times(times)
        stages, starts, begin, horizon = [], [], 0, self.first
        while begin < len(known):
            own = known[begin : begin + horizon]
            in_any_order = isinstance(times, Horizon)
            stages.append(self.make(horizon).prepare(Horizon(len(own)) if in_any_order else own))
            starts.append(begin)
            begin, horizon = begin + horizon, 2 * horizon
        return Stages(tuple(stages), np.array(starts))


class StagesState(NamedTuple):
    """The number of decisions, and the state of each stage's player."""

    step: Int[Array, ""]
    states: tuple[Any, ...]


class Stages(Player[StagesState]):
    """A sequence of players: stage i acts from step `starts[i]` (from 0) on."""

    players: tuple[Player[Any], ...]
    starts: Any

    @property
    def points(self) -> int:
        return self.players[0].points

    def init(self, key: PRNGKeyArray) -> StagesState:
        keys = jax.random.split(key, len(self.players))
        states = tuple(player.init(k) for player, k in zip(self.players, keys, strict=True))
        return StagesState(jnp.zeros((), int), states)

    def ask(self, state: StagesState, time: Scalar) -> tuple[StagesState, Query]:
        states, query = self._change(_ask, state.step, state, time)
        return StagesState(state.step + 1, states), query

    def tell(self, state: StagesState, query: Query, reward: Scalar, time: Scalar) -> StagesState:
        own = (query, checked_reward(reward), time)
        states, _ = self._change(_tell, state.step - 1, state, *own)
        return state._replace(states=states)

    @property
    def side_capacity(self) -> int:
        return max(player.side_capacity for player in self.players)

    @property
    def consults(self) -> Asks:
        return self.players[0].consults

    def consult(
        self, state: StagesState, time: Scalar
    ) -> tuple[StagesState, Int[Array, " q"], Bool[Array, " q"]]:
        states, (arms, wanted) = self._change(_consult, state.step, state, time)
        return state._replace(states=states), arms, wanted

    def hear(
        self, state: StagesState, arms: Int[Array, " q"], answers: Any, answered: Any, time: Scalar
    ) -> StagesState:
        checked_answers(answers, answered)
        own = (arms, jnp.asarray(answers, float), jnp.asarray(answered, bool), time)
        states, _ = self._change(_hear, state.step, state, *own)
        return state._replace(states=states)

    def predict(self, state: StagesState, time: Scalar) -> Prediction | None:
        return self._see("predict", state, time)

    def held(self, state: StagesState, time: Scalar) -> Int[Array, ""] | None:
        return self._see("held", state, time)

    def refresh(self, state: StagesState) -> StagesState:
        refreshed = (p.refresh(s) for p, s in zip(self.players, state.states, strict=True))
        return state._replace(states=tuple(refreshed))

    def restarts(self, state: StagesState) -> Int[Array, ""]:
        counts = [p.restarts(s) for p, s in zip(self.players, state.states, strict=True)]
        return jnp.stack(counts).sum()

    @property
    def readings(self) -> Mapping[str, Reading]:
        return self.players[0].readings

    def read(self, state: StagesState) -> dict[str, Any]:
        return self._see("read", state)

    def _stage(self, step: Any) -> Any:
        return jnp.searchsorted(jnp.asarray(self.starts), step, side="right") - 1

    def _change(self, change: Any, step: Any, state: StagesState, *given: Any) -> Any:
        """Return the states after `change` of the stage that acts at `step`, and its results."""
        return lockstep(partial(_of_one, change), self._stage(step), (self, state.states, given))

    def _see(self, look: str, state: StagesState, *given: Any) -> Any:
        """Return the result of the method `look` of the newest stage that has decided."""
        newest = self._stage(jnp.maximum(state.step - 1, 0))
        return lockstep(partial(_shown_by_one, look), newest, (self, state.states, given))


def _of_one(change: Any, stage: Any, own: Any) -> Any:
    self, states, given = own

    def of(number: int) -> Any:
        state, more = change(self, self.players[number], states[number], *given)
        return (*states[:number], state, *states[number + 1 :]), more

    return jax.lax.switch(stage, [partial(of, number) for number in range(len(states))])


def _shown_by_one(look: str, stage: Any, own: Any) -> Any:
    self, states, given = own
    pairs = zip(self.players, states, strict=True)
    looks = [partial(getattr(player, look), state, *given) for player, state in pairs]
    return jax.lax.switch(stage, looks)


def _ask(_: Stages, player: Player[Any], state: Any, time: Scalar) -> Any:
    state, query = player.ask(state, time)
    return state, jnp.asarray(query, int)


def _tell(_: Stages, player: Player[Any], state: Any, *given: Any) -> Any:
    return player.tell(state, *given), None


def _consult(stages: Stages, player: Player[Any], state: Any, time: Scalar) -> Any:
    arms, wanted = jnp.zeros(stages.side_capacity, int), jnp.zeros(stages.side_capacity, bool)
    if size := player.side_capacity:
        state, own, ours = player.consult(state, time)
        arms, wanted = arms.at[:size].set(own), wanted.at[:size].set(ours)
    return state, (arms, wanted)


def _hear(
    _: Stages, player: Player[Any], state: Any, arms: Any, answers: Any, answered: Any, time: Scalar
) -> Any:
    if size := player.side_capacity:
        state = player.hear(state, arms[:size], answers[:size], answered[:size], time)
    return state, None
