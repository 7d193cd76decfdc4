"""Comparison of `auto` with bandits for independent arms in all cases of the tournament."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from driftpeak.experiments.bootstrap import Array, interval
from driftpeak.experiments.claims import Claim, Column, Comparison, difference, weighted
from driftpeak.experiments.experiment import Results, ResultTable, described
from driftpeak.experiments.tournament.cases import CASES, KINDS, all_cases
from driftpeak.experiments.tournament.environments import FEWER_TRIALS, TRIALS
from driftpeak.experiments.tournament.figures import overview
from driftpeak.experiments.tournament.players import AUTO, SIMPLE
from driftpeak.experiments.tournament.recordings import STARTS, TRAIN
from driftpeak.experiments.tournament.scores import (
    HINDSIGHT,
    LEAST_RATIO,
    Standings,
    best_and_auto,
    geometric_mean,
    hindsight,
    regrets,
)
from driftpeak.experiments.tournament.tables import (
    by_case,
    estimate,
    favourites,
    parts,
    yardsticks,
)

SHARE = 0.9
"""Largest relative regret of `auto` in the claims by kind."""


@dataclass(frozen=True)
class Relative(Column):
    """Regret of `auto` divided by the regret of the best of `settings`; a sample is a case."""

    settings: tuple[str, ...] = ()

    def samples(self, results: Results) -> Array:
        return relative({case: results[case] for case in self.cases}, self.settings)


def relative(results: Results, settings: Sequence[str]) -> Array:
    """Return the regret of `auto` relative to the best of `settings` in hindsight, by case."""
    pairs = [
        (regrets(runs, (AUTO,)).mean(), hindsight(regrets(runs, settings)).mean())
        for runs in results.values()
    ]
    own, others = np.array(pairs).T
    return np.maximum(own / np.maximum(others, 1e-9), LEAST_RATIO)


def _below(share: float) -> Any:
    """Return the statistic log(share) minus the mean logarithm of the first column."""
    return lambda samples: np.log(share) - np.log(samples[..., 0]).mean(axis=-1)


def _lower_by_kind(kind: str, cases: tuple[str, ...]) -> Claim:
    if len(cases) == 1:
        comparison = Comparison(
            f"{SHARE:g} times the best simple bandit minus auto, regret per step",
            best_and_auto(*cases, SIMPLE),
            weighted(SHARE, -1),
        )
    else:
        comparison = Comparison(
            f"log {SHARE:g} minus the mean log relative regret",
            (Relative(cases, AUTO, settings=SIMPLE.settings),),
            _below(SHARE),
        )
    return Claim(
        f"{kind}: auto has at most {SHARE:g} of the regret of the best simple bandit in hindsight",
        (comparison,),
        whose="ours",
    )


def _lower_in_every_case() -> Claim:
    what = "best simple bandit minus auto, regret per step"
    comparisons = {
        case: (Comparison(what, best_and_auto(case, SIMPLE), difference),) for case in CASES
    }
    text = "auto has less regret than the best simple bandit in hindsight"
    return Claim(text, comparisons, whose="ours")


def _lower_than_every_setting() -> Claim:
    comparisons = tuple(
        Comparison(
            f"minus the mean log of the regret of auto relative to {name}",
            (Relative(CASES, AUTO, settings=(name,)),),
            _below(1.0),
        )
        for name in SIMPLE.settings
    )
    text = "in geometric mean, auto has less regret than every simple bandit with a fixed setting"
    return Claim(text, comparisons, whose="ours")


def tables(results: Results) -> tuple[ResultTable, ...]:
    """Return the tables: by kind of case, by policy, and the results of every case."""
    standings = Standings(results, SIMPLE)
    against_history = yardsticks(standings)
    families = {f"{family.name}, {HINDSIGHT}": family.settings for family in SIMPLE.families}
    settings = {name: (name,) for name in SIMPLE.settings}
    kinds = {"all": tuple(results), **KINDS}
    return (
        parts(standings, "Regret of auto relative to the best simple bandit", kinds, (AUTO,)),
        _against(results, "Regret of auto relative to each policy in hindsight", families),
        _against(results, "Regret of auto relative to each fixed setting", settings),
        favourites(standings),
        by_case(standings),
        *([against_history] if against_history.rows else []),
    )


def _against(results: Results, title: str, rivals: Mapping[str, Sequence[str]]) -> ResultTable:
    """Return geometric means over the cases, and the case in which `auto` is worst."""
    rows = []
    for name, settings in rivals.items():
        ratios = relative(results, settings)
        mean = geometric_mean(ratios[:, None])
        ends = interval(ratios[:, None], geometric_mean)
        worst = int(ratios.argmax())
        rows.append(
            (
                name,
                estimate(mean, ends),
                str((ratios < 1).sum()),
                f"{ratios[worst]:.2f}, {list(results)[worst]}",
            )
        )
    columns = ("simple bandit", "geometric mean", "cases below 1", "worst case")
    return ResultTable(title, columns, tuple(rows))


EXPERIMENTS = (
    described(
        "simple-bandits",
        all_cases("simple"),
        (
            *(_lower_by_kind(kind, cases) for kind, cases in KINDS.items()),
            _lower_in_every_case(),
            _lower_than_every_setting(),
        ),
        partial(overview, rivals=SIMPLE),
        tables=tables,
        values={
            "FEWER_TRIALS": FEWER_TRIALS, "LEAST_RATIO": LEAST_RATIO, "STARTS": STARTS,
            "TRAIN": TRAIN, "TRIALS": TRIALS,
        },
    ),
)  # fmt: skip
