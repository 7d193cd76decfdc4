r"""A test whether logarithms or roots of rewards are more predictable than the rewards.

Each arm is predicted from its previous row, \(z_t - m = \phi (z_{t-1} - m) + e_t\) with Gaussian e.
The criterion is the log density that this model assigns to the untransformed rewards: the density
of the transformed rewards plus \(\log g'\) (Box and Cox 1964, An Analysis of Transformations). It
must be significantly larger than without a transformation, in a t-test over blocks of rows at a
level of 0.1 %.
"""

import math

import numpy as np

from driftpeak.gp.transforms import TRANSFORMATIONS, TRANSFORMS, Transformation, transformed
from driftpeak.offline.history._correlation import Array

LEVEL = 0.001
LEAST = 20
"""Minimum number of rows for the test."""


def find_transformation(rows: Array) -> Transformation:
    """Return the best transformation of rows, shape `(steps, arms)`.

    It is "none" if no transformation is significantly better, or if any reward is 0 or less.
    """
    rows = rows[:, np.ptp(rows, axis=0) > 0]
    if len(rows) < LEAST or rows.shape[1] == 0 or rows.min() <= 0:
        return "none"
    from scipy.stats import t

    best: tuple[float, Transformation] = (0.0, "none")
    plain, count = _density(rows, "none"), math.isqrt(len(rows))
    for name in TRANSFORMATIONS[1:]:
        gains = [block.mean() for block in np.array_split(_density(rows, name) - plain, count)]
        margin = t.ppf(1 - LEVEL, count - 1) * np.std(gains, ddof=1) / math.sqrt(count)
        gain = float(np.mean(gains))
        if gain > margin:
            best = max(best, (gain, name))
    return best[1]


def _density(rows: Array, name: Transformation) -> Array:
    """Return the log density of each row except the first, averaged over arms."""
    values = transformed(rows, name)
    centred = values - values.mean(axis=0)
    now, before = centred[1:], centred[:-1]
    follows = (now * before).sum(axis=0) / np.maximum((before**2).sum(axis=0), 1e-300)
    away = now - follows * before
    variance = (away**2).mean(axis=0)
    variance = np.maximum(variance, 1e-12 * centred.var(axis=0))
    density = -0.5 * (away**2 / variance + np.log(variance)) + TRANSFORMS[name].log_slope(rows[1:])
    return np.asarray(density.mean(axis=1))
