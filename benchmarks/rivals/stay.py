"""A baseline that always returns its first point, drawn at random."""

import random
from collections.abc import Sequence

PACKAGES = ()


class Rival:
    def __init__(self, dimension: int, seed: int, clock: float) -> None:
        generator = random.Random(seed)
        self._point = [generator.random() for _ in range(dimension)]

    def ask(self, time: float) -> Sequence[float]:
        return self._point

    def tell(self, point: Sequence[float], reward: float, time: float) -> None:
        """Ignore the reward."""
