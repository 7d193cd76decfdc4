"""Rewards in standard units: robust against a changed scale and against single wild values."""

from dataclasses import dataclass
from typing import Any

import numpy as np

LINEAR = 3.0  # robust deviations within which the scale is linear; logarithmic beyond
TAILS = (0.1, 0.9)
TO_DEVIATION = 1 / 2.5631  # of the distance between these quantiles, under a normal distribution


@dataclass(frozen=True)
class Standard:
    """A monotone map from rewards to standard units and back.

    Linear up to three robust deviations from the centre, so that means and deviations there are
    those of the rewards; beyond, it grows with the logarithm only, and what comes back is a median
    and a first-order deviation.
    """

    centre: float = 0.0
    scale: float = 1.0

    @staticmethod
    def of(rewards: np.ndarray) -> "Standard":
        """Median, and deviation from the middle 80 %, of some rewards.

        Closer quantiles would only see the many samples near the peak. Where they coincide, the
        rewards' own deviation.
        """
        if len(rewards) == 0:
            return Standard()
        centre = float(np.median(rewards))
        low, high = np.quantile(rewards, TAILS)
        scale = TO_DEVIATION * float(high - low)
        scale = scale or float(np.std(rewards))
        return Standard(centre, scale or max(abs(centre), 1.0))

    def into(self, rewards: Any) -> Any:
        """Rewards in standard units."""
        linear = (np.asarray(rewards) - self.centre) / self.scale
        beyond = np.maximum(np.abs(linear) - LINEAR, 0.0)
        return np.where(beyond > 0, np.sign(linear) * (LINEAR + np.log1p(beyond)), linear)

    def back(self, means: Any, deviations: Any) -> tuple[Any, Any]:
        """Means and deviations in units of rewards."""
        beyond = np.maximum(np.abs(means) - LINEAR, 0.0)
        linear = np.where(beyond > 0, np.sign(means) * (LINEAR + np.expm1(beyond)), means)
        return self.centre + self.scale * linear, self.scale * np.exp(beyond) * deviations
