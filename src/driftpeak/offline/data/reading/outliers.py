"""Values that a sensor cannot mean: far outside everything else, or stuck while others move."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from driftpeak._core.errors import DataError
from driftpeak.offline.data.reading.messages import quoted

Outliers = Literal["warn", "error", "blank", "keep"]
Values = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

FAR = 12.0  # robust deviations: a normal value never is, and of heavy tails hardly any
FEWEST = 10  # rows that a median can be taken of
STUCK = 20  # rows with the same value, at least
CHANCE = 1e-3  # that a run so long comes about in the table, as often as its arm stays elsewhere
MOVING = 0.5  # of the other arms' steps during the run, at least
_TO_DEVIATIONS = 1.4826  # of a normal distribution, from median absolute deviations
_MIDDLE_90 = 3.29  # deviations of a normal distribution
_NAMED = 3  # columns in a warning


def impossible(values: Values) -> Mask:
    """Which values, shape (rows, arms) with NaN where one is missing, lie far outside all others.

    Each is compared with the median of its arm, in robust deviations: 1.4826 times the median
    absolute deviation of the arm, but no less than those of the typical arm, whose deviations are
    also taken from its middle 90 %, so that rush hours or storms, which most arms have, are no
    failures. If an arm is near the others only where it is far from its own median, most of it is
    wrong: then what lies far from the median of all values is meant. An arm with fewer than 10
    values is not judged.
    """
    far = np.zeros(values.shape, dtype=bool)
    known = ~np.isnan(values)
    filled = np.flatnonzero(known.sum(axis=0) >= FEWEST)
    if not filled.size:
        return far
    part = values[:, filled]
    middles = np.nanmedian(part, axis=0)
    spreads = _TO_DEVIATIONS * np.nanmedian(np.abs(part - middles), axis=0)
    low, high = np.nanquantile(part, [0.05, 0.95], axis=0)
    typical = max(_lower_median(spreads), _lower_median((high - low) / _MIDDLE_90))
    spreads = np.maximum(spreads, typical)
    with np.errstate(invalid="ignore"):
        far[:, filled] = (spreads > 0) & (np.abs(part - middles) > FAR * spreads)
    middle = np.nanmedian(part)
    spread = max(_TO_DEVIATIONS * float(np.nanmedian(np.abs(part - middle))), typical)
    for arm, own in zip(filled, middles, strict=True):
        strays = np.abs(values[far[:, arm], arm] - middle)
        if (
            strays.size
            and abs(own - middle) > FAR * spread
            and np.median(strays) < spread * FAR / 2
        ):
            far[:, arm] = known[:, arm] & (np.abs(values[:, arm] - middle) > FAR * spread)
    return far


def _lower_median(values: Values) -> float:
    """The median, and of an even number the lower of the two: of two arms, that of the good one."""
    return float(np.sort(values)[(len(values) - 1) // 2])


def stuck(values: Values) -> Mask:
    """Which values, shape (rows, arms), belong to a run of one value that is too long.

    Such a run has 20 rows or more, in at least half of which the other arms move, and is longer
    than chance makes it for an arm that stays as often as this one does elsewhere.
    """
    held = np.zeros(values.shape, dtype=bool)
    rows, arms = values.shape
    if rows < STUCK or arms < 2:
        return held
    pairs = ~np.isnan(values[1:]) & ~np.isnan(values[:-1])
    moves = pairs & (values[1:] != values[:-1])
    stays = pairs & ~moves
    moves_until = np.concatenate([[0], np.cumsum(moves.sum(axis=1))])
    pairs_until = np.concatenate([[0], np.cumsum(pairs.sum(axis=1))])
    for arm in range(arms):
        edges = np.flatnonzero(np.diff(np.concatenate([[0], stays[:, arm].astype(int), [0]])))
        runs = [(first, last) for first, last in edges.reshape(-1, 2) if last - first + 1 >= STUCK]
        inside = sum(last - first for first, last in runs)
        outside = pairs[:, arm].sum() - inside
        staying = (stays[:, arm].sum() - inside + 1) / (outside + 2)
        for first, last in runs:
            others = pairs_until[last] - pairs_until[first] - (last - first)
            moving = moves_until[last] - moves_until[first]
            rare = (last - first) * math.log(staying) + math.log(values.size) < math.log(CHANCE)
            if rare and others > 0 and moving >= MOVING * others:
                held[first : last + 1, arm] = True
    return held


def doubtful(
    path: Path,
    values: Values,
    arms: Sequence[str],
    places: Sequence[str],
    outliers: Outliers,
) -> tuple[Values, list[str], list[str]]:
    """The values, without the doubtful ones if `outliers` is "blank"; doubts; notes. In words.

    Args:
        values: (rows, arms), NaN where one is missing.
        places: where each row stands, for messages.

    Raises:
        DataError: there are doubtful values and `outliers` is "error".
    """
    if outliers == "keep":
        return values, [], []
    far = impossible(values)
    held = stuck(values) & ~far
    doubts = []
    if far.any():
        middles = np.nanmedian(np.where(far, np.nan, values), axis=0)
        doubts.append(
            f"{far.sum()} values far outside everything else (more than {FAR:g} robust "
            f"deviations), in {far.any(axis=0).sum()} of {len(arms)} arms: "
            + _shown(far, values, arms, places, middles)
        )
    if held.any():
        doubts.append(
            f"{held.sum()} values of arms that show one value for {STUCK} rows or more where "
            f"others move, in {held.any(axis=0).sum()} of {len(arms)} arms: "
            + _shown(held, values, arms, places, None)
        )
    if not doubts:
        return values, [], []
    if outliers == "error":
        raise DataError(
            f"{path}: {'; '.join(doubts)}; correct them, count them as missing with "
            "outliers=blank, or let them play with outliers=warn"
        )
    if outliers == "blank":
        values = np.where(far | held, np.nan, values)
        return values, [], [f"counted as missing: {doubt}" for doubt in doubts]
    remedy = (
        "they play as they are: outliers=blank counts them as missing, outliers=keep says nothing"
    )
    return values, [f"{path}: {one}; {remedy}" for one in doubts], []


def _shown(
    mask: Mask,
    values: Values,
    arms: Sequence[str],
    places: Sequence[str],
    middles: Values | None,
) -> str:
    """The columns with most of them: how many, where, and one value."""
    counts = mask.sum(axis=0)
    order = [arm for arm in np.argsort(-counts, kind="stable") if counts[arm]]
    texts = []
    for arm in order[:_NAMED]:
        rows = np.flatnonzero(mask[:, arm])
        span = places[rows[0]] + (f" to {places[rows[-1]]}" if len(rows) > 1 else "")
        usual = (
            ""
            if middles is None or np.isnan(middles[arm])
            else f", where {middles[arm]:.4g} is usual"
        )
        texts.append(
            f"column {quoted(arms[arm])}, {counts[arm]} in {span}, such as "
            f"{values[rows[0], arm]:.6g}{usual}"
        )
    return "; ".join(texts) + ("; ..." if len(order) > _NAMED else "")
