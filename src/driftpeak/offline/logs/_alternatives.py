"""Alternative policies that could have made the choices of a log.

A policy is an array with its arm at each step. It may depend on all earlier steps of the log, but
not on later ones.
"""

from __future__ import annotations

import numpy as np

from driftpeak._core.types import Integers, Matrix
from driftpeak.offline.logs._arms import Arms, best_so_far
from driftpeak.offline.logs._assignment import grouped
from driftpeak.offline.logs._log import LEVELS, ChoiceLog

RECOMMENDED, UCB = "driftpeak, recommended choice", "driftpeak, TV-GP-UCB"
PARTS_OF_DAY = 4
DAYS = 14


def alternatives(
    log: ChoiceLog, arms: Arms, means: Matrix, deviations: Matrix, window: int, sign: float
) -> dict[str, Integers]:
    r"""Return the arms of every alternative by its name, each of shape `(n,)`.

    - always one arm;
    - the arm with the best mean reward of the last `window` steps;
    - the arm with the best mean reward so far at the same time of day (or on the same weekday), and
      in the same context;
    - the arm with the best forecast, and TV-GP-UCB: the arm with the highest
      \(\mu + \sqrt{0.8 \log 4t}\,\sigma\) (B16 section 5).

    Arguments:
        log, arms: the log and its arms.
        means, deviations: forecasts of `driftpeak.offline.logs._model.forecasts`.
        window: a number of steps.
        sign: 1 to maximise, -1 to minimise.
    """
    count, rewards = len(log), sign * log.rewards
    made = {f"always {name}": np.full(count, arm) for arm, name in enumerate(arms.names)}
    made[f"best of the last {window} steps"] = best_so_far(
        arms, rewards, np.zeros(count, int), window
    )
    for name, groups in _groups(log).items():
        made[f"best so far by {name}"] = best_so_far(arms, rewards, groups, count)
    made[RECOMMENDED] = (sign * means).argmax(axis=1)
    width = np.sqrt(0.8 * np.log(4.0 * np.arange(1, count + 1)))[:, None]
    known = np.where(np.isfinite(deviations), deviations, 0.0)
    made[UCB] = (sign * means + width * known).argmax(axis=1)
    return made


def _groups(log: ChoiceLog) -> dict[str, Integers]:
    """Return groups of the steps by name: time of day or weekday, and contexts of few values."""
    groups: dict[str, Integers] = {}
    if log.dated:
        hours = log.times.astype("datetime64[h]").astype(int) % 24
        days = log.times.astype("datetime64[D]").astype(int)
        if len(set(hours)) > 1:
            groups["time of day"] = hours * PARTS_OF_DAY // 24
        elif np.ptp(days) >= DAYS and len(set(days % 7)) > 1:
            groups["weekday"] = days % 7
    for name, values in log.contexts.items():
        if len(set(values)) <= LEVELS or not isinstance(values[0], str):
            groups[name] = grouped(values)
    return groups
