r"""Variation of a given sequence of functions, and the drift of recorded data.

The budgets of the theorems are \(\sum_t \|f_{t+1} - f_t\|\), in the supremum norm (IT25's and H23's
\(V_T\)) or in the RKHS norm (ZS21's \(P_T\), D22's \(B_T\)). If k(x, x) <= 1, the variation in the
supremum norm is never larger.
"""

import math
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from scipy.optimize import brentq, minimize_scalar

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DriftpeakError, finite_array, positive
from driftpeak._core.numerics.precision import double_precision
from driftpeak._core.types import Vector
from driftpeak.gp.priors import Prior
from driftpeak.inference.fitting.likelihood import correlations, spectral
from driftpeak.inference.fitting.recorded_drift import CONFIDENCE, recorded_drift

NULL = 1e-12  # eigenvalues below this share of the largest count as zero
OUTSIDE = 1e-6  # a function with more than this share of its length there is outside the RKHS
LEAST_DRIFT = 1e-8


@checked
def supremum_variation(values: Any) -> float:
    r"""Compute \(\sum_t \max_x |f_{t+1}(x) - f_t(x)|\), IT25's V_T.

    Noise in the values counts as variation: for recorded data the result is an upper estimate.

    Arguments:
        values: shape `(steps, points)`.

    Raises:
        DriftpeakError: values that are not a finite `(steps, points)` array.

    Source: IT25 Assumption 3.
    """
    steps = finite_array("values", values, 2)
    return float(np.abs(np.diff(steps, axis=0)).max(axis=1, initial=0.0).sum())


@checked
def rkhs_norm(prior: Prior, values: Any) -> Vector:
    r"""Compute the RKHS norm of each row of `values`, shape `(functions, points)`, on the domain.

    \(\sqrt{f^\top K^{-1} f}\) is the smallest norm of all functions with these values. It is
    infinite if the values are outside the RKHS, to rounding: outside the span of the eigenvectors
    of K whose eigenvalues exceed 1e-12 of the largest.

    Raises:
        DriftpeakError: values that are not finite, or for another number of points.

    Source: IT25 Assumption 2; M25 Assumption 1, (6).
    """
    functions = finite_array("values", values, 2)
    if functions.shape[1] != len(prior):
        raise DriftpeakError(
            f"values must have one column for each of {len(prior)} points; got {functions.shape[1]}"
        )
    spectrum, vectors = np.linalg.eigh(prior.gram)
    seen = spectrum > NULL * spectrum[-1]
    coordinates = functions @ vectors
    norms = np.sqrt((coordinates[:, seen] ** 2 / spectrum[seen]).sum(axis=1))
    lengths = np.sqrt((functions**2).sum(axis=1))
    beyond = np.sqrt((coordinates[:, ~seen] ** 2).sum(axis=1))
    return np.where(beyond > OUTSIDE * lengths, np.inf, norms)


@checked
def rkhs_variation(prior: Prior, values: Any) -> float:
    r"""Compute \(\sum_t \|f_{t+1} - f_t\|_k\) on the domain (ZS21's P_T, D22's B_T).

    Raises:
        DriftpeakError: as for `rkhs_norm`.

    Source: ZS21 section II.
    """
    steps = finite_array("values", values, 2)
    if len(steps) < 2:
        return 0.0
    return float(rkhs_norm(prior, np.diff(steps, axis=0)).sum())


@jax.jit
def _profile(
    variances: Any, series: Any, noise: Any, drifts: Any, elapsed: Any, begins: Any
) -> Any:
    """Return the log-likelihood of the series at each of `drifts`."""

    def at(drift: Any) -> Any:
        return spectral(variances, series, noise, correlations(drift, elapsed, begins))[0]

    return jax.vmap(at)(drifts)


