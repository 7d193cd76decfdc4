r"""Estimators of the value of a policy from a log of another policy's choices.

A log has n steps. At step t, the choice \(a_t\) was drawn with probability \(p_t\) and yielded the
reward \(r_t\), with mean \(f_t(a_t)\). The alternative policy chooses \(\pi_t\), which depends on
earlier steps only. Its value is the mean reward per step over the logged period,

\[V = \frac1n \sum_t f_t(\pi_t).\]

The functions \(f_t\) may drift: they are fixed, and only the choices and the noise are random. The
weight of a step is \(w_t = 1[a_t = \pi_t]/p_t\). If the alternative draws from a set of choices
with a probability or a density q, the weight is \(w_t = q(a_t)/p_t\).

Each estimator returns its value and standard error. The variances are sums over the steps of
squared deviations, which is valid for policies that learn from earlier steps: the deviations are
martingale differences (Hall and Heyde 1980). They also include the variation of \(f_t(\pi_t)\) over
time, around V or around the forecasts. Intervals under strong drift are therefore conservative.
"""

import numpy as np
import numpy.typing as npt

from driftpeak._core.types import Vector

Estimate = tuple[float, float]
"""Value and standard error, in units of the reward."""


def inverse_propensity(rewards: Vector, weights: Vector) -> Estimate:
    r"""Compute the inverse propensity score estimate \(\frac1n \sum_t w_t r_t\).

    It is unbiased. Its standard error is the one of a mean.

    Arguments:
        rewards: shape `(n,)`.
        weights: \(w_t\), shape `(n,)`.

    Source: Horvitz and Thompson (1952); for bandits, Strehl et al. (2010).
    """
    terms = weights * rewards
    return float(terms.mean()), _of_a_mean(terms)


def self_normalised(rewards: Vector, weights: Vector) -> Estimate:
    r"""Compute the self-normalised estimate \(\hat V = \sum_t w_t r_t / \sum_t w_t\).

    Its variance is \(\sum_t w_t^2 (r_t - \hat V)^2 / (\sum_t w_t)^2\) (delta method). A constant
    that is added to all rewards is added to the estimate. The bias is of order 1/n.

    Arguments:
        rewards: shape `(n,)`.
        weights: \(w_t\), shape `(n,)`, at least one above 0.

    Source: Swaminathan and Joachims (2015); variance: Owen (2013), section 9.2.
    """
    total = weights.sum()
    value = float(weights @ rewards / total)
    return value, float(np.sqrt((weights**2) @ (rewards - value) ** 2) / total)


def doubly_robust(
    rewards: Vector, weights: Vector, of_choices: Vector, of_policy: Vector
) -> Estimate:
    r"""Compute the doubly robust estimate \(\frac1n \sum_t [q_t(\pi_t) + w_t (r_t - q_t(a_t))]\).

    The forecast \(q_t\) may use earlier steps only. The estimate is then unbiased for any
    forecasts. Its standard error is the one of the mean of \(w_t (r_t - q_t(a_t))\), which is
    small if forecasts are accurate.

    Arguments:
        rewards: shape `(n,)`.
        weights: \(w_t\), shape `(n,)`.
        of_choices: forecasts \(q_t(a_t)\) of the logged choices, shape `(n,)`.
        of_policy: forecasts \(q_t(\pi_t)\) of the choices of the alternative, shape `(n,)`.

    Source: Dudik, Langford and Li (2011).
    """
    corrections = weights * (rewards - of_choices)
    return float((of_policy + corrections).mean()), _of_a_mean(corrections)


def replay(rewards: Vector, matches: npt.NDArray[np.bool_]) -> Estimate:
    r"""Compute the replay estimate: the mean reward of the m steps whose choices match.

    Choices must be drawn uniformly. The estimate equals the self-normalised one with constant
    propensities. Its standard error is the one of a mean of m rewards.

    Arguments:
        rewards: shape `(n,)`.
        matches: whether \(a_t = \pi_t\), shape `(n,)`, at least one True.

    Source: Li, Chu, Langford and Wang (2011), algorithm 3.
    """
    matching = rewards[matches]
    return float(matching.mean()), _of_a_mean(matching)


def effective_number(weights: Vector) -> float:
    r"""Compute the effective number of steps, \((\sum_t w_t)^2 / \sum_t w_t^2\) (Kish 1965)."""
    squares = float((weights**2).sum())
    return float(weights.sum()) ** 2 / squares if squares else 0.0


def _of_a_mean(terms: Vector) -> float:
    """Return the standard error of a mean, infinite for one term."""
    return float(terms.std(ddof=1) / len(terms) ** 0.5) if len(terms) > 1 else float("inf")
