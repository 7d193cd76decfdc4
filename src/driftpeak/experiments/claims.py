"""Claims as tests: paired comparisons over trials, their intervals, and a verdict.

A claim is a list of comparisons, each a statistic of paired samples that is positive if the claim
is right. It *holds* where the 95 % intervals of all of them lie above zero: that all must needs no
correction for their number. It *does not hold* where at least one comparison is shown to be
negative at a family-wise 5 % (two-sided, so 2.5 % on this side), by Holm's procedure over all
comparisons of the claim: of many intervals one lies below zero by chance. Otherwise it is
*undecided*.

Where a paper leaves a choice open, its claim is put to the test with several plausible choices, the
settings. It holds if it holds in all, does not hold if it fails in all, and
depends on the choice if it holds in some and fails in others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import xarray as xr

from driftpeak._core.errors import DriftpeakError
from driftpeak._core.numerics.holm import holm
from driftpeak.experiments.bootstrap import FEWEST, LEVEL, Array, Bootstrap, Combine, in_words
from driftpeak.simulation.samples import by_sample

Verdict = Literal["holds", "does not hold", "undecided", "depends", "too few trials"]
Whose = Literal["paper", "ours"]


@dataclass(frozen=True)
class Column:
    """One number per sample: what `policy` did in `case`, per step over the steps first..last.

    Attributes:
        case: its trials are the samples; or several cases, each of them one sample.
        measure: "regret", "squared_error", "side_queries" or "restarts".
        first, last: steps, counted from 1 and both included; the last one by default.
    """

    case: str | tuple[str, ...]
    policy: str
    measure: str = "regret"
    first: int = 1
    last: int | None = None

    def samples(self, results: Mapping[str, xr.Dataset]) -> Array:
        """Per case, if there are several; else per trial; or, where all trials share one recorded
        history, per block of steps (`driftpeak.simulation.samples.by_sample`).
        """
        if isinstance(self.case, tuple):
            return np.array([self._values(results[case]).mean() for case in self.case])
        runs = results[self.case]
        independent = bool(runs.attrs["independent_trials"])
        return by_sample(self._values(runs), independent_trials=independent)

    def _values(self, runs: xr.Dataset) -> Array:
        """Shape `(trial, step)`; of a case that keeps totals only, their mean over all steps."""
        run = np.asarray(runs[self.measure].sel(policy=self.policy).values, dtype=float)
        if run.shape[1] < runs.attrs["steps"]:
            return run / runs.attrs["steps"]
        return run[:, self.first - 1 : self.last]

    @property
    def cases(self) -> tuple[str, ...]:
        """The case or the cases."""
        return self.case if isinstance(self.case, tuple) else (self.case,)


def difference(samples: Array) -> Array:
    """Mean of the first column minus that of the second."""
    return np.asarray((samples[..., 0] - samples[..., 1]).mean(axis=-1))


def majority(samples: Array) -> Array:
    """Share of the samples in which the second column is at most the first, less one half."""
    return np.asarray((samples[..., 1] <= samples[..., 0]).mean(axis=-1) - 0.5)


@dataclass(frozen=True)
class Comparison:
    """A statistic of paired samples that is positive if what `label` says is right.

    There are k columns of equally many samples; `combine` takes an array of shape
    `(..., samples, k)` to one of shape `(...)`.
    """

    label: str
    columns: tuple[Column, ...]
    combine: Combine = difference


Comparisons = tuple[Comparison, ...]


@dataclass(frozen=True)
class Claim:
    """What a paper says in its own words, or what we ask beside it.

    Attributes:
        comparisons: all must come out; or those of every setting, by what the setting is called.
        whose: "paper": a claim of the paper, in its own setting. "ours": a check of our own, on
            other data, other policies or other parameters than the paper's; its verdict is none
            on the paper.
    """

    text: str
    comparisons: Comparisons | Mapping[str, Comparisons]
    whose: Whose = "paper"

    @property
    def settings(self) -> Mapping[str, Comparisons]:
        """The comparisons by setting; a claim without settings has one, without a name."""
        return self.comparisons if isinstance(self.comparisons, Mapping) else {"": self.comparisons}

    @property
    def columns(self) -> list[Column]:
        """Everything that it looks at, in all settings."""
        every = (one for comparisons in self.settings.values() for one in comparisons)
        return [column for comparison in every for column in comparison.columns]


@dataclass(frozen=True)
class Statistic:
    """The statistic, and its interval of confidence `LEVEL`.

    Attributes:
        refuted_at: the adjusted p-value (Holm, over all comparisons of the claim) of its being
            negative.
        samples: none where a quick run was too short to measure it; the estimate is NaN then.
    """

    label: str
    estimate: float
    low: float
    high: float
    samples: int
    refuted_at: float
    verdict: Verdict

    def __str__(self) -> str:
        if not self.samples:
            return f"{self.label}: a quick run is too short"
        return f"{self.label}: {in_words(self.estimate, self.low, self.high)}"


@dataclass(frozen=True)
class Ruling:
    """What was measured in one setting of a claim."""

    setting: str
    measured: tuple[Statistic, ...]
    verdict: Verdict


@dataclass(frozen=True)
class Judgement:
    """A claim with the rulings in all its settings."""

    claim: Claim
    rulings: tuple[Ruling, ...]
    verdict: Verdict

    @property
    def measured(self) -> tuple[Statistic, ...]:
        """What was measured, in the order of the settings."""
        return tuple(one for ruling in self.rulings for one in ruling.measured)


def lower(
    better: tuple[str, str],
    worse: tuple[str, str],
    *,
    measure: str = "regret",
    first: int = 1,
    last: int | None = None,
) -> Comparison:
    """That one (case, policy) has less of what is measured, per step, than another."""
    columns = tuple(Column(*one, measure, first, last) for one in (worse, better))
    place = "" if better[0] == worse[0] else f" ({better[0]} / {worse[0]})"
    quantity = f"{measure.replace('_', ' ')} per step"
    return Comparison(f"{worse[1]} minus {better[1]}{place}, {quantity}", columns)


def lowest(
    case: str, policy: str, others: Sequence[str], *, measure: str = "regret"
) -> tuple[Comparison, ...]:
    """That `policy` has less of what is measured than each of `others`."""
    return tuple(lower((case, policy), (case, other), measure=measure) for other in others)


def judge(claim: Claim, results: Mapping[str, xr.Dataset]) -> Judgement:
    """Put the claim to the test. The same results give the same numbers.

    Raises:
        DriftpeakError: a comparison of columns with different numbers of samples.
    """
    family = [one for comparisons in claim.settings.values() for one in comparisons]
    found = [_resampled(comparison, results) for comparison in family]
    adjusted = holm([bootstrap.p_value() for _, bootstrap in found])
    measured = iter(map(_measured, family, *zip(*found, strict=True), map(float, adjusted)))
    rulings = []
    for setting, comparisons in claim.settings.items():
        its = tuple(next(measured) for _ in comparisons)
        rulings.append(Ruling(setting, its, _all_hold({one.verdict for one in its})))
    verdicts = {ruling.verdict for ruling in rulings}
    verdict: Verdict = "undecided"
    if len(verdicts) == 1:
        verdict = rulings[0].verdict
    elif {"holds", "does not hold"} <= verdicts:
        verdict = "depends"
    return Judgement(claim, tuple(rulings), verdict)


def _all_hold(verdicts: set[Verdict]) -> Verdict:
    """Of a list of comparisons: refuted by one of them, shown by all."""
    order: tuple[Verdict, ...] = ("does not hold", "too few trials", "undecided", "holds")
    return next(verdict for verdict in order if verdict in verdicts)


def _resampled(
    comparison: Comparison, results: Mapping[str, xr.Dataset]
) -> tuple[float, Bootstrap]:
    """The statistic, and what resampling makes of it."""
    cases = {case for column in comparison.columns for case in column.cases}
    if any(results[case].attrs.get("shortened", 0) for case in cases):
        return float("nan"), Bootstrap(0, np.empty(0))
    columns = [column.samples(results) for column in comparison.columns]
    if len({len(column) for column in columns}) != 1:
        raise DriftpeakError(f"{comparison.label}: samples cannot be paired, their numbers differ")
    samples = np.stack(columns, axis=-1)
    return float(comparison.combine(samples)), Bootstrap.of(samples, comparison.combine)


def _measured(
    comparison: Comparison, estimate: float, bootstrap: Bootstrap, refuted_at: float
) -> Statistic:
    low, high = bootstrap.interval()
    verdict: Verdict = "undecided"
    if bootstrap.count < FEWEST:
        verdict = "too few trials"
    elif low > 0:
        verdict = "holds"
    elif refuted_at <= (1 - LEVEL) / 2:
        verdict = "does not hold"
    label, count = comparison.label, bootstrap.count
    return Statistic(label, estimate, low, high, count, refuted_at, verdict)
