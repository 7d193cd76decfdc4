"""Wrappers of policies and players, which delegate everything that they do not define."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Bool, Float, Int

from driftpeak._core.types import Scalar
from driftpeak.policies.player import Asks, Player, Prediction, Query, Reading
from driftpeak.policies.protocol import Policy


class WrappingPolicy(Policy):
    """A policy whose properties are those of `policy`; subclasses override some. Base class."""

    policy: Policy

    @property
    def points(self) -> int:
        return self.policy.points

    @property
    def deterministic(self) -> bool:
        return self.policy.deterministic

    @property
    def learns_from_any(self) -> bool:
        return self.policy.learns_from_any

    @property
    def assumed(self) -> Mapping[str, float]:
        return self.policy.assumed

    @property
    def rejects_outliers(self) -> bool:
        return self.policy.rejects_outliers

    def out_of_bounds(self, actions: np.ndarray, rewards: np.ndarray) -> np.ndarray:
        return self.policy.out_of_bounds(actions, rewards)

    @property
    def bounds_in_words(self) -> str:
        return self.policy.bounds_in_words


class WrappedState(NamedTuple):
    """The inner player's state, and the wrapper's state."""

    own: Any
    more: Any


class Wrapping(Player[WrappedState]):
    """A player that delegates to `player`; subclasses override some methods. Base class.

    Only `init` must be written: `WrappedState(self.player.init(key), ...)`.
    """

    player: Player[Any]

    @property
    def points(self) -> int:
        return self.player.points

    def ask(self, state: WrappedState, time: Scalar) -> tuple[WrappedState, Query]:
        own, query = self.player.ask(state.own, time)
        return state._replace(own=own), query

    def ask_among(
        self, state: WrappedState, time: Scalar, among: Bool[Array, " n"]
    ) -> tuple[WrappedState, Query]:
        own, query = self.player.ask_among(state.own, time, among)
        return state._replace(own=own), query

    def tell(self, state: WrappedState, query: Query, reward: Scalar, time: Scalar) -> WrappedState:
        return state._replace(own=self.player.tell(state.own, query, reward, time))

    @property
    def side_capacity(self) -> int:
        return self.player.side_capacity

    @property
    def consults(self) -> Asks:
        return self.player.consults

    def consult(
        self, state: WrappedState, time: Scalar
    ) -> tuple[WrappedState, Int[Array, " q"], Bool[Array, " q"]]:
        own, arms, wanted = self.player.consult(state.own, time)
        return state._replace(own=own), arms, wanted

    def hear(
        self, state: WrappedState, arms: Int[Array, " q"], answers: Any, answered: Any, time: Scalar
    ) -> WrappedState:
        return state._replace(own=self.player.hear(state.own, arms, answers, answered, time))

    def predict(self, state: WrappedState, time: Scalar) -> Prediction | None:
        return self.player.predict(state.own, time)

    def held(self, state: WrappedState, time: Scalar) -> Int[Array, ""] | None:
        return self.player.held(state.own, time)

    def refresh(self, state: WrappedState) -> WrappedState:
        return state._replace(own=self.player.refresh(state.own))

    def inform(self, state: WrappedState, values: Float[Array, " n"]) -> WrappedState:
        return state._replace(own=self.player.inform(state.own, values))

    def restarts(self, state: WrappedState) -> Int[Array, ""]:
        return self.player.restarts(state.own)

    @property
    def readings(self) -> Mapping[str, Reading]:
        return self.player.readings

    def read(self, state: WrappedState) -> dict[str, Any]:
        return self.player.read(state.own)
