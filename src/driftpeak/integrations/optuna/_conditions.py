"""Inference of conditional parameters from the trials of an Optuna study.

In Optuna, the objective decides which parameters a trial has: `if kind == "sgd": momentum =
trial.suggest_float("momentum", 0, 1)`. The condition is inferred from the trials that have the
parameter and those that lack it.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations

from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution
from optuna.trial import FrozenTrial

from driftpeak.live._space.box import MOST_LEVELS

MOST_PARENTS = 2  # parameters in a condition
Distributions = dict[str, BaseDistribution]
Condition = dict[str, list[int]]
"""Names of parameters and their values with which another one is active.

A value is an integer, or the index of a choice.
"""


class SpaceInference:
    """Inference of the search space of a study from its completed trials.

    A completed trial does not change, so each is read only once.
    """

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        """Forget all trials."""
        self._read: dict[int, FrozenTrial] = {}  # by number
        self._counts: Counter[str] = Counter()
        self._first: Distributions = {}
        self._changing: set[str] = set()  # parameters with several distributions

    def infer(self, trials: Sequence[FrozenTrial]) -> tuple[Distributions, dict[str, Condition]]:
        """Return the search space of completed trials, and the conditions by name of parameter.

        Parents come before the parameters that depend on them. The space lacks parameters with a
        single value, with a range that changes, or with a condition that is not found.
        """
        if not self._are_among(trials):  # trials of another study
            self._begin()
        for trial in trials:
            if trial.number not in self._read:
                self._add(trial)
        return self._space()

    def _are_among(self, trials: Sequence[FrozenTrial]) -> bool:
        """Return whether the trials include all that were read."""
        found = {trial.number: trial for trial in trials}
        return all(
            number in found and found[number].datetime_complete == trial.datetime_complete
            for number, trial in self._read.items()
        )

    def _add(self, trial: FrozenTrial) -> None:
        self._read[trial.number] = trial
        self._counts.update(trial.distributions.keys())
        for name, distribution in trial.distributions.items():
            if self._first.setdefault(name, distribution) != distribution:
                self._changing.add(name)

    def _space(self) -> tuple[Distributions, dict[str, Condition]]:
        counts, trials = self._counts, list(self._read.values())
        space: Distributions = {}
        conditions: dict[str, Condition] = {}
        for name in sorted(counts, key=lambda name: (-counts[name], name)):
            if self._first[name].single() or name in self._changing:
                continue
            if counts[name] < len(trials):
                parents = [parent for parent in space if counts[parent] > counts[name]]
                condition = _condition(name, [p for p in parents if _is_listed(space[p])], trials)
                if condition is None:
                    continue
                conditions[name] = condition
            space[name] = self._first[name]
        return space, conditions


def _condition(name: str, parents: list[str], trials: Sequence[FrozenTrial]) -> Condition | None:
    """Return the fewest parents, with values, that separate the trials with a parameter."""
    having = [trial for trial in trials if name in trial.params]
    lacking = [trial for trial in trials if name not in trial.params]
    parents = [parent for parent in parents if all(parent in trial.params for trial in having)]
    values = {p: {_value(trial, p) for trial in having} - {None} for p in parents}
    parents = sorted(filter(values.get, parents), key=lambda parent: len(values[parent]))
    for count in range(1, MOST_PARENTS + 1):
        for chosen in combinations(parents, count):
            if not any(all(_value(t, p) in values[p] for p in chosen) for t in lacking):
                return {
                    parent: sorted(v for v in values[parent] if v is not None) for parent in chosen
                }
    return None


def _is_listed(distribution: BaseDistribution) -> bool:
    """Return whether a condition may list the values of a parameter."""
    if isinstance(distribution, IntDistribution):
        return not distribution.log and distribution.high - distribution.low < MOST_LEVELS
    return isinstance(distribution, CategoricalDistribution)


def _value(trial: FrozenTrial, name: str) -> int | None:
    """Return an integer or the index of a choice; None if it is absent or outside the range."""
    if name not in trial.params:
        return None
    distribution = trial.distributions[name]
    value = int(distribution.to_internal_repr(trial.params[name]))
    inside = not isinstance(distribution, IntDistribution) or (
        distribution.low <= value <= distribution.high
    )
    return value if inside else None
