"""Xopt's time-dependent upper confidence bound with its defaults.

Xopt reads the computer's clock in seconds and plans for a tenth of a second later. Here it reads
the simulated clock instead. It needs data before its first model, which are three random points, as
`Xopt.random_evaluate` draws.
"""

from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np
import pandas as pd
import torch
from gest_api.vocs import VOCS
from xopt.generators.bayesian import time_dependent
from xopt.generators.bayesian.upper_confidence_bound import TDUpperConfidenceBoundGenerator

PACKAGES = ("xopt", "botorch", "torch")
FIRST = 3
START = 1.0  # start of the simulated clock in seconds: Xopt needs positive times


class Rival:
    def __init__(self, dimension: int, seed: int, clock: float) -> None:
        torch.manual_seed(seed)
        self._names = [f"x{j}" for j in range(dimension)]
        vocs = VOCS(
            variables={name: [0.0, 1.0] for name in self._names},
            objectives={"reward": "MAXIMIZE"},
        )
        self._generator = TDUpperConfidenceBoundGenerator(vocs=vocs)
        self._random = np.random.default_rng(seed)
        self._clock, self._told, self._now = clock, 0, START
        time_dependent.time = SimpleNamespace(time=lambda: self._now, sleep=self._sleep)

    def ask(self, time: float) -> Sequence[float]:
        if self._told < FIRST:
            return self._random.uniform(size=len(self._names)).tolist()
        self._now = START + time * self._clock
        setting = self._generator.generate(1)[0]
        return [float(setting[name]) for name in self._names]

    def tell(self, point: Sequence[float], reward: float, time: float) -> None:
        row = dict(zip(self._names, point, strict=True))
        seconds = START + time * self._clock
        self._generator.add_data(pd.DataFrame([{**row, "reward": reward, "time": seconds}]))
        self._told += 1

    def _sleep(self, seconds: float) -> None:
        """Replace the wait for the planned time, which takes no simulated time."""
        self._now += seconds
