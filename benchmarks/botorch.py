"""Run time of TV-GP-UCB relative to the same run written with BoTorch, at least 100 times faster.

The run has 2,500 points, 200 steps, SE l = 0.2, drift 0.01, noise variance 0.01 and float64. Both
programs use one table of rewards and must make equal decisions. The BoTorch program follows
driftpeak's decisions and reports the gain of its own choice, which is zero at a tie. B16's
(1 - e)^{|t-s|/2} is exp(-|t-s| / l) with l = 2 / log(1 / (1 - e)), a Matern 1/2 kernel in time.

The BoTorch program is a typical one without unnecessary work: fixed hyperparameters and noise, a
new model of (x, t) at each step, UpperConfidenceBound on batches of one point (a joint posterior of
all points is slower), no gradients, and as many threads as cores.
"""

import math
import os
import time
import warnings
from typing import Any

import botorch  # noqa: F401  says what is missing
import numpy as np
import torch
from botorch.acquisition import UpperConfidenceBound
from botorch.models import SingleTaskGP
from gpytorch.kernels import Kernel, MaternKernel, RBFKernel
from gpytorch.means import ZeroMean

import driftpeak as dp

os.environ["DRIFTPEAK_CACHE"] = "off"  # figures include compilation

STEPS, DRIFT, NOISE, REPEATS = 200, 0.01, 0.01, 5
TIE = 1e-6  # driftpeak's features are exact to 1e-10 of the variance, 1e-5 of the deviation
TARGETS = {"BoTorch / driftpeak": ">= 100", "decisions that differ": "<= 0"}


def run() -> dict[str, Any]:
    """Return the seconds of both, their ratio (median over alternating runs), and differences."""
    torch.set_num_threads(os.cpu_count() or 1)
    torch.set_default_dtype(torch.float64)
    warnings.filterwarnings(
        "ignore", module="botorch"
    )  # inputs are intentionally not in the unit cube
    prior = dp.Prior(dp.Grid([0, 1], [0, 1], size=50), dp.SE(lengthscale=0.2), NOISE)
    rewards = _table(prior)
    first = _driftpeak(prior, rewards)
    seconds, gaps = [], np.zeros(STEPS)
    for _ in range(REPEATS):
        ours = _driftpeak(prior, rewards)
        spent, gaps = _botorch(prior, rewards, ours["action"])
        seconds.append((ours["total"], ours["seconds"], spent))
    ratios = [theirs / playing for _, playing, theirs in seconds]
    of_calls = [theirs / total for total, _, theirs in seconds]
    total, playing, theirs = np.median(seconds, axis=0)
    return {
        "BoTorch (s)": float(theirs),
        "driftpeak, whole call of simulate (s)": float(total),
        "  of it playing (s)": float(playing),
        "  once: compiling the policy (s)": first["compile_seconds"],
        "  once: the whole first call, features too (s)": first["total"],
        "BoTorch / driftpeak": float(np.median(ratios)),
        "  lowest and highest": f"{min(ratios):.0f} to {max(ratios):.0f}",
        "BoTorch / whole call of simulate": float(np.median(of_calls)),
        "decisions that differ": int((gaps > TIE).sum()),
        "  largest gain of another choice": float(gaps.max()),
    }


def _table(prior: dp.Prior) -> Any:
    """Return the noisy reward of each point at each step."""
    generator = np.random.default_rng(0)
    features = prior.features.matrix
    prior.__dict__.pop("features")  # so that driftpeak's time includes computing them
    weights, rows = np.zeros(features.shape[1]), []
    for step in range(STEPS):
        c = math.sqrt(1 - DRIFT) if step else 0.0
        weights = c * weights + math.sqrt(1 - c**2) * generator.normal(size=len(weights))
        rows.append(features @ weights)
    return np.array(rows) + math.sqrt(NOISE) * generator.normal(size=(STEPS, len(prior)))


def _driftpeak(prior: dp.Prior, rewards: Any) -> dict[str, Any]:
    started = time.perf_counter()
    policies = {"TV": dp.TVGPUCB(prior, drift=DRIFT, form="feature-space")}
    world = dp.environments.RecordedRewards(rewards)
    played = dp.simulate(policies, world, steps=STEPS, progress=False).sel(policy="TV")
    total = time.perf_counter() - started
    seconds = {name: float(played[name]) for name in ("seconds", "compile_seconds")}
    return {"total": total, "action": played["action"].values[0], **seconds}


def _botorch(prior: dp.Prior, rewards: Any, actions: Any) -> tuple[float, Any]:
    points, gaps = torch.tensor(prior.domain.points), np.zeros(STEPS)
    table, queries, kernel = torch.tensor(rewards), torch.tensor(actions).long(), _kernel()
    started = time.perf_counter()
    inputs, outputs = torch.empty(STEPS, 3), torch.empty(STEPS, 1)
    for step in range(STEPS):
        if step > 0:  # without data BoTorch has no model, and all choices are equal
            now = torch.cat([points, torch.full((len(points), 1), step + 1.0)], dim=1)
            noise = torch.full((step, 1), NOISE)
            model = SingleTaskGP(
                inputs[:step],
                outputs[:step],
                noise,
                covar_module=kernel,
                mean_module=ZeroMean(),
                outcome_transform=None,
            )
            beta = max(0.8 * math.log(4 * (step + 1)), 0.0)
            with torch.no_grad():
                scores = UpperConfidenceBound(model.eval(), beta=beta)(now.unsqueeze(1))
            best = scores.argmax()
            gaps[step] = scores[best] - scores[queries[step]]
        query = queries[step]
        inputs[step, :2], inputs[step, 2] = points[query], step + 1.0
        outputs[step] = table[step, query]
    return time.perf_counter() - started, gaps


def _kernel() -> Kernel:
    space = RBFKernel(active_dims=(0, 1))
    space.lengthscale = 0.2
    drift = MaternKernel(nu=0.5, active_dims=(2,))
    drift.lengthscale = 2 / math.log(1 / (1 - DRIFT))
    return (space * drift).requires_grad_(False)
