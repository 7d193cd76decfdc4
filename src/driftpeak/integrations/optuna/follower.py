"""An optimiser that has been told the trials of a study, and is asked for the next one.

It is a cache. Everything in it follows from the trials, the seed and the policy, so that one made
anew suggests the same. Suggestions are numbered as the trials are, from 1: what is random in them
depends on the seed and the trial's number, which no two processes at work on a study share.
"""

import sys
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from optuna.trial import FrozenTrial, TrialState

from driftpeak.integrations.optuna.space import Distributions, SearchSpace
from driftpeak.integrations.suggestion_numbers import NumberedOptimizer
from driftpeak.live.engines.setup import LivePolicy
from driftpeak.live.study.clock import Time
from driftpeak.live.study.suggestion import EstimatedPeak

MOST_RUNNING = 500  # the newest; workers that died leave theirs running for good
LARGEST = sys.float_info.max
Clock = Callable[[FrozenTrial], Time]


class Follower:
    """What the trials of a study teach, of the parameters in a search space.

    Arguments:
        distributions: the search space.
        maximize: whether large values are good.
        policy: of the optimiser.
        seed: of the optimiser.
        clock: says when a trial was, or is, made.
        early: whether it can say so of a trial that has set nothing yet.
        use_pruned: whether a pruned trial counts with the value that Optuna gives it.
    """

    def __init__(
        self,
        distributions: Distributions,
        *,
        maximize: bool,
        policy: LivePolicy,
        seed: int,
        clock: Clock,
        early: bool,
        use_pruned: bool,
    ) -> None:
        self.space = SearchSpace(distributions)
        self.optimizer = NumberedOptimizer(
            self.space.box, maximize=maximize, policy=policy, seed=seed
        )
        self.clock, self.early = clock, early
        self.states = (TrialState.COMPLETE, TrialState.PRUNED)[: 1 + use_pruned]
        self.settled: dict[int, datetime | None] = {}  # when each finished
        self._unknown: list[FrozenTrial] = []  # for which others are making suggestions

    def follows(
        self, distributions: Distributions, maximize: bool, trials: dict[int, FrozenTrial]
    ) -> bool:
        """Whether it is of this search space, and has been told of these trials only."""
        return (
            self.optimizer.maximize == maximize
            and self.space.distributions == distributions
            and all(
                number in trials and trials[number].datetime_complete == when
                for number, when in self.settled.items()
            )
        )

    def catch_up(self, trials: Sequence[FrozenTrial]) -> None:
        """Be told of the trials that have finished since, and of those that are running."""
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
            # Optuna takes infinities; a reward that is as far off as this is doubted
            self.optimizer.tell(number, min(max(value, -LARGEST), LARGEST), when)
        else:
            self.optimizer.take_back(number)
        self.settled[trial.number] = trial.datetime_complete

    def ask(self, trial: FrozenTrial) -> dict[str, Any]:
        """What to set in a trial.

        Trials before it that have set nothing yet are asking at this moment, in another process,
        and will find what is found here.
        """
        when = self.clock(trial)
        for other in self._unknown:
            if other.number < trial.number:
                self.optimizer.ask_as(other.number + 1, self.clock(other) if self.early else when)
        return self.space.values(self.optimizer.ask_as(trial.number + 1, when))

    def best(self, time: Time | None) -> EstimatedPeak:
        """The estimated peak, with the values that Optuna has."""
        peak = self.optimizer.best(time)
        return EstimatedPeak(
            peak.time,
            peak.mean,
            peak.deviation,
            self.space.values(dict(peak)),
            self.optimizer.coding,
        )


def _finish(trial: FrozenTrial) -> tuple[datetime, int]:
    """The order in which trials are told, whoever tells them."""
    return trial.datetime_complete or datetime.min, trial.number
