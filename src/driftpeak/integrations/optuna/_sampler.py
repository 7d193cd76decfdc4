"""The sampler, which Optuna calls."""

import logging
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from operator import attrgetter
from threading import RLock
from typing import Any

from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.search_space import intersection_search_space
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import LARGEST_SEED, DriftpeakError, at_least_integer, rejected, shown
from driftpeak.integrations.optuna._conditions import Condition, Distributions, SpaceInference
from driftpeak.integrations.optuna._follower import Clock, Follower
from driftpeak.live._engines.drifting_gp import DriftingGP
from driftpeak.live._engines.setup import LivePolicy, is_policy
from driftpeak.live._study.clock import Time
from driftpeak.live._study.suggestion import EstimatedPeak

KEPT = 8  # cached optimisers, for several search spaces, brackets of a pruner, or studies
TIMES: dict[str, Clock] = {
    "number": attrgetter("number"),
    "start": attrgetter("datetime_start"),
}
INDEPENDENT = (
    "parameter %r of trial %d is sampled independently by %s, because no completed trial has this "
    "parameter with this range. "
    "DriftSampler(warn_independent_sampling=False) suppresses this warning."
)


class DriftSampler(BaseSampler):
    """A sampler of Optuna for a drifting objective, which gives old trials less weight.

    Its suggestions are those of a `driftpeak.Optimizer` with a `DriftingGP`. A parameter is sampled
    independently until a completed trial has it with its present range.

    Conditional parameters are inferred from the completed trials. A condition lists values of one
    or two categorical or integer parameters, which may be conditional too. A parameter with another
    condition, such as `x > 0.5`, is suggested when the objective requests it, given the values that
    the trial has already, from the trials that have this parameter.

    Running trials are fantasised at their posterior mean, so that workers evaluate
    different settings. A pruned trial counts with the value that Optuna assigns to it, its last
    report. Failed trials are not used.

    The state is computed from the study's trials. A new sampler, also in another process, therefore
    resumes a study. It reads all trials once, and then only the changes.

    Arguments:
        seed: random seed; random by default.
        policy: as for `Optimizer`; by default `DriftingGP()`.
        time: the time of a trial. "number": the trial's number, in steps. "start": its start by the
            computer's clock, in seconds. Or a function of an `optuna.trial.FrozenTrial` that
            returns a time, such as `lambda trial: trial.user_attrs["hour"]`; set user attributes
            before the first parameter is suggested.
        independent_sampler: for parameters that no completed trial has with their present range;
            by default a `RandomSampler` with this seed.
        use_pruned: whether pruned trials count.
        warn_independent_sampling: whether to log a warning, once for each parameter, when it is
            sampled independently after the first trial.

    Raises:
        DriftpeakError: the policy is not a `DriftingGP`, the sampler is not a sampler of Optuna,
            `time` is invalid, or the seed is not an integer of at least 0.

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

    @checked
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
        seed = None if seed is None else at_least_integer("seed", seed, 0, LARGEST_SEED)
        self._seed = secrets.randbelow(2**31) if seed is None else seed
        self._policy = DriftingGP() if policy is None else policy
        self._clock = _clock(time)
        self._independent = independent_sampler or RandomSampler(seed)
        self._use_pruned = use_pruned
        self._warn = warn_independent_sampling
        self._begin()

    def _begin(self) -> None:
        """Create the state that copies and pickles omit, as it follows from the trials."""
        self._lock = RLock()  # threads share a sampler
        self._followers: list[Follower] = []  # newest first
        self._inference = SpaceInference()
        self._warned: set[str] = set()

    def __getstate__(self) -> dict[str, Any]:
        created = "_lock", "_followers", "_inference", "_warned"
        return {k: v for k, v in vars(self).items() if k not in created}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._begin()

    def reseed_rng(self) -> None:
        """Reseed the independent sampler; other suggestions depend on the trial's number."""
        self._independent.reseed_rng()

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> Distributions:
        """Return the parameters of the completed trials without single values.

        Parameters with a condition that is not recognised, or with a changing range, are omitted.
        """
        with self._lock:
            return self._inference.infer(_completed(_trials(study)))[0]

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: Distributions
    ) -> dict[str, Any]:
        """Return the suggested parameters of a trial in a search space.

        Raises:
            ValueError: the study has several objectives.
        """
        self._raise_error_if_multi_objective(study)
        if not search_space:
            return {}
        with self._lock:
            trials = _trials(study)
            _, conditions = self._inference.infer(_completed(trials))
            names = search_space.keys()
            conditions = {k: each for k, each in conditions.items() if {k, *each} <= names}
            return self._follower(study, trials, search_space, conditions, trial).ask(trial)

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """Return the value of a parameter that is not in the search space.

        Raises:
            ValueError: the study has several objectives.
        """
        self._raise_error_if_multi_objective(study)
        distributions = _known_before(study, trial, param_name, param_distribution)
        if distributions:
            with self._lock, suppress(DriftpeakError):  # a fixed value outside its range
                follower = self._follower(study, _trials(study), distributions, {}, trial)
                return follower.ask_rest(trial)[param_name]
        if self._warn and param_name not in self._warned and _completed(_trials(study)):
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
        """Call the independent sampler; finished trials are read with the next suggestion."""
        self._independent.after_trial(study, trial, state, values)

    def best(self, study: Study, time: Time | None = None) -> EstimatedPeak:
        """Return the estimated peak *now*.

        It has all parameters of the search space, also the active conditional ones. It lacks
        parameters with a condition that is not recognised, or with a changing range.
        `study.best_trial` is the best trial so far, which may be outdated.

        Arguments:
            study: a study of this sampler or of another one.
            time: the time of the peak, also a future one; by default the time of the newest trial.

        Returns:
            A mapping of parameters, with the `mean` and the `deviation` of the objective there.

        Raises:
            DriftpeakError: no trial is complete.
            ValueError: the study has several objectives.
        """
        self._raise_error_if_multi_objective(study)
        with self._lock:
            trials = _trials(study)
            search_space, conditions = self._inference.infer(_completed(trials))
            if not search_space:
                raise DriftpeakError(
                    "best() needs completed trials with a common parameter; got none: no trial is "
                    "complete, or there is no parameter that all completed trials share"
                )
            return self._follower(study, trials, search_space, conditions).best(time)

    def _follower(
        self,
        study: Study,
        trials: Sequence[FrozenTrial],
        search_space: Distributions,
        conditions: dict[str, Condition],
        trial: FrozenTrial | None = None,
    ) -> Follower:
        """Return an optimiser with all trials of a study except the one that is sampled now."""
        others = {
            other.number: other for other in trials if trial is None or other.number != trial.number
        }
        maximize = study.direction == StudyDirection.MAXIMIZE
        space = search_space, conditions
        follower = next(
            (each for each in self._followers if each.follows(*space, maximize, others)), None
        )
        if follower is None:
            follower = Follower(
                *space,
                maximize=maximize,
                policy=self._policy,
                seed=self._seed,
                clock=self._clock,
                early=self._clock in TIMES.values(),
                use_pruned=self._use_pruned,
            )
        rest = [each for each in self._followers if each is not follower]
        self._followers = [follower, *rest][:KEPT]
        follower.catch_up(list(others.values()))
        return follower


def _trials(study: Study) -> list[FrozenTrial]:
    return study.get_trials(deepcopy=False)


def _completed(trials: Sequence[FrozenTrial]) -> list[FrozenTrial]:
    return [trial for trial in trials if trial.state == TrialState.COMPLETE]


def _known_before(
    study: Study, trial: FrozenTrial, name: str, distribution: BaseDistribution
) -> Distributions:
    """Return a parameter, and those of a trial that all completed trials with the parameter have.

    The result is empty if no completed trial has the parameter.
    """
    having = [t for t in _completed(_trials(study)) if t.distributions.get(name) == distribution]
    common = intersection_search_space(having)
    return {
        other: each
        for other, each in common.items()
        if not each.single() and (other == name or trial.distributions.get(other) == each)
    }


def _clock(time: object) -> Clock:
    if callable(time):
        return time
    if not isinstance(time, str) or time not in TIMES:
        raise rejected(
            "time", time, "be 'number', 'start', or a function of a trial that returns a time"
        )
    return TIMES[time]
