"""Diagnostics of an optimiser: learned hyperparameters, and the calibration of its forecasts."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from driftpeak._core.durations import duration_text
from driftpeak.live._model.drift_models import PERIOD
from driftpeak.live._model.likelihoods import Rates
from driftpeak.live._study.suggestion import Observation

LEVELS = (0.5, 0.8, 0.95)
FARTHEST = 1e150  # bound of standardised errors: squares do not overflow
TINY = 1e-15
NORMAL = 1.959964  # half-width of a 95 % interval in standard deviations


@dataclass(frozen=True)
class Diagnostics:
    """The state of an optimiser's model. Values that a policy does not have are None.

    Attributes:
        told: number of rewards since the start or the last reset.
        held: number of observations in memory.
        rejected: number of observations in memory that are rejected as outliers.
        pending: number of pending suggestions.
        memory: effective number of observations. Each observation counts with its squared
            correlation with the present, under Markov drift (1 - drift)^age, and under a forgetting
            rule with its weight.
        motion: the most probable drift model: "markov", "momentum", "two speeds", or a cycle with
            Markov drift such as "period 86400.0" (in units of time; here a day in seconds).
        motion_probability: posterior probability of this drift model; 1 if it was given.
        drift: drift rate epsilon per unit of time (per second if times are dates). Momentum has
            the rate of the Markov drift whose correlation falls to 1/2 at the same time.
        half_life: time after which half of the function's variance is new, in units of time; for
            two components, of the first one.
        change_points: times of the sudden changes between observations in memory, each halfway
            between the observations before and after it; None if the policy detects none.
        noise: standard deviation of the noise of one reward; None for binary rewards and counts.
        amplitude: standard deviation of the function around its level; for binary rewards and
            counts, of the log-odds or the logarithm of the rate.
        lengthscales: lengthscales by parameter, as a share of its range (on the log scale for
            log-scaled parameters).
        newest_age, median_age, oldest_age: ages of the observations in memory, in units of time.
        durations: the period, half-life and ages with units, such as {"half_life": "14 days"}, if
            times are dates.
        readings: internal values of a policy, by the names of its `readings`; several numbers by
            their labels.
    """

    told: int
    held: int | None = None
    rejected: int | None = None
    pending: int = 0
    memory: float | None = None
    motion: str | None = None
    motion_probability: float | None = None
    drift: float | None = None
    half_life: float | None = None
    change_points: list[Any] | None = None
    noise: float | None = None
    amplitude: float | None = None
    lengthscales: dict[str, float] | None = None
    newest_age: float | None = None
    median_age: float | None = None
    oldest_age: float | None = None
    readings: dict[str, Any] | None = None
    durations: dict[str, str] | None = None


def durations(diagnostics: Diagnostics) -> dict[str, str]:
    """Return the durations of diagnostics in seconds as texts with units."""
    lengths: dict[str, float | None] = {}
    if diagnostics.motion is not None and diagnostics.motion.startswith(PERIOD):
        lengths["period"] = float(diagnostics.motion.removeprefix(PERIOD))
    for name in ("half_life", "newest_age", "median_age", "oldest_age"):
        lengths[name] = getattr(diagnostics, name)
    return {name: duration_text(length) for name, length in lengths.items() if length is not None}


@dataclass(frozen=True)
class Calibration:
    """The calibration of one-step forecasts.

    Attributes:
        count: number of rewards with a forecast.
        log_likelihood: average log density of the rewards in nats (for binary rewards and counts:
            log probability); NaN without forecasts.
        coverage: share of rewards within the central intervals, by nominal probability.
        errors: standardised errors, distributed as N(0, 1) if the forecasts are calibrated, shape
            `(count,)`. For binary rewards and counts they are randomised quantile residuals (Dunn
            and Smyth 1996) with a fixed seed, because a discrete reward cannot have the nominal
            coverage.
    """

    count: int
    log_likelihood: float
    coverage: dict[float, float]
    errors: np.ndarray = field(repr=False)


def forecasts(history: Sequence[Observation], kind: type[Rates] | None) -> np.ndarray:
    """Return mean, deviation and 95 % interval of each forecast; NaN without one.

    Arguments:
        history: n rewards with their forecasts.
        kind: likelihood of binary rewards and counts.

    Returns:
        Means, deviations, lower ends and upper ends, shape `(4, n)`.
    """
    nothing = (np.nan, np.nan)
    expected = [observation.expected or nothing for observation in history]
    mean, deviation = np.array(expected).reshape(-1, 2).T
    if kind is None:
        return np.array([mean, deviation, mean - NORMAL * deviation, mean + NORMAL * deviation])
    trials = np.array([observation.trials or 1 for observation in history])
    low, high = kind.law(mean, deviation, trials).interval(0.95)
    return np.array([mean, deviation, low / trials, high / trials])


def calibration(history: Sequence[Observation], kind: type[Rates] | None = None) -> Calibration:
    """Compute the calibration of a history, under a likelihood for binary rewards and counts."""
    from scipy.special import ndtri  # imported late, because ask does not need it

    predicted = [observation for observation in history if observation.expected is not None]
    rewards = np.array([observation.reward for observation in predicted])
    means, deviations = (
        np.array([observation.expected for observation in predicted]).reshape(-1, 2).T
    )
    if kind is None:
        with np.errstate(over="ignore"):
            errors = np.clip(rewards / deviations - means / deviations, -FARTHEST, FARTHEST)
        densities = -0.5 * errors**2 - np.log(deviations) - 0.5 * math.log(2 * math.pi)
    else:
        trials = np.array([observation.trials or 1 for observation in predicted])
        law, sums = kind.law(means, deviations, trials), np.round(rewards * trials)
        densities, below = law.logpmf(sums), law.cdf(sums - 1)
        within = np.random.default_rng(0).uniform(size=len(predicted))
        errors = ndtri(np.clip(below + within * np.exp(densities), TINY, 1 - TINY))
    inside = {
        level: float(np.mean(np.abs(errors) <= ndtri(0.5 + level / 2))) if predicted else math.nan
        for level in LEVELS
    }
    average = float(densities.mean()) if predicted else math.nan
    return Calibration(len(predicted), average, inside, errors)
