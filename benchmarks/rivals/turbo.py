"""TuRBO-1 (Eriksson et al. 2019, Algorithm 1) with BoTorch's models, without time.

As in the paper, for one point at a time: 2 d initial points of a Sobol sequence; a Gaussian process
with the observations since the last restart; a box around the best of them with sides in proportion
to the lengthscales; a Thompson sample at min(100 d, 5000) candidates, which perturb each coordinate
with probability min(1, 20 / d). Three improvements in a row double the box, d failures halve it,
and a box below 2^-7 restarts it. `turbo_windowed` forgets all but the last 3 d observations.
"""

import math
import sys
import warnings
from collections.abc import Sequence

import torch
from botorch.exceptions import OptimizationWarning
from botorch.fit import fit_gpytorch_mll
from botorch.generation import MaxPosteriorSampling
from botorch.models import SingleTaskGP
from gpytorch.constraints import Interval
from gpytorch.kernels import MaternKernel, ScaleKernel
from gpytorch.mlls import ExactMarginalLogLikelihood
from torch.quasirandom import SobolEngine

PACKAGES = ("botorch", "torch")
FIRST_LENGTH, LEAST_LENGTH, LARGEST_LENGTH = 0.8, 0.5**7, 1.6
SUCCESSES = 3  # improvements in a row after which the box doubles
IMPROVEMENT = 1e-3  # relative to the best reward
STEPS = 50  # to learn the hyperparameters, as in the authors' code


class Rival:
    window = sys.maxsize

    def __init__(self, dimension: int, seed: int, clock: float) -> None:
        torch.set_default_dtype(torch.float64)
        torch.manual_seed(seed)
        self._dimension, self._seed = dimension, seed
        self._restart()

    def _restart(self) -> None:
        self._points: list[list[float]] = []
        self._rewards: list[float] = []
        self._length, self._successes, self._failures = FIRST_LENGTH, 0, 0
        self._seed += 1
        initial = SobolEngine(self._dimension, scramble=True, seed=self._seed)
        self._initial = initial.draw(2 * self._dimension).tolist()

    def ask(self, time: float) -> Sequence[float]:
        if self._initial:
            return self._initial.pop()
        points, rewards = torch.tensor(self._points), torch.tensor(self._rewards)[:, None]
        kernel = MaternKernel(
            nu=2.5, ard_num_dims=self._dimension, lengthscale_constraint=Interval(0.005, 4.0)
        )
        model = SingleTaskGP(points, rewards, covar_module=ScaleKernel(kernel))
        objective = ExactMarginalLogLikelihood(model.likelihood, model)
        with warnings.catch_warnings():  # of too few steps
            warnings.simplefilter("ignore", OptimizationWarning)
            fit_gpytorch_mll(objective, optimizer_kwargs={"options": {"maxiter": STEPS}})
        weights = kernel.lengthscale.detach()[0]
        weights = weights / weights.log().mean().exp()
        centre = points[rewards.argmax()]
        low = (centre - self._length / 2 * weights).clamp(0, 1)
        high = (centre + self._length / 2 * weights).clamp(0, 1)
        count = min(100 * self._dimension, 5000)
        sobol = SobolEngine(self._dimension, scramble=True, seed=int(torch.randint(2**31, ())))
        drawn = low + (high - low) * sobol.draw(count, dtype=torch.float64)
        moved = torch.rand(count, self._dimension) <= min(1.0, 20 / self._dimension)
        still = torch.where(moved.sum(dim=1) == 0)[0]
        moved[still, torch.randint(self._dimension, (len(still),))] = True
        candidates = torch.where(moved, drawn, centre)
        with torch.no_grad():
            return MaxPosteriorSampling(model, replacement=False)(candidates, 1)[0].tolist()

    def tell(self, point: Sequence[float], reward: float, time: float) -> None:
        if len(self._rewards) >= 2 * self._dimension:
            best = max(self._rewards)
            self._resize(reward > best + IMPROVEMENT * abs(best))
        self._points = [*self._points, list(point)][-self.window :]
        self._rewards = [*self._rewards, reward][-self.window :]
        if self._length < LEAST_LENGTH:
            self._restart()

    def _resize(self, improved: bool) -> None:
        self._successes, self._failures = (
            (self._successes + 1, 0) if improved else (0, self._failures + 1)
        )
        if self._successes == SUCCESSES:
            self._length, self._successes = min(2 * self._length, LARGEST_LENGTH), 0
        elif self._failures == math.ceil(max(4, self._dimension)):
            self._length, self._failures = self._length / 2, 0
