"""Comparison of policies with the best one, with a test of the significance of differences."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import xarray as xr
from scipy import special

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DriftpeakError, shown
from driftpeak._core.numerics.holm import holm
from driftpeak.simulation._regrets import regrets_of
from driftpeak.simulation._samples import by_sample, standard_error

LEVEL = 0.05
"""Family-wise probability of a false significant difference, over all comparisons."""


@dataclass(frozen=True)
class Compared:
    """Comparison of a policy with the policy of lowest regret.

    Attributes:
        difference: difference of mean regret per step, in units of the reward, at least 0.
        stderr: standard error of the difference; NaN if there is only one sample.
        p_value: two-sided p-value, adjusted for all comparisons (Holm).
        interval: 95 % interval of the difference, for this comparison alone (Student's t over the
            samples of paired differences); NaN if there is only one sample.
    """

    difference: float
    stderr: float
    p_value: float
    interval: tuple[float, float] = (math.nan, math.nan)

    @property
    def worse(self) -> bool:
        """Whether the policy had significantly more regret than the best."""
        return self.p_value <= LEVEL

    @property
    def equal(self) -> bool:
        """Whether the policy had exactly the regret of the best in every sample."""
        return self.difference == 0 and self.stderr == 0


@dataclass(frozen=True)
class Verdict:
    """The policy of lowest mean regret, and the comparisons of the other policies with it.

    Attributes:
        best: name of the policy of lowest mean regret.
        others: comparisons by name of the policy, lowest regret first.
        samples: number of samples of a mean: trials, or blocks of steps of one history.
    """

    best: str
    others: dict[str, Compared]
    samples: int

    @property
    def alike(self) -> tuple[str, ...]:
        """Names of the other policies that are not significantly worse than the best."""
        return tuple(name for name, other in self.others.items() if not other.worse)

    @property
    def worse(self) -> tuple[str, ...]:
        """Names of the other policies that had significantly more regret."""
        return tuple(name for name, other in self.others.items() if other.worse)

    @property
    def clear(self) -> bool:
        """Whether all other policies are significantly worse than the best."""
        return not self.alike

    def in_words(self, *, unit: str = "", peak: str = "peak") -> str:
        """Return the result of the comparison in one or two sentences.

        Arguments:
            unit: unit of the reward, for example "degrees C".
            peak: noun for the optimum, "peak" or "minimum".
        """
        if not self.others:
            return f"{self.best} was the only policy, so there is no comparison."
        if self.samples < 2:
            return (
                f"{self.best} had the lowest regret in one trial. Run more trials to test whether "
                "the differences are significant."
            )
        if self.clear:
            second, other = next(iter(self.others.items()))
            gap = f"{other.difference:.3g} +- {other.stderr:.2g}{' ' * bool(unit)}{unit}"
            return (
                f"The differences are significant: {self.best} tracked the {peak} best, with "
                f"{gap} less regret per step than {second}, the next best policy."
            )
        lowest = (
            f"{self.best} had the lowest regret, not significantly lower than "
            f"{in_a_row(self.alike)}"
        )
        if not self.worse:
            text = f"The differences are not significant: {lowest}."
        else:
            rest = in_a_row(self.worse) if len(self.worse) <= 3 else f"the other {len(self.worse)}"
            text = (
                f"Some differences are significant: {lowest}; {rest} tracked the {peak} "
                "significantly worse."
            )
        equal = [name for name, other in self.others.items() if other.equal]
        return text + (
            f" {in_a_row(equal)} had exactly the regret of {self.best}." if equal else ""
        )


@checked
def verdict(
    runs: xr.Dataset, candidates: Sequence[str] | None = None, *, independent_trials: bool
) -> Verdict:
    """Compare every policy with the policy of lowest mean regret, in paired differences.

    Differences are tested by Student's t over samples: trials, or if all trials share one history,
    means of blocks of steps (`driftpeak.simulation._samples`). The p-values are adjusted for all
    comparisons (Holm). They are two-sided because the best policy was chosen on the same data.

    Arguments:
        runs: result of `simulate`, with everything or summaries kept.
        candidates: names of policies; by default all that observe only their own rewards.
        independent_trials: whether trials are samples; False for one recorded history.

    Raises:
        DriftpeakError: no candidates, or one that is not a policy of the runs.
    """
    if candidates is None:
        candidates = [str(name) for name in runs["policy"].values[runs["foresight"] == "none"]]
    known = set(map(str, runs["policy"].values))
    if unknown := [name for name in candidates if name not in known]:
        raise DriftpeakError(
            f"candidates must be policies of the runs, {', '.join(sorted(known))}; got "
            f"{shown(unknown[0])}"
        )
    if not candidates:
        raise DriftpeakError(
            "candidates must name at least one policy that does not observe the true function; "
            "got none. Add such a policy to the runs"
        )
    regrets = {
        name: regrets_of(runs, name, independent_trials=independent_trials) for name in candidates
    }
    best, *others = sorted(regrets, key=lambda name: float(regrets[name].mean()))
    samples = len(by_sample(regrets[best], independent_trials=independent_trials))
    differences = []
    for name in others:
        apart = regrets[name] - regrets[best]
        # for unequal blocks, the mean of their means is not exactly the mean
        difference = float(apart.mean())
        error = standard_error(apart, independent_trials=independent_trials)
        half = float(special.stdtrit(samples - 1, 1 - LEVEL / 2)) * error
        p_value = 1.0  # also for a single sample, whose error is NaN
        if error > 0:
            p_value = float(2 * special.stdtr(samples - 1, -abs(difference) / error))
        elif error == 0 and difference != 0:
            p_value = 0.0
        differences.append(
            Compared(difference, error, p_value, (difference - half, difference + half))
        )
    adjusted = holm([compared.p_value for compared in differences])
    compared = {
        name: replace(each, p_value=float(p_value))
        for name, each, p_value in zip(others, differences, adjusted, strict=True)
    }
    return Verdict(best, compared, samples)


@checked
def in_a_row(names: Sequence[str]) -> str:
    """Return names as a list in words: `a`, `a and b`, `a, b and c`.

    Arguments:
        names: at least one name.

    Raises:
        DriftpeakError: no names.
    """
    if not len(names):
        raise DriftpeakError("names must have at least one element; got none")
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
