"""Tables of the tournament and of the comparison with simple bandits."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from driftpeak.experiments.bootstrap import in_words, interval
from driftpeak.experiments.experiment import ResultTable
from driftpeak.experiments.tournament.players import AUTO, BY_TIME, RANDOM, YARDSTICKS
from driftpeak.experiments.tournament.scores import (
    HINDSIGHT,
    Hindsight,
    Standings,
    ratio,
    regrets,
)


def estimate(number: float, ends: Any) -> str:
    """Return a number with the ends of its interval in brackets."""
    low, high = map(float, ends)
    return in_words(float(number), low, high, ".2f")


def parts(
    standings: Standings, title: str, inside: Mapping[str, Collection[str]], compared: Sequence[str]
) -> ResultTable:
    """Return the relative regret of some contenders over each part of the cases, with intervals.

    Intervals are over the cases; for a part with one case, over its samples.
    """
    rows = []
    for part, names in inside.items():
        cases = {case: runs for case, runs in standings.results.items() if case in names}
        if cases:
            own = Standings(cases, standings.rivals)
            rows.append((part, str(len(cases)), *(_relative(own, name) for name in compared)))
    return ResultTable(title, ("part", "cases", *compared), tuple(rows))


def _relative(standings: Standings, contender: str) -> str:
    """Return the geometric mean over the cases of a contender's relative regret."""
    place = list(standings.contenders).index(contender)
    number, ends = standings.overall()[place], standings.overall_interval[place]
    if len(standings.results) == 1:
        [case] = standings.results
        both = standings.contenders[contender], standings.rivals.settings
        pair = [Hindsight(case, "", settings=settings) for settings in both]
        samples = np.stack([column.samples(standings.results) for column in pair], axis=-1)
        ends = interval(samples, ratio)
    return estimate(number, ends)


def by_case(standings: Standings) -> ResultTable:
    """Return the regret per step of every family: with theory's parameter / in hindsight."""
    names = list(standings.contenders)
    rows = []
    for place, case in enumerate(standings.results):
        regret = dict(zip(names, standings.regret[:, place], strict=True))
        cells = [f"{regret[AUTO]:.3f}", f"{regret[RANDOM]:.3f}"]
        for family in standings.rivals.families:
            cell = f"{regret[family.at_theory]:.3f}"
            if family.values:
                cell += f" / {regret[f'{family.name}, {HINDSIGHT}']:.3f}"
            cells.append(cell)
        rows.append((case, *cells))
    columns = ("case", AUTO, RANDOM, *(family.name for family in standings.rivals.families))
    title = "Regret per step: theory's parameter / best parameter in hindsight"
    return ResultTable(title, columns, tuple(rows))


def favourites(standings: Standings) -> ResultTable:
    """Return the best setting in hindsight of every case, compared with `auto`."""
    rows = []
    for place, case in enumerate(standings.results):
        both = (AUTO,), standings.rivals.settings
        pair = [Hindsight(case, "", settings=settings) for settings in both]
        samples = np.stack([column.samples(standings.results) for column in pair], axis=-1)
        low, high = interval(samples, ratio)
        relative = in_words(ratio(samples), low, high, ".2f")
        if 100 <= high < np.inf:
            relative = f"{ratio(samples):.2f} [{low:.2f}, over 100]"
        rows.append(
            (
                case,
                standings.favourite(case),
                f"{standings.best[place]:.3f}",
                f"{samples[:, 0].mean():.3f}",
                relative,
            )
        )
    columns = ("case", f"best {standings.rivals.what}", "its regret", "regret of auto", "ratio")
    return ResultTable("auto against the best setting of each case", columns, tuple(rows))


def yardsticks(standings: Standings) -> ResultTable:
    """Return the regret on recordings of `auto` and of the best arms of the training rows."""
    rows = []
    for place, case in enumerate(standings.results):
        runs = standings.results[case]
        if BY_TIME not in runs["policy"]:
            continue
        both = regrets(runs, (AUTO, *YARDSTICKS))
        relative = [
            in_words(*_with_interval(np.stack([both[0], other], axis=-1))) for other in both[1:]
        ]
        cells = [f"{regret.mean():.3f}" for regret in both]
        rows.append((case, *cells, f"{standings.best[place]:.3f}", *relative))
    columns = ("case", AUTO, *YARDSTICKS, f"best {standings.rivals.what}",
               *(f"auto / {name}" for name in YARDSTICKS))  # fmt: skip
    title = "Regret per step of auto and of the best arms of the training rows"
    return ResultTable(title, columns, tuple(rows))


def _with_interval(samples: Any) -> tuple[float, float, float, str]:
    low, high = interval(samples, ratio)
    return float(ratio(samples)), low, high, ".2f"
