"""Claims as tests: paired comparisons over trials, their intervals, and a verdict.

A claim is a list of comparisons, each a statistic of paired samples that is positive if the claim
is right. It *holds* where the 95 % intervals of all of them lie above zero: that all must needs no
correction for their number (the union of the nulls is tested). It is *refuted* where at least one
comparison is shown to be negative at a family-wise 5 % (two-sided, so 2.5 % on this side), by
Holm's procedure over all comparisons of the claim: of many intervals one lies below zero by chance.

What a paper leaves open is decided in several ways: other readings of its words, and cases that
take the place of others (`driftpeak.experiments.experiment.Case`). A claim *does not hold* only if
it is refuted whichever way that is; if it holds one way and is refuted another, it *depends*.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import xarray as xr

from driftpeak.errors import DriftpeakError
from driftpeak.experiments.bootstrap import FEWEST, LEVEL, Array, Bootstrap, Combine, holm, in_words
from driftpeak.simulation.samples import by_sample

Verdict = Literal["holds", "does not hold", "depends", "undecided", "too few trials"]
VERDICTS: tuple[Verdict, ...] = (
    "holds", "does not hold", "depends", "undecided", "too few trials",
)  # fmt: skip
FIRST = ""
"""The setting in which everything that the paper leaves open is as first chosen."""


@dataclass(frozen=True)
class Column:
    """One number per sample: what `policy` did in `case`, per step over the steps first..last.

    Of a case that keeps totals only, the total.

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
        """Shape `(trial, step)`."""
        run = runs[self.measure].sel(policy=self.policy)
        return np.asarray(run.values[:, self.first - 1 : self.last], dtype=float)

    @property
    def cases(self) -> tuple[str, ...]:
        """The case or the cases."""
        return self.case if isinstance(self.case, tuple) else (self.case,)

    def moved(self, places: Mapping[str, str]) -> "Column":
        """The same in the cases that take the place of its own."""
        moved = tuple(places.get(case, case) for case in self.cases)
        return replace(self, case=moved if isinstance(self.case, tuple) else moved[0])


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

    @property
    def cases(self) -> set[str]:
        """All cases that it looks at."""
        return {case for column in self.columns for case in column.cases}

    def moved(self, places: Mapping[str, str]) -> "Comparison":
        """The same in the cases that take the place of its own."""
        return replace(self, columns=tuple(column.moved(places) for column in self.columns))


@dataclass(frozen=True)
class Claim:
    """What a paper says, or what would have to be so.

    Attributes:
        check: whether it is a check of our own instead of the paper's claim: on other data, with
            other policies, or of something that the paper does not say.
        readings: other comparisons that the paper's words may mean, by what they are then taken to
            mean: `slowly` has no number.
    """

    text: str
    comparisons: tuple[Comparison, ...]
    check: bool = False
    readings: Mapping[str, tuple[Comparison, ...]] = field(default_factory=dict)

    def settings(
        self, choices: Mapping[str, Mapping[str, str]]
    ) -> dict[str, tuple[Comparison, ...]]:
        """The claim's comparisons as first chosen, in every reading, and under every open choice.

        Arguments:
            choices: by open choice, the cases that take the place of others.
        """
        cases = {case for comparison in self.comparisons for case in comparison.cases}
        elsewhere = {
            choice: tuple(comparison.moved(places) for comparison in self.comparisons)
            for choice, places in choices.items()
            if cases & places.keys()
        }
        return {FIRST: self.comparisons, **self.readings, **elsewhere}


@dataclass(frozen=True)
class Measured:
    """The statistic, and its interval of confidence `LEVEL`.

    Attributes:
        setting: how what the paper leaves open was decided; `FIRST` as first chosen.
        refuted_at: the adjusted p-value (Holm) of its being negative.
    """

    label: str
    estimate: float
    low: float
    high: float
    samples: int
    refuted_at: float
    verdict: Verdict
    setting: str = FIRST

    def __str__(self) -> str:
        return f"{self.label}: {in_words(self.estimate, self.low, self.high)}"


@dataclass(frozen=True)
class Judgement:
    """A claim with what was measured, and its verdict in every setting."""

    claim: Claim
    measured: tuple[Measured, ...]
    verdict: Verdict
    settings: Mapping[str, Verdict]

    @property
    def exceptions(self) -> dict[str, Verdict]:
        """The settings in which the verdict is another than as first chosen."""
        return {
            setting: verdict
            for setting, verdict in self.settings.items()
            if verdict != self.settings[FIRST]
        }

    def __str__(self) -> str:
        others = "".join(f"; {setting}: {verdict}" for setting, verdict in self.exceptions.items())
        first = f" (as first chosen: {self.settings[FIRST]}{others})" if others else ""
        return self.verdict + first


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


def judge(
    claim: Claim,
    results: Mapping[str, xr.Dataset],
    choices: Mapping[str, Mapping[str, str]] | None = None,
) -> Judgement:
    """Put the claim to the test. The same results give the same numbers.

    Arguments:
        choices: by open choice, the cases that take the place of others
            (`driftpeak.experiments.experiment.Experiment.open_choices`).

    Raises:
        DriftpeakError: columns of a comparison with different numbers of samples.
    """
    settings = claim.settings(choices or {})
    named = [(setting, one) for setting, several in settings.items() for one in several]
    found = [_resampled(comparison, results) for _, comparison in named]
    adjusted = holm([bootstrap.p_value() for _, bootstrap in found])
    measured = tuple(
        _measured(comparison.label, *one, float(refuted_at), setting)
        for (setting, comparison), one, refuted_at in zip(named, found, adjusted, strict=True)
    )
    verdicts = {
        setting: _all_hold([one.verdict for one in measured if one.setting == setting])
        for setting in settings
    }
    return Judgement(claim, measured, _over_settings(verdicts), verdicts)


def _resampled(
    comparison: Comparison, results: Mapping[str, xr.Dataset]
) -> tuple[float, Bootstrap]:
    """The statistic, and what resampling makes of it."""
    columns = [column.samples(results) for column in comparison.columns]
    if len({len(column) for column in columns}) != 1:
        raise DriftpeakError(f"{comparison.label}: samples cannot be paired, their numbers differ")
    samples = np.stack(columns, axis=-1)
    estimate = float(comparison.combine(samples))
    return estimate, Bootstrap.of(samples, comparison.combine)


def _measured(
    label: str, estimate: float, bootstrap: Bootstrap, refuted_at: float, setting: str
) -> Measured:
    low, high = bootstrap.interval()
    verdict: Verdict = "undecided"
    if bootstrap.count < FEWEST:
        verdict = "too few trials"
    elif low > 0:
        verdict = "holds"
    elif refuted_at <= (1 - LEVEL) / 2:
        verdict = "does not hold"
    return Measured(label, estimate, low, high, bootstrap.count, refuted_at, verdict, setting)


def _all_hold(verdicts: Sequence[Verdict]) -> Verdict:
    """Of a list of comparisons: refuted by one, shown by all."""
    decisive: Verdict
    for decisive in ("does not hold", "too few trials", "undecided"):
        if decisive in verdicts:
            return decisive
    return "holds"


def _over_settings(verdicts: Mapping[str, Verdict]) -> Verdict:
    """Of a claim in every setting: refuted only if it is in all."""
    found = set(verdicts.values())
    if len(found) == 1:
        return next(iter(found))
    if {"holds", "does not hold"} <= found:
        return "depends"
    return "holds" if verdicts[FIRST] == "holds" else "undecided"
