"""Standings of the optimisers in a contest of the field, from their stored plays."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from benchmarks._paired import Ratio, ratio
from driftpeak.environments.functions import FUNCTIONS

REFERENCE, OURS = "random", "driftpeak"
UNSEEN = ("Eggholder", "Rastrigin", "Styblinski-Tang", "Hartmann-6", "Powell")
"""Held-out functions, which are not used for designing an optimiser; reported separately."""
MIDDLE = ("Ackley", "Rastrigin")
"""Functions with the minimum in the middle of the box, where some optimisers start."""
SOME = {
    "unseen": UNSEEN,
    "minimum moves": tuple(name for name, f in FUNCTIONS.items() if f.stays_at is None),
    "minimum stays": tuple(name for name, f in FUNCTIONS.items() if f.stays_at is not None),
    "minimum not in the middle": tuple(name for name in FUNCTIONS if name not in MIDDLE),
}
"""Groups of functions with separate standings."""
SETTLED = 20  # first call of the typical response time
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Standing:
    """Standing of one optimiser in one contest.

    Attributes:
        regret: regret relative to the reference; `regret_on`: the ratio on each group of `SOME`
            with completed plays.
        ours: regret of driftpeak relative to this optimiser; `ours_on`: on each group of `SOME`.
        left_out: the function whose removal raises the upper limit of `ours` most, and the value of
            `ours` without it.
        by_function: ratio of the mean regret over seeds to the reference's, by function.
        response: median seconds of a call from call `SETTLED` on; `longest`: longest call.
        calls: smallest and largest number of calls of a play.
        load: median load of the machine over the plays.
    """

    rival: str
    regret: Ratio
    regret_on: Mapping[str, Ratio]
    ours: Ratio | None
    ours_on: Mapping[str, Ratio]
    left_out: tuple[str, Ratio] | None
    by_function: Mapping[str, float]
    response: float | None
    longest: float
    calls: tuple[int, int]
    load: float


@dataclass(frozen=True)
class Contest:
    """All plays of one contest.

    Attributes:
        functions, seeds: functions and seeds of which all optimisers have plays.
        standings: standings of all optimisers except the reference, in the order of regret.
        versions: stored versions of the optimisers.
    """

    name: str
    functions: tuple[str, ...]
    seeds: tuple[int, ...]
    standings: tuple[Standing, ...]
    versions: Mapping[str, str]

    def of(self, rival: str) -> Standing:
        """Return the standing of an optimiser by name."""
        (found,) = (standing for standing in self.standings if standing.rival == rival)
        return found


def contest(name: str, rows: Iterable[Row], functions: Sequence[str]) -> Contest:
    """Return the standings of the contest `name` on `functions`, in this order.

    Functions and seeds of which an optimiser has no play are excluded for all optimisers.
    """
    plays: dict[str, dict[tuple[str, int], Row]] = {}
    for row in rows:
        what, function, rival, seed = row["key"]
        if what == name:
            plays.setdefault(rival, {})[function, seed] = row
    common = set.intersection(*(set(found) for found in plays.values()))
    played = tuple(one for one in functions if any(one == function for function, _ in common))
    seeds = tuple(sorted({seed for _, seed in common}))
    whole = tuple(one for one in played if all((one, seed) in common for seed in seeds))
    chosen = {
        rival: [[found[function, seed] for seed in seeds] for function in whole]
        for rival, found in plays.items()
    }
    standings = [_standing(rival, chosen, whole) for rival in chosen if rival != REFERENCE]
    versions: dict[str, str] = {}
    for found in chosen.values():
        versions |= found[0][0]["versions"]
    return Contest(
        name,
        whole,
        seeds,
        tuple(sorted(standings, key=lambda one: one.regret.middle)),
        dict(sorted(versions.items())),
    )


def _standing(
    rival: str, plays: Mapping[str, list[list[Row]]], functions: Sequence[str]
) -> Standing:
    regrets = {name: _regrets(found) for name, found in plays.items()}
    own, every = regrets[rival], [row for found in plays[rival] for row in found]
    parts = {name: np.isin(functions, some) for name, some in SOME.items()}
    parts = {name: part for name, part in parts.items() if part.any() and not part.all()}
    settled = [
        seconds
        for row in every
        for size, seconds in row["responses"].items()
        if int(size) >= SETTLED
    ]
    against = regrets.get(OURS) if rival != OURS else None
    return Standing(
        rival,
        ratio(own, regrets[REFERENCE]),
        {name: ratio(own[part], regrets[REFERENCE][part]) for name, part in parts.items()},
        None if against is None else ratio(against, own),
        {}
        if against is None
        else {name: ratio(against[part], own[part]) for name, part in parts.items()},
        None if against is None else _without_one(against, own, functions),
        dict(zip(functions, own.mean(axis=1) / regrets[REFERENCE].mean(axis=1), strict=True)),
        float(median(settled)) if settled else None,
        max(row["longest"] for row in every),
        (min(row["calls"] for row in every), max(row["calls"] for row in every)),
        float(median(row["load"] for row in every)),
    )


def _without_one(own: Any, others: Any, functions: Sequence[str]) -> tuple[str, Ratio] | None:
    """Return the function whose removal raises the upper limit most, or None if there is one."""
    if len(functions) < 2:
        return None
    left = {
        name: ratio(np.delete(own, place, axis=0), np.delete(others, place, axis=0))
        for place, name in enumerate(functions)
    }
    worst = max(left, key=lambda name: left[name].high)
    return worst, left[worst]


def _regrets(found: list[list[Row]]) -> Any:
    """Return the regrets, shape `(functions, seeds)`."""
    return np.array([[row["regret"] for row in rows] for rows in found])
