"""How well does it go, without knowing the truth: what is believed, and what had been foretold."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from driftpeak.live.model.likelihoods import Rates
from driftpeak.live.study.suggestion import Observation

LEVELS = (0.5, 0.8, 0.95)
FARTHEST = 1e150  # deviations: its square is still a number
TINY = 1e-15


@dataclass(frozen=True)
class Diagnostics:
    """What the belief thinks. None where the policy has no such thing.

    Attributes:
        told: rewards ever told since the start or the last reset.
        held: of them in memory.
        doubted: of those in memory, how many are taken for accidents and not believed.
        pending: suggestions that are out.
        memory: effective memory length: the held observations, each counted with the share of its
            variance that is still that of the present, under Markov drift (1 - drift)^age; under a
            forgetting rule, with its weight.
        motion: how the function is most probably moving: "markov", "momentum", "two speeds" or
            "period 86400.0" (in units of time, a day in seconds: a rhythm beside Markov drift).
        motion_probability: of that, against the others; 1 if the choice was yours.
        drift: epsilon per unit of time (per second where times are dates); with momentum, of the
            Markov drift whose correlation falls to 1/2 at the same time.
        half_life: after this time half of the function's variance is new, in units of time; where
            it moves in two parts, of the first.
        noise: standard deviation of the noise on one reward; None where it is that of 0/1 rewards
            or counts.
        amplitude: standard deviation of the function around its level; of the log-odds or the
            logarithm of the rate where rewards are 0 and 1 or counts.
        lengthscales: by parameter, as a share of its range (in the logarithm where it has one).
        newest_age, median_age, oldest_age: of the held observations, in units of time.
        readings: what a policy shows of what it thinks, by the names of its `readings`; where
            there are several numbers, by their labels.
    """

    told: int
    held: int | None = None
    doubted: int | None = None
    pending: int = 0
    memory: float | None = None
    motion: str | None = None
    motion_probability: float | None = None
    drift: float | None = None
    half_life: float | None = None
    noise: float | None = None
    amplitude: float | None = None
    lengthscales: dict[str, float] | None = None
    newest_age: float | None = None
    median_age: float | None = None
    oldest_age: float | None = None
    readings: dict[str, Any] | None = None


@dataclass(frozen=True)
class Calibration:
    """One-step predictions against what came.

    Attributes:
        count: rewards that had been foretold.
        log_likelihood: average log density given to a reward, in nats (of 0/1 rewards and counts:
            log probability); NaN without any.
        coverage: for each central interval, by its nominal probability, the share of rewards that
            fell into it.
        errors: standardised errors, which should look like draws from N(0, 1), shape `(count,)`. Of
            0/1 rewards and counts they are randomised quantile residuals (Dunn and Smyth 1996),
            with a fixed seed: a single 0 or 1 falls into no interval of half the probability, but
            these do.
    """

    count: int
    log_likelihood: float
    coverage: dict[float, float]
    errors: np.ndarray = field(repr=False)


def diagnostics(report: dict[str, Any], pending: int) -> Diagnostics:
    """The report of an engine, with the number of suggestions that are out."""
    return Diagnostics(pending=pending, **report)


def calibration(history: Sequence[Observation], kind: type[Rates] | None = None) -> Calibration:
    """How well the rewards of a history were foretold; those of a kind, if they have one."""
    from scipy.special import ndtri  # here, and below: an ask need not wait for it

    foretold = [one for one in history if one.expected is not None]
    rewards = np.array([one.reward for one in foretold])
    means, deviations = np.array([one.expected for one in foretold]).reshape(-1, 2).T
    if kind is None:
        with np.errstate(over="ignore"):
            errors = np.clip(rewards / deviations - means / deviations, -FARTHEST, FARTHEST)
        densities = -0.5 * errors**2 - np.log(deviations) - 0.5 * math.log(2 * math.pi)
    else:
        trials = np.array([one.trials or 1 for one in foretold])
        law, sums = kind.law(means, deviations, trials), np.round(rewards * trials)
        densities, below = law.logpmf(sums), law.cdf(sums - 1)
        within = np.random.default_rng(0).uniform(size=len(foretold))
        errors = ndtri(np.clip(below + within * np.exp(densities), TINY, 1 - TINY))
    inside = {
        level: float(np.mean(np.abs(errors) <= ndtri(0.5 + level / 2))) if foretold else math.nan
        for level in LEVELS
    }
    average = float(densities.mean()) if foretold else math.nan
    return Calibration(len(foretold), average, inside, errors)


def uniform(errors: np.ndarray) -> np.ndarray:
    """Where each reward fell in its predictive distribution: uniform on [0, 1] if calibrated."""
    from scipy.special import ndtr

    return ndtr(errors)
