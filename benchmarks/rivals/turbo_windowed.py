"""TuRBO-1 with the last 3 d observations since a restart; it restarts before many more."""

from benchmarks.rivals import turbo

PACKAGES = turbo.PACKAGES


class Rival(turbo.Rival):
    def __init__(self, dimension: int, seed: int, clock: float) -> None:
        super().__init__(dimension, seed, clock)
        self.window = 3 * dimension
