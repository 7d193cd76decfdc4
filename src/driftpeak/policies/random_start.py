"""A random first query, or several, in front of any policy."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, PRNGKeyArray

from driftpeak.errors import DriftpeakError, at_least_integer
from driftpeak.forgetting import TimesLike
from driftpeak.policies.doubling import Doubling
from driftpeak.policies.planned import PlannedPolicy
from driftpeak.policies.protocol import Asks, Policy, Prediction, Query, Scalar


class RandomStartState(NamedTuple):
    """The policy's state, the number of decisions made, and the source of randomness."""

    own: Any
    step: Int[Array, ""]
    key: PRNGKeyArray


class RandomStart(Policy[RandomStartState]):
    """`policy`, but for its first `steps` queries, which are drawn uniformly at random.

    The policy learns what they bring. In a simulation all policies with
    a random start sample the same points first, so that they can be compared over starting points
    (B16 section 5.2: 20 first sensors).

    Arguments:
        policy: what acts after the start.
        steps: random queries, at least 1.

    Raises:
        DriftpeakError: steps below 1, a policy that sees the true function, a policy that learns
            only from queries of its own (elimination, importance weights).
    """

    policy: Policy[Any]
    steps: int = eqx.field(static=True)

    def __init__(self, policy: Policy[Any], *, steps: int = 1) -> None:
        if policy.foresight != "none":
            raise DriftpeakError("a policy that sees the true function needs no random start")
        if isinstance(policy, PlannedPolicy | Doubling):
            raise DriftpeakError(
                f"{type(policy).__name__} learns only from queries of its own: no random start"
            )
        self.policy = policy
        self.steps = at_least_integer("steps", steps, 1)

    @property
    def points(self) -> int:
        return self.policy.points

    @property
    def side_capacity(self) -> int:
        return self.policy.side_capacity

    @property
    def consults(self) -> Asks:
        return self.policy.consults

    def prepare(self, times: TimesLike) -> "RandomStart":
        return RandomStart(self.policy.prepare(times), steps=self.steps)

    def init(self, key: PRNGKeyArray) -> RandomStartState:
        first, rest = jax.random.split(key)
        return RandomStartState(self.policy.init(rest), jnp.zeros((), int), first)

    def ask(self, state: RandomStartState, time: Scalar) -> tuple[RandomStartState, Query]:
        own, chosen = self.policy.ask(state.own, time)
        key = jax.random.fold_in(state.key, state.step)
        drawn = jax.random.randint(key, (), 0, self.points)
        query = jnp.where(state.step < self.steps, drawn, chosen)
        return RandomStartState(own, state.step + 1, state.key), query

    def tell(
        self, state: RandomStartState, query: Query, reward: Scalar, time: Scalar
    ) -> RandomStartState:
        return state._replace(own=self.policy.tell(state.own, query, reward, time))

    def consult(
        self, state: RandomStartState, time: Scalar
    ) -> tuple[RandomStartState, Int[Array, " q"], Bool[Array, " q"]]:
        own, arms, wanted = self.policy.consult(state.own, time)
        return state._replace(own=own), arms, wanted

    def hear(
        self,
        state: RandomStartState,
        arms: Int[Array, " q"],
        answers: Any,
        answered: Any,
        time: Scalar,
    ) -> RandomStartState:
        return state._replace(own=self.policy.hear(state.own, arms, answers, answered, time))

    def predict(self, state: RandomStartState, time: Scalar) -> Prediction | None:
        return self.policy.predict(state.own, time)

    def refresh(self, state: RandomStartState) -> RandomStartState:
        return state._replace(own=self.policy.refresh(state.own))

    def restarts(self, state: RandomStartState) -> Int[Array, ""]:
        return self.policy.restarts(state.own)

    def out_of_bounds(self, actions: Any, rewards: Any) -> Any:
        return self.policy.out_of_bounds(actions, rewards)

    @property
    def bounds_in_words(self) -> str:
        return self.policy.bounds_in_words
