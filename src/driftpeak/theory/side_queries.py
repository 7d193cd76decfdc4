"""Numbers and times of side queries, and the order of the resulting regret (M25)."""

from typing import Any

import numpy as np

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import (
    MOST_STEPS,
    DriftpeakError,
    at_least_integer,
    finite,
    numbers,
    positive,
    shown,
    unit_interval,
)
from driftpeak._core.times import TimesLike, check_times
from driftpeak._core.types import Vector

MOST = 1e15


@checked
def side_query_budget(
    steps: int, *, rate: float = 1.0, dimension: int = 1
) -> np.ndarray[Any, np.dtype[np.int64]]:
    r"""Return \(Q_t = \lceil c \log^d t \rceil\), at least 1, t = 1, ..., T.

    A budget above 10^15, more than the points of any domain, is given as 10^15.

    Raises:
        DriftpeakError: the rate c not positive, or steps or dimension below 1.

    Source: M25 Theorem 3.3, Theorem 3.10.
    """
    steps = at_least_integer("steps", steps, 1, MOST_STEPS)
    power = at_least_integer("dimension", dimension, 1)
    budget = unlimited_budget(np.arange(1.0, steps + 1), positive("rate", rate), power)
    return np.minimum(budget, MOST).astype(np.int64)


def unlimited_budget(times: Vector, rate: float, dimension: int) -> Vector:
    """Return Q_t at any times, as floats; infinite on overflow."""
    with np.errstate(over="ignore"):
        return np.maximum(1.0, np.ceil(rate * np.log(times) ** dimension))


@checked
def side_query_windows(
    times: TimesLike, *, exponent: float, a: float = 0.25
) -> np.ndarray[Any, np.dtype[np.bool_]]:
    r"""Return a mask of the steps at which W-SparQ's windows start.

    \(t_1 = 1\) and \(t_{j+1} = t_j + \lfloor t_j^{a/\alpha} \rfloor + 1\): within a window the
    injected noise stays below \(t_j^a\), up to a constant. Times are counted from the first, which
    is 1. If no step is at t_{j+1}, the window starts at the next step.

    Arguments:
        times: times of the steps, or their number.
        exponent: alpha > 0 of the uncertainty injection.
        a: in (0, 1/3); values closer to 1/3 give fewer side queries; 1/4 in M25's experiments.

    Raises:
        DriftpeakError: exponent not positive, or a outside (0, 1/3).

    Source: M25 (32), Figure 1.
    """
    growth = checked_share(a) / positive("exponent", exponent)
    elapsed = check_times(times)
    elapsed = elapsed - elapsed[0] + 1
    starts = np.zeros(len(elapsed), bool)
    due = 1.0
    for step, time in enumerate(elapsed):
        if time >= due:
            starts[step] = True
            with np.errstate(over="ignore"):  # an infinite window means a single one
                due = time + np.floor(time**growth) + 1
    return starts


def checked_share(a: float) -> float:
    """Return `a` as a float.

    Raises:
        DriftpeakError: a outside (0, 1/3).
    """
    share = finite("a", a)
    if not 0 < share < 1 / 3:
        raise DriftpeakError(f"a must lie in (0, 1/3); got {a}")
    return share


@checked
def w_sparq_regret_order(
    horizons: Any, *, dimension: int = 1, a: float = 0.25, delta: float = 0.1
) -> np.ndarray[Any, np.dtype[np.float64]]:
    r"""Return the order of W-SparQ's regret, up to an unknown constant.

    \(\sqrt{T^{2a+1}\, d \log^{d+1} T\, (\log(1/\delta) + d\, T^a \log^{d+1} T)}\)
    for the SE kernel.
    The proof needs more than the answers (`driftpeak.theory.rates.ANSWERS_ALONE`).
    (34) is printed without the root, but M25's Table 2 and the line before (34) in the proof,
    \(\beta_T \sqrt{T \gamma_T (\sigma^2 T^a + 1)}\), have it.

    Arguments:
        horizons: T, at least 1, of any shape; the result has this shape.
        a: in (0, 1/3).
        delta: failure probability, in (0, 1).

    Raises:
        DriftpeakError: a number out of range.

    Source: M25 Theorem 3.10, (34).
    """
    power = at_least_integer("dimension", dimension, 1)
    a = checked_share(a)
    delta = unit_interval("delta", delta, low_open=True, high_open=True)
    horizon = numbers("horizons", horizons)
    if not (np.isfinite(horizon).all() and (horizon >= 1).all()):
        raise DriftpeakError(f"horizons must be finite and at least 1; got {shown(horizons)}")
    logarithms = power * np.log(horizon) ** (power + 1)
    width = np.log(1 / delta) + horizon**a * logarithms
    return np.asarray(np.sqrt(horizon ** (2 * a + 1) * logarithms * width))
