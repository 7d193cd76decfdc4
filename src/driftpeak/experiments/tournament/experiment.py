"""Tournament of every published policy and `auto` in every environment and on every recording."""

from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

import numpy as np

from driftpeak.experiments.bootstrap import in_words, interval
from driftpeak.experiments.claims import Claim, Comparison, difference, weighted
from driftpeak.experiments.experiment import Case, Results, ResultTable, described
from driftpeak.experiments.tournament.cases import CASES, CHOSEN_ON, KINDS, UNSEEN
from driftpeak.experiments.tournament.environments import (
    DRAWN,
    FEWER_TRIALS,
    OTHERS,
    TRIALS,
    WORLDS,
    simulated,
)
from driftpeak.experiments.tournament.figures import heat_map, overview
from driftpeak.experiments.tournament.players import (
    AUTO,
    BY_TIME,
    FAMILIES,
    PUBLISHED,
    RANDOM,
    YARDSTICKS,
)
from driftpeak.experiments.tournament.recordings import RECORDINGS, TRAIN, recorded
from driftpeak.experiments.tournament.scores import (
    CONTENDERS,
    HINDSIGHT,
    LEAST_RATIO,
    Hindsight,
    Rank,
    Standings,
    ratio,
    regrets,
)
from driftpeak.policies.elimination import SMALLER

STARTS = 5  # first points on recorded data, drawn at random
MARGIN = 1.1
COMPARED = (AUTO, f"TV-GP-UCB, {HINDSIGHT}", "TV-GP-UCB, theory")


def _near_the_best(case: str) -> Claim:
    """Return the claim that `auto` has at most `MARGIN` times the regret of the best setting."""
    columns = (Hindsight(case, "best", settings=PUBLISHED), Hindsight(case, AUTO, settings=(AUTO,)))

    return Claim(
        f"{case}: auto is within 10 % of the best setting of any published policy",
        (Comparison(f"{MARGIN:g} times the best setting minus auto, regret per step", columns,
                    weighted(MARGIN, -1)),),
        whose="ours",
    )  # fmt: skip


def _ranked_first(how: str, against: tuple[str, ...]) -> Claim:
    return Claim(
        f"auto has a lower mean rank than {how}",
        tuple(
            Comparison(f"mean rank of {other} minus auto", (Rank(CASES, other), Rank(CASES, AUTO)),
                       difference)
            for other in against
        ),
        whose="ours",
    )  # fmt: skip


def tables(results: Results) -> tuple[ResultTable, ...]:
    """Return the tables: the standings, and the results of every case."""
    standings = Standings(results)
    yardsticks = _yardsticks(standings)
    chosen = {
        "used to choose auto's defaults": CHOSEN_ON,
        "not used to choose defaults": set(results) - {*CHOSEN_ON, *UNSEEN},
        "held out": UNSEEN,
    }
    return (
        _overall(standings),
        _parts(standings, "Relative regret by kind of case", KINDS),
        _parts(standings, "Relative regret by use of the case for choosing defaults", chosen),
        _by_case(standings),
        _favourites(standings),
        *([yardsticks] if yardsticks.rows else []),
    )


def _overall(standings: Standings) -> ResultTable:
    """Return a table with one row per contender, best mean rank first."""
    names, ratios, ranks = list(CONTENDERS), standings.overall(), standings.ranks
    rows = []
    for number in standings.order:
        low, high = interval(ranks[number][:, None], lambda samples: samples[..., 0].mean(axis=-1))
        rows.append(
            (
                names[number],
                in_words(ranks[number].mean(), low, high, ".1f"),
                _estimate(ratios[number], standings.overall_interval[number]),
                f"{standings.ratio[number].max():.2f}",
            )
        )
    columns = ("contender", "mean rank", "relative regret, geometric mean", "worst case")
    return ResultTable(f"Standings over {len(standings.results)} cases", columns, tuple(rows))


def _estimate(estimate: float, ends: Any) -> str:
    low, high = map(float, ends)
    return in_words(float(estimate), low, high, ".2f")


