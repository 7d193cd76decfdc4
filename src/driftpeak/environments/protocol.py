"""What an environment is: a function over the domain for every step of a run.

environment = environment.prepare(times)    # on the host, once per run
state = environment.init(key)
state, values = environment.step(state, time)   # f at `time`, over all n points

`step` is what an environment has to have. One whose values are a product may say `move` and
`values` as well, so that the product is made for several steps at once.
"""

from abc import abstractmethod
from typing import Any, Generic, TypeVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from driftpeak._core.times import Times
from driftpeak._core.types import Scalar
from driftpeak.environments.noise import Noise

State = TypeVar("State")


class Environment(eqx.Module, Generic[State]):
    """A moving function, and the noise through which it is seen."""

    noise_variance: eqx.AbstractVar[Scalar]
    """Variance of the Gaussian noise that `simulate` adds to every reward."""

    @property
    def noise(self) -> Noise:
        """The noise itself; Gaussian, unless a subclass says otherwise."""
        return Noise(jnp.asarray(self.noise_variance))

    def prepare(self, times: Times) -> "Environment[Any]":
        """The environment made ready for steps at `times`.

        Raises:
            DriftpeakError: it has nothing to say at these times.
        """
        return self

    @abstractmethod
    def init(self, key: PRNGKeyArray) -> State:
        """The state before the first step; `key` is all the randomness there will be."""

    @abstractmethod
    def step(self, state: State, time: Scalar) -> tuple[State, Float[Array, " n"]]:
        """The function's values at `time`; called once for every step, in order."""

    def move(self, state: State, time: Scalar) -> tuple[State, Any]:
        """The state at `time`, and what `values` makes the function of: by default its values."""
        return self.step(state, time)

    def values(self, moved: Any) -> Float[Array, "*some n"]:
        """The functions of what `move` gave, at some steps of some trials."""
        return moved
