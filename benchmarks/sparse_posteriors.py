r"""Posteriors from a few answers, against posteriors from outputs at all points (M25 (19), (25)).

First figures: 4,000 points, 95 % of them equal and 5 % drawn from [0, 1], and 9 points chosen
greedily; SE kernel of lengthscale 0.2, noise variance 0.1. A variational posterior with these 9
inducing points uses all outputs; SparQ's posterior uses the answers at the 9 points. Each is
compared with the posterior from all outputs, at the repeated point.

Then both sides of M25's (24) and (25), summed over T steps with Q_t = ceil(log t) answers: the
smallest sum that any 9 answers permit, and the largest that (25) permits with eta = 1/5, for any
points on a grid of 41. The exponents are those of W-SparQ: of the smallest sum of deviations, and
of the rate (34).

Last, the regret of SparQ for f_t = s_t g h with independent signs s_t. Every policy with Q
evaluations of the present function has at least the regret of the row "lower bound".
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import driftpeak as dp
from driftpeak.environments import Environment
from driftpeak.theory.side_queries import side_query_budget

NOISE, LENGTHSCALE, ANSWERS = 0.1, 0.2, 9
ETA = 1 / 5
STEPS, TRIALS = 1024, 8
HORIZONS = (1_000, 10_000, 100_000)


class RandomSigns(Environment[Any]):
    """A function that is multiplied by an independent random sign at every step."""

    shape: Any
    noise_variance: Any

    def init(self, key: Any) -> Any:
        return key

    def step(self, state: Any, time: Any) -> Any:
        state, now = jax.random.split(state)
        return state, self.shape * jnp.where(jax.random.bernoulli(now), 1.0, -1.0)


def kernel(a: Any, b: Any) -> Any:
    """Return the SE covariances of two sets of numbers."""
    return np.exp(-((np.subtract.outer(a, b) / LENGTHSCALE) ** 2) / 2)


def greedy(points: Any, count: int) -> tuple[list[int], Any]:
    """Return the points of largest variance given the ones before, and the variances left."""
    left, chosen = kernel(points, points), []
    for _ in range(count):
        best = int(np.argmax(np.diag(left)))
        chosen.append(best)
        left = left - np.outer(left[best], left[best]) / left[best, best]
    return chosen, np.maximum(np.diag(left), 0.0)


def variance(at: float, points: Any, noise: Any) -> float:
    """Return the posterior variance at a point, given observations with these noise variances."""
    row = kernel(at, points)
    return float(1 - row @ np.linalg.solve(kernel(points, points) + np.diag(noise), row))


def variational(at: float, points: Any, copies: Any, chosen: list[int]) -> float:
    """Return the variance of the optimal variational posterior with inducing points (Titsias)."""
    inducing = kernel(points[chosen], points[chosen]) + 1e-10 * np.eye(len(chosen))
    cross, row = kernel(points[chosen], points), kernel(at, points[chosen])
    whole = inducing + (cross * copies) @ cross.T / NOISE
    return float(1 - row @ np.linalg.solve(inducing, row) + row @ np.linalg.solve(whole, row))


def divergence(ratio: float) -> float:
    """Return the expected KL divergence at a point, if one data set contains the other.

    The means then differ by a variable of variance s - v, s and v the variances, ratio = s / v.
    """
    return ratio - 1 - np.log(ratio) / 2


def repeated_point() -> dict[str, Any]:
    """Return the two posteriors at the point that makes up 95 % of the data."""
    generator = np.random.default_rng(0)
    points = np.concatenate([[0.5], generator.uniform(size=200)])
    copies = np.concatenate([[3800], np.ones(200)])
    chosen, left = greedy(points, ANSWERS)
    trace = float(copies @ left) / NOISE
    whole = variance(0.5, points, NOISE / copies)
    answers = variance(0.5, points[chosen], np.full(ANSWERS, NOISE)) / whole
    inducing = variational(0.5, points, copies, chosen) / whole
    return {
        "tr(K - U) / sigma^2": trace,
        "  KL at the repeated point, answers alone": divergence(answers),
        "  deviation, answers alone / all outputs": np.sqrt(answers),
        "  the same, variational with all outputs": np.sqrt(inducing),
        "  largest ratio in (25), eta = 2 tr / sigma^2": np.sqrt(1 + np.sqrt(6 * trace)),
    }


def sums(prior: dp.Prior) -> dict[str, Any]:
    """Return the sum of deviations that (24) needs, and the largest that (25) permits."""
    gains = dp.greedy_gain(prior, HORIZONS[-1], upper=True)
    least = np.sqrt(NOISE / (NOISE + side_query_budget(HORIZONS[-1])))
    figures = {}
    for horizon in HORIZONS:
        virtual = np.sqrt(2 * horizon * gains[horizon] / np.log1p(1 / NOISE))
        figures[f"T = {horizon:,}: smallest sum of deviations"] = float(least[:horizon].sum())
        figures["  largest with (25)" + " " * HORIZONS.index(horizon)] = float(
            virtual * np.sqrt(1 + np.sqrt(3 * ETA))
        )
    return figures


def exponents(alpha: float, a: float = 1 / 4) -> tuple[float, float]:
    """Return the exponents of W-SparQ's smallest sum of deviations and of the rate (34)."""
    return 1 - a * max(1 - alpha, 0) / (2 * alpha), (3 * a + 1) / 2


def random_signs(prior: dp.Prior) -> dict[str, Any]:
    """Return SparQ's regret for independent signs, and the lower bound for Q evaluations."""
    most = int(side_query_budget(STEPS)[-1])
    row = prior.gram[8] - prior.gram[32]
    gap = np.sqrt(NOISE / most) / 2
    world = RandomSigns(gap * row / abs(row).max(), np.float64(NOISE))
    runs = dp.simulate(
        {"SparQ": dp.SparQ(prior)}, world, steps=STEPS, trials=TRIALS, seed=0, progress=False
    )
    totals = runs["regret"].sum("step").values[0]
    return {
        f"random signs, T = {STEPS:,}: regret of SparQ": float(totals.mean()),
        "  its standard error": float(totals.std(ddof=1) / np.sqrt(TRIALS)),
        "  lower bound, T sigma / (4 sqrt(Q))": STEPS * np.sqrt(NOISE / most) / 4,
    }


def run() -> dict[str, Any]:
    """Return all figures."""
    prior = dp.Prior(dp.Grid([0, 1], size=41), dp.SE(LENGTHSCALE), noise_variance=NOISE)
    figures = repeated_point() | sums(prior)
    for alpha in (0.5, 1.0, 2.0):
        least, rate = exponents(alpha)
        figures[f"W-SparQ, alpha = {alpha:g}: exponent of the sum"] = least
        figures[f"  of the rate (alpha = {alpha:g})"] = rate
    return figures | random_signs(prior)
