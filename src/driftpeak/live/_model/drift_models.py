"""Drift models: learned motions of the function, and stated forgetting rules."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

import jax
import numpy as np

from driftpeak._core.durations import seconds
from driftpeak._core.errors import DriftpeakError, positive, rejected, shown
from driftpeak._core.numerics.compiled import compiled
from driftpeak._core.types import Vector
from driftpeak.gp.forgetting import Discount, Forgetting, Injection, Keep, Restart, Window
from driftpeak.live._model.covariance import MARKOV, MOMENTUM, ROUND, SLOWER, STILL
from driftpeak.live._model.hyperparameters import Kind
from driftpeak.live._model.observations import pad

LearnedMotion = Literal["auto", "markov", "momentum"]
MOTIONS = {
    "markov": Kind(MARKOV),
    "momentum": Kind(MOMENTUM),
    "two speeds": Kind(MARKOV, SLOWER),
    "none": Kind(STILL),
}
PRIOR = {"markov": 0.9, "momentum": 0.05, "two speeds": 0.03, "none": 1.0}
"""Prior probability of each motion, up to a factor."""
PERIOD = "period "
OF_A_PERIOD = 0.01
"""Prior probability of each period, up to a factor."""
DAY = 86_400.0
CALENDAR = (DAY, 7 * DAY)
"""Periods that are tested by default if times are dates, in seconds."""
TWICE, SIXTH, SOME = 2.0, 6.0, 24
"""Least cycles, observations per cycle, and observations in all, to test a second component."""
RULES = (Keep, Restart, Window, Discount, Injection)


def check_forgetting(forgetting: Any, capacity: int) -> Any:
    """Return `forgetting` if `DriftingGP` supports it.

    Raises:
        DriftpeakError: the name or rule is not supported, or the capacity is too small for the
            window.
    """
    if isinstance(forgetting, str):
        return forgetting
    if not isinstance(forgetting, RULES):
        raise DriftpeakError(
            "forgetting must be 'auto', 'markov' or 'momentum', which learn the drift rate, or a "
            "Keep, Restart, Window, Discount or Injection of driftpeak.gp.forgetting; got "
            f"{shown(forgetting)}"
        )
    if forgetting.window is not None and forgetting.window > capacity // 2:
        raise DriftpeakError(
            "capacity must be at least twice the window, here "
            f"{2 * forgetting.window}; got {capacity}"
        )
    return forgetting


def check_periods(periods: Any, forgetting: Any) -> tuple[float, ...]:
    """Return `periods` as numbers.

    Raises:
        DriftpeakError: `periods` is not a sequence of positive numbers, or `forgetting` is not
            "auto".
    """
    numbers = tuple(positive("a period", seconds("a period", period)) for period in periods)
    if numbers and forgetting != "auto":
        raise DriftpeakError(
            'periods must be left out unless forgetting="auto", which tests them; got '
            f"forgetting={shown(forgetting)}"
        )
    return numbers


def motions(forgetting: LearnedMotion | Forgetting) -> tuple[str, ...]:
    """Return the names of the motions that are compared from the first observation on."""
    if isinstance(forgetting, Forgetting):
        return ("none",)
    return ("markov", "momentum") if forgetting == "auto" else (forgetting,)


def further_motions(times: Vector, pace: float, periods: Sequence[float]) -> tuple[str, ...]:
    """Return the names of motions with two components that these times can identify.

    Arguments:
        times: times of the observations, increasing.
        pace: usual time between two observations.
        periods: candidate periods.
    """
    if len(times) < SOME:
        return ()
    seen = [
        period
        for period in periods
        if times[-1] - times[0] >= TWICE * period and period >= SIXTH * pace
    ]
    return ("two speeds", *(f"{PERIOD}{period!r}" for period in seen))


def kind_named(name: Any) -> Kind:
    """Return the kind of motion of this name.

    Raises:
        DriftpeakError: no motion has this name.
    """
    if isinstance(name, str) and name in MOTIONS:
        return MOTIONS[name]
    if isinstance(name, str) and name.startswith(PERIOD):
        return Kind(MARKOV, ROUND, positive("a period", _number(name.removeprefix(PERIOD))))
    raise rejected("a motion", name, f"be {', '.join(MOTIONS)} or '{PERIOD}' and a number")


def prior_of(name: str) -> float:
    """Return the prior probability of a motion, up to a factor."""
    return PRIOR.get(name, OF_A_PERIOD)


def _number(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text


def worths(rule: Forgetting, times: Vector, now: float, size: int) -> Vector:
    """Return the weight of each observation under a forgetting rule, shape `(n,)`.

    Observations after `now` have weight 0, so that weights for past times do not depend on later
    observations.

    Arguments:
        rule: the forgetting rule.
        times: times of the observations, increasing.
        now: the time for which the weights are computed.
        size: array length to compute with, at least n; a program is compiled for each.
    """
    seen = int(np.searchsorted(times, now, side="right"))
    weights = np.zeros(len(times))
    if seen:
        origin = 0.0 if isinstance(rule, Restart) else times[seen - 1]  # blocks are absolute
        padded = pad(times - origin, size)
        weight = _weight(rule, padded, times[seen - 1] - origin, now - origin)
        begin = 0 if rule.window is None else max(seen - int(rule.window), 0)
        weights[begin:seen] = np.asarray(weight)[begin:seen]
    return weights


@compiled
def _weight(rule: Any, times: Any, newest: Any, now: Any) -> Any:
    weight = partial(rule.weight, present=rule.present(newest, now))
    return jax.vmap(lambda time: weight(rule.stamp(time, 0)))(times)
