"""A Gaussian process of BoTorch with time as one more input, as its users would write it.

`SingleTaskGP` with its defaults, fitted anew to all observations at each call; the upper confidence
bound, two deviations up, at the present time, maximised with the restarts and raw samples of
BoTorch's introduction; as there, ten random points first.
"""

from collections.abc import Sequence

import torch
from botorch.acquisition import UpperConfidenceBound
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from gpytorch.mlls import ExactMarginalLogLikelihood

PACKAGES = ("botorch", "torch")
FIRST, BETA, RESTARTS, RAW = 10, 4.0, 5, 20  # BETA: of the variance, that is two deviations


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
