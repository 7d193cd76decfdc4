"""A typical BoTorch program with time as an additional input of the Gaussian process.

`SingleTaskGP` with its defaults is fitted to all observations at each call. The upper confidence
bound, two standard deviations above the mean at the current time, is maximised with the restarts
and raw samples of BoTorch's introduction. As in the introduction, the first ten points are random.
"""

from collections.abc import Sequence

import torch
from botorch.acquisition import UpperConfidenceBound
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from gpytorch.mlls import ExactMarginalLogLikelihood

PACKAGES = ("botorch", "torch")
FIRST, BETA, RESTARTS, RAW = 10, 4.0, 5, 20  # BETA multiplies the variance: two standard deviations


class Rival:
    def __init__(self, dimension: int, seed: int, clock: float) -> None:
        torch.set_default_dtype(torch.float64)
        torch.manual_seed(seed)
        self._dimension = dimension
        self._inputs: list[list[float]] = []
        self._rewards: list[list[float]] = []

    def ask(self, time: float) -> Sequence[float]:
        if len(self._rewards) < FIRST:
            return torch.rand(self._dimension).tolist()
        model = SingleTaskGP(torch.tensor(self._inputs), torch.tensor(self._rewards))
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        point, _ = optimize_acqf(
            UpperConfidenceBound(model, beta=BETA),
            bounds=torch.tensor([[0.0, 1.0]] * (self._dimension + 1)).T,
            q=1,
            num_restarts=RESTARTS,
            raw_samples=RAW,
            fixed_features={self._dimension: time},
        )
        return point[0, : self._dimension].tolist()

    def tell(self, point: Sequence[float], reward: float, time: float) -> None:
        self._inputs.append([*point, time])
        self._rewards.append([reward])
