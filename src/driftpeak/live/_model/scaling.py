"""Robust standardisation of rewards, insensitive to their scale and to single outliers."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

LINEAR = 3.0  # robust deviations within which the map is linear; logarithmic beyond
WIDELY = 30.0  # the same for intervals
TAILS = (0.1, 0.9)
TO_DEVIATION = 1 / 2.5631  # standard deviation over the distance of these quantiles, if normal
FEW = 4  # least number of rewards from which the scale leaves out the farthest one
LARGEST = float(np.finfo(float).max)


@dataclass(frozen=True)
class RobustScaler:
    """A monotone map from rewards to standard units and back.

    The map is linear within `linear` robust deviations of the centre (three by default). Means and
    deviations are mapped back exactly there. Beyond, the map is logarithmic, and mapping back gives
    a median and a first-order deviation. No finite reward overflows, and all results are finite.
    """

    centre: float = 0.0
    scale: float = 1.0
    linear: float = LINEAR  # robust deviations within which the map is linear

    @property
    def widely_linear(self) -> "RobustScaler":
        """The same map, linear within 30 robust deviations.

        An optimiser observes few low values of a function. These values are more than three robust
        deviations below the median.
        """
        return replace(self, linear=WIDELY)

    @staticmethod
    def of(rewards: np.ndarray) -> "RobustScaler":
        """Standardise by the median and by a deviation from the middle 80 % of some rewards.

        Closer quantiles would describe only the many samples near the peak. The farthest reward
        is left out, so that a single reward cannot change the quantiles of a few rewards. If the
        quantiles coincide, the scale is the median distance of the rewards that differ from the
        median.
        """
        largest = float(np.abs(rewards).max(initial=0.0))
        if largest == 0:
            return RobustScaler()
        unit = float(np.ldexp(1.0, np.frexp(largest)[1] - 1))  # a power of 2: exact division
        rewards = rewards / unit
        centre = float(np.median(rewards))
        away = np.abs(rewards - centre)
        remaining = np.delete(rewards, np.argmax(away)) if len(rewards) >= FEW else rewards
        low, high = np.quantile(remaining, TAILS)
        scale = TO_DEVIATION * float(high - low)
        if not scale and away.any():
            scale = float(np.median(away[away > 0]))
        centre, scale = centre * unit, min(scale * unit, LARGEST)
        return RobustScaler(centre, scale or max(abs(centre), 1.0))

    def distance(self, rewards: Any) -> Any:
        """Return the signed distance of rewards from the centre in robust deviations."""
        with np.errstate(over="ignore"):
            # halves, because the difference of two floats may overflow
            linear = (np.asarray(rewards) / 2 - self.centre / 2) / self.scale * 2
        return np.clip(linear, -LARGEST, LARGEST)

    def into(self, rewards: Any) -> Any:
        """Return rewards in standard units."""
        linear = self.distance(rewards)
        beyond = np.maximum(np.abs(linear) - self.linear, 0.0)
        return np.where(beyond > 0, np.sign(linear) * (self.linear + np.log1p(beyond)), linear)

    def back(self, means: Any, deviations: Any) -> tuple[Any, Any]:
        """Return means and deviations in units of the rewards."""
        beyond = np.maximum(np.abs(means) - self.linear, 0.0)
        with np.errstate(over="ignore"):
            linear = np.where(beyond > 0, np.sign(means) * (self.linear + np.expm1(beyond)), means)
            means = self.centre + np.clip(self.scale * linear, -LARGEST, LARGEST)
            deviations = self.scale * np.exp(beyond) * deviations
        return np.clip(means, -LARGEST, LARGEST), np.minimum(deviations, LARGEST)
