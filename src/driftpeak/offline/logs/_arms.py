"""The separate choices, or ranges of choices, for which alternatives are evaluated."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from driftpeak._core.types import Integers, Vector
from driftpeak.offline.logs._log import ChoiceLog, has_density

STEPS_PER_RANGE = 25
RANGES = (2, 8)
WIDEST_GAP = 0.1
"""Least share of the range that counts as never tried."""


@dataclass(frozen=True, eq=False)
class Arms:
    """K arms: names, numbers, or ranges of numbers.

    Attributes:
        names: the arms as text.
        values: a choice of each arm; the middle of a range.
        labels: the arm of each step, shape `(n,)`.
        widths: the widths of ranges; None for separate choices.
    """

    names: tuple[str, ...]
    values: tuple[float | str, ...]
    labels: Integers
    widths: Vector | None

    def __len__(self) -> int:
        return len(self.names)


def arms_of(log: ChoiceLog) -> Arms:
    """Return the different choices of a log, or 2 to 8 ranges of equal width.

    Numbers with more than 12 different values are divided into ranges, one per 25 steps.
    """
    if not has_density(log.choices):
        values = tuple(sorted(set(log.choices)))
        place = {value: number for number, value in enumerate(values)}
        labels = np.array([place[value] for value in log.choices])
        return Arms(tuple(map(as_text, values)), values, labels, None)
    choices = np.array(log.choices, float)
    count = int(np.clip(len(log) // STEPS_PER_RANGE, *RANGES))
    edges = np.linspace(choices.min(), choices.max(), count + 1)
    labels = np.clip(np.searchsorted(edges, choices, side="right") - 1, 0, count - 1)
    names = tuple(f"{low:.4g} to {high:.4g}" for low, high in pairwise(edges))
    return Arms(names, tuple((edges[:-1] + np.diff(edges) / 2).tolist()), labels, np.diff(edges))


def best_so_far(arms: Arms, rewards: Vector, groups: Integers, window: int) -> Integers:
    """Return the arm with the highest mean of the earlier rewards of the group at each step.

    Arms without rewards are not chosen; the first arm is chosen if none has a reward.

    Arguments:
        arms: the arms of the log.
        rewards: shape `(n,)`.
        groups: number of the group of each step, shape `(n,)`.
        window: number of the previous steps that count.
    """
    shape = int(groups.max()) + 1, len(arms)
    sums, counts = np.zeros(shape), np.zeros(shape)
    chosen = np.zeros(len(rewards), int)
    for step, (group, arm) in enumerate(zip(groups, arms.labels, strict=True)):
        if step > window:
            old = step - window - 1
            sums[groups[old], arms.labels[old]] -= rewards[old]
            counts[groups[old], arms.labels[old]] -= 1
        seen = counts[group] > 0
        means = np.where(seen, sums[group] / np.maximum(counts[group], 1), -np.inf)
        chosen[step] = int(means.argmax()) if seen.any() else 0
        sums[group, arm] += rewards[step]
        counts[group, arm] += 1
    return chosen


def gaps(log: ChoiceLog, low: float, high: float) -> tuple[tuple[float, float], ...]:
    """Return the parts of [low, high] without choices that are wider than a tenth of it."""
    ends = np.unique([low, *(x for x in log.choices if low <= float(x) <= high), high]).astype(
        float
    )
    wide = np.diff(ends) > WIDEST_GAP * (high - low)
    return tuple((float(a), float(b)) for a, b in zip(ends[:-1][wide], ends[1:][wide], strict=True))


def as_text(value: float | str) -> str:
    """Return a choice as text."""
    return value if isinstance(value, str) else f"{value:.6g}"
