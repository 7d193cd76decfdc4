"""Ax with time as a feature: a parameter that is fixed to the current time at each call.

The rival is its `Client` with the default strategy, whose first point is the middle of the box. The
time of an observation is the time at which its point was asked.
"""

import logging
from collections.abc import Sequence

from ax.api.client import Client
from ax.api.configs import RangeParameterConfig

PACKAGES = ("ax-platform", "botorch", "torch")
logging.disable(logging.WARNING)


class Rival:
    def __init__(self, dimension: int, seed: int, clock: float) -> None:
        self._names = [f"x{j}" for j in range(dimension)]
        self._client = Client(random_seed=seed)
        self._client.configure_experiment(
            parameters=[
                RangeParameterConfig(name=name, parameter_type="float", bounds=(0.0, 1.0))
                for name in [*self._names, "time"]
            ]
        )
        self._client.configure_optimization(objective="reward")

    def ask(self, time: float) -> Sequence[float]:
        trials = self._client.get_next_trials(max_trials=1, fixed_parameters={"time": time})
        ((self._trial, setting),) = trials.items()
        return [float(setting[name]) for name in self._names]

    def tell(self, point: Sequence[float], reward: float, time: float) -> None:
        self._client.complete_trial(self._trial, raw_data={"reward": reward})
