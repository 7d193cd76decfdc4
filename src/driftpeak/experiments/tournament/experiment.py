"""Tournament of every published policy and `auto` in every environment and on every recording."""

from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

import numpy as np

from driftpeak.experiments.bootstrap import in_words, interval
from driftpeak.experiments.claims import Claim, Comparison, difference, weighted
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
    Experiment(
        "tournament",
        "every policy and auto, in every environment and on every recording",
        "The tournament",
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
        choices=(
            f"Simulated cases: T = 500, 100 points, noise sd 0.1, and {TRIALS} trials. Cases with "
            f"as many features as points, and held-out cases, have {FEWER_TRIALS} trials. On "
            "[0, 1] with SE l = 0.2: Markov drift, abrupt and slow change (M = 20). On H23's "
            "sphere in R^10 with SE l = 1: sign switches and moving cosine (with H23's own l = "
            "0.2 the points are nearly unrelated arms). On [-50, 50] with 0.5 SE(3): M25's moving "
            "bumps, 20 centres.",
            "Gaussian processes with other dynamics than B16's, on [0, 1]: rhythm, with half of "
            "the variance in an oscillation of 50 steps; two speeds, drifts 0.001 and 0.2; "
            "momentum, Matern-3/2 in time; common bursts, with 93 % of the variance in a mode of "
            "stochastic volatility that all points share. Unrelated arms: 30 arms. Other unit: "
            "rewards three times as large as under the prior, and about five of their standard "
            "deviations above its mean.",
            f"Recorded cases: the first {TRAIN:.0%} of the rows give the prior (per-arm mean, "
            "empirical covariance, noise 5 % of the mean variance), and the policies run on the "
            "rest. The data are 50 stations of PeMSD7, every third detector of US-101 and every "
            "fourth cell of Iberia. Sensors of the Intel lab that fail during the three weeks keep "
            "their last reading. Rewards are in standard deviations of the prior. There are "
            f"{STARTS} runs with a random first point, the same for all policies that can learn "
            "from a point that they did not choose.",
            "The parameters from theory use V_T in the supremum norm (mean of "
            f"{OTHERS} other trials), the true drift, the greedy gain and B. B is twice the root "
            "mean square norm, M25's 5, or for functions drawn from a prior "
            f"{DRAWN:g}; on recordings it is the farthest training reward in standard deviations. "
            "On recordings V_T is unknown. Without Markov drift, TV-GP-UCB has the drift of "
            "highest likelihood on other trials or on the training rows.",
            "With theory's parameter, GP-UCB, IGP-UCB and R-PERP have the width of their theorem. "
            "The rest of the GP-UCB family has B16's width sqrt(0.8 log 4t), which is far below "
            "the theorems'. The grid has this width and B16's smallest, sqrt(0.2 log 0.4t).",
            "ABO keeps all observations.",
            f"R-PERP's grid has C = {SMALLER:g}; OPKB and ADA-OPKB have the constants of H23's "
            "program; ADA-OPKB has no parameter.",
            "SparQ and its variants are excluded, because they may ask for several values a step.",
            "auto has its default settings in all simulated environments. On recordings it starts "
            "from the result of driftpeak.fit_history on the training rows: covariance, a rhythm "
            "if there is one, the law of motion and noise. The other policies have the empirical "
            "prior and settings chosen in hindsight.",
        ),
        notes=(
            "A choice in hindsight is made on one half of the samples and evaluated on the other "
            "half, and vice versa, because the best of many settings is partly the luckiest. A "
            "sample is a trial, or on a recording a block of about sqrt(T) steps.",
            "Relative regret is regret divided by the regret of the best setting of any published "
            f"policy, also chosen in hindsight. It is at least {LEAST_RATIO:g}, because the regret "
            "in hindsight may be 0. Ranks are among all contenders. Their intervals are over the "
            "cases, several of which are the same kind of environment at another rate.",
        ),
        further={"overview": overview},
        tables=tables,
    ),
)  # fmt: skip
