"""An optimiser that is kept up to date with the trials of an Optuna study.

It is a cache: its state is a function of the trials, the seed and the policy, so that a new one
gives equal suggestions. A suggestion has the number of its trial plus 1. Its random numbers depend
on the seed and on this number, which differs between all processes that work on a study.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from optuna.trial import FrozenTrial, TrialState

from driftpeak.integrations._suggestion_numbers import NumberedOptimizer
from driftpeak.integrations.optuna._conditions import Condition, Distributions
from driftpeak.integrations.optuna._space import SearchSpace
from driftpeak.live._engines.setup import LivePolicy
from driftpeak.live._study.clock import Time
from driftpeak.live._study.suggestion import EstimatedPeak

MOST_RUNNING = 500  # the newest are used; trials of killed workers stay in the state "running"
LARGEST = sys.float_info.max
Clock = Callable[[FrozenTrial], Time]


class Follower:
    """An optimiser on a search space with the observations of a study's trials.

    Arguments:
        distributions: the search space.
        conditions: conditions of its conditional parameters.
        maximize: whether the objective is maximised.
        policy: the optimiser's policy.
        seed: the optimiser's seed.
        clock: returns the time of a trial.
        early: whether `clock` accepts a trial without parameters.
        use_pruned: whether a pruned trial counts, with the value that Optuna assigns to it.
    """

    def __init__(
        self,
        distributions: Distributions,
        conditions: Mapping[str, Condition] | None = None,
        *,
        maximize: bool,
        policy: LivePolicy,
        seed: int,
        clock: Clock,
        early: bool,
        use_pruned: bool,
    ) -> None:
        self.space = SearchSpace(distributions, conditions)
        self.optimizer = NumberedOptimizer(
            self.space.box, maximize=maximize, policy=policy, seed=seed
        )
        self.clock, self.early = clock, early
        self.states = (TrialState.COMPLETE, TrialState.PRUNED)[: 1 + use_pruned]
        self.settled: dict[int, datetime | None] = {}  # completion times of processed trials
        self._unknown: list[FrozenTrial] = []  # running trials without parameters

    def follows(
        self,
        distributions: Distributions,
        conditions: Mapping[str, Condition],
        maximize: bool,
        trials: Mapping[int, FrozenTrial],
    ) -> bool:
        """Return whether it has this search space and direction, and no other trials."""
        return (
            self.optimizer.maximize == maximize
            and self.space.distributions == distributions
            and self.space.conditions == conditions
            and all(
                number in trials and trials[number].datetime_complete == when
                for number, when in self.settled.items()
            )
        )

    def catch_up(self, trials: Sequence[FrozenTrial]) -> None:
        """Process newly finished trials and all running ones."""
        finished = [t for t in trials if t.state.is_finished() and t.number not in self.settled]
        for trial in sorted(finished, key=_finish):
            self._settle(trial)
        running = [trial for trial in trials if trial.state == TrialState.RUNNING][-MOST_RUNNING:]
        numbers = {trial.number + 1 for trial in running}
        for number in self.optimizer.numbers_out():
            if number not in numbers:
                self.optimizer.take_back(number)
        for trial in running:
            if (setting := self.space.setting(trial)) is not None:
                self.optimizer.hand_out(trial.number + 1, self.clock(trial), setting)
        out = self.optimizer.numbers_out()
        self._unknown = [trial for trial in running if trial.number + 1 not in out]

    def _settle(self, trial: FrozenTrial) -> None:
        number, setting = trial.number + 1, self.space.setting(trial)
        value = trial.value if trial.state in self.states else None
        if value is not None and setting is not None:
            when = self.clock(trial)
            self.optimizer.hand_out(number, when, setting)
            # Optuna accepts infinities; a reward as extreme as this is treated as an outlier
            self.optimizer.tell(number, min(max(value, -LARGEST), LARGEST), when)
        else:
            self.optimizer.take_back(number)
        self.settled[trial.number] = trial.datetime_complete

    def ask(self, trial: FrozenTrial) -> dict[str, Any]:
        """Return the suggested parameters of a trial.

        Earlier trials without parameters are being sampled by other processes at this moment.
        Those processes compute suggestions equal to the ones made here, which are pending.
        """
        when = self.clock(trial)
        for other in self._unknown:
            if other.number < trial.number:
                self.optimizer.ask_as(other.number + 1, self.clock(other) if self.early else when)
        return self.space.values(self.optimizer.ask_as(trial.number + 1, when))

    def ask_rest(self, trial: FrozenTrial) -> dict[str, Any]:
        """Return suggested parameters that agree with those that the trial has already.

        Raises:
            DriftpeakError: a parameter of the trial is outside its range.
        """
        number, when = trial.number + 1, self.clock(trial)
        return self.space.values(self.optimizer.ask_as(number, when, self.space.coded(trial)))

    def best(self, time: Time | None) -> EstimatedPeak:
        """Return the estimated peak with Optuna's values."""
        peak = self.optimizer.best(time)
        return EstimatedPeak(
            peak.time,
            peak.mean,
            peak.deviation,
            self.space.values(dict(peak)),
            self.optimizer.coding,
        )


def _finish(trial: FrozenTrial) -> tuple[datetime, int]:
    """Return the sort key of finished trials, which is equal in all processes."""
    return trial.datetime_complete or datetime.min, trial.number
