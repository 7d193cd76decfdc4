"""A baseline that returns a random point at each call; other regrets are divided by its regret."""

import random
from collections.abc import Sequence

PACKAGES = ()


class Rival:
    def __init__(self, dimension: int, seed: int, clock: float) -> None:
        self._dimension, self._generator = dimension, random.Random(seed)

    def ask(self, time: float) -> Sequence[float]:
        return [self._generator.random() for _ in range(self._dimension)]

    def tell(self, point: Sequence[float], reward: float, time: float) -> None:
        """Ignore the reward."""
