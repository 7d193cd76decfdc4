"""How observations age: by a motion of the function that is learned, or by a stated rule."""

from functools import partial
from typing import Any, Literal, get_args

import jax
import numpy as np

from driftpeak._types import Vector
from driftpeak.errors import DriftpeakError, nearest, shown
from driftpeak.forgetting import Discount, Forgetting, Injection, Keep, Restart, Window
from driftpeak.live.gp import MARKOV, MOMENTUM, STILL

LearnedMotion = Literal["auto", "markov", "momentum"]
MOTIONS = {"markov": MARKOV, "momentum": MOMENTUM, "none": STILL}
PRIOR = {"markov": 0.95, "momentum": 0.05, "none": 1.0}
"""Probability of each motion before anything is known."""
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
            "Keep, Restart, Window, Discount or Injection of driftpeak.forgetting; got "
            f"{shown(forgetting)}.{hint}"
        )
    if forgetting.window is not None and forgetting.window > capacity // 2:
        raise DriftpeakError(
            f"a window of {forgetting.window} needs a capacity of at least twice as many; got "
            f"{capacity}"
        )
    return forgetting


def motions(forgetting: LearnedMotion | Forgetting) -> tuple[str, ...]:
    """Names of the motions to choose among."""
    if isinstance(forgetting, Forgetting):
        return ("none",)
    return ("markov", "momentum") if forgetting == "auto" else (forgetting,)


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


@jax.jit
def _weight(rule: Any, times: Any, newest: Any, now: Any) -> Any:
    weight = partial(rule.weight, present=rule.present(newest, now))
    return jax.vmap(lambda time: weight(rule.stamp(time, 0)))(times)