def _parts(standings: Standings, title: str, parts: Mapping[str, Collection[str]]) -> ResultTable:
    """Return the relative regret over each part of the cases, with intervals.

    Intervals are over the cases; for a part with one case, over its samples.
    """
    rows = []
    for part, inside in parts.items():
        cases = {case: runs for case, runs in standings.results.items() if case in inside}
        if cases:
            own = Standings(cases)
            rows.append((part, str(len(cases)), *(_relative(own, name) for name in COMPARED)))
    return ResultTable(title, ("part", "cases", *COMPARED), tuple(rows))


def _relative(standings: Standings, contender: str) -> str:
    """Return the geometric mean over the cases of a contender's relative regret."""
    number = list(CONTENDERS).index(contender)
    estimate, ends = standings.overall()[number], standings.overall_interval[number]
    if len(standings.results) == 1:
        [case] = standings.results
        pair = [Hindsight(case, "", settings=s) for s in (CONTENDERS[contender], PUBLISHED)]
        samples = np.stack([column.samples(standings.results) for column in pair], axis=-1)
        ends = interval(samples, ratio)
    return _estimate(estimate, ends)


def _by_case(standings: Standings) -> ResultTable:
    """Return the regret per step of every family: with theory's parameter / in hindsight."""
    names = list(CONTENDERS)
    rows = []
    for place, case in enumerate(standings.results):
        regret = dict(zip(names, standings.regret[:, place], strict=True))
        cells = [f"{regret[AUTO]:.3f}", f"{regret[RANDOM]:.3f}"]
        for family in FAMILIES:
            cell = f"{regret[family.at_theory]:.3f}"
            if family.values:
                cell += f" / {regret[f'{family.name}, {HINDSIGHT}']:.3f}"
            cells.append(cell)
        rows.append((case, *cells))
    columns = ("case", AUTO, RANDOM, *(family.name for family in FAMILIES))
    title = "Regret per step: theory's parameter / best parameter in hindsight"
    return ResultTable(title, columns, tuple(rows))


def _favourites(standings: Standings) -> ResultTable:
    """Return the best setting in hindsight of every case, compared with `auto`."""
    rows = []
    for place, case in enumerate(standings.results):
        pair = [Hindsight(case, AUTO, settings=(AUTO,)), Hindsight(case, "", settings=PUBLISHED)]
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
    columns = ("case", "best published setting", "its regret", "regret of auto", "ratio")
    return ResultTable("auto against the best setting of each case", columns, tuple(rows))


def _yardsticks(standings: Standings) -> ResultTable:
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
    columns = ("case", AUTO, *YARDSTICKS, "best published setting",
               *(f"auto / {name}" for name in YARDSTICKS))  # fmt: skip
    title = "Regret per step of auto and of the best arms of the training rows"
    return ResultTable(title, columns, tuple(rows))


def _with_interval(samples: Any) -> tuple[float, float, float, str]:
    low, high = interval(samples, ratio)
    return float(ratio(samples)), low, high, ".2f"


EXPERIMENTS = (
    described(
        "tournament",
        (
            *(Case(name, partial(simulated, name), world.trials, totals_only=True)
              for name, world in WORLDS.items()),
            *(Case(name, partial(recorded, name), STARTS, data=recording.data)
              for name, recording in RECORDINGS.items()),
        ),
        (
            _ranked_first("policies with theory's parameters",
                          (RANDOM, *(family.at_theory for family in FAMILIES))),
            _ranked_first("policies with parameters chosen in hindsight",
                          tuple(name for name in CONTENDERS if name.endswith(HINDSIGHT))),
            *map(_near_the_best, CASES),
        ),
        heat_map,
        further={"overview": overview},
        tables=tables,
        values={
            "DRAWN": DRAWN, "FEWER_TRIALS": FEWER_TRIALS, "LEAST_RATIO": LEAST_RATIO,
            "OTHERS": OTHERS, "SMALLER": SMALLER, "STARTS": STARTS, "TRAIN": TRAIN,
            "TRIALS": TRIALS,
        },
    ),
)  # fmt: skip
