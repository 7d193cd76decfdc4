"""Rewards from a table of recorded data, one row per step and one column per arm."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DriftpeakError, at_least, finite_array
from driftpeak._core.times import Times
from driftpeak._core.types import AnyArray, Scalar
from driftpeak.environments.catalogue import environment
from driftpeak.environments.protocol import Environment


@environment("is given by a table of values, step x point")
class RecordedRewards(Environment[Int[Array, ""]]):
    """An environment whose function at step s is row s of `rewards`, shape `(steps, arms)`.

    Arguments:
        rewards: the reward of each arm at each step.
        noise_variance: variance of noise to add; 0 by default, since measured data contain noise.

    Raises:
        DriftpeakError: values that are not finite, fewer than two arms, a negative noise variance,
            or a run longer than the table.
    """

    rewards: AnyArray
    noise_variance: Scalar

    @checked
    def __init__(self, rewards: Any, *, noise_variance: float = 0.0) -> None:
        self.rewards = finite_array("rewards", rewards, 2).copy()
        if self.rewards.shape[0] < 1 or self.rewards.shape[1] < 2:
            raise DriftpeakError(
                f"rewards must have at least 1 step and 2 arms; got shape {self.rewards.shape}"
            )
        self.noise_variance = np.float64(at_least("noise_variance", noise_variance, 0))

    def prepare(self, times: Times) -> "RecordedRewards":
        if len(times) > len(self.rewards):
            raise DriftpeakError(
                f"the run must have at most {len(self.rewards)} steps, the rows of the table; got "
                f"{len(times)}"
            )
        return self

    def init(self, key: PRNGKeyArray) -> Int[Array, ""]:
        return jnp.zeros((), int)

    def step(
        self, state: Int[Array, ""], time: Scalar
    ) -> tuple[Int[Array, ""], Float[Array, " n"]]:
        return state + 1, jnp.asarray(self.rewards)[state]
