"""Recommendation, untried choices and values of alternatives from a log."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DriftpeakError, at_least_integer, finite, shown
from driftpeak.offline.logs._alternatives import alternatives
from driftpeak.offline.logs._arms import Arms, arms_of, as_text, gaps
from driftpeak.offline.logs._assignment import Assignment, assignment_of
from driftpeak.offline.logs._coding import Coding, context_as_text
from driftpeak.offline.logs._evaluation import Alternative, evaluate
from driftpeak.offline.logs._log import LEVELS, ChoiceLog, has_density
from driftpeak.offline.logs._model import Posterior, Steps, forecasts
from driftpeak.offline.logs._report import Curve, LogReport, Recommendation

RESOLUTION = 101
"""Number of choices in a range at which the mean reward is estimated."""
FIRST_FIT, SELDOM = 8, 128
"""Steps at which the hyperparameters of forecasts are learned: 8, 16, ..., 128, then every 128."""
WINDOW = 5
"""Default window of "best of the last steps", in steps per arm."""


@checked
def learn_from_log(
    log: ChoiceLog,
    *,
    minimize: bool = False,
    unit: str = "",
    low: float | None = None,
    high: float | None = None,
    arms: Sequence[str] = (),
    randomised: bool | None = None,
    window: int | None = None,
    next_context: Mapping[str, float | str] | None = None,
) -> LogReport:
    """Recommend a choice from a log, and estimate the values of alternative policies.

    The recommendation is the choice with the best posterior mean of a drifting Gaussian process. It
    is one of the tried names, one of the tried numbers if there are at most 12, or in their range.
    The values of alternatives are estimated by replay if the choices were drawn uniformly, by the
    doubly robust estimator if propensities are known, and otherwise not at all.

    Arguments:
        log: the log.
        minimize: whether the rewards are costs.
        unit: unit of the rewards, for the text.
        low, high: the possible range of numeric choices, for the report of untried parts; by
            default the smallest and the largest choice.
        arms: further possible names, for the report of untried choices.
        randomised: whether each choice was drawn uniformly at random. By default this is tested.
        window: number of steps of the policy "best of the last steps"; by default 5 per arm.
        next_context: context of the next step; by default the context of the last step.

    Raises:
        DriftpeakError: the range does not contain the choices; `low`, `high` or `arms` do not fit
            the kind of choices; the window is not positive; or the context is unknown.

    Source: Li, Chu, Langford and Wang (2011); Dudik, Langford and Li (2011).
    """
    its_arms, coding = arms_of(log), Coding(log)
    window = WINDOW * len(its_arms) if window is None else at_least_integer("window", window, 1)
    untried = _untried(log, low, high, arms)
    last = coding.last_context()
    coming = last if next_context is None else coding.checked_context(next_context)
    steps = Steps(coding.rows(log.choices), coding.unordered, log.elapsed, log.rewards)
    sign = -1.0 if minimize else 1.0
    assignment = assignment_of(log, its_arms, randomised)
    posterior, choices = Posterior(steps), _choices(log)

    def curve(time: float, context: Mapping[str, float | str]) -> Curve:
        return Curve(choices, *posterior.at(coding.rows(choices, context), time))

    def best(time: float, context: Mapping[str, float | str]) -> Recommendation:
        its = curve(time, context)
        top = int(np.argmax(sign * its.mean))
        mean, low, high = (float(values[top]) for values in (its.mean, its.low, its.high))
        when = _time(log, time)
        return Recommendation(choices[top], mean, low, high, when, context_as_text(context))

    after = _usual_step(log)
    lately = set(its_arms.labels[-(len(log) // 4) :].tolist())
    return LogReport(
        choice_name=log.choice_name,
        reward_name=log.reward_name,
        unit=unit,
        minimize=minimize,
        steps=len(log),
        first=_time(log, float(log.elapsed[0])),
        last=_time(log, 0.0),
        logged=float(log.rewards.mean()),
        now=best(0.0, last),
        next=best(after, coming),
        by_context=tuple(best(after, context) for context in _each_context(log)),
        untried=untried,
        untried_lately=tuple(name for arm, name in enumerate(its_arms.names) if arm not in lately),
        assignment=assignment.words,
        randomised=assignment.kind != "unknown",
        alternatives=_evaluated(log, its_arms, coding, steps, assignment, window, sign),
        curve=curve(0.0, last),
        notes=log.notes,
    )


def _evaluated(
    log: ChoiceLog,
    arms: Arms,
    coding: Coding,
    steps: Steps,
    assignment: Assignment,
    window: int,
    sign: float,
) -> tuple[Alternative, ...]:
    """Return the values of all alternatives, best first."""
    if assignment.kind == "unknown":  # forecasts would take time in vain
        means = deviations = np.zeros((len(log), len(arms)))
    else:
        candidates = np.stack([coding.rows([value] * len(log)) for value in arms.values], axis=1)
        means, deviations = forecasts(steps, candidates, _boundaries(len(log)))
    policies = alternatives(log, arms, means, deviations, window, sign)
    made = [
        evaluate(name, policy, log, arms, assignment, means) for name, policy in policies.items()
    ]
    values = [
        sign * alternative.value if alternative.estimated else -np.inf for alternative in made
    ]
    return tuple(made[number] for number in np.argsort(-np.array(values), kind="stable"))


def _boundaries(count: int) -> list[int]:
    steps = [FIRST_FIT]
    while (further := steps[-1] + min(steps[-1], SELDOM)) < count:
        steps.append(further)
    return [step for step in steps if step < count]


def _choices(log: ChoiceLog) -> tuple[float | str, ...]:
    """Return the choices that may be recommended."""
    if not has_density(log.choices):
        return arms_of(log).values
    numbers = np.array(log.choices, float)
    low, high = float(numbers.min()), float(numbers.max())
    if (numbers == numbers.round()).all() and high - low < RESOLUTION:
        return tuple(np.arange(low, high + 1).tolist())
    digits = 2 - math.floor(math.log10(high - low))  # a tenth of the distance of two choices
    return tuple(round(float(value), digits) for value in np.linspace(low, high, RESOLUTION))


def _each_context(log: ChoiceLog) -> list[dict[str, float | str]]:
    """Return every value of the context, if the log has one with at most 12 values."""
    if len(log.contexts) != 1:
        return []
    ((name, values),) = log.contexts.items()
    distinct = list(dict.fromkeys(values))
    return [{name: value} for value in distinct] if len(distinct) <= LEVELS else []


def _untried(
    log: ChoiceLog, low: float | None, high: float | None, arms: Sequence[str]
) -> tuple[str, ...]:
    """Return the choices, or parts of the range, that were never tried.

    Raises:
        DriftpeakError: the range does not contain the choices, or does not fit their kind.
    """
    if not log.numeric:
        if low is not None or high is not None:
            raise DriftpeakError(
                "low and high must be omitted for choices that are names; got a range. Give "
                "further names with arms=."
            )
        return tuple(name for name in dict.fromkeys(arms) if name not in log.choices)
    if arms:
        raise DriftpeakError(
            f"arms must be omitted for choices that are numbers; got {shown(arms[0])}. Give their "
            "range with low= and high=, or read them as names with unordered=."
        )
    numbers = np.array(log.choices, float)
    ends = float(numbers.min()), float(numbers.max())
    start = ends[0] if low is None else finite("low", low)
    stop = ends[1] if high is None else finite("high", high)
    if start > ends[0] or stop < ends[1]:
        name, accepted = ("low", f"at most {ends[0]:g}") if start > ends[0] else (
            "high", f"at least {ends[1]:g}")  # fmt: skip
        got = start if name == "low" else stop
        raise DriftpeakError(
            f"{name} must be {accepted}, since the log has this choice; got {got:g}. Give the "
            "possible range, or remove the steps outside it."
        )
    if not has_density(log.choices) and low is None and high is None:
        return ()  # between a few numbers, such as price points, nothing is missing
    return tuple(f"{a:.4g} to {b:.4g}" for a, b in gaps(log, start, stop))


def _usual_step(log: ChoiceLog) -> float:
    """Return the median time between steps of different times."""
    apart = np.diff(log.elapsed)
    return float(np.median(apart[apart > 0])) if (apart > 0).any() else 0.0


def _time(log: ChoiceLog, elapsed: float) -> str:
    """Return a time as text, given the time since the last step."""
    if not log.dated:
        return f"{log.time_name} {as_text(float(log.times[-1]) + elapsed)}"
    moment = log.times[-1] + np.timedelta64(round(elapsed * 1e6), "us")
    days = (log.times.astype("datetime64[D]") == log.times).all()
    text = str(moment.astype("datetime64[D]" if days else "datetime64[s]"))
    return text.replace("T", " ").removesuffix(":00") if text.count(":") == 2 else text
