"""Noise, covariance, mean and drift of a recorded table, all from the same rows.

A covariance taken from noisy rows already contains their noise: with it, and a noise variance that
is assumed, the drift comes out too high by any factor. Here nothing is assumed known. The interval
is the profile of the restricted likelihood (`driftpeak.inference.fitting.restricted`): what a
likelihood ratio test at 5 % would not reject, covariance and noise anew at every drift.
"""

import math
from typing import NamedTuple

import numpy as np

from driftpeak._core.types import Matrix
from driftpeak.inference.fitting.restricted import (
    Fitted,
    RowModel,
    Rows,
    inverse_spectrum,
    maximise,
    transform,
)

MOST, ROWS_EACH = 16, 25  # arms whose covariance is learned, and the rows that each takes
STARTS = (0.003, 0.05, 0.5)
SLOWEST, FASTEST = 1e-7, 1 - 1e-5
CONFIDENCE = 3.841  # 95 % of a chi-squared variable with one degree of freedom
STEP, STRIDE, WIDTH = 0.3, 1.6, 0.04  # in log-odds: the first step outwards, its growth, precision


class RecordedDrift(NamedTuple):
    """Estimates in the units of the table.

    Attributes:
        drift: where the restricted likelihood is largest.
        low, high: 95 % interval; 0 and 1 where the rows exclude no slower, no faster drift.
        noise_variance: of one cell.
    """

    drift: float
    low: float
    high: float
    noise_variance: float


def recorded_drift(table: Matrix, noise_variance: float | None = None) -> RecordedDrift:
    """The drift per row of a table, shape `(steps, arms)`, of at least 3 rows that vary.

    A covariance of p arms can be learned from 25 p rows and more; where arms are more than that, or
    than 16, neighbours are summed. O(T p) for each of some hundred evaluations.

    Arguments:
        noise_variance: of one cell, where it is known.
    """
    table = _summed(table - table.mean(axis=0))
    scale = float((table**2).mean())
    known = None if noise_variance is None else noise_variance / scale
    rows, start = _start(transform(table / math.sqrt(scale)), known)
    best = maximise(start, rows, noise=known is None, drift=True)
    low, high, best = _interval(best, rows, known is None)
    return RecordedDrift(best.model.drift, low, high, best.model.noise * scale)


def _start(rows: Rows, known: float | None) -> tuple[Rows, RowModel]:
    """The rows with all directions leading, and where to begin.

    As if all arms were alike and independent, the drift is roughly right; with it the frequencies
    are weighed by what they tell of the covariance.
    """
    nothing = np.zeros(0), np.zeros((0, 0))
    found = [
        maximise(
            RowModel(*nothing, 0.8, known or 0.2, drift), rows, noise=known is None, drift=True
        )
        for drift in STARTS
    ]
    model = min(found, key=lambda one: one.cost).model
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
    """Neighbouring arms summed over the root of their number, until there are few enough.

    The noise stays white and as large, and what is chosen does not depend on the rows. Directions
    chosen by their variance would: they favour what looks slow, and noise that looks like signal.
    """
    most = min(max(len(table) // ROWS_EACH, 1), MOST)
    blocks = np.array_split(np.arange(table.shape[1]), min(most, table.shape[1]))
    return np.stack([table[:, one].sum(axis=1) / math.sqrt(len(one)) for one in blocks], axis=1)


def _interval(best: Fitted, rows: Rows, noise: bool) -> tuple[float, float, Fitted]:
    """The ends, and the best model that was met on the way to them."""

    def at(log_odds: float, near: RowModel) -> Fitted:
        """The best model of this drift, begun at one of another with innovations as large."""
        drift = 1 / (1 + math.exp(-log_odds))
        here, there = (one / inverse_spectrum(one, 1.0) for one in (near.drift, drift))
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
            found = at(outside, model)
            best = min(best, found, key=lambda one: one.cost)
            if found.cost - best.cost > CONFIDENCE:
                break
            if outside == limit:
                return None
            inside, model, step = outside, found.model, step * STRIDE
        while abs(outside - inside) > WIDTH:
            half = (inside + outside) / 2
            found = at(half, model)
            if found.cost - best.cost > CONFIDENCE:
                outside = half
            else:
                inside, model = half, found.model
        return 1 / (1 + math.exp(-outside))

    low, high = end(_log_odds(SLOWEST)), end(_log_odds(FASTEST))
    return (0.0 if low is None else low), (1.0 if high is None else high), best


def _log_odds(drift: float) -> float:
    drift = min(max(drift, SLOWEST), FASTEST)
    return math.log(drift / (1 - drift))
