"""How the tournament is scored: regret per sample, hindsight that does not deceive itself, ranks.

A sample is a trial; of recorded data, which are one history, a block of about sqrt(T) steps. The
best of many settings is partly the luckiest. So hindsight chooses on one half of the samples and
is judged on the other, and the other way round: its regret is what the choice is worth, not what
the luck was.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr
from scipy.stats import rankdata

from driftpeak.experiments.bootstrap import Array, interval
from driftpeak.experiments.claims import Column
from driftpeak.experiments.experiment import Results
from driftpeak.experiments.tournament.players import AUTO, FAMILIES, PUBLISHED, RANDOM
from driftpeak.simulation.samples import by_sample

HINDSIGHT = "hindsight"
CONTENDERS: Mapping[str, tuple[str, ...]] = {
    AUTO: (AUTO,),
    RANDOM: (RANDOM,),
    **{family.at_theory: (family.at_theory,) for family in FAMILIES},
    **{f"{family.name}, {HINDSIGHT}": family.settings for family in FAMILIES if family.values},
}
"""Who is ranked, and the settings that each may choose among with hindsight."""
LEAST_RATIO = 0.1
"""A lower relative regret counts as this: one of 0 would make a geometric mean deaf to the rest."""


def regrets(runs: xr.Dataset, policies: Sequence[str]) -> Array:
    """Regret per step, shape `(policy, sample)`."""
    values = runs["regret"].sel(policy=list(policies)).transpose("policy", "trial", "step").values
    per_step = runs.sizes["step"] / runs.attrs["steps"]  # of a case that keeps totals only
    return by_sample(values, independent_trials=bool(runs.attrs["independent_trials"])) * per_step


def hindsight(settings: Array) -> Array:
    """Of `settings`, shape `(setting, sample)`, the regrets of a choice made on the other half.

    Even samples get the setting of least mean regret on the odd ones, and the other way round; a
    sample that is alone gets the least.
    """
    halves = [np.arange(settings.shape[1]) % 2 == half for half in (0, 1)]
    if settings.shape[1] < 2:
        return settings.min(axis=0)
    result = np.empty(settings.shape[1])
    for judged, seen in (halves, halves[::-1]):
        result[judged] = settings[settings[:, seen].mean(axis=1).argmin(), judged]
    return result


@dataclass(frozen=True)
class Hindsight(Column):
    """Regret per step of the best of `settings`, chosen on the other half of the samples."""

    settings: tuple[str, ...] = ()

    def samples(self, results: Results) -> Array:
        [case] = self.cases
        return hindsight(regrets(results[case], self.settings))


@dataclass(frozen=True)
class Rank(Column):
    """The rank of a contender in every case, 1 for the least regret; a sample is a case."""

    def samples(self, results: Results) -> Array:
        standings = Standings({case: results[case] for case in self.cases})
        return standings.ranks[list(CONTENDERS).index(self.policy)]


@dataclass(frozen=True)
class Standings:
    """Who did how well where."""

    results: Results

    @cached_property
    def regret(self) -> Array:
        """Mean regret per step, shape `(contender, case)`."""
        return np.stack([_means(runs) for runs in self.results.values()], axis=1)

    @cached_property
    def best(self) -> Array:
        """Of every case, the regret of the best setting of any published policy, by hindsight."""
        return np.array(
            [hindsight(regrets(runs, PUBLISHED)).mean() for runs in self.results.values()]
        )

    @cached_property
    def ratio(self) -> Array:
        """Regret as a multiple of `best`, at least LEAST_RATIO, shape `(contender, case)`."""
        return np.maximum(self.regret / self.best, LEAST_RATIO)

    @cached_property
    def ranks(self) -> Array:
        """1 for the least regret in a case; ties share their mean rank."""
        return np.asarray(rankdata(self.regret, axis=0), dtype=float)

    @cached_property
    def order(self) -> list[int]:
        """The contenders by mean rank, best first."""
        return [int(i) for i in np.argsort(self.ranks.mean(axis=1), kind="stable")]

    def overall(self) -> Array:
        """Geometric mean of `ratio` over the cases, by contender."""
        return np.exp(np.log(self.ratio).mean(axis=1))

    @cached_property
    def overall_interval(self) -> Array:
        """Bootstrap interval of `overall` over the cases, shape `(contender, 2)`."""
        return np.array([interval(ratios[:, None], geometric_mean) for ratios in self.ratio])

    def favourite(self, case: str, settings: Sequence[str] = PUBLISHED) -> str:
        """The setting of least mean regret in a case, over all its samples."""
        return settings[int(regrets(self.results[case], settings).mean(axis=1).argmin())]


def _means(runs: xr.Dataset) -> Array:
    names = [AUTO, *PUBLISHED]
    values = dict(zip(names, regrets(runs, names), strict=True))
    return np.array(
        [
            hindsight(np.stack([values[name] for name in settings])).mean()
            for settings in CONTENDERS.values()
        ]
    )


def geometric_mean(samples: Any) -> Any:
    """Of the first column."""
    return np.exp(np.log(samples[..., 0]).mean(axis=-1))


def ratio(samples: Any) -> Any:
    """Mean of the first column over that of the second; huge, not infinite, where that is 0."""
    return samples[..., 0].mean(axis=-1) / np.maximum(samples[..., 1].mean(axis=-1), 1e-9)
