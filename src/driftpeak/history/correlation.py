r"""How long rows resemble those before: the autocorrelation, and a law of motion fitted to it."""

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import nnls

from driftpeak.motions import MarkovMotion, SumMotion

Array = np.ndarray[Any, np.dtype[np.float64]]

LIFETIMES = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0)
"""Steps in which a part's correlation falls to 1/e."""
LEAST_SHARE = 0.02
"""Parts with less of the variance are left out."""


def autocorrelation(series: Array, most: int) -> Array:
    r"""\(\sum_t x_t \cdot x_{t + v} / ((T - v)\, \sum_t |x_t|^2 / T)\) for lags v = 0, ..., `most`.

    All columns together, the last axis but one being time: columns count by their variance.
    """
    steps = series.shape[-2]
    length = 1 << (2 * steps - 1).bit_length()
    power = (np.abs(np.fft.rfft(series, length, axis=-2)) ** 2).sum(axis=-1)
    products = np.fft.irfft(power, length, axis=-1)[..., : most + 1]
    products = products / (steps - np.arange(most + 1))
    return np.asarray(products / np.maximum(products[..., :1], 1e-300))


class Law(NamedTuple):
    """A sum of exponentials: shares of the variance, their lifetimes in steps, and the noise's."""

    shares: Array
    lifetimes: Array
    noise: float

    @property
    def motion(self) -> SumMotion:
        """As a motion of the function, noise not included."""
        return self.at_speeds((1.0,))

    def at_speeds(self, speeds: Any) -> SumMotion:
        """The law, and the same law faster or slower by these factors."""
        drifts = [-np.expm1(-2 * np.asarray(speeds) / lifetime) for lifetime in self.lifetimes]
        return SumMotion([MarkovMotion(each) for each in drifts], self.shares)

    def correlation(self, lags: Any) -> Array:
        """Of the rows, noise included."""
        lags = np.asarray(lags, dtype=float)
        parts = self.shares * np.exp(-lags[:, None] / self.lifetimes)
        return np.asarray(parts.sum(axis=1) + self.noise * (lags == 0))

    def draw(self, generator: Any, shape: tuple[int, ...]) -> Array:
        """Independent series of this law; time is the last axis but one."""
        total = np.sqrt(self.noise) * generator.normal(size=shape)
        for share, lifetime in zip(self.shares, self.lifetimes, strict=True):
            kept = np.exp(-1 / lifetime)
            steps = generator.normal(size=shape) * np.sqrt(1 - kept**2)
            steps[..., 0, :] /= np.sqrt(1 - kept**2)
            total += np.sqrt(share) * _accumulated(steps, kept)
        return np.asarray(total)


def _accumulated(steps: Array, kept: float) -> Array:
    from scipy.signal import lfilter

    return np.asarray(lfilter([1.0], [1.0, -kept], steps, axis=-2))


def fitted_law(correlations: Array, steps: int) -> Law:
    """The law whose correlations are nearest by least squares, lags weighted by how often seen.

    Arguments:
        correlations: at lags 0, 1, ..., as `autocorrelation` gives them.
        steps: T, the number of rows that they come from.
    """
    lags = np.arange(len(correlations), dtype=float)
    lifetimes = np.array([life for life in LIFETIMES if life <= max(4 * steps, 4)])
    columns = np.concatenate([np.exp(-lags[:, None] / lifetimes), (lags == 0)[:, None]], axis=1)
    weight = np.sqrt(1 - lags / steps)
    weight[0] = 10 * np.sqrt(len(lags))  # all variance is accounted for
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
    return Law(shares, lifetimes[kept], noise)
