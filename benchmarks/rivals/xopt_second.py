"""Xopt with times in runs: on its clock the run lasts one second, of which it plans 0.1 s ahead."""

from benchmarks.rivals import xopt

PACKAGES = xopt.PACKAGES


class Rival(xopt.Rival):
    def __init__(self, dimension: int, seed: int, clock: float) -> None:
        super().__init__(dimension, seed, 1.0)
