"""Tournament of every published policy and `auto` in every environment and on every recording."""

from driftpeak.experiments.bootstrap import in_words, interval
from driftpeak.experiments.claims import Claim, Comparison, difference, weighted
from driftpeak.experiments.experiment import Results, ResultTable, described
from driftpeak.experiments.tournament.cases import CASES, CHOSEN_ON, KINDS, UNSEEN, all_cases
from driftpeak.experiments.tournament.environments import (
    DRAWN,
    FEWER_TRIALS,
    OTHERS,
    TRIALS,
)
from driftpeak.experiments.tournament.figures import heat_map, overview
from driftpeak.experiments.tournament.players import (
    AUTO,
    PUBLISHED,
    RANDOM,
)
from driftpeak.experiments.tournament.recordings import STARTS, TRAIN
from driftpeak.experiments.tournament.scores import (
    CONTENDERS,
    HINDSIGHT,
    LEAST_RATIO,
    Rank,
    Standings,
    best_and_auto,
)
from driftpeak.experiments.tournament.tables import by_case, estimate, favourites, parts, yardsticks
from driftpeak.policies.elimination import SMALLER

MARGIN = 1.1
COMPARED = (AUTO, f"TV-GP-UCB, {HINDSIGHT}", "TV-GP-UCB, theory")


def _near_the_best(case: str) -> Claim:
    """Return the claim that `auto` has at most `MARGIN` times the regret of the best setting."""
    return Claim(
        f"{case}: auto is within 10 % of the best setting of any published policy",
        (Comparison(f"{MARGIN:g} times the best setting minus auto, regret per step",
                    best_and_auto(case, PUBLISHED),
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
    against_history = yardsticks(standings)
    uses = {
        "used to choose auto's defaults": CHOSEN_ON,
        "not used to choose defaults": set(results) - {*CHOSEN_ON, *UNSEEN},
        "held out": UNSEEN,
    }
    return (
        _overall(standings),
        parts(standings, "Relative regret by kind of case", KINDS, COMPARED),
        parts(
            standings, "Relative regret by use of the case for choosing defaults", uses, COMPARED
        ),
        by_case(standings),
        favourites(standings),
        *([against_history] if against_history.rows else []),
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
                estimate(ratios[number], standings.overall_interval[number]),
                f"{standings.ratio[number].max():.2f}",
            )
        )
    columns = ("contender", "mean rank", "relative regret, geometric mean", "worst case")
    return ResultTable(f"Standings over {len(standings.results)} cases", columns, tuple(rows))


EXPERIMENTS = (
    described(
        "tournament",
        all_cases("published"),
        (
            _ranked_first("policies with theory's parameters",
                          (RANDOM, *(family.at_theory for family in PUBLISHED.families))),
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
