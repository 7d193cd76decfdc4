"""Statistical tests of claims: paired comparisons over trials, intervals and verdicts.

A claim is a list of comparisons. Each comparison is a statistic of paired samples that is positive
if the claim is true. A claim *holds* if the 95 % intervals of all comparisons lie above zero. No
correction for their number is needed, because all must lie above zero. A claim *does not hold* if
at least one comparison is significantly negative at a family-wise level of 5 % (two-sided, so 2.5 %
on this side). Holm's procedure over all comparisons of the claim corrects for their number.
Otherwise the claim is *undecided*.

If a paper leaves a choice open, its claim is tested with several plausible choices, the settings.
It holds if it holds in all settings and does not hold if it fails in all. It depends on the choice
if it holds in some settings and fails in others.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import xarray as xr

from driftpeak._core.errors import DriftpeakError
from driftpeak._core.numerics.holm import holm
from driftpeak.experiments.bootstrap import FEWEST, LEVEL, Array, Bootstrap, Combine, in_words
from driftpeak.simulation._samples import by_sample

Verdict = Literal["holds", "does not hold", "undecided", "depends", "too few trials"]
Whose = Literal["paper", "ours"]


@dataclass(frozen=True)
class Column:
    """One number per sample: a measure of `policy` in `case`, per step over first..last.

    Attributes:
        case: one case, whose trials are the samples, or several cases, each of them one sample.
        measure: "regret", "squared_error", "side_queries" or "restarts".
        first, last: first and last step, counted from 1; `last` defaults to the last step.
    """

    case: str | tuple[str, ...]
    policy: str
    measure: str = "regret"
    first: int = 1
    last: int | None = None

    def samples(self, results: Mapping[str, xr.Dataset]) -> Array:
        """Return one number per case if there are several cases, and otherwise one per trial.

        If all trials share one recorded history, there is one number per block of steps
        (`driftpeak.simulation._samples.by_sample`).
        """
        if isinstance(self.case, tuple):
            return np.array([self._values(results[case]).mean() for case in self.case])
        runs = results[self.case]
        independent = bool(runs.attrs["independent_trials"])
        return by_sample(self._values(runs), independent_trials=independent)

    def _values(self, runs: xr.Dataset) -> Array:
        """Return values of shape `(trial, step)`; for totals only, the mean per step."""
        run = np.asarray(runs[self.measure].sel(policy=self.policy).values, dtype=float)
        if run.shape[1] < runs.attrs["steps"]:
            return run / runs.attrs["steps"]
        return run[:, self.first - 1 : self.last]

    @property
    def cases(self) -> tuple[str, ...]:
        """All cases of the column."""
        return self.case if isinstance(self.case, tuple) else (self.case,)


def difference(samples: Array) -> Array:
    """Return the mean of the first column minus the mean of the second."""
    return np.asarray((samples[..., 0] - samples[..., 1]).mean(axis=-1))


def weighted(*factors: float) -> Combine:
    """Return a statistic: the mean of the weighted sum of the columns."""
    return lambda samples: (samples * factors).sum(axis=-1).mean(axis=-1)


def majority(samples: Array) -> Array:
    """Return the share of samples whose second column is at most the first, minus one half."""
    return np.asarray((samples[..., 1] <= samples[..., 0]).mean(axis=-1) - 0.5)


@dataclass(frozen=True)
class Comparison:
    """A statistic of paired samples, named by `label`, that is positive if the claim is true.

    There are k columns with equal numbers of samples. `combine` maps an array of shape
    `(..., samples, k)` to an array of shape `(...)`.
    """

    label: str
    columns: tuple[Column, ...]
    combine: Combine = difference


Comparisons = tuple[Comparison, ...]


@dataclass(frozen=True)
class Claim:
    """A claim of a paper, or an additional check.

    Attributes:
        comparisons: comparisons that must all be positive, or a mapping from the name of a setting
            to its comparisons.
        whose: "paper": a claim of the paper, in the paper's setting. "ours": an additional check on
            other data, policies or parameters than the paper's; it is no verdict on the paper.
    """

    text: str
    comparisons: Comparisons | Mapping[str, Comparisons]
    whose: Whose = "paper"

    @property
    def settings(self) -> Mapping[str, Comparisons]:
        """Comparisons by setting; a claim without settings has one setting with an empty name."""
        return self.comparisons if isinstance(self.comparisons, Mapping) else {"": self.comparisons}

    @property
    def columns(self) -> list[Column]:
        """Columns of all comparisons in all settings."""
        return [
            column
            for comparisons in self.settings.values()
            for comparison in comparisons
            for column in comparison.columns
        ]


@dataclass(frozen=True)
class Statistic:
    """A statistic with its interval at confidence `LEVEL`.

    Attributes:
        refuted_at: adjusted p-value that the statistic is negative (Holm, over all comparisons of
            the claim).
        samples: number of samples; 0 if a quick run was too short, with estimate NaN.
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
    """Statistics and verdict in one setting of a claim."""

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
        """Statistics of all settings, in their order."""
        return tuple(statistic for ruling in self.rulings for statistic in ruling.measured)


