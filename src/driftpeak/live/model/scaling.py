"""Rewards in standard units: robust against a changed scale and against single wild values."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

LINEAR = 3.0  # robust deviations within which the scale is linear; logarithmic beyond
WIDELY = 30.0  # those for intervals
TAILS = (0.1, 0.9)
TO_DEVIATION = 1 / 2.5631  # of the distance between these quantiles, under a normal distribution
FEW = 4  # from so many rewards on, the scale does without the one that is farthest off
LARGEST = float(np.finfo(float).max)


@dataclass(frozen=True)
class Standard:
    """A monotone map from rewards to standard units and back.

    Linear up to three robust deviations from the centre, or as many as stated, so that means and
    deviations there are those of the rewards; beyond, it grows with the logarithm only, and what
    comes back is a median and a first-order deviation. No finite reward overflows, and what comes
    back is finite.
    """

    centre: float = 0.0
    scale: float = 1.0
    linear: float = LINEAR  # robust deviations within which it is linear

    @property
    def widely_linear(self) -> "Standard":
        """The same map, linear within 30 robust deviations.

        The low values of a function, of which an optimiser observes few, are farther than three of
        them below the median.
        """
        return replace(self, linear=WIDELY)

    @staticmethod
    def of(rewards: np.ndarray) -> "Standard":
        """Median, and deviation from the middle 80 %, of some rewards.

        Closer quantiles would only see the many samples near the peak. The reward that is farthest
        off is left out, so that one alone moves no quantile of however few. Where the quantiles
        coincide, the median distance of those rewards that are not at the centre.
        """
        largest = float(np.abs(rewards).max(initial=0.0))
        if largest == 0:
            return Standard()
        unit = float(np.ldexp(1.0, np.frexp(largest)[1] - 1))  # dividing by it rounds nothing
        rewards = rewards / unit
        centre = float(np.median(rewards))
        away = np.abs(rewards - centre)
        kept = np.delete(rewards, np.argmax(away)) if len(rewards) >= FEW else rewards
        low, high = np.quantile(kept, TAILS)
        scale = TO_DEVIATION * float(high - low)
        if not scale and away.any():
            scale = float(np.median(away[away > 0]))
        centre, scale = centre * unit, min(scale * unit, LARGEST)
        return Standard(centre, scale or max(abs(centre), 1.0))

    def distance(self, rewards: Any) -> Any:
        """How many robust deviations rewards are above the centre."""
        with np.errstate(over="ignore"):
            # halves: the difference of two floats may be twice the largest
            linear = (np.asarray(rewards) / 2 - self.centre / 2) / self.scale * 2
        return np.clip(linear, -LARGEST, LARGEST)

    def into(self, rewards: Any) -> Any:
        """Rewards in standard units."""
        linear = self.distance(rewards)
        beyond = np.maximum(np.abs(linear) - self.linear, 0.0)
        return np.where(beyond > 0, np.sign(linear) * (self.linear + np.log1p(beyond)), linear)

    def back(self, means: Any, deviations: Any) -> tuple[Any, Any]:
        """Means and deviations in units of rewards."""
        beyond = np.maximum(np.abs(means) - self.linear, 0.0)
        with np.errstate(over="ignore"):
            linear = np.where(beyond > 0, np.sign(means) * (self.linear + np.expm1(beyond)), means)
            means = self.centre + np.clip(self.scale * linear, -LARGEST, LARGEST)
            deviations = self.scale * np.exp(beyond) * deviations
        return np.clip(means, -LARGEST, LARGEST), np.minimum(deviations, LARGEST)
