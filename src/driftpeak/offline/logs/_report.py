"""The result of learning from a log, as text and as data."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from textwrap import fill
from typing import Any

from driftpeak._core.files import json_ready
from driftpeak._core.types import Vector
from driftpeak.offline.logs._arms import as_text
from driftpeak.offline.logs._evaluation import Alternative

MOST = 20
"""Largest number of alternatives in the text."""
WIDTH = 80


@dataclass(frozen=True)
class Recommendation:
    """The choice with the highest (for costs, the lowest) estimated mean reward.

    Attributes:
        choice: a number or a name.
        mean: the estimated mean reward.
        low, high: ends of its 95 % interval.
        when: the time as text.
        context: the context as text; "" without one.
    """

    choice: float | str
    mean: float
    low: float
    high: float
    when: str
    context: str = ""


@dataclass(frozen=True, eq=False)
class Curve:
    """Estimates of the mean reward over the choices after the last step.

    Attributes:
        choices: numbers or names.
        mean, low, high: estimates and ends of their 95 % intervals, shape `(m,)`.
    """

    choices: tuple[float | str, ...]
    mean: Vector
    low: Vector
    high: Vector


@dataclass(frozen=True, eq=False)
class LogReport:
    """What a log says: a recommendation, untried choices, and the values of alternatives.

    `str(report)` is the text that `driftpeak follow` prints.

    Attributes:
        choice_name, reward_name: names of the columns.
        unit: unit of the reward; "" if not known.
        minimize: whether rewards are costs.
        steps: number of steps.
        first, last: first and last time as text.
        logged: mean reward of the log.
        now: the recommendation for the time of the last step.
        next: the recommendation for the next step.
        by_context: recommendations for the next step in every value of the context, if there is one
            context with at most 12 values.
        untried: the never tried choices, or parts of the range of at least a tenth of it.
        untried_lately: the choices, or ranges, that were not tried in the last quarter of the log.
        assignment: how the choices were made.
        randomised: whether choices were drawn at random, so that alternatives can be evaluated and
            the estimate is not confounded.
        alternatives: values of alternative policies, best first.
        curve: estimates over the choices.
        notes: descriptions of changes to the data.
    """

    choice_name: str
    reward_name: str
    unit: str
    minimize: bool
    steps: int
    first: str
    last: str
    logged: float
    now: Recommendation
    next: Recommendation
    by_context: tuple[Recommendation, ...]
    untried: tuple[str, ...]
    untried_lately: tuple[str, ...]
    assignment: str
    randomised: bool
    alternatives: tuple[Alternative, ...]
    curve: Curve
    notes: tuple[str, ...]

    def __str__(self) -> str:
        return self.in_words()

    def in_words(self) -> str:
        """Return the report as text of at most 80 columns."""
        lines = [
            f"{self.steps} steps from {self.first} to {self.last}; mean {self.reward_name} "
            f"{self._number(self.logged)} per step.",
            self._advice("now", self.now),
            self._advice("next", self.next),
            *(self._advice("next", advice) for advice in self.by_context),
            *self._gaps(),
            self.assignment,
        ]
        if not self.randomised:
            lines.append(
                f"The recommendation may be confounded: if {self.choice_name} was set in response "
                f"to something that also changed {self.reward_name}, both effects are mixed."
            )
        paragraphs = [fill(line, WIDTH, subsequent_indent="  ") for line in lines]
        return "\n".join([*paragraphs, "", *self._table()])

    def as_data(self) -> dict[str, Any]:
        """Return the report as data for JSON."""
        return json_ready(asdict(self))

    def _advice(self, word: str, advice: Recommendation) -> str:
        context = f" ({advice.context})" if advice.context else ""
        return (
            f"Recommended {word}, {advice.when}{context}: {self.choice_name} "
            f"{as_text(advice.choice)}, with mean {self.reward_name} {self._number(advice.mean)} "
            f"(95 % interval {advice.low:.4g} to {advice.high:.4g})."
        )

    def _gaps(self) -> list[str]:
        """Return sentences on untried choices."""
        words = (
            ("Never tried", self.untried),
            (
                "Not tried in the last quarter of the log",
                self.untried_lately,
            ),
        )
        lines = [f"{word}: {self.choice_name} {_listed(gaps)}." for word, gaps in words if gaps]
        return lines or ["All choices were tried, also in the last quarter of the log."]

    def _table(self) -> list[str]:
        evaluated = [alternative for alternative in self.alternatives if alternative.estimated]
        rest = [alternative for alternative in self.alternatives if not alternative.estimated]
        lines: list[str] = []
        if evaluated:
            title = (
                f"Mean {self.reward_name} per step over the logged period, if another policy had "
                f"chosen ({evaluated[0].estimator} estimates, 95 % intervals):"
            )
            lines.append(fill(title, WIDTH))
            shown = evaluated[:MOST]
            width = min(max(len(alternative.name) for alternative in shown), 40)
            for alternative in shown:
                interval = f"{alternative.low:.4g} to {alternative.high:.4g}"
                row = f"  {alternative.name[:width]:<{width}}  {alternative.value:>9.4g}"
                row += f"  {interval:<22}"
                lines.append((row + self._against(alternative)).rstrip())
            lines.append(f"  {'as logged':<{width}}  {self.logged:>9.4g}")
            if len(evaluated) > MOST:
                lines.append(f"  and {len(evaluated) - MOST} others (see --json or as_data())")
        reasons: dict[str, list[str]] = {}
        for alternative in rest:
            reasons.setdefault(alternative.reason, []).append(alternative.name)
        for reason, names in reasons.items():
            subject = "The alternatives" if not evaluated else f"These ({_listed(tuple(names))})"
            text = f"{subject} cannot be estimated from this log. {reason}"
            lines.append(fill(text, WIDTH, subsequent_indent="  "))
        return lines

    def _against(self, alternative: Alternative) -> str:
        """Return "better" or "worse" if the interval excludes the logged mean."""
        if alternative.low <= self.logged <= alternative.high:
            return ""
        return "better" if (alternative.low > self.logged) != self.minimize else "worse"

    def _number(self, value: float) -> str:
        return f"{value:.4g}{' ' + self.unit if self.unit else ''}"


def _listed(texts: tuple[str, ...], most: int = 6) -> str:
    return ", ".join(texts[:most]) + (f" and {len(texts) - most} more" if len(texts) > most else "")
