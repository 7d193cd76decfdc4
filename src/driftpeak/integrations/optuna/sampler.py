"""The sampler: what Optuna calls."""

import logging
import secrets
from collections.abc import Callable, Sequence
from operator import attrgetter
from threading import RLock
from typing import Any

from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.search_space import intersection_search_space
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from driftpeak._core.errors import LARGEST_SEED, DriftpeakError, at_least_integer, shown
from driftpeak.integrations.optuna.follower import Clock, Follower
from driftpeak.integrations.optuna.space import Distributions
from driftpeak.live.engines.drifting_gp import DriftingGP
from driftpeak.live.engines.setup import LivePolicy, is_policy
from driftpeak.live.study.clock import Time
from driftpeak.live.study.suggestion import EstimatedPeak

KEPT = 8  # followers: search spaces, brackets of a pruner, studies
TIMES: dict[str, Clock] = {
    "number": attrgetter("number"),
    "start": attrgetter("datetime_start"),
}
INDEPENDENT = (
    "parameter %r of trial %d is sampled independently, by %s: it is not in the search space that "
    "all completed trials share, since it is conditional or its range has changed. "
    "DriftSampler(warn_independent_sampling=False) says nothing"
)


class DriftSampler(BaseSampler):
    """A sampler of Optuna for an objective that moves: old trials count less than new ones.

    It suggests what a `driftpeak.Optimizer` with a `DriftingGP` suggests, of the parameters that
    all completed trials share; other ones, and those of the first trial, are sampled independently.
    Trials that are running count as if they had brought what is expected of them, so that workers
    look in different places. A pruned trial counts with the value that Optuna gives it, its last
    report; failed trials count for nothing.

    All that it knows is in the study's trials. A new one, in another process too, goes on with a
    study; it reads all trials once, and then only what has happened since.

    Arguments:
        seed: of everything random; by default another one each time.
        policy: as of an `Optimizer`; by default `DriftingGP()`.
        time: when a trial is made. "number": the trial's number, in steps. "start": when it was
            started, by the computer's clock, in seconds. Or a function of an
            `optuna.trial.FrozenTrial` that returns a time, as `lambda trial:
            trial.user_attrs["hour"]`; user attributes are to be set before the first parameter is
            suggested.
        independent_sampler: for parameters that not all completed trials share; by default a
            `RandomSampler` with this seed.
        use_pruned: whether pruned trials count.
        warn_independent_sampling: whether to log a warning, once for each parameter, when it is
            sampled independently after the first trial.

    Raises:
        DriftpeakError: something that is no `DriftingGP`, no sampler or no way of telling the time,
            a seed that is not a whole number from 0 on.

    Example:
        >>> import optuna
        >>> from driftpeak.integrations.optuna import DriftSampler
        >>> study = optuna.create_study(sampler=DriftSampler(seed=0))
        >>> def objective(trial):
        ...     x = trial.suggest_float("x", 0, 1)
        ...     return (x - 0.2 - 0.005 * trial.number) ** 2
        >>> study.optimize(objective, n_trials=20)
        >>> abs(study.sampler.best(study)["x"] - 0.3) < 0.1
        True
    """

    def __init__(
        self,
        *,
        seed: int | None = None,
        policy: LivePolicy | None = None,
        time: str | Callable[[FrozenTrial], Time] = "number",
        independent_sampler: BaseSampler | None = None,
        use_pruned: bool = True,
        warn_independent_sampling: bool = True,
    ) -> None:
        if policy is not None and (not is_policy(policy) or policy.needs_points):
            raise DriftpeakError(f"policy must be a DriftingGP; got {shown(policy)}")
        if not isinstance(independent_sampler, BaseSampler | None):
            raise DriftpeakError(
                f"independent_sampler must be a sampler of Optuna; got {shown(independent_sampler)}"
            )
        seed = None if seed is None else at_least_integer("seed", seed, 0, LARGEST_SEED)
        self._seed = secrets.randbelow(2**31) if seed is None else seed
        self._policy = DriftingGP() if policy is None else policy
        self._clock = _clock(time)
        self._independent = independent_sampler or RandomSampler(seed)
        self._use_pruned = use_pruned
        self._warn = warn_independent_sampling
        self._begin()

    def _begin(self) -> None:
        """What may be lost: it follows from the trials."""
        self._lock = RLock()  # threads share a sampler
        self._followers: list[Follower] = []  # newest first
        self._warned: set[str] = set()

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in vars(self).items() if k not in ("_lock", "_followers", "_warned")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._begin()

    def reseed_rng(self) -> None:
        """Let independent samples of workers differ; all others do by the trials' numbers."""
        self._independent.reseed_rng()

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> Distributions:
        """What all completed trials have suggested alike, but for what has a single value."""
        return _shared(study)

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: Distributions
    ) -> dict[str, Any]:
        """What to set in a trial, of the parameters in a search space.

        Raises:
            ValueError: the study has several objectives.
        """
        self._raise_error_if_multi_objective(study)
        if not search_space:
            return {}
        with self._lock:
            return self._follower(study, search_space, trial).ask(trial)

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """What to set a parameter to that not all completed trials share.

        Raises:
            ValueError: the study has several objectives.
        """
        self._raise_error_if_multi_objective(study)
        if self._warn and param_name not in self._warned and _completed(study):
            self._warned.add(param_name)
            by = type(self._independent).__name__
            logging.getLogger(__name__).warning(INDEPENDENT, param_name, trial.number, by)
        return self._independent.sample_independent(study, trial, param_name, param_distribution)

    def after_trial(
        self,
        study: Study,
        trial: FrozenTrial,
        state: TrialState,
        values: Sequence[float] | None,
    ) -> None:
        """Nothing but for the independent sampler: a finished trial is read at the next one."""
        self._independent.after_trial(study, trial, state, values)

    def best(self, study: Study, time: Time | None = None) -> EstimatedPeak:
        """The estimated peak *now*, of the parameters that all completed trials share.

        `study.best_trial` is the best ever, which may no longer be true.

        Arguments:
            study: a study, of this sampler or of another.
            time: of the peak; by default that of the newest trial. It may be to come.

        Returns:
            A mapping of parameters, with the `mean` and the `deviation` of the objective there.

        Raises:
            DriftpeakError: no trial is complete.
            ValueError: the study has several objectives.
        """
        self._raise_error_if_multi_objective(study)
        search_space = _shared(study)
        if not search_space:
            raise DriftpeakError(
                "there is nothing to estimate a peak of: no trial is complete, or there is no "
                "parameter that all completed trials share"
            )
        with self._lock:
            return self._follower(study, search_space).best(time)

    def _follower(
        self, study: Study, search_space: Distributions, trial: FrozenTrial | None = None
    ) -> Follower:
        """One that has been told all trials of a study, but for the one that is sampled now."""
        every = study.get_trials(deepcopy=False)
        others = {one.number: one for one in every if trial is None or one.number != trial.number}
        maximize = study.direction == StudyDirection.MAXIMIZE
        found = next(
            (one for one in self._followers if one.follows(search_space, maximize, others)), None
        )
        if found is None:
            found = Follower(
                search_space,
                maximize=maximize,
                policy=self._policy,
                seed=self._seed,
                clock=self._clock,
                early=self._clock in TIMES.values(),
                use_pruned=self._use_pruned,
            )
        rest = [one for one in self._followers if one is not found]
        self._followers = [found, *rest][:KEPT]
        found.catch_up(list(others.values()))
        return found


def _completed(study: Study) -> list[FrozenTrial]:
    return study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))


def _shared(study: Study) -> Distributions:
    """What all completed trials have suggested alike, but for what has a single value."""
    found = intersection_search_space(_completed(study))
    return {name: one for name, one in found.items() if not one.single()}


def _clock(time: object) -> Clock:
    if callable(time):
        return time
    if not isinstance(time, str) or time not in TIMES:
        raise DriftpeakError(
            "time must be 'number', 'start', or a function of a trial that returns a time; got "
            f"{shown(time)}"
        )
    return TIMES[time]
