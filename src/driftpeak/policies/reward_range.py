"""Policies whose rewards must lie in a known range."""

import equinox as eqx
import numpy as np

from driftpeak._core.types import Scalar
from driftpeak.policies.player import State
from driftpeak.policies.protocol import ActingPolicy


class RewardRange(ActingPolicy[State]):
    """A policy that scales rewards from `[low, low + range]` to [0, 1]. Base class."""

    low: eqx.AbstractVar[Scalar]
    range: eqx.AbstractVar[Scalar]
    reward_bound: eqx.AbstractVar[Scalar]

    def out_of_bounds(self, actions: np.ndarray, rewards: np.ndarray) -> np.ndarray:
        return (rewards < self.low) | (rewards > self.low + self.range)

    @property
    def bounds_in_words(self) -> str:
        # relative to the prior mean, so that it holds for costs, which a policy sees negated
        return f"reward_bound={self.reward_bound:g} beyond the smallest and largest prior mean"
