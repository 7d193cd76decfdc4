"""W-DBO as in the example of its package: Matern 5/2 also in time, and times in minutes."""

from collections.abc import Sequence

from benchmarks.rivals import wdbo

PACKAGES = wdbo.PACKAGES


class Rival(wdbo.Rival):
    roughness_in_time = 2.5

    def __init__(self, dimension: int, seed: int, clock: float) -> None:
        super().__init__(dimension, seed, clock)
        self._minutes = clock / 60

    def ask(self, time: float) -> Sequence[float]:
        return super().ask(time * self._minutes)

    def tell(self, point: Sequence[float], reward: float, time: float) -> None:
        super().tell(point, reward, time * self._minutes)
