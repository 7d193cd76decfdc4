"""Noise, covariance, mean and drift of a recorded table, all estimated from the same rows.

A covariance estimated from noisy rows already contains their noise: with it and an assumed noise
variance, the estimated drift can be too high by any factor. Here nothing is assumed known. The
interval is the profile of the restricted likelihood (`driftpeak.inference.fitting.restricted`): the
drifts that a likelihood ratio test at 5 % does not reject, with covariance and noise fitted again
at each drift.
"""

import math
from typing import NamedTuple

import numpy as np

from driftpeak._core.types import Matrix
from driftpeak.inference.fitting.restricted import (
    Fitted,
    RowModel,
    TransformedRows,
    inverse_spectrum,
    maximise,
    transform,
)

MOST, ROWS_EACH = 16, 25  # largest number of arms whose covariance is fitted; rows for each
STARTS = (0.003, 0.05, 0.5)
SLOWEST, FASTEST = 1e-7, 1 - 1e-5
CONFIDENCE = 3.841  # 95 % of a chi-squared variable with one degree of freedom
STEP, STRIDE, WIDTH = 0.3, 1.6, 0.04  # in log-odds: first step outwards, its growth, precision


class RecordedDrift(NamedTuple):
    """Estimates of drift and noise, in the units of the table.

    Attributes:
        drift: the maximiser of the restricted likelihood.
        low, high: 95 % interval; 0 (1) if the rows exclude no slower (no faster) drift.
        noise_variance: noise variance of one cell.
    """

    drift: float
    low: float
    high: float
    noise_variance: float


def recorded_drift(table: Matrix, noise_variance: float | None = None) -> RecordedDrift:
    """Estimate the drift per row of a table, shape `(steps, arms)`, of at least 3 rows that vary.

    A covariance of p arms can be fitted to 25 p rows and more. With more arms, or more than 16,
    neighbouring arms are summed. Each of about a hundred evaluations takes O(T p).

    Arguments:
        noise_variance: noise variance of one cell, if it is known.
    """
    table = _summed(table - table.mean(axis=0))
    scale = float((table**2).mean())
    known = None if noise_variance is None else noise_variance / scale
    rows, start = _start(transform(table / math.sqrt(scale)), known)
    best = maximise(start, rows, noise=known is None, drift=True)
    low, high, best = _interval(best, rows, known is None)
    return RecordedDrift(best.model.drift, low, high, best.model.noise * scale)


def _start(rows: TransformedRows, known: float | None) -> tuple[TransformedRows, RowModel]:
    """Return the rows with all directions leading, and the start of the optimisation.

    The drift is roughly right under the assumption that all arms are alike and independent. It
    then gives the weights of the frequencies for an estimate of the covariance.
    """
    nothing = np.zeros(0), np.zeros((0, 0))
    fits = [
        maximise(
            RowModel(*nothing, 0.8, known or 0.2, drift), rows, noise=known is None, drift=True
        )
        for drift in STARTS
    ]
    model = min(fits, key=lambda fit: fit.cost).model
    spectrum = model.drift / inverse_spectrum(model.drift, rows.laplacian)
    weights = spectrum / (model.tail * spectrum + model.noise) ** 2
    weights[0] = 0.0  # the mean
    moment = (rows.rest * weights[:, None]).T @ rows.rest / (weights @ spectrum)
    variances, axes = np.linalg.eigh(moment)
    variances = variances - model.noise * weights.sum() / (weights @ spectrum)
    variances = np.maximum(variances, max(variances[-1], 1e-3) / 100)
    rows = rows._replace(leading=rows.rest, rest=rows.rest[:, :0])
    return rows, RowModel(variances, axes, 1.0, model.noise, model.drift)


def _summed(table: Matrix) -> Matrix:
    """Sum neighbouring arms, divided by the root of their number, until there are few enough.

    The noise stays white with an unchanged variance, and the choice does not depend on the rows.
    Directions chosen by their variance would favour slow directions, and noise that resembles
    signal.
    """
    most = min(max(len(table) // ROWS_EACH, 1), MOST)
    blocks = np.array_split(np.arange(table.shape[1]), min(most, table.shape[1]))
    sums = [table[:, block].sum(axis=1) / math.sqrt(len(block)) for block in blocks]
    return np.stack(sums, axis=1)


def _interval(best: Fitted, rows: TransformedRows, noise: bool) -> tuple[float, float, Fitted]:
    """Return the ends of the interval, and the best model found in the search for them."""

    def at(log_odds: float, near: RowModel) -> Fitted:
        """Return the best model of this drift, started from a model with equal innovations."""
        drift = 1 / (1 + math.exp(-log_odds))
        here, there = (epsilon / inverse_spectrum(epsilon, 1.0) for epsilon in (near.drift, drift))
        start = near._replace(
            variances=near.variances * here / there, tail=near.tail * here / there, drift=drift
        )
        return maximise(start, rows, noise=noise, drift=False)

    def end(limit: float) -> float | None:
        nonlocal best
        inside, model = _log_odds(best.model.drift), best.model
        step = math.copysign(STEP, limit - inside)
        while True:
            outside = inside + step
            if abs(outside - inside) >= abs(limit - inside):
                outside = limit
            fitted = at(outside, model)
            best = min(best, fitted, key=lambda fit: fit.cost)
            if fitted.cost - best.cost > CONFIDENCE:
                break
            if outside == limit:
                return None
            inside, model, step = outside, fitted.model, step * STRIDE
        while abs(outside - inside) > WIDTH:
            half = (inside + outside) / 2
            fitted = at(half, model)
            if fitted.cost - best.cost > CONFIDENCE:
                outside = half
            else:
                inside, model = half, fitted.model
        return 1 / (1 + math.exp(-outside))

    low, high = end(_log_odds(SLOWEST)), end(_log_odds(FASTEST))
    return (0.0 if low is None else low), (1.0 if high is None else high), best


def _log_odds(drift: float) -> float:
    drift = min(max(drift, SLOWEST), FASTEST)
    return math.log(drift / (1 - drift))
