"""Optuna's `GPSampler` with its defaults, without time."""

import optuna
import torch  # noqa: F401  without it the sampler would fail at its first model only

from benchmarks.rivals._optuna import Study

PACKAGES = ("optuna", "torch")


class Rival(Study):
    def __init__(self, dimension: int, seed: int, clock: float) -> None:
        super().__init__(dimension, optuna.samplers.GPSampler(seed=seed))
