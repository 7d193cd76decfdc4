r"""Checks of how the choices of a log were made.

Without propensities, alternatives can be evaluated only if every choice was drawn uniformly and
independently of all that happened before. These tests look for contradictions to uniform choice of
K arms:

| test | statistic (B: binomial with probability 1/K; C: chi-squared) |
| --- | --- |
| equal frequencies | C: counts of the arms |
| no dependence on earlier choices | B: repetitions of the choice k steps ago, k up to min(K, 8) |
| no dependence on rewards | B: repetitions after a reward above the running median, or below it |
| no dependence on the best arm so far | B: choices of the arm with the highest mean so far |
| no change over time | C: arms in quarters of the log |
| no dependence on a context | C: arms in the values or quarters of each context |

Uniform choice is rejected if the least p-value times the number of tests is below 0.01
(Bonferroni). At most 1 % of the logs with uniform choices are therefore refused, apart from the
approximation of the chi-squared tests.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from driftpeak._core.types import Integers, Vector
from driftpeak.offline.logs._arms import Arms, best_so_far
from driftpeak.offline.logs._log import ChoiceLog

LEVEL = 0.01
STEPS_PER_ARM = 10
"""Least number of steps per arm, from which uniform choice can be tested."""
LAGS = 8
QUARTERS = 4
FEWEST = 3.0
"""Least expected count of a cell in a chi-squared test."""
FAR_FROM_ONE = 1.5
"""Largest ratio of the mean inverse propensity to its expectation that is not reported."""

Kind = Literal["propensities", "uniform", "unknown"]


@dataclass(frozen=True)
class Assignment:
    """How the choices of a log were made.

    Attributes:
        kind: "propensities" if they are known, "uniform", or "unknown".
        words: a sentence for the report.
        remedy: what makes an evaluation possible, if the kind is "unknown".
    """

    kind: Kind
    words: str
    remedy: str = ""


REMEDY = (
    "Log the probability with which each choice is drawn, and name its column with propensity=; or "
    "draw some choices uniformly at random, and evaluate those steps."
)


def assignment_of(log: ChoiceLog, arms: Arms, randomised: bool | None) -> Assignment:
    """Return how the choices were made.

    Arguments:
        log: the log.
        arms: its arms.
        randomised: whether choices were drawn uniformly; None to judge by the tests.
    """
    if log.propensities is not None:
        return Assignment("propensities", _checked_propensities(log, arms))
    if randomised is False:
        return Assignment("unknown", "The choices were not drawn uniformly at random.", REMEDY)
    few = len(log) < STEPS_PER_ARM * len(arms)
    if few and randomised is None:
        return Assignment(
            "unknown",
            f"The log is too short to test whether the {len(arms)} different choices were drawn "
            f"uniformly at random: it has {len(log)} steps, and {STEPS_PER_ARM * len(arms)} are "
            "needed.",
            "If they were, state it with randomised=. " + REMEDY,
        )
    tests = list(_tests(log, arms))
    name, p = min(tests, key=lambda test: test[1])
    p = min(p * len(tests), 1.0)
    if randomised and tests[0][1] < LEVEL:  # replay needs equal frequencies in any case
        name, p = tests[0]
    elif randomised and p < LEVEL:
        return Assignment(
            "uniform",
            f"The choices were drawn uniformly at random, as stated; but {name} (adjusted p = "
            f"{p:.1g}).",
        )
    if p < LEVEL:
        words = f"The choices were not drawn uniformly at random: {name} (adjusted p = {p:.1g})."
        return Assignment("unknown", words, REMEDY)
    basis = "as stated" if randomised else "judged by tests"
    return Assignment(
        "uniform",
        f"The choices were drawn uniformly at random ({basis}; least adjusted p = {p:.2g} of "
        f"{len(tests)} tests).",
    )


def _tests(log: ChoiceLog, arms: Arms) -> Iterator[tuple[str, float]]:
    """Yield what contradicts uniform choice, and the p-value of each test; first frequencies."""
    from scipy.stats import chisquare

    labels, count = arms.labels, len(arms)
    yield (
        "the choices are not equally frequent",
        float(chisquare(np.bincount(labels, minlength=count)).pvalue),
    )
    for lag in range(1, min(count, LAGS) + 1):
        steps = "the previous choice" if lag == 1 else f"the choice {lag} steps before"
        yield f"choices depend on {steps}", _binomial(labels[lag:] == labels[:-lag], count)
    above = log.rewards[1:-1] > _running_median(log.rewards)[1:-1]
    same = labels[2:] == labels[1:-1]
    for after, where in (("high", above), ("low", ~above)):
        yield (
            f"choices depend on the previous reward (after a {after} one)",
            _binomial(same[where], count),
        )
    leaders = best_so_far(arms, log.rewards, np.zeros(len(log), int), len(log))
    yield (
        "choices depend on the best choice so far",
        _binomial((labels == leaders)[1:], count),
    )
    quarters = np.arange(len(labels)) * QUARTERS // len(labels)
    yield "the frequencies of the choices change over time", _independent(quarters, labels, count)
    for name, values in log.contexts.items():
        groups = grouped(values)
        yield f"choices depend on {name}", _independent(groups, labels, count)


def grouped(values: tuple[float | str, ...]) -> Integers:
    """Return numbers of the groups of a context: its values, or its quarters if there are many."""
    distinct = sorted(set(values))
    if isinstance(values[0], str) or len(distinct) <= QUARTERS:
        place = {value: number for number, value in enumerate(distinct)}
        return np.array([place[value] for value in values])
    numbers = np.array(values, float)
    return np.searchsorted(np.quantile(numbers, [0.25, 0.5, 0.75]), numbers)


def _binomial(successes: np.ndarray, count: int) -> float:
    from scipy.stats import binomtest

    return (
        float(binomtest(int(successes.sum()), len(successes), 1 / count).pvalue)
        if len(successes)
        else 1.0
    )


def _independent(groups: Integers, labels: Integers, count: int) -> float:
    """Return the p-value of equal frequencies of all arms in each group that is large enough."""
    from scipy.stats import chi2

    table = np.zeros((int(groups.max()) + 1, count))
    np.add.at(table, (groups, labels), 1.0)
    table = table[table.sum(axis=1) >= FEWEST * count]
    if len(table) < 2:
        return 1.0
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / table.sum()
    expected = np.maximum(expected, 1e-12)
    statistic = float(((table - expected) ** 2 / expected).sum())
    return float(chi2.sf(statistic, (len(table) - 1) * (count - 1)))


def _running_median(rewards: Vector) -> Vector:
    """Return the median of the rewards up to each step."""
    import bisect

    ordered: list[float] = []
    medians = np.empty(len(rewards))
    for step, reward in enumerate(rewards):
        bisect.insort(ordered, float(reward))
        medians[step] = ordered[len(ordered) // 2]
    return medians


def _checked_propensities(log: ChoiceLog, arms: Arms) -> str:
    """Return a sentence on propensities, with a warning if they contradict the choices.

    The mean of 1/p has the expectation K, and the mean of one over a density the width of the
    range.
    """
    assert log.propensities is not None
    expected = float(len(arms)) if arms.widths is None else float(arms.widths.sum())
    inverse = 1 / log.propensities / expected
    mean, error = inverse.mean(), inverse.std(ddof=1) / len(log) ** 0.5
    words = "The choices were drawn with the logged probabilities."
    far = max(mean, 1 / mean) > FAR_FROM_ONE and abs(mean - 1) > 4 * error
    if not far:
        return words
    return (
        f"{words} Check them: their inverses have the mean {mean * expected:.3g}, but "
        f"{expected:.3g} is expected if every choice was possible at every step, so the values of "
        "alternatives may be wrong."
    )
