"""Policies whose rewards must lie in a known range."""

import math
from typing import Any

import equinox as eqx
import numpy as np

from driftpeak._core.errors import positive
from driftpeak._core.types import Scalar
from driftpeak.gp.priors import Prior
from driftpeak.policies.player import State
from driftpeak.policies.protocol import ActingPolicy


def default_reward_bound(prior: Prior) -> float:
    """Return three standard deviations of a reward, noise included."""
    return 3 * math.sqrt(prior.variance.max() + prior.noise_variance)


class RewardRange(ActingPolicy[State]):
    """A policy for rewards in `[low, low + range]`. Base class."""

    low: Any
    range: Any
    reward_bound: Any
    size: eqx.AbstractVar[int]

    @property
    def points(self) -> int:
        return self.size

    def _set_range(self, prior: Prior, reward_bound: float | None) -> None:
        """Set the range: the prior means, and `reward_bound` on both sides.

        Raises:
            DriftpeakError: a bound that is not positive.
        """
        bound = default_reward_bound(prior) if reward_bound is None else reward_bound
        self.reward_bound = np.float64(positive("reward_bound", bound))
        self.low = prior.mean.min() - bound
        self.range = prior.mean.max() + bound - self.low

    def _scaled(self, reward: Scalar) -> Scalar:
        """Return a reward in units of the range: 0 at its lower end, 1 at its upper end."""
        return (reward - self.low) / self.range

    def out_of_bounds(self, actions: np.ndarray, rewards: np.ndarray) -> np.ndarray:
        return (rewards < self.low) | (rewards > self.low + self.range)

    @property
    def bounds_in_words(self) -> str:
        # relative to the prior mean, so that it holds for costs, which a policy receives negated
        return f"reward_bound={self.reward_bound:g} beyond the smallest and largest prior mean"
