"""An optimiser for a real system that keeps moving: ask where to sample, tell what it brought."""

from collections.abc import Mapping, Sequence
from typing import Any, overload

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
    shown,
    warn,
    whole,
)
from driftpeak.live.engines.drifting_gp import DriftingGP
from driftpeak.live.engines.engine import Engine
from driftpeak.live.engines.setup import EngineSetup, LivePolicy, direction, is_policy
from driftpeak.live.space.constraints import Constraints, Rules, constraints_from_data
from driftpeak.live.space.encoding import Space, make_coding
from driftpeak.live.space.movement import Shares, Travel
from driftpeak.live.space.parameters import ParameterValues
from driftpeak.live.space.serialization import space_from_data, space_to_data
from driftpeak.live.study import events as happened
from driftpeak.live.study.clock import Kind, Time, show_time
from driftpeak.live.study.event_sourced import computing
from driftpeak.live.study.events import Event
from driftpeak.live.study.policy_data import policy_from_data, policy_to_data
from driftpeak.live.study.sharing import changing, looking
from driftpeak.live.study.storage import Storage, Study, check_format, open_store
from driftpeak.live.study.storage.study import Progress, missing
from driftpeak.live.study.study_state import Keyed
from driftpeak.live.study.suggestion import Suggestion
from driftpeak.live.views.inspection import Inspectable, Said, listed

OPTIONS = ("start", "max_travel", "moving_cost", "constraints", "safe_start")
"""Arguments that a stored study need not have; an absent one has its default."""
MOST_TRIALS = 10**9
SURPRISE = 1_000.0  # deviations from what a policy with stated noise expects, worth a warning


