"""The protocol of environments: a function over the domain for every step of a run.

environment = environment.prepare(times)    # on the host, once per run
state = environment.init(key)
state, values = environment.step(state, time)   # f at `time`, over all n points

An environment must define `step`. If its values are a product, it may define `move` and `values`
too, so that the product is computed for several steps at once.
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
    """A function that changes over time, and the observation noise."""

    noise_variance: eqx.AbstractVar[Scalar]
    """Variance of the Gaussian noise that `simulate` adds to every reward."""

    @property
    def noise(self) -> Noise:
        """Noise of one reward; Gaussian unless a subclass overrides it."""
        return Noise(jnp.asarray(self.noise_variance))

    def prepare(self, times: Times) -> "Environment[Any]":
        """Return the environment prepared for steps at `times`.

        Raises:
            DriftpeakError: the environment is not defined at these times.
        """
        return self

    @abstractmethod
    def init(self, key: PRNGKeyArray) -> State:
        """Return the state before the first step; `key` is the only source of randomness."""

    @abstractmethod
    def step(self, state: State, time: Scalar) -> tuple[State, Float[Array, " n"]]:
        """Return the values at `time`, shape `(n,)`; called once for every step, in order."""

    def move(self, state: State, time: Scalar) -> tuple[State, Any]:
        """Return the state at `time` and the input of `values`: by default the values."""
        return self.step(state, time)

    def values(self, moved: Any) -> Float[Array, "*some n"]:
        """Return the functions from outputs of `move`, at some steps of some trials."""
        return moved
