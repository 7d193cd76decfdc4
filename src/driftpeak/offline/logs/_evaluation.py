"""Values of alternative policies, with the estimator that fits how the choices were made."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from driftpeak._core.types import Integers, Matrix, Vector
from driftpeak.offline.logs import _estimators as estimators
from driftpeak.offline.logs._arms import Arms
from driftpeak.offline.logs._assignment import Assignment
from driftpeak.offline.logs._log import ChoiceLog

FEWEST = 10
"""Least effective number of matching steps of an estimate."""
LEVEL = 0.95


@dataclass(frozen=True)
class Alternative:
    """The value of an alternative policy: its mean reward per step over the logged period.

    Attributes:
        name: the policy.
        value: the estimate; NaN if it cannot be estimated from the log.
        low, high: ends of its 95 % interval; NaN without an estimate.
        estimator: "replay", "doubly robust", or "" without an estimate.
        matches: number of steps at which the logged choice is the one of the policy.
        effective: the effective number of these steps, lower than `matches` if propensities differ.
        others: further estimates by the name of the estimator.
        reason: why there is no estimate, and what would help.
    """

    name: str
    value: float
    low: float
    high: float
    estimator: str
    matches: int
    effective: float
    others: dict[str, float]
    reason: str = ""

    @property
    def estimated(self) -> bool:
        """Whether there is an estimate."""
        return not self.reason


def evaluate(
    name: str, policy: Integers, log: ChoiceLog, arms: Arms, assignment: Assignment, means: Matrix
) -> Alternative:
    """Estimate the value of a policy.

    The estimator is the replay estimate if the choices were uniform, and the doubly robust one if
    their propensities are known. The interval is the one of Student's t with a degree of freedom
    less than the effective number of matching steps.

    Arguments:
        name: of the policy.
        policy: its arm at every step, shape `(n,)`.
        log, arms, assignment: the log, its arms, and how the choices were made.
        means: forecasts of the mean reward of every arm from earlier steps, shape `(n, K)`.
    """
    matches = arms.labels == policy
    weights = weights_of(policy, log, arms)
    effective = estimators.effective_number(weights)
    count = int(matches.sum())

    def without(reason: str) -> Alternative:
        return Alternative(name, math.nan, math.nan, math.nan, "", count, effective, {}, reason)

    if assignment.kind == "unknown":
        return without(f"{assignment.words} {assignment.remedy}")
    if effective < FEWEST:
        return without(
            f"{effective:.3g} effective steps match, and {FEWEST} are needed. Log more steps, or "
            "draw such choices more often."
        )
    steps = np.arange(len(log))
    estimates = {
        "replay": estimators.replay(log.rewards, matches),
        "inverse propensity": estimators.inverse_propensity(log.rewards, weights),
        "self-normalised": estimators.self_normalised(log.rewards, weights),
        "doubly robust": estimators.doubly_robust(
            log.rewards, weights, means[steps, arms.labels], means[steps, policy]
        ),
    }
    if assignment.kind == "propensities":
        del estimates["replay"]
    chosen = next(iter(estimates)) if assignment.kind == "uniform" else "doubly robust"
    value, error = estimates.pop(chosen)
    reach = error * _student(effective - 1)
    others = {other: estimate for other, (estimate, _) in estimates.items()}
    return Alternative(name, value, value - reach, value + reach, chosen, count, effective, others)


def weights_of(policy: Integers, log: ChoiceLog, arms: Arms) -> Vector:
    """Return the probability of each choice under the policy over the logged probability.

    A policy that chooses a range draws uniformly in it. Without propensities, choices count as
    uniform.
    """
    matches = (arms.labels == policy).astype(float)
    if log.propensities is None:
        return matches * len(arms)
    if arms.widths is None:
        return matches / log.propensities
    return matches / (log.propensities * arms.widths[arms.labels])


def _student(freedom: float) -> float:
    from scipy.stats import t

    quantile = float(t.ppf(0.5 + LEVEL / 2, max(freedom, 1.0)))
    return quantile if math.isfinite(quantile) else math.inf
