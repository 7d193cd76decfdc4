"""A dynamic test function on the unit cube, to be maximised, with noise."""

from typing import Any

import numpy as np

from driftpeak.environments.functions import DynamicFunction

NOISE = 0.05  # relative to the function's standard deviation over box and time
SAMPLE = 2000  # points at which this standard deviation is computed


class Moving:
    """Rewards of points of the unit cube; the noise depends on the seed."""

    def __init__(self, function: DynamicFunction, seed: int) -> None:
        self.function = function
        self._generator = np.random.default_rng([seed, 7])
        sample = self.points(self._generator.uniform(size=(SAMPLE, function.dimension)))
        values = [function(x[None], self._generator.uniform())[0] for x in sample]
        self._scale = NOISE * float(np.std(values))

    def points(self, unit: Any) -> Any:
        """Map points of the unit cube to the function's box."""
        function = self.function
        return function.low + (function.high - function.low) * np.asarray(unit, float)

    def reward(self, unit: Any, time: float) -> float:
        """Return minus the function at `time` in [0, 1], with noise."""
        value = float(self.function(self.points(unit)[None], time)[0])
        return -value + self._scale * float(self._generator.normal())
