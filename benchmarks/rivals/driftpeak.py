"""`driftpeak.Optimizer` with its defaults, or with a policy."""

from collections.abc import Sequence
from typing import Any

import driftpeak as dp

PACKAGES = ("driftpeak",)


class Rival:
    def __init__(self, dimension: int, seed: int, clock: float, policy: Any = None) -> None:
        box = dp.Box({f"x{j}": dp.Float(0, 1) for j in range(dimension)})
        self._optimizer = dp.Optimizer(box, maximize=True, policy=policy, seed=seed)

    def ask(self, time: float) -> Sequence[float]:
        self._suggestion = self._optimizer.ask(time)
        return list(self._suggestion.values())

    def tell(self, point: Sequence[float], reward: float, time: float) -> None:
        self._optimizer.tell(self._suggestion, reward, time)
