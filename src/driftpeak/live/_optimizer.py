"""An ask-and-tell optimiser for a real system whose objective drifts."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import (
    LARGEST_SEED,
    DriftpeakError,
    UnknownSuggestionError,
    UnsupportedError,
    at_least_integer,
    finite,
    positive,
    rejected,
    shown,
    warn,
    whole,
)
from driftpeak._core.numerics.machine_code import cache_programs
from driftpeak.live._engines.drifting_gp import DriftingGP
from driftpeak.live._engines.engine import Engine
from driftpeak.live._engines.setup import EngineSetup, LivePolicy, direction, is_policy
from driftpeak.live._space.constraint_data import constraints_from_data
from driftpeak.live._space.constraint_functions import name_of
from driftpeak.live._space.constraints import Constraints, WeightedSum
from driftpeak.live._space.encoding import Space, make_coding
from driftpeak.live._space.fixed import clean_fixed, with_fixed
from driftpeak.live._space.movement import Movement, Place, Shares
from driftpeak.live._space.parameters import ParameterValues
from driftpeak.live._space.records import Request, Sample
from driftpeak.live._space.rules import Rules
from driftpeak.live._space.schedule import Schedule, schedule_from_data, with_schedule
from driftpeak.live._space.serialization import space_from_data, space_to_data
from driftpeak.live._study import events as happened
from driftpeak.live._study.clock import DATES, Kind, Time, show_time
from driftpeak.live._study.event_sourced import computing
from driftpeak.live._study.events import Event
from driftpeak.live._study.past import observations_of
from driftpeak.live._study.policy_data import policy_from_data, policy_to_data
from driftpeak.live._study.precompilation import Precompilation
from driftpeak.live._study.sharing import changing, looking
from driftpeak.live._study.storage import Storage, Study, description_of, open_store
from driftpeak.live._study.storage.study import Progress
from driftpeak.live._study.study_state import Keyed
from driftpeak.live._study.suggestion import Suggestion
from driftpeak.live._views.inspection import Inspectable, Said, listed

if TYPE_CHECKING:
    import pandas as pd

ARGUMENTS = ("space", "maximize", "seed", "horizon")
OPTIONS = ("start", "max_travel", "moving_cost", "constraints", "safe_start", "schedule")
"""Optional arguments of a stored study; an absent one has its default."""
MOST_TRIALS = 10**9
SURPRISE = 1_000.0  # deviations from a forecast beyond which `tell` warns


class Optimizer(Inspectable):
    """An ask-and-tell optimiser of a drifting objective that is sampled with noise.

    The computer's clock is read only with `time="now"`. Times may be irregular, and rewards may be
    late or out of order. The state is a function of the arguments and of the events so far: see
    `events`, `apply` and `snapshot`.

    With a `storage`, each change is on disk before the call returns, and a restarted program
    resumes the study. Several processes may share a study, and several threads may share an
    `Optimizer`; their calls are serialised.

    Arguments:
        space: `Box`, `Arms` or `Grid`, or one of them with a context, as in
            `space.context(load=Float(0, 1))`. A context is observed and not chosen.
        maximize, minimize: the direction, by one of them: `minimize=True` means
            `maximize=False`. There is no default.
        policy: the policy. By default `DriftingGP()`: a drifting Gaussian process, whose
            hyperparameters and drift model are learned online. On `Arms` and `Grid` it may be any
            policy of driftpeak, such as `TVGPUCB(prior, drift=0.01)`, which then decides as in
            `simulate`. To minimise, such a policy gets negated rewards, which its prior must
            describe.
        seed: seed of all random numbers.
        horizon: maximum of decisions of such a policy, which may allocate memory for them.
        start: the current setting of the system, which is the first suggestion of a new study.
        max_travel: largest distance of a suggestion from the current setting, as a share of each
            ordered parameter's range, for all or by name. Log-scaled parameters have distances on
            the log scale. `max_step` and `max_rate` of a parameter are limits in its own units.
        moving_cost: cost of a move across a parameter's whole range, or of a change of an unordered
            parameter, in units of the reward; for all or by name. Suggestions repeat the
            current setting if no gain exceeds its cost: see `Suggestion.hold`.
        constraints: constraints of suggestions by name. A `WeightedSum` of parameters always
            holds. So does a function of a setting that returns True or False; with a storage, it
            must be registered (`driftpeak.live.register_constraint`). Bounds may depend on the
            context (`ByContext`). A `Limit` of a quantity that is measured and told with each
            reward holds with its stated probability.
        safe_start: settings that are known to meet all limits, for systems that must not violate
            them. They are suggested first. Later suggestions must meet the limits with the stated
            probability, and the safe set expands as it is explored.
        schedule: settings by which the system is run today (`driftpeak.Schedule`). It is the first
            suggestion, and settings near it are explored. Other settings are suggested when they
            are estimated to be at least as good. It counts as safe: later suggestions must meet
            all limits, as with a safe start. Only for a `DriftingGP`.
        storage: where the study is stored: see `driftpeak.live.open_store`. An
            existing study is resumed.
        name: name of the study in the storage; by default the only one, or "study".
        progress: called as `progress(done, total)` regularly while a long study is read.

    Raises:
        DriftpeakError: an argument is not a space or policy; none or both of `maximize` and
            `minimize` are given; the policy does not fit the space; a policy other than
            `DriftingGP` has movement limits, movement costs or constraints; a constraint cannot be
            stored; there is a safe start without a `Limit`, or it violates a known constraint.
        InfeasibleError: no setting meets the known constraints.
        StudyMismatchError: the stored study of this name has another space, direction, policy,
            seed, horizon, start or limits.
        StorageError: the storage is locked, corrupt or not accessible.

    Example:
        >>> import driftpeak as dp
        >>> optimizer = dp.Optimizer(dp.Box(x=dp.Float(0, 1)), maximize=True)
        >>> for step in range(12):
        ...     setting = optimizer.ask()
        ...     optimizer.tell(setting, -(setting["x"] - 0.3) ** 2)
        >>> abs(optimizer.best()["x"] - 0.3) < 0.1
        True
    """

    @checked
    def __init__(
        self,
        space: Space,
        *,
        maximize: bool | None = None,
        minimize: bool | None = None,
        policy: LivePolicy | None = None,
        seed: int = 0,
        horizon: int = 100_000,
        start: Mapping[str, object] | None = None,
        max_travel: Shares | None = None,
        moving_cost: Shares | None = None,
        constraints: Constraints | None = None,
        safe_start: Sequence[Mapping[str, object]] | None = None,
        schedule: Schedule | None = None,
        storage: Storage | None = None,
        name: str | None = None,
        progress: Progress | None = None,
    ) -> None:
        maximize = direction(maximize, minimize)
        super().__init__()
        self._fitted: tuple[int, dict[str, Any] | None] | None = None  # learned in this call
        self.space, self.maximize = space, maximize
        self.seed = at_least_integer("seed", seed, 0, LARGEST_SEED)
        self.coding = make_coding(space)
        self._sign = 1.0 if maximize else -1.0
        self.policy = DriftingGP() if policy is None else policy
        self.horizon = at_least_integer("horizon", horizon, 1)
        self.start = None if start is None else self.coding.clean(start)
        self.rules = Rules(self.coding, constraints)
        self.safe_start = self._safe(safe_start)
        self.schedule = self._scheduled(schedule)
        self.travel = Movement(self.coding, max_travel, moving_cost)
        cache_programs()
        self._engine = self._make_engine()
        self._precompilation = Precompilation()
        self.begin()
        if storage is not None:
            self._check_functions()
            self._study = Study(open_store(storage, name), self, self.describe(), progress)
        elif name is not None:
            raise DriftpeakError(f"name must be given with storage; got only {shown(name)}")

    @classmethod
    def load(
        cls,
        storage: Storage,
        name: str | None = None,
        *,
        policy: LivePolicy | None = None,
        progress: Progress | None = None,
    ) -> "Optimizer":
        """Resume a stored study.

        Arguments:
            storage: a path, `journal:///path`, `sqlite:///path` or `postgresql://...`.
            name: name of the study; may be left out if it is the only one.
            policy: the study's policy; needed if a part of it is user-defined.
            progress: called as `progress(done, total)` regularly while a long study is read.

        Raises:
            StudyNotFoundError: there is no such study.
            StudyMismatchError: the study has another policy.
            StorageError: the storage is locked, corrupt or not accessible.
        """
        store = open_store(storage, name)
        description = description_of(store)
        arguments = arguments_from_data(description)
        arguments["policy"] = _stored_policy(description) if policy is None else policy
        return cls(**arguments, storage=store, progress=progress)

    @property
    def name(self) -> str | None:
        """Name of the study in its storage; None without a storage."""
        return None if self._study is None else self._study.store.name

    def describe(self) -> dict[str, object]:
        """Return the arguments as JSON-compatible data."""
        travel = self.travel
        options = (
            self.start,
            travel.max_travel,
            travel.moving_cost,
            self.rules.to_data(),
            self.safe_start or None,
            None if self.schedule is None else self.schedule.to_data(),
        )
        return {
            "space": space_to_data(self.space),
            "maximize": self.maximize,
            "policy": policy_to_data(self.policy),
            "seed": self.seed,
            "horizon": self.horizon,
            **{k: value for k, value in zip(OPTIONS, options, strict=True) if value is not None},
        }

    def _make_engine(self) -> Engine:
        if not is_policy(self.policy):
            raise DriftpeakError(
                "policy must be a DriftingGP or a policy of driftpeak such as dp.Auto(prior); got "
                f"{shown(self.policy)}"
            )
        setup = EngineSetup(
            self.coding,
            self.seed,
            self.horizon,
            self._sign,
            self.rules,
            self.start,
            self.safe_start,
            self.travel.matters,
            self.schedule,
        )
        with computing():
            engine: Engine = self.policy.make_engine(setup)
        return engine

    def _safe(self, given: object) -> list[ParameterValues]:
        """Return the valid settings of a safe start."""
        if given is None:
            return []
        settings = self._settings("safe_start", given)
        if not settings or not self.rules.limits:
            raise DriftpeakError(
                "safe_start must have at least one setting that meets the measured limits; got "
                f"{len(settings)} settings and {len(self.rules.limits)} limits. Give it with "
                'constraints={"temperature": Limit(at_most=75)}'
            )
        for setting in settings:
            self.rules.check("safe_start", setting)
        return settings

    def _scheduled(self, schedule: Schedule | None) -> Schedule | None:
        """Return the schedule with valid settings."""
        if schedule is None:
            return None
        settings = self._settings("settings of the schedule", schedule.settings)
        for setting in settings:
            self.rules.check("a setting of the schedule", setting)
        return Schedule(settings, period=schedule.period)

    def _check_functions(self) -> None:
        """Check that all constraints that are functions are registered.

        Raises:
            UnsupportedError: a function is not registered, so that it cannot be stored.
        """
        for name, constraint in self.rules.known.items():
            if not isinstance(constraint, WeightedSum) and name_of(constraint) is None:
                raise UnsupportedError(
                    "a function that is a constraint of a stored study must be registered; got "
                    f"another function for {shown(name)}. Call "
                    f"dp.live.register_constraint({name!r}, function) first, or leave storage out"
                )

    # ask and tell

    @overload
    def ask(
        self,
        time: Time | None = None,
        count: None = None,
        *,
        context: Said = None,
        fixed: Said = None,
    ) -> Suggestion: ...

    @overload
    def ask(
        self,
        time: Time | None = None,
        count: int = ...,
        *,
        context: Said = None,
        fixed: Said = None,
    ) -> list[Suggestion]: ...

    def ask(
        self,
        time: Time | None = None,
        count: int | None = None,
        *,
        context: Said = None,
        fixed: Said = None,
    ) -> Suggestion | list[Suggestion]:
        """Return the next suggestion.

        Pending suggestions are fantasised at their posterior mean.

        Arguments:
            time: when it will be sampled. By default steps are counted: 1, 2, ...
            count: number of suggestions, for several workers.
            context: values of the context, for a space with a context; stored with the suggestion.
            fixed: values of some parameters, which these suggestions must have, such as
                `{"fans": 2}`. The other parameters are chosen. Only for a `DriftingGP`.

        Returns:
            A `Suggestion`; a list of them if `count` is given.

        Raises:
            DriftpeakError: the time cannot be compared with earlier times; more than 1,000
                suggestions would be pending; the context or a fixed value is missing, misspelt or
                out of range.
            InfeasibleError: no setting within reach meets the known constraints and has the fixed
                values.
        """
        number = 1 if count is None else at_least_integer("count", count, 1)
        known, wanted = self.coding.clean_context(context), clean_fixed(self.coding, fixed)
        suggestions = self._ask(time, number, known, wanted)
        return suggestions[0] if count is None else suggestions

    @changing
    def _ask(
        self, time: Time | None, count: int, context: ParameterValues, fixed: ParameterValues
    ) -> list[Suggestion]:
        self._state.check_room(count)
        when, kind = self._state.time_of_ask(time)
        self.travel.check_times(dates=kind in DATES)
        if self.schedule is not None:
            self.schedule.check_times(dates=kind in DATES)
        return [self._suggest(when, kind, context, fixed) for _ in range(count)]

    def _suggest(
        self, when: float, kind: Kind, context: ParameterValues, fixed: ParameterValues
    ) -> Suggestion:
        number = self._state.asked + 1
        place, pending = self._state.place, list(self._state.pending.values())
        with computing():
            if place is None and self.start is not None and self.start | fixed == self.start:
                parameters = self.start
            else:
                if place is None and self.start is not None:
                    place = Place(-math.inf, 0, self.start)
                reach = self.travel.reach(place, when)
                if fixed:
                    reach = with_fixed(self.coding, reach, fixed)
                request = Request(number, when, context, pending, reach)
                if self.schedule is not None:
                    request = self._at_schedule(request, self.schedule.at(when))
                self._precompilation.prepare(
                    self._engine, self._make_engine, request, self.describe
                )
                parameters = self._engine.propose(request)
            predicted = self._engine.chances([parameters | context], when)
        chances = {name: float(values[0]) for name, values in predicted.items()}
        self._commit(happened.Asked(number, when, kind, parameters, context, chances))
        return self._suggestion(number)

    def _at_schedule(self, request: Request, setting: ParameterValues) -> Request:
        """Return a request with the scheduled setting, if it meets the known constraints."""
        scheduled = with_schedule(self.coding, request, setting)
        assert scheduled.scheduled is not None
        rules = self.rules.in_context(request.context)
        return request if rules.broken(scheduled.scheduled) is not None else scheduled

    @changing
    def tell(
        self,
        suggestion: "Suggestion | int | Mapping[str, object]",
        reward: float | np.number[Any] | np.bool_,
        time: Time | None = None,
        *,
        actual: Mapping[str, object] | None = None,
        noise: float | None = None,
        context: Said = None,
        constraints: Mapping[str, float | None] | None = None,
        trials: int | None = None,
        key: str | None = None,
    ) -> None:
        """Report the reward observed at a setting.

        Arguments:
            suggestion: a suggestion, its id, or any setting of the parameters. A setting that is
                pending answers its oldest suggestion.
            reward: a finite number. With a policy other than `DriftingGP`, it lies in
                [-1e100, 1e100]. With another likelihood it is 0 or 1 (or a Boolean), or a count.
            time: time of the observation; by default the time of the suggestion.
            actual: the setting that was used instead of the suggestion. The reward is recorded
                there, the suggestion is no longer pending, and this is the current setting.
            noise: standard deviation of this reward's noise, if it is known: of one measurement, or
                of the mean of several. By default it is learned.
            context: values of the context; by default those of the suggestion.
            constraints: measurements of all quantities with a `Limit`, by name; None for a quantity
                that was not measured.
            trials: number of binary rewards or counts that `reward` averages, all observed with
                this setting at this time; by default 1. Only for a `DriftingGP` with such a
                likelihood. Several trials take no more time and memory than one.
            key: a unique name of this reward, 1 to 200 printable ASCII characters, which is stored.
                A repeated `tell` with the same key, such as after a crash, has no effect. The
                newest 10,000 keys are known, also after a `reset`.

        Raises:
            DriftpeakError: parameters, context or constraints are outside the space, missing or
                misspelt; the reward is not finite or invalid for the likelihood; the time cannot be
                compared; the key belongs to another reward. Nothing is changed.
            UnknownSuggestionError: the suggestion is unknown or already told. Nothing is changed.

        Warns:
            DriftpeakWarning: the reward is dated before an earlier `forget`, or is too late for the
                policy; it is kept only in the history. The reward is more than 1,000 deviations
                from the forecast of a policy that rejects no outliers.
        """
        truth = self._engine.kind is not None and isinstance(reward, bool | np.bool_)
        reward = float(reward) if truth else finite("reward", reward)
        noise = None if noise is None else positive("noise", noise)
        if trials is not None and at_least_integer("trials", trials, 1) > MOST_TRIALS:
            raise DriftpeakError(f"trials must be at most 10**9; got {shown(trials)}")
        self._engine.check(reward, noise, trials)
        measured = self.rules.measured(constraints)
        happened.check_key("key", key)
        if key is not None and key in self._state.keys:
            self._check_repeated(self._state.keys[key], suggestion, actual, reward, key)
            return
        number, parameters, context_values = self._find(suggestion, context)
        if actual is not None:
            if not isinstance(suggestion, Suggestion) and not whole(suggestion):
                raise DriftpeakError(
                    "actual must be given with a suggestion or its id. Tell a setting that was not "
                    "suggested without actual"
                )
            parameters = self.coding.clean(actual)
        when, kind = self._state.time_of_tell(time, number)
        used = self._is_used(when)
        if not used:
            forgotten = when < self._state.forgotten
            reason = "is dated before forget()" if forgotten else "is too late for this policy"
            warn(
                f"the reward of {show_time(when, kind)} {reason}. It is kept in the history and is "
                "not used"
            )
        expected = None
        with computing():
            if used:
                sample = Sample(parameters | context_values, when, noise, trials)
                expected = self._engine.expected(sample)
        if expected is not None:
            expected = (self._sign * expected[0], expected[1])
            if not self._engine.rejects_outliers:
                _warn_of_surprise(reward, *expected)
        trials = None if trials is None else int(trials)
        self._commit(
            happened.Told(
                number,
                when,
                kind,
                parameters,
                reward,
                expected,
                noise,
                context_values,
                measured,
                trials,
                key,
            )
        )
        if used:
            self._learn()

    @changing
    def tell_table(self, table: "Sequence[Mapping[str, object]] | pd.DataFrame") -> int:
        """Report past settings with their rewards, as by one `tell` for each row, sorted by time.

        Suggestions then use these observations. All rows are stored, or none.

        Arguments:
            table: a pandas data frame or a list of mappings. Columns are the parameters, the
                variables of the context, `reward`, the measured quantities with limits, and
                optionally `time`, `noise`, `trials` and `key`. Blank cells (NaN, None or "") are
                not known. A parameter with a blank cell is inactive. Without times, rows are
                counted as steps, from 0 in a new study. The table of `to_dataframe` is valid.

        Returns:
            The number of rows that were told.

        Raises:
            DriftpeakError: a column is missing, or `tell` rejects a row. The message has the number
                of the row, from 1. Nothing is changed.

        Warns:
            DriftpeakWarning: rows without a reward are left out; columns are not used.
        """
        context = () if self.coding.context is None else self.coding.context.names
        rows = observations_of(table, self.coding.names, context, tuple(self.rules.limits))
        before = self.mark()
        for row in rows:
            number = row.pop("row")
            if row["time"] is None and self._state.kind is not None:
                row["time"] = self._state.time_of_ask(None)[0]
            try:
                self.tell(**row)
            except DriftpeakError as error:
                self.back(before)
                raise DriftpeakError(f"row {number}: {error}") from None
        return len(rows)

    def _check_repeated(
        self, earlier: Keyed, suggestion: object, actual: object, reward: float, key: str
    ) -> None:
        """Check that a repeated key has the same setting and reward as before."""
        number = suggestion.id if isinstance(suggestion, Suggestion) else suggestion
        if whole(number):
            same = earlier.id == number
        else:
            same = earlier.parameters == self.coding.clean(suggestion)
        if actual is not None:
            same = same and earlier.parameters == self.coding.clean(actual)
        if not same or reward != earlier.reward:
            raise DriftpeakError(
                f"key must be unique; got {key!r} again with another setting or reward than "
                f"{earlier.reward:g}. Use a new key"
            )

    def _begin_change(self) -> None:
        self._fitted = None

    def _learn(self) -> None:
        """Learn hyperparameters if they are due, only once if a change is repeated."""
        if self._fitted is None or self._fitted[0] != self._fits:
            with computing():
                dates = self._state.kind in DATES
                self._fitted = self._fits, self._engine.refit(dates=dates)
        if self._fitted[1] is not None:
            self._commit(happened.Learned(self._fitted[1]))

    def _find(
        self, suggestion: object, context: Said
    ) -> tuple[int | None, ParameterValues, ParameterValues]:
        """Return the number of a pending suggestion or None, the setting, and the context."""
        context_values = None if context is None else self.coding.clean_context(context)
        number = suggestion.id if isinstance(suggestion, Suggestion) else suggestion
        if not whole(number):
            parameters = self.coding.clean(suggestion)
            number = self._state.oldest(parameters, context_values)
            if number is None:
                return None, parameters, self.coding.clean_context(context)
        number = int(number)
        pending = self._state.outstanding(number)
        if isinstance(suggestion, Suggestion) and dict(suggestion) != pending.parameters:
            raise UnknownSuggestionError(
                f"suggestion must be from this optimiser; got another setting with id {number}"
            )
        return (
            number,
            pending.parameters,
            pending.context if context_values is None else context_values,
        )

    @changing
    def cancel(self, suggestion: "Suggestion | int") -> None:
        """Cancel a pending suggestion that will not be told.

        Raises:
            UnknownSuggestionError: it is unknown, already told or cancelled.
        """
        if not isinstance(suggestion, Suggestion) and not whole(suggestion):
            raise rejected("suggestion", suggestion, "be a suggestion or its id")
        number = self._find(suggestion, None)[0]
        assert number is not None
        self._commit(happened.Cancelled(number))

    @changing
    def forget(self, before: Time | None = None) -> None:
        """Delete the observations before a time, or all, after a known change of the system.

        Later rewards that are dated before this time are not used either. Without `before`, the
        time is the latest time of the study. A `before` in the future deletes all observations so
        far; observations after this call are used.

        Learned lengthscales, noise and drift are kept, and so are the history and pending
        suggestions.
        """
        when = None if before is None else self._state.time_to_look(before)
        self._commit(happened.Forgot(when))

    @changing
    def reset(self) -> None:
        """Restart the study without observations; the numbering of suggestions continues."""
        self._commit(happened.Reset())

    # side queries

    @looking
    def side_queries(self, time: Time | None = None) -> list[ParameterValues]:
        """Return the settings for an expert to re-evaluate at `time`, before the next `ask`.

        Raises:
            UnsupportedError: the policy makes no side queries.
        """
        when, _ = self._state.time_of_ask(time)
        with computing():
            return self._engine.consult(when)

    @changing
    def answer(
        self,
        queries: Sequence[Mapping[str, object]],
        answers: Sequence[float | None],
        time: Time | None = None,
    ) -> None:
        """Report an expert's answers to side queries; None for queries without an answer.

        Raises:
            DriftpeakError: there are not as many answers as queries, or an answer is not a finite
                number.
            UnsupportedError: the policy makes no side queries.
        """
        asked = self._settings("queries", queries)
        answers = listed("answers", answers, "numbers or None")
        if len(asked) != len(answers):
            raise DriftpeakError(
                f"answers must be as many as the {len(asked)} side queries; got {len(answers)}. "
                "Give None for a query without an answer"
            )
        values = [None if value is None else finite("an answer", value) for value in answers]
        when, kind = self._state.time_of_ask(time)
        with computing():
            self._engine.consult(when)  # raises if the policy makes no side queries
        self._commit(happened.Answered(when, kind, asked, values))

    def _commit(self, event: Event) -> None:
        if self._study is None:
            self.on_event(event)
        else:
            self._study.add(event)
        self.apply(event)


def _warn_of_surprise(reward: float, mean: float, deviation: float) -> None:
    """Warn of a reward that is implausible under the policy's stated noise."""
    if abs(reward / deviation - mean / deviation) > SURPRISE:
        warn(
            f"the reward {reward:g} is more than {SURPRISE:,.0f} deviations from the forecast, "
            f"{mean:.3g} with deviation {deviation:.2g}. This policy does not reject outliers, as "
            "its noise is stated. Use a DriftingGP or Auto if some rewards are wrong, or state the "
            "prior in the units of the rewards"
        )


def arguments_from_data(description: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `Optimizer` that data describe, without the policy.

    Raises:
        DriftpeakError: the data of the space, of a constraint or of the schedule are invalid.
    """
    arguments = {name: description[name] for name in (*ARGUMENTS, *OPTIONS) if name in description}
    arguments["space"] = space_from_data(arguments["space"])
    if "constraints" in arguments:
        arguments["constraints"] = constraints_from_data(arguments["constraints"])
    if "schedule" in arguments:
        arguments["schedule"] = schedule_from_data(arguments["schedule"])
    return arguments


def _stored_policy(description: dict[str, Any]) -> Any:
    try:
        return policy_from_data(description["policy"])
    except DriftpeakError as error:
        raise DriftpeakError(
            f"the policy of study {description['name']!r} cannot be constructed: {error}. Give the "
            "policy with Optimizer.load(..., policy=...)"
        ) from None
