"""The tournament: every policy of the papers and `auto`, in every world and on every recording."""

from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

import numpy as np

from driftpeak.experiments.bootstrap import in_words, interval
from driftpeak.experiments.claims import Claim, Comparison, difference
from driftpeak.experiments.experiment import Case, Experiment, Results, ResultTable
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
    SMALLER,
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

STARTS = 5  # first points on recorded data, drawn at random
MARGIN = 1.1
COMPARED = (AUTO, f"TV-GP-UCB, {HINDSIGHT}", "TV-GP-UCB, theory")


def _near_the_best(case: str) -> Claim:
    """That `auto` has at most `MARGIN` times the regret of the best setting of all others."""
    columns = (Hindsight(case, "best", settings=PUBLISHED), Hindsight(case, AUTO, settings=(AUTO,)))

    def spare(samples: Any) -> Any:
        return (MARGIN * samples[..., 0] - samples[..., 1]).mean(axis=-1)

    return Claim(
        f"{case}: auto is within 10 % of the best setting of any published policy",
        (Comparison(f"{MARGIN:g} times the best setting minus auto, regret per step", columns,
                    spare),),
        whose="ours",
    )  # fmt: skip


def _ranked_first(how: str, against: tuple[str, ...]) -> Claim:
    return Claim(
        f"auto has the lowest mean rank: against {how}",
        tuple(
            Comparison(f"mean rank of {other} minus auto", (Rank(CASES, other), Rank(CASES, AUTO)),
                       difference)
            for other in against
        ),
        whose="ours",
    )  # fmt: skip


def tables(results: Results) -> tuple[ResultTable, ...]:
    """The standings, and every case."""
    standings = Standings(results)
    yardsticks = _yardsticks(standings)
    chosen = {
        "auto was chosen on": CHOSEN_ON,
        "not chosen on": set(results) - {*CHOSEN_ON, *UNSEEN},
        "never looked at": UNSEEN,
    }
    return (
        _overall(standings),
        _parts(standings, "Relative regret by kind of case", KINDS),
        _parts(standings, "Relative regret where defaults were chosen, and elsewhere", chosen),
        _by_case(standings),
        _favourites(standings),
        *([yardsticks] if yardsticks.rows else []),
    )


def _overall(standings: Standings) -> ResultTable:
    """One line per contender, best mean rank first."""
    names, ratios, ranks = list(CONTENDERS), standings.overall(), standings.ranks
    rows = []
    for number in standings.order:
        low, high = interval(ranks[number][:, None], lambda samples: samples[..., 0].mean(axis=-1))
        rows.append(
            (
                names[number],
                in_words(ranks[number].mean(), low, high, ".1f"),
                _told(ratios[number], standings.overall_interval[number]),
                f"{standings.ratio[number].max():.2f}",
            )
        )
    columns = ("contender", "mean rank", "relative regret, geometric mean", "worst case")
    return ResultTable(f"Standings over {len(standings.results)} cases", columns, tuple(rows))


def _told(estimate: float, ends: Any) -> str:
    low, high = map(float, ends)
    return in_words(float(estimate), low, high, ".2f")


def _parts(standings: Standings, title: str, parts: Mapping[str, Collection[str]]) -> ResultTable:
    """Return the relative regret over each part of the cases, with intervals.

    Intervals are over the cases; of a part of one case, over its samples.
    """
    rows = []
    for part, inside in parts.items():
        cases = {case: runs for case, runs in standings.results.items() if case in inside}
        if cases:
            own = Standings(cases)
            rows.append((part, str(len(cases)), *(_relative(own, name) for name in COMPARED)))
    return ResultTable(title, ("part", "cases", *COMPARED), tuple(rows))


def _relative(standings: Standings, contender: str) -> str:
    """The geometric mean over the cases of a contender's relative regret."""
    number = list(CONTENDERS).index(contender)
    estimate, ends = standings.overall()[number], standings.overall_interval[number]
    if len(standings.results) == 1:
        [case] = standings.results
        pair = [Hindsight(case, "", settings=s) for s in (CONTENDERS[contender], PUBLISHED)]
        samples = np.stack([column.samples(standings.results) for column in pair], axis=-1)
        ends = interval(samples, ratio)
    return _told(estimate, ends)


def _by_case(standings: Standings) -> ResultTable:
    """Regret per step: theory's parameter / hindsight's, of every family."""
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
    return ResultTable("Regret per step: theory's parameter / hindsight's", columns, tuple(rows))


def _favourites(standings: Standings) -> ResultTable:
    """In every case, the setting that hindsight takes, and `auto` beside it."""
    rows = []
    for place, case in enumerate(standings.results):
        pair = [Hindsight(case, AUTO, settings=(AUTO,)), Hindsight(case, "", settings=PUBLISHED)]
        samples = np.stack([column.samples(standings.results) for column in pair], axis=-1)
        low, high = interval(samples, ratio)
        told = in_words(ratio(samples), low, high, ".2f")
        if 100 <= high < np.inf:
            told = f"{ratio(samples):.2f} [{low:.2f}, over 100]"
        rows.append(
            (
                case,
                standings.favourite(case),
                f"{standings.best[place]:.3f}",
                f"{samples[:, 0].mean():.3f}",
                told,
            )
        )
    columns = ("case", "best published setting", "its regret", "auto's", "auto's / its")
    return ResultTable("auto against the best setting of each case", columns, tuple(rows))