@dataclass(frozen=True)
class DriftEstimate:
    """An estimate of B16's epsilon.

    Attributes:
        drift: the maximiser of the likelihood.
        low, high: 95 % interval of a likelihood ratio test. `low` is 0 if the rows exclude no
            slower drift, `high` 1 if they exclude no faster drift.
        noise_variance: noise variance of one cell, estimated or as given, in squared units of the
            data.
    """

    drift: float
    low: float
    high: float
    noise_variance: float

    @property
    def cautious(self) -> float:
        """`drift`, or `high` if the interval has no lower limit: the drift may then be any slower.

        Too fast a drift is the safer error: points that are forgotten too early can be observed
        again.
        """
        return self.drift if self.low > 0 else self.high

    def __str__(self) -> str:
        if self.low == 0 and self.high == 1:
            return "the rows do not determine the drift: 95 % interval 0 to 1"
        if self.low == 0:
            return (
                f"at most {self.high:.3g} per row (95 %); the rows are consistent with noise and "
                "no drift"
            )
        if self.high == 1:
            return (
                f"at least {self.low:.3g} per row (95 %); the rows are consistent with independent "
                "functions"
            )
        return f"{self.drift:.3g} per row, 95 % interval {self.low:.3g} to {self.high:.3g}"


@checked
def estimate_drift(
    values: Any, *, prior: Prior | None = None, noise_variance: float | None = None
) -> DriftEstimate:
    r"""Estimate the drift \(\epsilon\) per row of recorded data.

    Rows are \(\mu + f_t\) and noise of one variance, \(f_{t+1} = \sqrt{1-\epsilon} f_t +
    \sqrt\epsilon\,g\). Without a prior, mean, covariance, noise variance and drift are all fitted
    to the rows, by restricted likelihood (`driftpeak.inference.fitting.recorded_drift`). With a
    prior, only the drift is fitted, and the estimate depends on the prior. Do not compute the prior
    from these rows: their covariance already contains their noise.

    Arguments:
        values: shape `(steps, arms)`, at regular times.
        prior: covariance, mean and noise of the arms, known from another source.
        noise_variance: noise variance of one cell, if it is known; it replaces the prior's.

    Raises:
        DriftpeakError: fewer than 3 steps, data that do not vary, values that are not finite, or a
            prior for another number of arms.

    Source: B16 (24).
    """
    table = finite_array("values", values, 2)
    if len(table) < 3 or table.shape[1] < 1:
        raise DriftpeakError(f"values must have at least 3 rows and 1 arm; got shape {table.shape}")
    if prior is not None and len(prior) != table.shape[1]:
        raise DriftpeakError(
            f"values must have {len(prior)} columns, one for each arm of the prior; got "
            f"{table.shape[1]}"
        )
    if (table == table[0]).all():
        raise DriftpeakError("values must vary, so that there is a drift to estimate")
    noise = None if noise_variance is None else positive("noise_variance", noise_variance)
    if prior is None:
        return DriftEstimate(*recorded_drift(table, noise))
    return _known_covariance(table, prior, prior.noise_variance if noise is None else noise)


@double_precision
def _known_covariance(table: Vector, prior: Prior, noise: float) -> DriftEstimate:
    """Maximise the likelihood (24) of the table, a Kalman filter for each eigenvector."""
    spectrum, vectors = np.linalg.eigh(prior.gram)
    seen = spectrum > NULL * spectrum[-1]
    series, variances = (table - prior.mean) @ vectors[:, seen], spectrum[seen]
    elapsed, begins = np.ones(len(series)), np.arange(len(series)) == 0

    def cost(log_drift: Any) -> Any:
        drifts = np.exp(np.atleast_1d(log_drift))
        return -np.asarray(_profile(variances, series, noise, drifts, elapsed, begins))

    grid = np.linspace(math.log(LEAST_DRIFT), 0.0, 41)
    start = int(np.argmin(cost(grid)))
    near = (grid[max(start - 1, 0)], grid[min(start + 1, len(grid) - 1)])
    best = minimize_scalar(
        lambda x: cost(x)[0], bounds=near, method="bounded", options={"xatol": 1e-4}
    )

    def excess(log_drift: float) -> float:
        """Return the excess of the cost over the threshold of the test."""
        return float(cost(log_drift)[0] - best.fun - CONFIDENCE / 2)

    low, high = (
        None if excess(limit) <= 0 else math.exp(brentq(excess, float(best.x), limit, xtol=1e-4))
        for limit in (grid[0], grid[-1])
    )
    return DriftEstimate(
        math.exp(best.x),
        0.0 if low is None else low,
        1.0 if high is None else high,
        noise,
    )
