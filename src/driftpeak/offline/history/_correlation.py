r"""The autocorrelation of rows, and a drift model that is fitted to it."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import nnls

from driftpeak.gp.dynamics import DampedOscillator, MarkovMotion, SumMotion

Array = np.ndarray[Any, np.dtype[np.float64]]

LIFETIMES = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0)
"""Candidate lifetimes: steps in which a component's correlation falls to 1/e."""
LONGEST = 0.5
"""Longest lifetime of a component that does not oscillate, in lengths of the record.

A longer lifetime cannot be distinguished from a mean.
"""
LEAST_SHARE = 0.02
"""Components with a smaller fraction of the variance are omitted."""
CYCLES = (1.0, 3.0, 10.0)
"""Candidate lifetimes of oscillations, in periods."""
OVERTONES = 2
"""Number of oscillations: with the period, and with half of it."""


def autocorrelation(series: Array, most: int) -> Array:
    r"""Return the autocorrelation at lags v = 0, ..., `most`.

    \[\sum_t x_t \cdot x_{t + v} / ((T - v)\, \sum_t |x_t|^2 / T)\]

    It is common to all columns, which are weighted by their variance.

    Arguments:
        series: the last axis but one is time, the last one has the columns.
        most: the largest lag.
    """
    steps = series.shape[-2]
    length = 1 << (2 * steps - 1).bit_length()
    power = (np.abs(np.fft.rfft(series, length, axis=-2)) ** 2).sum(axis=-1)
    products = np.fft.irfft(power, length, axis=-1)[..., : most + 1]
    products = products / (steps - np.arange(most + 1))
    return np.asarray(products / np.maximum(products[..., :1], 1e-300))


class Law(NamedTuple):
    r"""A drift model: a sum of components with exponential decay, some of which oscillate.

    The correlation at lag v is \(\sum_c w_c \cos(2\pi v/P_c)\, e^{-v/l_c}\), with the `shares` w of
    the variance, the `lifetimes` l and the `periods` P in steps. The period is infinite for
    components that do not oscillate. `noise` is the fraction of the variance due to noise.
    """

    shares: Array
    lifetimes: Array
    noise: float
    periods: Array = np.array(np.inf)

    @property
    def parts(self) -> list[tuple[float, float, float]]:
        """Return share, lifetime and period of each component."""
        periods = np.broadcast_to(self.periods, self.shares.shape)
        each = np.stack([self.shares, self.lifetimes, periods], axis=-1)
        return [(float(share), float(life), float(period)) for share, life, period in each]

    @property
    def motion(self) -> SumMotion:
        """Return the dynamics of the function, without noise."""
        motions = [
            MarkovMotion([-np.expm1(-2 / lifetime)])
            if np.isinf(period)
            else DampedOscillator([period], [lifetime])
            for _, lifetime, period in self.parts
        ]
        return SumMotion(motions, self.shares)

    def correlation(self, lags: Any) -> Array:
        """Return the correlation of rows at some lags, including noise."""
        lags = np.asarray(lags, dtype=float)
        faded = np.exp(-lags[:, None] / self.lifetimes)
        parts = self.shares * np.cos(2 * np.pi * lags[:, None] / self.periods) * faded
        return np.asarray(parts.sum(axis=1) + self.noise * (lags == 0))

    def draw(self, generator: Any, shape: tuple[int, ...]) -> Array:
        """Draw independent series of this model; time is the last axis but one."""
        total = np.sqrt(self.noise) * generator.normal(size=shape)
        for share, lifetime, period in self.parts:
            steps = generator.normal(size=shape)
            if np.isfinite(period):
                steps = steps + 1j * generator.normal(size=shape)
            kept = np.exp(-1 / lifetime)
            steps[..., 1:, :] *= np.sqrt(1 - kept**2)
            total += np.sqrt(share) * _accumulated(steps, kept, period).real
        return np.asarray(total)


def _accumulated(steps: Any, kept: float, period: float) -> Any:
    from scipy.signal import lfilter

    turned = kept if np.isinf(period) else kept * np.exp(2j * np.pi / period)
    return lfilter([1.0], [1.0, -turned], steps, axis=-2)


def expected(correlations: Array) -> Array:
    r"""Compute the autocovariances that a record has on average once its mean is subtracted.

    The mean of a short record absorbs slow variation, so that its sample autocovariances are
    smaller than the true ones. With centred values \(x_t - \bar x\),

    \[E\, \hat c(v) = r(v) + \operatorname{Var} \bar x - \frac{1}{T - v}
    \Bigl(\sum_{t \le T - v} + \sum_{t > v}\Bigr) \operatorname{Cov}(x_t, \bar x).\]

    Arguments:
        correlations: r at lags 0, ..., T - 1 of a record of T rows, shape `(T, laws)`.

    Returns:
        Expectations at the same lags, same shape.
    """
    steps = len(correlations)
    sums = np.cumsum(correlations, axis=0)
    with_mean = (sums + sums[::-1] - correlations[0]) / steps
    up_to = np.concatenate([np.zeros_like(sums[:1]), np.cumsum(with_mean, axis=0)])
    both = up_to[:0:-1] + up_to[-1] - up_to[:-1]
    return np.asarray(
        correlations + with_mean.mean(axis=0) - both / np.arange(steps, 0, -1)[:, None]
    )


def fitted_law(
    correlations: Array, steps: int, period: float | None = None, cycles: Sequence[float] = CYCLES
) -> Law:
    """Fit a drift model to sample autocorrelations by non-negative least squares.

    Lags are weighted by their number of products. Each component has its `expected` autocovariances
    as regressor, so that the subtraction of the mean causes no bias.

    Arguments:
        correlations: at lags 0, 1, ..., as `autocorrelation` returns them for centred rows.
        steps: T, the number of rows.
        period: in steps, of oscillations that may be components.
        cycles: candidate lifetimes of these oscillations, in periods.
    """
    lags = np.arange(len(correlations), dtype=float)
    turning = [] if period is None else [period / count for count in range(1, OVERTONES + 1)]
    candidates = [(life, np.inf) for life in LIFETIMES if life <= max(LONGEST * steps, 1)]
    candidates += [(count * turning[0], turn) for turn in turning for count in cycles]
    lifetimes, periods = np.array(candidates).T
    every = np.arange(steps, dtype=float)[:, None]
    columns = np.cos(2 * np.pi * every / periods) * np.exp(-every / lifetimes)
    columns = expected(np.concatenate([columns, every == 0], axis=1))[: len(lags)]
    weight = np.sqrt(1 - lags / steps)
    weight[0] = 10 * np.sqrt(len(lags))  # the shares must sum to the whole variance
    shares = nnls(columns * weight[:, None], correlations * weight)[0]
    shares, noise = shares[:-1] / shares.sum(), float(shares[-1] / shares.sum())
    kept = shares > LEAST_SHARE
    if not kept.any():
        return (
            Law(np.ones(1), np.ones(1), 0.0)
            if noise < 0.5
            else Law(np.array([LEAST_SHARE]), np.ones(1), 1 - LEAST_SHARE)
        )
    shares = shares[kept] * (1 - noise) / shares[kept].sum()
    return Law(shares, lifetimes[kept], noise, periods[kept])
