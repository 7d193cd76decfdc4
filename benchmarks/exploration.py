"""Regret of four acquisition functions relative to auto's width, at known drift.

Markov drift (B16) on 100 points of [0, 1], SE kernel, lengthscale 0.2, noise standard deviation
0.1, T = 500, 60 trials, with a dense exact posterior in NumPy. The baseline is the upper confidence
bound of `auto`'s members: its squared width is the smaller of 0.8 log 4t and 0.7 log 1/drift. The
figures are regrets as multiples of the baseline's, with the standard error of the paired
difference:

- wide: the upper bound with the squared width 0.8 log 4t;
- influence: `acquisition="influence"`, 24 to 96 steps ahead, with the width of "wide";
- knowledge gradient: the mean plus the expected increase of the highest mean by an observation,
  times the number of steps for which the observation is useful, a / (1 - a) with
  a = (1 - drift)^(1/2), at most T (Ryzhov, Powell and Frazier 2012, The Knowledge Gradient
  Algorithm for a General Class of Online Learning Problems);
- knowledge gradient / 10: a tenth of this bonus, because an observation can also be made later.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import norm

from driftpeak.gp.dynamics import HORIZONS

POINTS, STEPS, TRIALS, NOISE = 100, 500, 60, 0.01
DRIFTS = (0.0, 0.001, 0.01, 0.03, 0.1, 0.25)
QUANTILES = norm.ppf((np.arange(8) + 0.5) / 8)
QUANTILES = QUANTILES / np.sqrt((QUANTILES**2).mean())
Rule = Callable[[Any, Any, int, float], Any]


def run() -> dict[str, str]:
    """Return regret ratios by rule and drift."""
    figures = {}
    for drift in DRIFTS:
        usual = regret(drift, bounded)
        for name, rule in RULES.items():
            other = regret(drift, rule)
            ratio, away = other.mean() / usual.mean(), other - usual
            error = away.std(ddof=1) / np.sqrt(TRIALS) / usual.mean()
            figures[f"{name}, drift {drift:g}"] = f"{ratio:.2f} ± {error:.2f}"
    return figures


def regret(drift: float, rule: Rule) -> Any:
    """Return the regret per step of every trial; all rules have the same functions."""
    generator, stays = np.random.default_rng(0), np.sqrt(1 - drift)
    place = np.linspace(0, 1, POINTS)
    prior = np.exp(-0.5 * (place[:, None] - place) ** 2 / 0.2**2)
    lower = np.linalg.cholesky(prior + 1e-10 * np.eye(POINTS))
    value = generator.standard_normal((TRIALS, POINTS)) @ lower.T
    mean = np.zeros((TRIALS, POINTS))
    covariance = np.broadcast_to(prior, (TRIALS, POINTS, POINTS)).copy()
    trial, lost = np.arange(TRIALS), np.zeros(TRIALS)
    for step in range(1, STEPS + 1):
        query = rule(mean, covariance, step, drift)
        lost += value.max(axis=1) - value[trial, query]
        reward = value[trial, query] + np.sqrt(NOISE) * generator.standard_normal(TRIALS)
        column = covariance[trial, query]
        total = (column[trial, query] + NOISE)[:, None]
        mean = stays * (mean + column * (reward - mean[trial, query])[:, None] / total)
        covariance -= column[:, :, None] * (column / total)[:, None, :]
        covariance = (1 - drift) * covariance + drift * prior
        fresh = generator.standard_normal((TRIALS, POINTS)) @ lower.T
        value = stays * value + np.sqrt(drift) * fresh
    return lost / STEPS


def variances(covariance: Any) -> Any:
    """Return the variances of all points."""
    return np.maximum(np.einsum("bii->bi", covariance), 0.0)


def bounded(mean: Any, covariance: Any, step: int, drift: float) -> Any:
    """Return the maximiser of the upper bound whose width is limited by the drift."""
    square = 0.8 * np.log(4 * step)
    if drift:
        square = min(square, -0.7 * np.log(drift))
    return (mean + np.sqrt(square * variances(covariance))).argmax(axis=1)


def wide(mean: Any, covariance: Any, step: int, drift: float) -> Any:
    """Return the maximiser of the upper bound."""
    return (mean + np.sqrt(0.8 * np.log(4 * step) * variances(covariance))).argmax(axis=1)


def influence(mean: Any, covariance: Any, step: int, drift: float) -> Any:
    """Return the maximiser of the mean plus the effect of an observation on the forecast."""
    own = variances(covariance)
    later = np.mean((1 - drift) ** (np.array(HORIZONS) / 2))
    bonus = later * own / np.sqrt(own + NOISE)
    return (mean + np.sqrt(0.8 * np.log(4 * step)) * bonus).argmax(axis=1)


def knowledge_gradient(share: float) -> Rule:
    """Return the knowledge-gradient rule with a share of the useful steps."""

    def rule(mean: Any, covariance: Any, step: int, drift: float) -> Any:
        stays = np.sqrt(1 - drift)
        use = min(stays / (1 - stays), STEPS) if drift else STEPS
        moves = covariance / np.sqrt(variances(covariance) + NOISE)[:, None, :]
        highest = sum((mean[:, :, None] + moves * z).max(axis=1) for z in QUANTILES)
        gain = highest / len(QUANTILES) - mean.max(axis=1)[:, None]
        return (mean + share * use * gain).argmax(axis=1)

    return rule


RULES: dict[str, Rule] = {
    "wide": wide,
    "influence": influence,
    "knowledge gradient": knowledge_gradient(1.0),
    "knowledge gradient / 10": knowledge_gradient(0.1),
}
