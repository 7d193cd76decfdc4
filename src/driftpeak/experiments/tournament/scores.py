"""Scores of the tournament: regret per sample, unbiased choices in hindsight, and ranks.

A sample is a trial, or for recorded data, which are one history, a block of about sqrt(T) steps.
The best of many settings is partly the luckiest. A choice in hindsight is therefore made on one
half of the samples and evaluated on the other half, and vice versa. Its regret is not biased by
the choice.
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
from driftpeak.experiments.tournament.players import AUTO, PUBLISHED, RANDOM, Rivals
from driftpeak.simulation._samples import by_sample

HINDSIGHT = "hindsight"


def contenders(rivals: Rivals) -> Mapping[str, tuple[str, ...]]:
    """Return the ranked contenders, and the settings from which each is chosen in hindsight."""
    families = rivals.families
    return {
        AUTO: (AUTO,),
        RANDOM: (RANDOM,),
        **{family.at_theory: (family.at_theory,) for family in families},
        **{f"{family.name}, {HINDSIGHT}": family.settings for family in families if family.values},
    }


CONTENDERS = contenders(PUBLISHED)
"""Contenders of the tournament."""
LEAST_RATIO = 0.1
"""Lower limit of the relative regret; a value of 0 would make the geometric mean 0."""


def regrets(runs: xr.Dataset, policies: Sequence[str]) -> Array:
    """Return the regret per step, shape `(policy, sample)`."""
    values = runs["regret"].sel(policy=list(policies)).transpose("policy", "trial", "step").values
    per_step = runs.sizes["step"] / runs.attrs["steps"]  # for a case with totals only
    return by_sample(values, independent_trials=bool(runs.attrs["independent_trials"])) * per_step


def hindsight(settings: Array) -> Array:
    """Return the regrets of the best setting, chosen for each half of the samples on the other.

    `settings` has shape `(setting, sample)`. Even samples have the setting of lowest mean regret on
    the odd samples, and vice versa. A single sample has the lowest regret.
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


def best_and_auto(case: str, rivals: Rivals) -> tuple[Hindsight, Hindsight]:
    """Return the columns of the best setting of any rival in hindsight and of `auto`."""
    return (
        Hindsight(case, "best", settings=rivals.settings),
        Hindsight(case, AUTO, settings=(AUTO,)),
    )


@dataclass(frozen=True)
class Rank(Column):
    """The rank of a contender in every case, 1 for the lowest regret; a sample is a case."""

    def samples(self, results: Results) -> Array:
        standings = Standings({case: results[case] for case in self.cases})
        return standings.ranks[list(CONTENDERS).index(self.policy)]


@dataclass(frozen=True)
class Standings:
    """Regrets, ratios and ranks of all contenders in all cases."""

    results: Results
    rivals: Rivals = PUBLISHED

    @property
    def contenders(self) -> Mapping[str, tuple[str, ...]]:
        """The contenders by name, and the settings from which each is chosen in hindsight."""
        return contenders(self.rivals)

    @cached_property
    def regret(self) -> Array:
        """Mean regret per step, shape `(contender, case)`."""
        return np.stack([self._means(runs) for runs in self.results.values()], axis=1)

    @cached_property
    def best(self) -> Array:
        """Regret of the best setting of any rival in hindsight, by case."""
        settings = self.rivals.settings
        return np.array(
            [hindsight(regrets(runs, settings)).mean() for runs in self.results.values()]
        )

    @cached_property
    def ratio(self) -> Array:
        """Regret as a multiple of `best`, at least LEAST_RATIO, shape `(contender, case)`."""
        return np.maximum(self.regret / self.best, LEAST_RATIO)

    @cached_property
    def ranks(self) -> Array:
        """Ranks by case, 1 for the lowest regret; ties have their mean rank."""
        return np.asarray(rankdata(self.regret, axis=0), dtype=float)

    @cached_property
    def order(self) -> list[int]:
        """Numbers of the contenders by mean rank, best first."""
        return [int(i) for i in np.argsort(self.ranks.mean(axis=1), kind="stable")]

    def overall(self) -> Array:
        """Return the geometric mean of `ratio` over the cases, by contender."""
        return np.exp(np.log(self.ratio).mean(axis=1))

    @cached_property
    def overall_interval(self) -> Array:
        """Bootstrap interval of `overall` over the cases, shape `(contender, 2)`."""
        return np.array([interval(ratios[:, None], geometric_mean) for ratios in self.ratio])

    def favourite(self, case: str) -> str:
        """Return the rival's setting of lowest mean regret in a case, over all its samples."""
        settings = self.rivals.settings
        return settings[int(regrets(self.results[case], settings).mean(axis=1).argmin())]

    def _means(self, runs: xr.Dataset) -> Array:
        names = [AUTO, *self.rivals.settings]
        values = dict(zip(names, regrets(runs, names), strict=True))
        return np.array(
            [
                hindsight(np.stack([values[name] for name in settings])).mean()
                for settings in self.contenders.values()
            ]
        )


def geometric_mean(samples: Any) -> Any:
    """Return the geometric mean of the first column."""
    return np.exp(np.log(samples[..., 0]).mean(axis=-1))


def ratio(samples: Any) -> Any:
    """Return the mean of the first column divided by the mean of the second, at least 1e-9."""
    return samples[..., 0].mean(axis=-1) / np.maximum(samples[..., 1].mean(axis=-1), 1e-9)
