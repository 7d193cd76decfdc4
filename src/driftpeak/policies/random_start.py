"""A wrapper of any policy with random first queries."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, PRNGKeyArray

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import MOST_STEPS, DriftpeakError, at_least_integer
from driftpeak._core.times import Horizon, TimesLike
from driftpeak._core.types import Scalar
from driftpeak.policies.catalogue import policy
from driftpeak.policies.player import Query
from driftpeak.policies.protocol import Policy
from driftpeak.policies.wrappers import WrappedState, Wrapping, WrappingPolicy


@policy(tag="random-start", memory="wraps a policy; first queries at random")
class RandomStart(WrappingPolicy):
    """A policy, `policy`, whose first `steps` queries are drawn uniformly at random.

    The policy is updated with their rewards. In a simulation all policies with a random start
    sample the same first points, so they can be compared over starting points (B16 section 5.2: 20
    first sensors).

    Arguments:
        policy: the policy after the start.
        steps: number of random queries, at least 1.

    Raises:
        DriftpeakError: steps below 1, a policy that sees the true function, or a policy that learns
            only from its own queries (elimination, importance weights).

    Source: B16 section 5.2.
    """

    steps: int = eqx.field(static=True)
    deterministic = False

    @checked
    def __init__(self, policy: Policy, *, steps: int = 1) -> None:
        if policy.foresight != "none":
            raise DriftpeakError("policy must not see the true function to have a random start")
        if not policy.learns_from_any:
            raise DriftpeakError(
                f"policy must learn from any query to have a random start; got "
                f"{type(policy).__name__}, which learns only from its own"
            )
        self.policy = policy
        self.steps = at_least_integer("steps", steps, 1, MOST_STEPS)

    def prepare(self, times: TimesLike | Horizon) -> "RandomStartPlayer":
        return RandomStartPlayer(self.policy.prepare(times), self.steps)


class Start(NamedTuple):
    """The number of decisions, and the random key of the first queries."""

    step: Int[Array, ""]
    key: PRNGKeyArray


class RandomStartPlayer(Wrapping):
    """The player of the policy after `steps` random queries."""

    steps: int = eqx.field(static=True)

    def init(self, key: PRNGKeyArray) -> WrappedState:
        first, rest = jax.random.split(key)
        return WrappedState(self.player.init(rest), Start(jnp.zeros((), int), first))

    def ask(self, state: WrappedState, time: Scalar) -> tuple[WrappedState, Query]:
        own, chosen = self.player.ask(state.own, time)
        step, key = state.more
        drawn = jax.random.randint(jax.random.fold_in(key, step), (), 0, self.points)
        query = jnp.where(step < self.steps, drawn, chosen)
        return WrappedState(own, Start(step + 1, key)), query
