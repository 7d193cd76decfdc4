"""Who followed the peak best, as far as the differences between policies are larger than chance."""

from collections.abc import Sequence
from dataclasses import dataclass

import xarray as xr
from scipy import stats

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DriftpeakError, shown
from driftpeak._core.numerics.holm import holm
from driftpeak.simulation.regrets import regrets_of
from driftpeak.simulation.samples import by_sample

LEVEL = 0.05
"""Chance that any difference is taken for real that is none, over all comparisons together."""


@dataclass(frozen=True)
class Compared:
    """A policy beside the one of least regret.

    Attributes:
        difference: of mean regret per step, in units of the reward, at least 0.
        stderr: its standard error, NaN where there is one sample only.
        p_value: two-sided, and adjusted for all comparisons (Holm).
    """

    difference: float
    stderr: float
    p_value: float

    @property
    def worse(self) -> bool:
        """Whether it had more regret, by more than chance."""
        return self.p_value <= LEVEL

    @property
    def equal(self) -> bool:
        """Whether it had exactly as much regret in every sample."""
        return self.difference == 0 and self.stderr == 0


@dataclass(frozen=True)
class Verdict:
    """The policy of least mean regret, and the others beside it.

    Attributes:
        best: the policy of least mean regret.
        others: by name, least regret first.
        samples: how many a mean has: trials, or blocks of steps of one history.
    """

    best: str
    others: dict[str, Compared]
    samples: int

    @property
    def alike(self) -> tuple[str, ...]:
        """The others that cannot be told apart from the best."""
        return tuple(name for name, one in self.others.items() if not one.worse)

    @property
    def worse(self) -> tuple[str, ...]:
        """The others that had more regret, by more than chance."""
        return tuple(name for name, one in self.others.items() if one.worse)

    @property
    def clear(self) -> bool:
        """Whether one policy did best, by more than chance."""
        return not self.alike

    def in_words(self, *, unit: str = "", peak: str = "peak") -> str:
        """One sentence or two: whether there is a best policy, and who cannot be told apart.

        Arguments:
            unit: of the reward, as "degrees C".
            peak: what was followed.
        """
        if not self.others:
            return f"{self.best} was the only policy: there is nothing to compare it with."
        if self.samples < 2:
            return (
                f"{self.best} had the least regret, in one trial: whether that is more than chance "
                "only more trials can tell."
            )
        if self.clear:
            second, one = next(iter(self.others.items()))
            gap = f"{one.difference:.3g} +- {one.stderr:.2g}{' ' * bool(unit)}{unit}"
            return (
                f"The differences are larger than chance: {self.best} followed the {peak} best, "
                f"with {gap} less regret per step than {second}, the next."
            )
        least = f"{self.best} had the least regret"
        if not self.worse:
            text = (
                f"The differences are no larger than chance: {least}, and {in_a_row(self.alike)} "
                "cannot be told apart from it."
            )
        else:
            rest = in_a_row(self.worse) if len(self.worse) <= 3 else f"the other {len(self.worse)}"
            text = (
                f"Some differences are larger than chance: {least}; {in_a_row(self.alike)} cannot "
                f"be told apart from it, and {rest} followed the {peak} worse, by more than chance."
            )
        equal = [name for name, one in self.others.items() if one.equal]
        return text + (f" {in_a_row(equal)} had just the regret of {self.best}." if equal else "")


@checked
def verdict(
    runs: xr.Dataset, candidates: Sequence[str] | None = None, *, independent_trials: bool
) -> Verdict:
    """Compare every policy with the one of least mean regret, in pairs, step by step.

    Differences are tested by Student's t over samples: trials, or where all share one history, the
    means of blocks of steps (`driftpeak.simulation.samples`). The p-values are adjusted for all
    comparisons together (Holm), two-sided since the best was found in the same data.

    Arguments:
        runs: as `simulate` gives them, however they were kept.
        candidates: names of policies; default all that see no more than their own rewards.
        independent_trials: whether trials are samples; False for one recorded history.

    Raises:
        DriftpeakError: no candidates, or one that is no policy of the runs.
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
            "there is no policy to judge: those that are shown the true function are yardsticks"
        )
    regrets = {
        name: regrets_of(runs, name, independent_trials=independent_trials) for name in candidates
    }
    best, *others = sorted(regrets, key=lambda name: float(regrets[name].mean()))
    found = []
    samples = len(by_sample(regrets[best], independent_trials=independent_trials))
    for name in others:
        each = by_sample(regrets[name] - regrets[best], independent_trials=independent_trials)
        # of unequal blocks the mean of means is not quite the mean
        difference = float((regrets[name] - regrets[best]).mean())
        if samples < 2:
            found.append((difference, float("nan"), 1.0))
            continue
        error = float(each.std(ddof=1) / samples**0.5)
        if error > 0:
            chance = float(2 * stats.t.sf(abs(difference) / error, samples - 1))
        else:
            chance = 1.0 if difference == 0 else 0.0
        found.append((difference, error, chance))
    adjusted = holm([chance for _, _, chance in found])
    compared = {
        name: Compared(difference, error, float(p_value))
        for name, (difference, error, _), p_value in zip(others, found, adjusted, strict=True)
    }
    return Verdict(best, compared, samples)


@checked
def in_a_row(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`.

    Arguments:
        names: at least one.

    Raises:
        DriftpeakError: no names.
    """
    if not len(names):
        raise DriftpeakError("names must be at least one; got none")
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
