"""Yardsticks: what the policies should beat, and what nobody can."""

from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from driftpeak.policies.protocol import Foresight, Policy, Query, Scalar
from driftpeak.priors import Prior


class RandomState(NamedTuple):
    """The number of decisions made, and the source of randomness."""

    step: Int[Array, ""]
    key: PRNGKeyArray


class UniformRandom(Policy[RandomState]):
    """Sample a point uniformly at random. The prior only says how many there are."""

    size: int = eqx.field(static=True)

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


class Foreseeing(Policy[Float[Array, " n"]]):
    """Sample the largest of the values it was shown. Base class."""

    size: int = eqx.field(static=True)

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
    """Sample the true maximum of every step: regret 0."""

    foresight: ClassVar[Foresight] = "present"

    def inform(self, state: Any, values: Float[Array, " n"]) -> Any:
        return values


class BestFixedArm(Foreseeing):
    """Sample, at every step, the one point that is best on average over the whole run."""

    foresight: ClassVar[Foresight] = "all"

    def inform(self, state: Any, values: Float[Array, " n"]) -> Any:
        return state + values
