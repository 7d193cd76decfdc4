"""B16's period N = 15 for the laboratory's sensors, by regret on the training days (section 5.2).

B16 found it by cross-validation and does not state the criterion. `bogunovic2016_sensors` learns a
period from predictions. Here R-GP-UCB runs on each of the three training days with a prior from the
two others, and N = 15 is compared with other periods by its regret.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from driftpeak.environments import RecordedRewards
from driftpeak.experiments.bootstrap import Array
from driftpeak.experiments.claims import Claim, Column, Comparison, Comparisons
from driftpeak.experiments.experiment import (
    Case,
    Results,
    ResultTable,
    Setup,
    described,
)
from driftpeak.experiments.papers.bogunovic2016_sensors import DAY, LAB_TRAINING
from driftpeak.offline.data import read_table
from driftpeak.offline.replay import prior_from_history
from driftpeak.plots import COLOURS, tidy
from driftpeak.policies import RGPUCB
from driftpeak.policies.widths import ScaledLog

PUBLISHED, TOLERANCE = 15, 1.1
PERIODS = (2, 4, 7, 10, PUBLISHED, 22, 33, 50, 72, DAY)
DAYS = tuple(f"training day {number + 1}" for number in range(LAB_TRAINING // DAY))


def _named(period: int) -> str:
    return f"N = {period}"


def setup(day: int, path: Path) -> Setup:
    """Return R-GP-UCB with every period on one training day, and a prior from the others."""
    table = read_table(path)
    days = np.split(table.values[:LAB_TRAINING], len(DAYS))
    others = np.concatenate([rows for number, rows in enumerate(days) if number != day])
    prior = prior_from_history(others, table.arms, noise_variance=0.5)
    width = ScaledLog(0.8, 0.4)
    policies = {_named(period): RGPUCB(prior, period=period, width=width) for period in PERIODS}
    settings = {"noise_variance": 0.5, "width": "0.8, 0.4", "periods": PERIODS}
    return Setup(RecordedRewards(days[day]), policies, DAY, settings)


class OverDays(Column):
    """The samples of all cases, one after another: blocks of steps of each day."""

    def samples(self, results: Mapping[str, xr.Dataset]) -> Array:
        return np.concatenate([
            Column(case, self.policy).samples({case: results[case]}) for case in self.cases
        ])  # fmt: skip


def _within_a_tenth(cases: tuple[str, ...]) -> Comparisons:
    """Return the comparisons that N = 15 has at most 1.1 times the regret of every other period."""
    mine = OverDays(cases, _named(PUBLISHED))
    return tuple(
        Comparison(
            f"{TOLERANCE:g} times {_named(period)} minus {_named(PUBLISHED)}, regret per step",
            (OverDays(cases, _named(period)), mine),
            lambda samples: (TOLERANCE * samples[..., 0] - samples[..., 1]).mean(axis=-1),
        )
        for period in PERIODS
        if period != PUBLISHED
    )


def _means(results: Results) -> dict[str, Array]:
    return {
        case: np.array([
            float(results[case]["regret"].sel(policy=_named(period)).mean()) for period in PERIODS
        ])
        for case in DAYS
    }  # fmt: skip


def picture(results: Results, title: str) -> Figure:
    """Draw the regret per step over the period, for each day and in the mean."""
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.subplots()
    means = _means(results)
    for number, (case, regret) in enumerate(means.items()):
        axes.plot(PERIODS, regret, "o-", ms=4, lw=1, color=COLOURS[number], label=case)
    whole = np.mean(list(means.values()), axis=0)
    axes.plot(PERIODS, whole, "s-", ms=5, color="black", label="mean")
    axes.axvline(PUBLISHED, color="black", linestyle=":", label="N = 15, B16")
    axes.set(xscale="log", xlabel="period N, steps of ten minutes", ylim=(0, None))
    axes.set_xticks(PERIODS, [f"{period}" for period in PERIODS], minor=False)
    axes.set_xticks([], minor=True)
    axes.set_ylabel("regret per step, degrees C")
    tidy(axes)
    axes.legend(frameon=False)
    figure.suptitle(title, fontsize=11)
    return figure


def tables(results: Results) -> tuple[ResultTable, ...]:
    """Return the regret per step by period and day."""
    means = _means(results)
    whole = np.mean(list(means.values()), axis=0)
    rows = tuple(
        (str(period), *(f"{means[case][place]:.3f}" for case in DAYS), f"{whole[place]:.3f}")
        for place, period in enumerate(PERIODS)
    )
    return (ResultTable("Regret per step, degrees C", ("N", *DAYS, "mean"), rows),)


EXPERIMENTS = (
    described(
        "b16-period",
        tuple(
            Case(case, partial(setup, day), 1, data="intel-lab-table")
            for day, case in enumerate(DAYS)
        ),
        (
            Claim(
                "N = 15 is a choice by regret on the training days: no other period from 2 to 144 "
                "has a regret lower by more than a tenth",
                {
                    "all training days": _within_a_tenth(DAYS),
                    **{case: _within_a_tenth((case,)) for case in DAYS},
                },
                whose="ours",  # B16 does not say what cross-validation compared
            ),
        ),
        picture,
        tables=tables,
        values={"DAY": DAY, "PERIODS": PERIODS},
    ),
)
