"""How often limits were broken, beside how often they may be."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from driftpeak.live.space.constraints import Limit
from driftpeak.live.study.suggestion import Observation

NORMAL = 1.959964  # of a 95 % interval


@dataclass(frozen=True)
class Violations:
    """Of one measured quantity, over the history.

    Attributes:
        measured: how often it was measured.
        violated: how often its limit was broken then.
        believed: how often it was measured where a suggestion had been believed to keep the limit.
        broken: how often that was wrong.
        rate: broken by believed; NaN where nothing was.
        interval: for the rate, 95 % (Wilson 1927); NaN where nothing was.
        promised: the rate that the limit's probability allows.
    """

    measured: int
    violated: int
    believed: int
    broken: int
    rate: float
    interval: tuple[float, float]
    promised: float


def violations(limits: dict[str, Limit], history: Sequence[Observation]) -> dict[str, Violations]:
    """The report of every limit."""
    return {name: _of(name, limit, history) for name, limit in limits.items()}


def _of(name: str, limit: Limit, history: Sequence[Observation]) -> Violations:
    measured = [one for one in history if name in one.constraints]
    kept = [limit.keeps(one.constraints[name]) for one in measured]
    believed = [limit.believes(one.chances.get(name)) for one in measured]
    broken = sum(not fine for fine, thought in zip(kept, believed, strict=True) if thought)
    count = sum(believed)
    rate, interval = math.nan, (math.nan, math.nan)
    if count:
        rate, interval = broken / count, wilson(broken, count)
    promised = 1 - limit.probability
    return Violations(len(measured), kept.count(False), count, broken, rate, interval, promised)


def wilson(hits: int, count: int) -> tuple[float, float]:
    """A 95 % interval for a probability, from so many hits of a count above 0."""
    share, spread = hits / count, NORMAL**2 / count
    middle = (share + spread / 2) / (1 + spread)
    half = NORMAL * math.sqrt(share * (1 - share) / count + spread / (4 * count)) / (1 + spread)
    return max(middle - half, 0.0), min(middle + half, 1.0)
