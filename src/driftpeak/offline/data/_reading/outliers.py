"""Detection of sensor failures: outliers, and values that are stuck while other arms change."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from driftpeak._core.errors import DataError
from driftpeak.offline.data._reading.messages import quoted

if TYPE_CHECKING:
    import pandas as pd

Outliers = Literal["warn", "error", "blank", "keep"]
Values = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

FAR = 12.0  # robust standard deviations: beyond normal values, and almost all of heavy tails
FEWEST = 10  # minimum number of rows for a median
STUCK = 20  # minimum number of rows with the same value
CHANCE = 1e-3  # probability of such a long run in the table, at the arm's usual rate of repetition
MOVING = 0.5  # minimum fraction of the other arms' steps that are changes during the run
_TO_DEVIATIONS = 1.4826  # normal standard deviation per median absolute deviation
_MIDDLE_90 = 3.29  # width of the middle 90 % of a normal distribution in standard deviations
_NAMED = 3  # columns in a warning


def impossible(values: Values) -> Mask:
    """Return a mask of outliers.

    A value is an outlier if it is more than 12 robust standard deviations from the median of its
    arm. The robust standard deviation is 1.4826 times the arm's median absolute deviation, but at
    least the value of a typical arm. The latter is also estimated from the middle 90 % of the
    values, so that events of most arms, such as rush hours or storms, are not outliers.

    If only an arm's outliers are near the other arms, most of the arm is wrong. Its outliers are
    then the values far from the median of all values. An arm with fewer than 10 values has none.

    Args:
        values: shape (rows, arms), NaN where one is missing.
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
    """Return the lower median, which for two arms is the value of the arm without failures."""
    return float(np.sort(values)[(len(values) - 1) // 2])


def stuck(values: Values) -> Mask:
    """Return a mask of stuck values: long runs of one value while other arms change.

    Such a run has at least 20 rows, and during it at least half of the other arms' steps are
    changes. Given how often the arm repeats values elsewhere, a run of this length must have
    probability below 0.001 in the table.

    Args:
        values: shape (rows, arms), NaN where one is missing.
    """
    constant = np.zeros(values.shape, dtype=bool)
    rows, arms = values.shape
    if rows < STUCK or arms < 2:
        return constant
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
                constant[first : last + 1, arm] = True
    return constant


def doubtful(
    path: Path, table: pd.DataFrame, outliers: Outliers
) -> tuple[pd.DataFrame, list[str], list[str]]:
    """Find outliers and stuck values, and treat them.

    Args:
        path: the file, for messages.
        table: a column per arm, and a row per time with its position in the file as label; NaN
            where a value is missing.
        outliers: the treatment.

    Returns:
        The values, with NaN for failures if `outliers` is "blank"; warnings; notes.

    Raises:
        DataError: there are such values and `outliers` is "error".
    """
    if outliers == "keep":
        return table, [], []
    values = table.to_numpy()
    far = impossible(values)
    constant = stuck(values) & ~far
    middles = np.nanmedian(np.where(far, np.nan, values), axis=0) if far.any() else None
    problems = [
        f"{mask.sum()} {what}, in {mask.any(axis=0).sum()} of {mask.shape[1]} arms: "
        + _shown(mask, table, usual)
        for mask, what, usual in (
            (far, f"outliers (more than {FAR:g} robust standard deviations from the median)",
             middles),
            (constant, f"stuck values (constant for {STUCK} rows or more while other arms change)",
             None),
        )
        if mask.any()
    ]  # fmt: skip
    if not problems:
        return table, [], []
    if outliers == "error":
        raise DataError(
            f"{path}: {'; '.join(problems)}; correct them, treat them as missing with "
            "outliers=blank, or use them unchanged with outliers=warn"
        )
    if outliers == "blank":
        blanked = table.mask(far | constant)
        return blanked, [], [f"treated as missing: {problem}" for problem in problems]
    remedy = (
        "they are used unchanged; outliers=blank treats them as missing, and outliers=keep skips "
        "this check"
    )
    return table, [f"{path}: {problem}; {remedy}" for problem in problems], []


def _shown(mask: Mask, table: pd.DataFrame, middles: Values | None) -> str:
    """Return text on the most affected columns: number, range of rows, and an example."""
    counts = mask.sum(axis=0)
    order = [arm for arm in np.argsort(-counts, kind="stable") if counts[arm]]
    texts = []
    for arm in order[:_NAMED]:
        affected = table.iloc[mask[:, arm], arm]
        span = " to ".join(dict.fromkeys([affected.index[0], affected.index[-1]]))
        usual = "" if middles is None or np.isnan(middles[arm]) else f" (median {middles[arm]:.4g})"
        texts.append(
            f"column {quoted(str(affected.name))}, {counts[arm]} in {span}, such as "
            f"{affected.iloc[0]:.6g}{usual}"
        )
    return "; ".join(texts) + ("; ..." if len(order) > _NAMED else "")
