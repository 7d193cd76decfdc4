r"""Detection of sudden changes of the function, by a likelihood ratio.

A change between two observations with the loss \(\ell\) multiplies the covariance of the values
before and after it by \(\rho = e^{-\ell}\) (`driftpeak.live._model.covariance`). The candidates are
changes before one of the newest 12 observations, with at least two observations after it, and a few
values of \(\rho\). A change is detected if it increases the log likelihood of the hyperparameters
in use by at least five nats. It must still increase it by two nats if any single observation is
left out, because otherwise that observation may be an outlier. Rewards that
were rejected as outliers take part in the test while they are among the newest, because two that
agree may be a change. It must then also be more likely than the assumption that they are outliers.
The log likelihood of an outlier is 6 nats below the largest log density of a standard normal.

Let V be the product of the inverse factor of the older observations and their covariance with the
newest, \(K\) the covariance of the newest with noise, and \(u = V^\top z\) the forecast of their
residuals r from the older residuals. With the vector \(d\), which is \(\rho\) after the change and
1 before it, the newest observations given the older ones have the covariance
\(K \circ R - d d^\top \circ V^\top V\) and the mean \(d \circ u\). R is \(\rho\) for pairs that the
change divides, and 1 for all others. Each candidate therefore needs only 12 x 12 matrices.
"""

from typing import Any, NamedTuple

import numpy as np

from driftpeak._core.numerics.compiled import compiled
from driftpeak._core.types import Vector
from driftpeak.live._model.covariance import CHANGES, Model
from driftpeak.live._model.gp import Conditioned, PaddedObservations, covariance_between
from driftpeak.live._model.observations import pad

TESTED, AFTER = 12, 2  # observations near a change; least number after it
LEAST = 24  # observations in all before a change is tested
SURPRISE, RECENT = 2.0, 4  # a change is tested if one of the last so many residuals exceeds this
CORRELATIONS = (0.02, 0.3, 0.7, 0.9)  # of values before and after a change
GAIN, WITHOUT_ONE = 5.0, 2.0  # nats of all observations, and without the most influential one
OUTLIER = 6.0  # nats: with probability 1/50, uniform over 20 standard deviations
KEPT = GAIN / 2  # a change is dropped when it gains less, after the hyperparameters were learned

Change = tuple[float, float]
"""Time and loss of a sudden change."""


class Newest(NamedTuple):
    """The m newest observations, sorted by time."""

    residuals: Vector  # (m,): standardised rewards minus the level
    errors: Vector  # (m,): errors of one-step forecasts, in standard deviations
    rejected: np.ndarray  # (m,): whether each was rejected as an outlier
    covariance: Vector  # (m, m), with noise
    factor: Vector  # (m, m): Cholesky factor of the covariance given all older observations

    @staticmethod
    def of(
        model: Model, known: Conditioned, which: np.ndarray, residuals: Vector, rejected: np.ndarray
    ) -> "Newest":
        """Return the observations with the indices `which`; the other arguments are of all."""
        some = _some_of(known, which)
        noise = np.where(some.noise > 0, some.noise, model.noise_variance) / some.weights
        among = np.asarray(_covariance_between(model, some, some)) + np.diag(noise)
        whiten = np.asarray(known.whiten)[which]
        factor = np.linalg.inv(whiten[:, which])
        return Newest(residuals[which], whiten @ residuals, rejected[which], among, factor)


def _some_of(known: Conditioned, which: np.ndarray) -> PaddedObservations:
    """Return the observations with the indices `which`."""
    return PaddedObservations(*(np.asarray(part)[which] for part in known.places))


def compile_test(model: Model, known: Conditioned) -> None:
    """Compile the program of `find_change`, if there are places for enough observations."""
    if len(known.places.times) >= LEAST:
        newest = _some_of(known, np.arange(TESTED))
        _covariance_between(model, newest, newest)


def padded_changes(changes: list[Change], origin: float) -> Vector:
    """Return the newest changes as `Model.changes`, with times relative to an origin."""
    newest = np.array(changes[-CHANGES:]).reshape(-1, 2)
    return pad(newest - [origin, 0.0], CHANGES).T


def find_change(
    model: Model,
    known: Conditioned,
    residuals: Vector,
    used: np.ndarray,
    rejected: np.ndarray,
) -> Change | None:
    """Return the most likely change among the newest observations, if it is significant.

    Arguments:
        model: the process.
        known: the posterior given all observations; its places are sorted by time.
        residuals: standardised rewards minus the level, shape `(c,)`.
        used: indices of the places with observations to test.
        rejected: whether each observation was rejected as an outlier, shape `(n,)` for n places.

    Returns:
        The time of the change, in the posterior's times, and its loss.
    """
    if len(used) < LEAST:
        return None
    newest = used[-TESTED:]
    white = np.asarray(known.whiten)[newest] @ residuals  # errors of one-step forecasts
    if np.abs(white[-RECENT:]).max() <= SURPRISE:
        return None
    times = np.asarray(known.places.times)[newest]
    before = np.flatnonzero(np.diff(times) > 0) + 1  # a change lies between different times
    place = np.repeat(before[before <= TESTED - AFTER], len(CORRELATIONS))
    if len(place) == 0:
        return None
    rho = np.tile(CORRELATIONS, len(place) // len(CORRELATIONS))
    gains, excess = _gains(Newest.of(model, known, newest, residuals, rejected), place, rho)
    best = int(np.argmax(np.where(gains.min(axis=1) >= WITHOUT_ONE, gains[:, 0], -np.inf)))
    if gains[best].min() < WITHOUT_ONE or gains[best, 0] - excess < GAIN:
        return None
    moment = (times[place[best] - 1] + times[place[best]]) / 2
    return float(moment), float(-np.log(rho[best]))


def _gains(newest: Newest, place: np.ndarray, rho: Vector) -> tuple[Any, float]:
    """Return how much changes increase the log likelihood, and how much rejection does.

    Arguments:
        newest: the m newest observations.
        place, rho: index of the first observation after each of n changes, and the correlation.

    Returns:
        For all observations and for all but each of the newest, in nats, shape `(n, 1 + m)`; and
        for outliers instead of a change, at least 0.
    """
    residuals, errors, rejected, among, lower = newest
    covariance, apart = lower @ lower.T, lower @ errors
    forecast, explained = residuals - apart, among - covariance
    after = np.arange(len(residuals)) >= place[:, None]
    divided = after[:, :, None] != after[:, None, :]
    damping = np.where(after, rho[:, None], 1.0)
    both = np.where(divided, rho[:, None, None], 1.0) * among
    both = both - damping[:, :, None] * damping[:, None, :] * explained
    without, kept = _log_densities(covariance, apart), ~rejected
    others = _log_densities(covariance[np.ix_(kept, kept)], apart[kept])
    excess = float(others[0] - OUTLIER * rejected.sum() - without[0])
    return _log_densities(both, residuals - damping * forecast) - without, max(excess, 0.0)


def _log_densities(covariance: Any, residuals: Any) -> Any:
    """Return the log density of all residuals, and of all but each one, shape `(..., 1 + m)`."""
    precision = np.linalg.inv(covariance)
    solved = (precision @ residuals[..., None])[..., 0]
    whole = -0.5 * (residuals * solved).sum(axis=-1) - 0.5 * np.linalg.slogdet(covariance)[1]
    diagonal = np.diagonal(precision, axis1=-2, axis2=-1)
    one = 0.5 * np.log(diagonal) - 0.5 * solved**2 / diagonal  # given all others
    whole = whole[..., None]
    return np.concatenate([whole, whole - one], axis=-1)


_covariance_between = compiled(covariance_between)
