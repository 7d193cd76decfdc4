"""Optuna's `CmaEsSampler` with its defaults, without time."""

import cmaes  # noqa: F401  without it the sampler would fail at its second point only
import optuna

from benchmarks.rivals._optuna import Study

PACKAGES = ("optuna", "cmaes")


class Rival(Study):
    def __init__(self, dimension: int, seed: int, clock: float) -> None:
        super().__init__(dimension, optuna.samplers.CmaEsSampler(seed=seed))
