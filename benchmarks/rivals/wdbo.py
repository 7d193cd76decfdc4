"""W-DBO, which removes the observations with the least effect (Bardou, Thiran and Ranieri 2024).

The kernels, which must be given, are Matern 5/2 in space and 3/2 in time, and times are shares of
the clock. Everything else has the defaults: 15 random points first, alpha 0.25.
"""

from collections.abc import Sequence

import gpytorch
import numpy as np
import torch
from wdbo_algo.optimizer import WDBOOptimizer

PACKAGES = ("wdbo-algo", "torch")


class Rival:
    roughness_in_time = 1.5  # nu of the Matern kernel

    def __init__(self, dimension: int, seed: int, clock: float) -> None:
        torch.set_default_dtype(torch.float64)
        np.random.seed(seed)  # noqa: NPY002  it draws its first points from there
        torch.manual_seed(seed)
        matern = gpytorch.kernels.MaternKernel
        box = np.array([[0.0, 1.0]] * dimension)
        self._optimizer = WDBOOptimizer(box, matern, matern, [2.5], [self.roughness_in_time])

    def ask(self, time: float) -> Sequence[float]:
        return self._optimizer.next_query(time).tolist()

    def tell(self, point: Sequence[float], reward: float, time: float) -> None:
        self._optimizer.tell(np.array(point), time, reward)
        self._optimizer.clean(time)
