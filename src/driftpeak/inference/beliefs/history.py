"""Observations in a ring of fixed capacity, where the newest overwrites the oldest."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from driftpeak._core.types import Scalar
from driftpeak.gp.forgetting import Forgetting


class History(NamedTuple):
    """Up to `capacity` observations out of `observations` that were made."""

    arms: Int[Array, " c"]
    residuals: Float[Array, " c"]  # reward minus prior mean
    times: Float[Array, " c"]
    stamps: Float[Array, " c"]  # arguments of the weights of the forgetting rule
    newest: Float[Array, ""]  # the last stamp
    observations: Int[Array, ""]

    @staticmethod
    def empty(capacity: int) -> "History":
        """Return a history without observations."""
        zeros = jnp.zeros(capacity)
        return History(
            jnp.zeros(capacity, int), zeros, zeros, zeros, jnp.zeros(()), jnp.zeros((), int)
        )

    def append(
        self, arm: Scalar, residual: Scalar, time: Scalar, forgetting: Forgetting
    ) -> "History":
        """Return the history with one more observation."""
        slot = self.observations % len(self.arms)
        stamp = forgetting.stamp(time, self.observations)
        return History(
            arms=self.arms.at[slot].set(arm),
            residuals=self.residuals.at[slot].set(residual),
            times=self.times.at[slot].set(time),
            stamps=self.stamps.at[slot].set(stamp),
            newest=stamp,
            observations=self.observations + 1,
        )

    @property
    def stored(self) -> Int[Array, ""]:
        """The number of observations in the ring."""
        return jnp.minimum(self.observations, len(self.arms))

    @property
    def occupied(self) -> Bool[Array, " c"]:
        """A mask of the places of the ring that hold an observation."""
        return jnp.arange(len(self.arms)) < self.observations

    def weights(self, time: Scalar, forgetting: Forgetting) -> Float[Array, " c"]:
        """Return the weight of each place at decision time `time`; 0 where it is empty."""
        present = forgetting.present(self.newest, time)
        return jnp.where(self.occupied, forgetting.weight(self.stamps, present), 0.0)