def lower(
    better: tuple[str, str],
    worse: tuple[str, str],
    *,
    measure: str = "regret",
    first: int = 1,
    last: int | None = None,
) -> Comparison:
    """Return the comparison that one (case, policy) has less of a measure per step than another."""
    columns = tuple(Column(*pair, measure, first, last) for pair in (worse, better))
    place = "" if better[0] == worse[0] else f" ({better[0]} / {worse[0]})"
    quantity = f"{measure.replace('_', ' ')} per step"
    return Comparison(f"{worse[1]} minus {better[1]}{place}, {quantity}", columns)


def lowest(
    case: str, policy: str, others: Sequence[str], *, measure: str = "regret"
) -> tuple[Comparison, ...]:
    """Return the comparisons that `policy` has less of a measure than each of `others`."""
    return tuple(lower((case, policy), (case, other), measure=measure) for other in others)


def lowest_by_setting(
    cases: Mapping[str, str], policy: str, others: Sequence[str]
) -> dict[str, Comparisons]:
    """Return the comparisons of `lowest` in the case of every setting."""
    return {setting: lowest(case, policy, others) for setting, case in cases.items()}


def lower_in(cases: Iterable[str], policy: str, other: str) -> dict[str, Comparisons]:
    """Return the comparison that `policy` has less regret than `other`, by case."""
    return lowest_by_setting({case: case for case in cases}, policy, (other,))


def judge(claim: Claim, results: Mapping[str, xr.Dataset]) -> Judgement:
    """Test a claim; equal results give equal numbers.

    Raises:
        DriftpeakError: the columns of a comparison have different numbers of samples.
    """
    family = [comparison for comparisons in claim.settings.values() for comparison in comparisons]
    resampled = [_resampled(comparison, results) for comparison in family]
    adjusted = holm([bootstrap.p_value() for _, bootstrap in resampled])
    measured = iter(map(_measured, family, *zip(*resampled, strict=True), map(float, adjusted)))
    rulings = []
    for setting, comparisons in claim.settings.items():
        its = tuple(next(measured) for _ in comparisons)
        rulings.append(Ruling(setting, its, _all_hold({each.verdict for each in its})))
    verdicts = {ruling.verdict for ruling in rulings}
    verdict: Verdict = "undecided"
    if len(verdicts) == 1:
        verdict = rulings[0].verdict
    elif {"holds", "does not hold"} <= verdicts:
        verdict = "depends"
    return Judgement(claim, tuple(rulings), verdict)


def _all_hold(verdicts: set[Verdict]) -> Verdict:
    """Return the verdict on a list of comparisons: one can refute it, all must confirm it."""
    order: tuple[Verdict, ...] = ("does not hold", "too few trials", "undecided", "holds")
    return next(verdict for verdict in order if verdict in verdicts)


def _resampled(
    comparison: Comparison, results: Mapping[str, xr.Dataset]
) -> tuple[float, Bootstrap]:
    """Return the statistic of a comparison and its bootstrap."""
    cases = {case for column in comparison.columns for case in column.cases}
    if any(results[case].attrs.get("shortened", 0) for case in cases):
        return float("nan"), Bootstrap(0, np.empty(0))
    columns = [column.samples(results) for column in comparison.columns]
    if len({len(column) for column in columns}) != 1:
        raise DriftpeakError(
            f"{comparison.label}: columns must have equal numbers of samples to be paired; got "
            f"{', '.join(str(len(column)) for column in columns)}. Run all cases with equal trials"
        )
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
