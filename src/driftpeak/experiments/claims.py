"""Claims as tests: a paired comparison over trials, its bootstrap interval, and a verdict.

A claim is a list of comparisons, each a statistic of paired samples that is positive if the claim
is right. It holds if the intervals of all of them lie above zero, does not hold if one lies below,
and is undecided otherwise. That all must hold needs no correction for their number.

Where a paper leaves a choice open, its claim is put to the test with several plausible choices, the
settings. It holds if it holds in all, does not hold if it fails in all, and
depends on the choice if it holds in some and fails in others.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import xarray as xr
from scipy import stats

from driftpeak.errors import DriftpeakError

Array = np.ndarray[Any, np.dtype[np.float64]]
Verdict = Literal["holds", "does not hold", "undecided", "depends"]
Whose = Literal["paper", "ours"]

RESAMPLES = 10_000
LEVEL = 0.95
FEWEST = 5
"""With fewer samples nothing is decided: all of one sign happens by chance too often."""


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
        history, per block of steps.

        The blocks are consecutive and about sqrt(T) long, so that blocks are nearly independent.
        """
        if isinstance(self.case, tuple):
            return np.array([self._values(results[case]).mean() for case in self.case])
        runs = results[self.case]
        return by_sample(self._values(runs), independent=bool(runs.attrs["independent_trials"]))

    def _values(self, runs: xr.Dataset) -> Array:
        """Shape `(trial, step)`."""
        run = runs[self.measure].sel(policy=self.policy)
        return np.asarray(run.values[:, self.first - 1 : self.last], dtype=float)

    @property
    def cases(self) -> tuple[str, ...]:
        """The case or the cases."""
        return self.case if isinstance(self.case, tuple) else (self.case,)


def by_sample(values: Array, *, independent: bool) -> Array:
    """From shape `(..., trial, step)` to `(..., sample)`, means over a trial or a block of steps.

    The blocks, of one history that all trials share, are consecutive and about sqrt(T) long.
    """
    if independent:
        return values.mean(axis=-1)
    series = values.mean(axis=-2)
    blocks = np.array_split(series, round(series.shape[-1] ** 0.5), axis=-1)
    return np.stack([block.mean(axis=-1) for block in blocks], axis=-1)


Combine = Callable[[Array], Any]


def difference(samples: Array) -> Any:
    """Mean of the first column minus that of the second."""
    return (samples[..., 0] - samples[..., 1]).mean(axis=-1)


def majority(samples: Array) -> Any:
    """Share of the samples in which the second column is at most the first, less one half."""
    return (samples[..., 1] <= samples[..., 0]).mean(axis=-1) - 0.5


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


@dataclass(frozen=True)
class Measured:
    """The statistic, and its interval of confidence `LEVEL`."""

    label: str
    estimate: float
    low: float
    high: float
    samples: int
    verdict: Verdict


@dataclass(frozen=True)
class Ruling:
    """What was measured in one setting of a claim."""

    setting: str
    measured: tuple[Measured, ...]
    verdict: Verdict


@dataclass(frozen=True)
class Judgement:
    """A claim with the rulings in all its settings."""

    claim: Claim
    rulings: tuple[Ruling, ...]
    verdict: Verdict

    @property
    def measured(self) -> tuple[Measured, ...]:
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
    """Put the claim to the test. The same results give the same numbers."""
    rulings = tuple(_rule(setting, every, results) for setting, every in claim.settings.items())
    verdicts = {one.verdict for one in rulings}
    verdict: Verdict = "undecided"
    if len(verdicts) == 1:
        verdict = rulings[0].verdict
    elif {"holds", "does not hold"} <= verdicts:
        verdict = "depends"
    return Judgement(claim, rulings, verdict)


def _rule(setting: str, comparisons: Comparisons, results: Mapping[str, xr.Dataset]) -> Ruling:
    measured = tuple(measure(comparison, results) for comparison in comparisons)
    verdicts = {one.verdict for one in measured}
    verdict: Verdict = "undecided"
    if verdicts == {"holds"}:
        verdict = "holds"
    elif "does not hold" in verdicts:
        verdict = "does not hold"
    return Ruling(setting, measured, verdict)


def measure(comparison: Comparison, results: Mapping[str, xr.Dataset]) -> Measured:
    """The statistic of one comparison and its interval.

    Raises:
        DriftpeakError: columns of different lengths.
    """
    columns = [column.samples(results) for column in comparison.columns]
    if len({len(column) for column in columns}) != 1:
        raise DriftpeakError(f"{comparison.label}: samples cannot be paired, their numbers differ")
    samples = np.stack(columns, axis=-1)
    low, high = interval(samples, comparison.combine)
    verdict: Verdict = "undecided"
    if len(samples) >= FEWEST and low > 0:
        verdict = "holds"
    elif len(samples) >= FEWEST and high < 0:
        verdict = "does not hold"
    estimate = float(comparison.combine(samples))
    return Measured(comparison.label, estimate, low, high, len(samples), verdict)


def interval(samples: Array, combine: Combine, *, seed: int = 0) -> tuple[float, float]:
    """Bootstrap interval over the rows of `samples`: the expanded percentiles.

    Plain percentiles are too narrow for few samples; these are moved outwards to where, for a mean,
    they would agree with Student's t (Hesterberg 2015, What Teachers Should Know About the
    Bootstrap, section 5.4).
    """
    count = len(samples)
    if count < 2:
        return -np.inf, np.inf
    generator = np.random.default_rng(seed)
    replicates = np.concatenate(
        [
            np.atleast_1d(combine(samples[generator.integers(0, count, (RESAMPLES // 20, count))]))
            for _ in range(20)
        ]
    )
    tail = (1 - LEVEL) / 2
    widened = float(stats.norm.cdf(np.sqrt(count / (count - 1)) * stats.t.ppf(tail, count - 1)))
    low, high = np.quantile(replicates, [widened, 1 - widened])
    return float(low), float(high)
