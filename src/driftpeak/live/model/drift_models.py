"""How observations age: by a motion of the function that is learned, or by a stated rule."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal, get_args

import jax
import numpy as np

from driftpeak._core.errors import DriftpeakError, nearest, positive, shown
from driftpeak._core.numerics.compiled import compiled
from driftpeak._core.types import Vector
from driftpeak.gp.forgetting import Discount, Forgetting, Injection, Keep, Restart, Window
from driftpeak.live.model.gp import MARKOV, MOMENTUM, ROUND, SLOWER, STILL
from driftpeak.live.model.hyperparameters import Kind

LearnedMotion = Literal["auto", "markov", "momentum"]
MOTIONS = {
    "markov": Kind(MARKOV),
    "momentum": Kind(MOMENTUM),
    "two speeds": Kind(MARKOV, SLOWER),
    "none": Kind(STILL),
}
PRIOR = {"markov": 0.9, "momentum": 0.05, "two speeds": 0.03, "none": 1.0}
"""Probability of each motion before anything is known, up to a factor."""
PERIOD = "period "
OF_A_PERIOD = 0.01
"""Probability of each period."""
DAY = 86_400.0
CALENDAR = (DAY, 7 * DAY)
"""Periods that dates suggest, in seconds."""
TWICE, SIXTH, SOME = 2.0, 6.0, 24
"""Cycles that must have been seen, observations in each, and in all, to look for a second part."""
RULES = (Keep, Restart, Window, Discount, Injection)


def check_forgetting(forgetting: Any, capacity: int) -> Any:
    """`forgetting`, if a `DriftingGP` can go by it.

    Raises:
        DriftpeakError: no such word, no such rule, or a window for which the memory is too small.
    """
    if isinstance(forgetting, str) and forgetting in get_args(LearnedMotion):
        return forgetting
    if not isinstance(forgetting, RULES):
        hint = nearest(forgetting, get_args(LearnedMotion)) if isinstance(forgetting, str) else ""
        raise DriftpeakError(
            "forgetting must be 'auto', 'markov' or 'momentum', whose speeds are learned, or a "
            "Keep, Restart, Window, Discount or Injection of driftpeak.gp.forgetting; got "
            f"{shown(forgetting)}.{hint}"
        )
    if forgetting.window is not None and forgetting.window > capacity // 2:
        raise DriftpeakError(
            f"a window of {forgetting.window} needs a capacity of at least twice as many; got "
            f"{capacity}"
        )
    return forgetting


def check_periods(periods: Any, forgetting: Any) -> tuple[float, ...]:
    """`periods` as numbers, if `forgetting` leaves the choice.

    Raises:
        DriftpeakError: not a sequence of positive numbers, or no choice.
    """
    if not isinstance(periods, Sequence) or isinstance(periods, str):
        raise DriftpeakError(
            f"periods must be a sequence of positive numbers; got {shown(periods)}"
        )
    found = tuple(positive("a period", one) for one in periods)
    if found and forgetting != "auto":
        raise DriftpeakError(
            f'periods need forgetting="auto", which chooses by evidence; got {shown(forgetting)}'
        )
    return found


def motions(forgetting: LearnedMotion | Forgetting) -> tuple[str, ...]:
    """Names of the motions to choose among at first."""
    if isinstance(forgetting, Forgetting):
        return ("none",)
    return ("markov", "momentum") if forgetting == "auto" else (forgetting,)


def further_motions(times: Vector, pace: float, periods: Sequence[float]) -> tuple[str, ...]:
    """Names of motions of two parts, of which observations at these times can tell.

    Arguments:
        pace: usual time between two observations.
        periods: that the function may repeat.
    """
    if len(times) < SOME:
        return ()
    seen = [one for one in periods if times[-1] - times[0] >= TWICE * one and one >= SIXTH * pace]
    return ("two speeds", *(f"{PERIOD}{one!r}" for one in seen))


def kind_named(name: Any) -> Kind:
    """The kind of motion of a name.

    Raises:
        DriftpeakError: there is none of that name.
    """
    if isinstance(name, str) and name in MOTIONS:
        return MOTIONS[name]
    if isinstance(name, str) and name.startswith(PERIOD):
        return Kind(MARKOV, ROUND, positive("a period", _number(name.removeprefix(PERIOD))))
    raise DriftpeakError(f"there is no motion {shown(name)}")


def prior_of(name: str) -> float:
    """The probability of a motion before anything is known, up to a factor."""
    return PRIOR.get(name, OF_A_PERIOD)


def _number(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text


def worths(rule: Forgetting, times: Vector, now: float, size: int) -> Vector:
    """What a rule makes of observations at increasing `times`, seen from `now`, shape `(n,)`.

    Those after `now` are worth nothing: what a rule says of the past is what it said then.

    Arguments:
        size: n or more; a program is compiled for each.
    """
    seen = int(np.searchsorted(times, now, side="right"))
    found = np.zeros(len(times))
    if seen:
        origin = 0.0 if isinstance(rule, Restart) else times[seen - 1]  # blocks are absolute
        padded = np.pad(times - origin, (0, size - len(times)))
        weight = _weight(rule, padded, times[seen - 1] - origin, now - origin)
        begin = 0 if rule.window is None else max(seen - int(rule.window), 0)
        found[begin:seen] = np.asarray(weight)[begin:seen]
    return found


@compiled
def _weight(rule: Any, times: Any, newest: Any, now: Any) -> Any:
    weight = partial(rule.weight, present=rule.present(newest, now))
    return jax.vmap(lambda time: weight(rule.stamp(time, 0)))(times)