class Optimizer(Inspectable):
    """Keeps a system at the moving peak of something that can only be sampled, with noise.

    Nothing is read from the computer's clock unless `time="now"` is given. Times may be irregular,
    and rewards late or out of order. The state is a function of the arguments here and of the
    events so far: see `events`, `apply` and `snapshot`.

    With a `storage`, every change is on disk before the call that made it returns, and goes on
    where it was when the program starts again; several processes may share a study. So may several
    threads share one `Optimizer`: each call has it to itself, and the others wait.

    Arguments:
        space: `Box`, `Arms` or `Grid`; `space.context(load=Float(0, 1))` of one, where the world
            says something that nobody chooses.
        maximize, minimize: whether large rewards are good, by one of them: `maximize=True`, or
            `minimize=True`, which means `maximize=False`. There is no default.
        policy: how to choose. By default `DriftingGP()`: a Gaussian process that drifts, whose
            numbers are learned while it runs, and whether it has momentum. On `Arms` and `Grid` any
            policy of driftpeak (`TVGPUCB(prior, drift=0.01)`), which then decides as in `simulate`;
            with maximize=False it sees the negated rewards, which its prior must describe.
        seed: of everything random.
        horizon: the most decisions of such a policy, which may reserve room for them.
        start: the first suggestion, as long as nothing was asked or told: where the system stands.
        max_travel: the farthest that a suggestion lies from where the system stands then, as a
            share of the range of each parameter that has an order (in the logarithm where it has
            one), or by name. `max_step` and `max_rate` of a parameter say it in its own units.
        moving_cost: what it costs to move a parameter across its whole range, or to change one
            without an order, in units of the reward, for each or by name. Suggestions stay where
            the system stands, if nothing is worth the way: see `Suggestion.hold`.
        constraints: what suggestions must keep, by name: a `WeightedSum` of parameters, which is
            never broken; a function of a setting that returns True or False, neither, in a study
            without storage; a `Limit` of a quantity that is measured and told with every reward,
            kept with the probability that it states.
        safe_start: settings that are known to keep all limits, for a machine that must never leave
            them: only what is believed to keep them is suggested, first these, and then what lies
            farther and farther around as it becomes known.
        storage: where the study is kept: see `driftpeak.live.study.storage.open_store`. A study
            that is
            there already goes on.
        name: of the study in the storage; by default the only one there, or "study".
        progress: called as `progress(done, total)` now and then while a long study is read.

    Raises:
        DriftpeakError: something that is no space or no policy, none or both of `maximize` and
            `minimize`, or a policy that does not fit the space; a storage that is locked, corrupt,
            or holds a study of another space, direction, policy, seed or horizon, start or limits
            under this name; limits or costs of moving, or constraints, with another policy than a
            `DriftingGP`;
            constraints that no setting keeps, or that cannot be stored; a safe start without a
            `Limit`, or one that breaks a known constraint.

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
        storage: Storage | None = None,
        name: str | None = None,
        progress: Progress | None = None,
    ) -> None:
        maximize = direction(maximize, minimize)
        super().__init__()
        self._lesson: tuple[int, dict[str, Any] | None] | None = None  # found in this call
        self.space, self.maximize = space, maximize
        self.seed = at_least_integer("seed", seed, 0, LARGEST_SEED)
        self.coding = make_coding(space)
        self._sign = 1.0 if maximize else -1.0
        self.policy = DriftingGP() if policy is None else policy
        self.horizon = at_least_integer("horizon", horizon, 1)
        self.start = None if start is None else self.coding.clean(start)
        self.rules = Rules(self.coding, constraints)
        self.safe_start = self._safe(safe_start)
        self.travel = Travel(self.coding, max_travel, moving_cost)
        self._engine = self._make_engine()
        self.begin()
        if storage is not None:
            self._check_functions()
            self._study = Study(open_store(storage, name), self, self.describe(), progress)
        elif name is not None:
            raise DriftpeakError("a name needs a storage to be kept in")

    @classmethod
    def load(
        cls,
        storage: Storage,
        name: str | None = None,
        *,
        policy: LivePolicy | None = None,
        progress: Progress | None = None,
    ) -> "Optimizer":
        """Go on with a study that is kept in a storage.

        Arguments:
            storage: a path, `journal:///path`, `sqlite:///path` or `postgresql://...`.
            name: of the study; may be left out if it is the only one.
            policy: the policy again, if a part of it is not driftpeak's own.
            progress: called as `progress(done, total)` now and then while a long study is read.

        Raises:
            DriftpeakError: no such study, another policy than the study's, a storage that is locked
                or corrupt.
        """
        store = open_store(storage, name)
        found = store.describe()
        if found is None:
            raise missing(store)
        check_format(found, store)
        return cls(
            space_from_data(found["space"]),
            maximize=found["maximize"],
            policy=_stored_policy(found) if policy is None else policy,
            seed=found["seed"],
            horizon=found["horizon"],
            **_options(found),
            storage=store,
            progress=progress,
        )

    @property
    def name(self) -> str | None:
        """The study's name in its storage; None without one."""
        return None if self._study is None else self._study.store.name

    def describe(self) -> dict[str, object]:
        """The arguments, as data that JSON can hold."""
        travel = self.travel
        options = (
            self.start,
            travel.max_travel,
            travel.moving_cost,
            self.rules.to_data(),
            self.safe_start or None,
        )
        return {
            "space": space_to_data(self.space),
            "maximize": self.maximize,
            "policy": policy_to_data(self.policy),
            "seed": self.seed,
            "horizon": self.horizon,
            **{k: one for k, one in zip(OPTIONS, options, strict=True) if one is not None},
        }

    def _make_engine(self) -> Engine:
        if not is_policy(self.policy):
            raise DriftpeakError(
                "policy must be a DriftingGP or a policy of driftpeak, as dp.Auto(prior); got "
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
        )
        with computing():
            engine: Engine = self.policy.make_engine(setup)
        return engine

    def _safe(self, given: object) -> list[ParameterValues]:
        """The settings of a safe start, checked."""
        if given is None:
            return []
        found = self._settings("safe_start", given)
        if not found or not self.rules.limits:
            raise DriftpeakError(
                "safe_start is for settings that are known to keep the measured limits, at least "
                'one: give it with constraints={"temperature": Limit(at_most=75)}'
            )
        for setting in found:
            self.rules.check("safe_start", setting)
        return found

    def _check_functions(self) -> None:
        """Refuse to store what is code.

        Raises:
            DriftpeakError: naming the functions.
        """
        if self.rules.functions:
            names = ", ".join(map(shown, self.rules.functions))
            raise UnsupportedError(
                f"a study is data, and constraint {names} is a function: write it as a "
                "WeightedSum, or leave storage out"
            )

    # asking and telling

    @overload
    def ask(
        self, time: Time | None = None, count: None = None, *, context: Said = None
    ) -> Suggestion: ...

    @overload
    def ask(
        self, time: Time | None = None, *, count: int, context: Said = None
    ) -> list[Suggestion]: ...

    @overload
    def ask(self, time: Time | None, count: int, *, context: Said = None) -> list[Suggestion]: ...

    def ask(
        self, time: Time | None = None, count: int | None = None, *, context: Said = None
    ) -> Suggestion | list[Suggestion]:
        """Where to sample next.

        Arguments:
            time: when it will be sampled. Without one, steps are counted: 1, 2, ...
            count: how many, for several workers at once.
            context: what the world says then, for a space with a context; kept with the suggestion.

        Returns:
            A `Suggestion`; a list of them if `count` is given. Suggestions that are out and not yet
            told are taken into account as if they had brought what is expected of them.

        Raises:
            DriftpeakError: a time that cannot be compared with earlier ones, more than 1,000
                suggestions out; a context that is missing, misspelt or out of range; nothing
                within reach of where the system stands that keeps the known constraints.
        """
        number = 1 if count is None else at_least_integer("count", count, 1)
        found = self._ask(time, number, self.coding.clean_context(context))
        return found[0] if count is None else found

    @changing
    def _ask(self, time: Time | None, count: int, context: ParameterValues) -> list[Suggestion]:
        self._ledger.check_room(count)
        when, kind = self._ledger.time_of_ask(time)
        return [self._suggest(when, kind, context) for _ in range(count)]

    def _suggest(self, when: float, kind: Kind, context: ParameterValues) -> Suggestion:
        number = self._ledger.asked + 1
        place, pending = self._ledger.place, list(self._ledger.pending.values())
        with computing():
            if place is None and self.start is not None:
                parameters = self.start
            else:
                reach = self.travel.reach(place, when)
                parameters = self._engine.propose(number, when, pending, reach, context)
            found = self._engine.chances([parameters | context], when)
        chances = {name: float(one[0]) for name, one in found.items()}
        self._commit(happened.Asked(number, when, kind, parameters, context, chances))
        return self._suggestion(number)

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
        """What a setting brought.

        Arguments:
            suggestion: as `ask` gave it, its id, or any setting of the parameters, asked for or
                not. A setting that was suggested answers the oldest such suggestion.
            reward: a finite number; for a policy other than a `DriftingGP` within 1e100 of 0; for
                one with another likelihood 0 or 1 (or a truth value), or a count.
            time: when it was brought; default the time of the suggestion.
            actual: what was set instead of the suggestion, if it was not followed: the reward
                counts there, the suggestion is answered, and the system stands there.
            noise: the standard deviation of this reward's noise, if it is known: that of one
                measurement, or of the mean of several. By default it is learned.
            context: what the world said; default what it said when the suggestion was asked for.
            constraints: what was measured of every quantity with a `Limit`, by name; None for one
                that was not measured.
            trials: of how many rewards of 0 and 1, or counts, `reward` is the mean, all of them
                made with this setting at this time; by default of one. For a `DriftingGP` with such
                a likelihood. They cost no more time and memory than one.
            key: your own name for this reward, 1 to 200 printable ASCII characters. It is stored
                with the reward: telling it again under its key, after a crash say, changes nothing.
                The newest 10,000 are known, also after a `reset`.

        Raises:
            DriftpeakError: parameters, a context or constraints outside the space, missing or
                misspelt, a reward that is not finite or not of the likelihood's kind, an id that is
                unknown or already told, a time that cannot be compared; a key under which another
                reward was told. Nothing has changed then.

        Warns:
            DriftpeakWarning: a reward dated before an earlier `forget`, or so late that a policy
                can no longer use it: it is in the history only. A reward more than 1,000 deviations
                from the prediction of a policy that rejects no outliers.
        """
        truth = self._engine.kind is not None and isinstance(reward, bool | np.bool_)
        reward = float(reward) if truth else finite("reward", reward)
        noise = None if noise is None else positive("noise", noise)
        if trials is not None and at_least_integer("trials", trials, 1) > MOST_TRIALS:
            raise DriftpeakError(f"trials must be at most 10**9; got {shown(trials)}")
        self._engine.check(reward, noise, trials)
        measured = self.rules.measured(constraints)
        happened.check_key("key", key)
        if key in self._ledger.keys:
            self._check_repeated(self._ledger.keys[key], suggestion, actual, reward, key)
            return
        number, parameters, said = self._find(suggestion, context)
        if actual is not None:
            if not isinstance(suggestion, Suggestion) and not whole(suggestion):
                raise DriftpeakError(
                    "actual is what was set instead of a suggestion: give that, or its id; a "
                    "setting that nobody asked for is told by itself"
                )
            parameters = self.coding.clean(actual)
        when, kind = self._ledger.time_of_tell(time, number)
        used = self._is_used(when)
        if not used:
            forgotten = when < self._ledger.forgotten
            reason = "is dated before forget()" if forgotten else "comes too late for this policy"
            warn(
                f"the reward of {show_time(when, kind)} {reason}: it is kept in the history, and "
                "not used"
            )
        expected = None
        with computing():
            if used:
                expected = self._engine.expected(parameters | said, when, noise, trials)
        if expected is not None:
            expected = (self._sign * expected[0], expected[1])
            if not self._engine.rejects_outliers:
                _warn_of_surprise(reward, *expected)
        trials = None if trials is None else int(trials)
        self._commit(
            happened.Told(
                number, when, kind, parameters, reward, expected, noise, said, measured, trials, key
            )
        )
        if used:
            self._learn()

    def _check_repeated(
        self, told: Keyed, suggestion: object, actual: object, reward: float, key: str
    ) -> None:
        """Refuse another reward under a key that was told."""
        number = suggestion.id if isinstance(suggestion, Suggestion) else suggestion
        same = (
            told.id == number if whole(number) else told.parameters == self.coding.clean(suggestion)
        )
        if actual is not None:
            same = same and told.parameters == self.coding.clean(actual)
        if not same or reward != told.reward:
            raise DriftpeakError(
                f"key {key!r} was told with another setting or reward, {told.reward:g}: a key "
                "names one reward; take a new one"
            )

    def _begin_change(self) -> None:
        self._lesson = None

    def _learn(self) -> None:
        """Learn hyperparameters if it is time to; once, however often this call is repeated."""
        if self._lesson is None or self._lesson[0] != self._lessons:
            with computing():
                dates = self._ledger.kind in ("dates", "zoned dates")
                self._lesson = self._lessons, self._engine.lesson(dates=dates)
        if self._lesson[1] is not None:
            self._commit(happened.Learned(self._lesson[1]))

    def _find(
        self, suggestion: object, context: Said
    ) -> tuple[int | None, ParameterValues, ParameterValues]:
        """The number of a pending suggestion, or None; the setting, and what the world said."""
        said = None if context is None else self.coding.clean_context(context)
        number = suggestion.id if isinstance(suggestion, Suggestion) else suggestion
        if not whole(number):
            parameters = self.coding.clean(suggestion)
            number = self._ledger.oldest(parameters, said)
            if number is None:
                return None, parameters, self.coding.clean_context(context)
        number = int(number)
        one = self._ledger.outstanding(number)
        if isinstance(suggestion, Suggestion) and dict(suggestion) != one.parameters:
            raise UnknownSuggestionError(f"suggestion {number} is not of this optimiser")
        return number, one.parameters, one.context if said is None else said

    @changing
    def cancel(self, suggestion: "Suggestion | int") -> None:
        """A suggestion will never be told: it no longer counts as pending.

        Raises:
            DriftpeakError: it is unknown, already told or cancelled.
        """
        if not isinstance(suggestion, Suggestion) and not whole(suggestion):
            raise DriftpeakError(f"cancel a suggestion or an id; got {shown(suggestion)}")
        number = self._find(suggestion, None)[0]
        assert number is not None
        self._commit(happened.Cancelled(number))

    @changing
    def forget(self, before: Time | None = None) -> None:
        """Drop the observations made `before` a time, or all so far, since the system has changed.

        A reward that comes later and is dated before that time is not used either. Without
        `before`, that time is the latest that was asked or told of. A `before` in the future drops
        all observations so far, and those that are made after this call count.

        What was learned of lengthscales, noise and drift stays, and so do the history and pending
        suggestions.
        """
        when = None if before is None else self._ledger.time_to_look(before)
        self._commit(happened.Forgot(when))

    @changing
    def reset(self) -> None:
        """Start again from nothing; only the numbers of suggestions go on."""
        self._commit(happened.Reset())

    # side queries

    @looking
    def side_queries(self, time: Time | None = None) -> list[ParameterValues]:
        """What the policy wants an expert to re-evaluate at `time`, before the next `ask` then.

        Raises:
            DriftpeakError: the policy makes no side queries.
        """
        when, _ = self._ledger.time_of_ask(time)
        with computing():
            return self._engine.consult(when)

    @changing
    def answer(
        self,
        queries: Sequence[Mapping[str, object]],
        answers: Sequence[float | None],
        time: Time | None = None,
    ) -> None:
        """An expert's answers to side queries; None where it has none.

        Raises:
            DriftpeakError: the policy makes no side queries, not as many answers as queries, or an
                answer that is not a finite number.
        """
        asked = self._settings("queries", queries)
        answers = listed("answers", answers, "numbers or None")
        if len(asked) != len(answers):
            raise DriftpeakError(f"{len(asked)} side queries need as many answers or None")
        values = [None if one is None else finite("an answer", one) for one in answers]
        when, kind = self._ledger.time_of_ask(time)
        with computing():
            self._engine.consult(when)  # refused by a policy that makes none
        self._commit(happened.Answered(when, kind, asked, values))

    def _commit(self, event: Event) -> None:
        if self._study is None:
            self.on_event(event)
        else:
            self._study.add(event)
        self.apply(event)


def _warn_of_surprise(reward: float, mean: float, deviation: float) -> None:
    """Warn of a reward that is impossible under the policy's stated noise."""
    if abs(reward / deviation - mean / deviation) > SURPRISE:
        warn(
            f"a reward of {reward:g} is more than {SURPRISE:,.0f} deviations from the prediction, "
            f"{mean:.3g} with deviation {deviation:.2g}. This policy rejects no outliers, since "
            "its noise is stated: use a DriftingGP or Auto if some rewards are wrong, or state the "
            "prior in the units of the rewards"
        )


def _options(found: dict[str, Any]) -> dict[str, Any]:
    """Arguments of a stored study that need not be there."""
    options = {name: found[name] for name in OPTIONS if name in found}
    if "constraints" in options:
        options["constraints"] = constraints_from_data(options["constraints"])
    return options


def _stored_policy(found: dict[str, Any]) -> Any:
    try:
        return policy_from_data(found["policy"])
    except DriftpeakError as error:
        raise DriftpeakError(
            f"study {found['name']!r} cannot make its policy again: {error}. Give the whole policy "
            "again, Optimizer.load(..., policy=...)"
        ) from None