def _yardsticks(standings: Standings) -> ResultTable:
    """Recordings: auto beside what needs no bandit, the best arms of the training rows."""
    rows = []
    for place, case in enumerate(standings.results):
        runs = standings.results[case]
        if BY_TIME not in runs["policy"]:
            continue
        both = regrets(runs, (AUTO, *YARDSTICKS))
        told = [
            in_words(*_with_interval(np.stack([both[0], other], axis=-1))) for other in both[1:]
        ]
        cells = [f"{one.mean():.3f}" for one in both]
        rows.append((case, *cells, f"{standings.best[place]:.3f}", *told))
    columns = ("case", AUTO, *YARDSTICKS, "best published setting",
               *(f"auto's / {name}" for name in YARDSTICKS))  # fmt: skip
    return ResultTable("Regret per step beside what the training rows say", columns, tuple(rows))


def _with_interval(samples: Any) -> tuple[float, float, float, str]:
    low, high = interval(samples, ratio)
    return float(ratio(samples)), low, high, ".2f"


EXPERIMENTS = (
    Experiment(
        "tournament",
        "every policy and auto, in every world and on every recording",
        "The tournament",
        (
            *(Case(name, partial(simulated, name), world.trials, totals_only=True)
              for name, world in WORLDS.items()),
            *(Case(name, partial(recorded, name), STARTS, data=recording.data)
              for name, recording in RECORDINGS.items()),
        ),
        (
            _ranked_first("theory's parameters",
                          (RANDOM, *(family.at_theory for family in FAMILIES))),
            _ranked_first("parameters chosen with hindsight",
                          tuple(name for name in CONTENDERS if name.endswith(HINDSIGHT))),
            *map(_near_the_best, CASES),
        ),
        heat_map,
        choices=(
            f"Simulated: T = 500, 100 points, noise sd 0.1, {TRIALS} trials, or {FEWER_TRIALS} "
            "where features are as many as points and in the worlds never looked at. On [0, 1] "
            "with SE l = 0.2: Markov drift, abrupt and slow change (M = 20). On H23's sphere in "
            "R^10 with SE l = 1: sign switches and moving cosine (with H23's own l = 0.2 the "
            "points are nearly unrelated arms). On [-50, 50] with 0.5 SE(3): M25's moving bumps, "
            "20 centres.",
            "Gaussian processes that move otherwise than B16's, on [0, 1]: rhythm, half of the "
            "variance an oscillation of 50 steps; two speeds, drifts 0.001 and 0.2; momentum, "
            "Matern-3/2 in time; common bursts, 93 % of the variance a mode that all points share, "
            "of stochastic volatility. Unrelated arms: 30. Other unit: rewards three times as "
            "large as the prior says, about five of their deviations above it.",
            f"Recorded: the first {TRAIN:.0%} give the prior (per-arm mean, empirical covariance, "
            "noise 5 % of the mean variance), the rest is played. 50 stations of PeMSD7, every "
            "third detector of US-101, every fourth cell of Iberia; sensors that fail for a while "
            "in the three weeks of the Intel lab show their last reading. Rewards in deviations of "
            f"the prior. {STARTS} plays with the first point drawn at random, the same for all who "
            "can learn from a point that they did not choose.",
            f"Theory is told V_T, in the supremum norm (mean of {OTHERS} other worlds), the true "
            "drift, B (twice the root mean square norm; M25's 5; where functions are draws from a "
            f"prior {DRAWN:g}; of recordings the farthest training reward, in deviations) and the "
            "greedy gain. On recordings V_T is unknown. Where the world is not B16's, TV-GP-UCB "
            "gets the drift of highest likelihood on other worlds or on the training rows.",
            "GP-UCB, IGP-UCB and R-PERP have the width of their theorem at theory's parameter; the "
            "rest of the GP-UCB family B16's sqrt(0.8 log 4t), which is far below the theorems'. "
            "The grid has that width and B16's smallest, sqrt(0.2 log 0.4t).",
            "ABO keeps all observations.",
            f"R-PERP's grid has C = {SMALLER:g}; OPKB and ADA-OPKB the constants of H23's program; "
            "ADA-OPKB has no parameter.",
            "SparQ and its kin are left out: they may ask for more than one value a step.",
            "auto has its defaults in all simulated worlds. On recordings it begins with what "
            "driftpeak.learn finds in the training rows: covariance, a rhythm if there is one, the "
            "law of motion, noise; the others are given the empirical prior, and hindsight.",
        ),
        notes=(
            "Hindsight chooses on one half of the samples and is judged on the other, and the "
            "other way round: the best of many settings is partly the luckiest. A sample is a "
            "trial, or of a recording a block of about sqrt(T) steps.",
            "Relative regret: divided by that of the best setting of any published policy, "
            f"chosen likewise, and at least {LEAST_RATIO:g}, since hindsight's may be 0. Ranks are "
            "among all contenders; their intervals are over the cases, several of which are the "
            "same kind of world at another rate.",
        ),
        further={"overview": overview},
        tables=tables,
    ),
)  # fmt: skip
