"""Xopt with a clock on which a run lasts one second; it plans 0.1 s ahead, a tenth of the run."""

from benchmarks.rivals import xopt

PACKAGES = xopt.PACKAGES


class Rival(xopt.Rival):
    def __init__(self, dimension: int, seed: int, clock: float) -> None:
        super().__init__(dimension, seed, 1.0)
