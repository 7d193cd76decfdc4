"""Frequencies of limit violations, and their allowed rates."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from driftpeak.live._space.constraints import Limit
from driftpeak.live._study.suggestion import Observation
from driftpeak.live._views.diagnostics import NORMAL


@dataclass(frozen=True)
class Violations:
    """The violations of a measured quantity's limit over the history.

    Attributes:
        measured: number of measurements.
        violated: number of measurements that violated the limit.
        believed: number of measurements at suggestions that were predicted to meet the limit with
            its stated probability.
        broken: number of these that violated the limit.
        rate: `broken` / `believed`; NaN if `believed` is 0.
        interval: 95 % interval of the rate (Wilson 1927); NaN if `believed` is 0.
        promised: largest rate that the stated probability allows.
    """

    measured: int
    violated: int
    believed: int
    broken: int
    rate: float
    interval: tuple[float, float]
    promised: float


def violations(limits: dict[str, Limit], history: Sequence[Observation]) -> dict[str, Violations]:
    """Return the violations of each limit."""
    return {name: _of(name, limit, history) for name, limit in limits.items()}


def _of(name: str, limit: Limit, history: Sequence[Observation]) -> Violations:
    measured = [observation for observation in history if name in observation.constraints]
    satisfied = [limit.keeps(each.constraints[name], each.context) for each in measured]
    predicted = [limit.believes(observation.chances.get(name)) for observation in measured]
    broken = sum(not met for met, counted in zip(satisfied, predicted, strict=True) if counted)
    count = sum(predicted)
    rate, interval = math.nan, (math.nan, math.nan)
    if count:
        rate, interval = broken / count, wilson(broken, count)
    promised = 1 - limit.probability
    return Violations(
        len(measured), satisfied.count(False), count, broken, rate, interval, promised
    )


def wilson(hits: int, count: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a probability from `hits` in `count` trials, above 0."""
    share, spread = hits / count, NORMAL**2 / count
    middle = (share + spread / 2) / (1 + spread)
    half = NORMAL * math.sqrt(share * (1 - share) / count + spread / (4 * count)) / (1 + spread)
    return max(middle - half, 0.0), min(middle + half, 1.0)
