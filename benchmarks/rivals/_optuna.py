"""Shared code of Optuna's two samplers: a study in memory, without time."""

from collections.abc import Sequence

import optuna
from optuna.distributions import FloatDistribution

optuna.logging.set_verbosity(optuna.logging.ERROR)


class Study:
    def __init__(self, dimension: int, sampler: optuna.samplers.BaseSampler) -> None:
        self._space = {f"x{j}": FloatDistribution(0, 1) for j in range(dimension)}
        self._study = optuna.create_study(direction="maximize", sampler=sampler)

    def ask(self, time: float) -> Sequence[float]:
        self._trial = self._study.ask(self._space)
        return [self._trial.params[name] for name in self._space]

    def tell(self, point: Sequence[float], reward: float, time: float) -> None:
        self._study.tell(self._trial, reward)
