"""Population based bandits: hyperparameters that change while a population of models trains."""

import math
from collections.abc import Hashable, Mapping
from typing import Any

import attrs
import numpy as np

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DriftpeakError, finite, shown, unit_interval
from driftpeak.live._category_bandit import Categories, make_bandit
from driftpeak.live._engines.setup import LivePolicy
from driftpeak.live._optimizer import Optimizer
from driftpeak.live._space.encoding import Space, make_coding
from driftpeak.live._space.fixed import random_setting
from driftpeak.live._space.parameters import ParameterValues
from driftpeak.live._study.storage import Storage
from driftpeak.live._study.suggestion import Suggestion

RECENT = 3
"""Improvements whose scale standardises the next one, per member."""


@attrs.frozen
class Exploit:
    """A decision to continue from another member's weights with other hyperparameters.

    Attributes:
        source: the member whose weights are copied.
        setting: the hyperparameters for the next interval.
    """

    source: Any
    setting: ParameterValues


@attrs.define
class Member:
    """The state of a member.

    Attributes:
        setting, suggestion: its hyperparameters, and the number of their suggestion while pending.
        time, metric, context: where its current interval started; a new member has no metric.
        score: the metric of its last report, by which members are ranked; None before the first.
    """

    setting: ParameterValues
    suggestion: int | None
    time: float
    metric: float | None
    context: ParameterValues
    score: float | None = None
    replaced: bool = False


class PopulationBasedBandit:
    """Population based bandits (PB2) with a drifting Gaussian process.

    A population trains in parallel. Members report their metric at intervals. A member in the
    lowest quantile copies the weights of a random member in the highest quantile, as in population
    based training, and gets new hyperparameters. These maximise an upper confidence bound of the
    improvement of the metric per unit of time, which changes during training (Parker-Holder, Nguyen
    and Roberts 2020, Algorithm 1). Their Gaussian process has a fixed rate of change; here drift,
    lengthscales and noise are learned online by an `Optimizer`.

    A report of member b at time t, after training with setting x since time s, is the observation

        y = (metric_b(t) - metric_b(s)) / (t - s)

    at x and s. It is divided by the mean absolute value of the last improvements, because training
    slows down. Hyperparameters that are in training are pending suggestions.

    Some hyperparameters show their benefit only after several intervals, or the metric is so noisy
    that improvements say little. Half of the new hyperparameters are therefore uniform random ones,
    as population based training draws a part of them (Jaderberg et al. 2017).

    Categories are chosen by the Gaussian process together with the other hyperparameters. With
    `categories="exp3"`, a bandit chooses them first, and the Gaussian process chooses the others
    given these categories (PB2-Mix). The bandit is TV.EXP3.M, one for each unordered `Categorical`
    or `Boolean`. Its rounds have as many plays as there are members. As in the authors' program,
    the categories with which members train count as plays, only replaced members get a category of
    the bandit's draws, and a gain is the reward between the worst (0) and the best reward so far
    (1). The authors' program adds and multiplies a kernel of the categories and one of the numbers;
    here the kernel is that of `DriftingGP`.

    Arguments:
        space: the hyperparameters, a `Box`. A `space.context(...)` conditions the improvement on
            the member's state, which `report` then needs.
        maximize, minimize: the direction of the metric, by one of them.
        quantile: share of members that are replaced and copied, in (0, 0.5].
        resample_probability: probability, in [0, 1], with which a replaced member gets uniform
            random hyperparameters on their scales. 0 is PB2.
        categories: what chooses the categories of a replaced member: "gp", the Gaussian process,
            or "exp3", a bandit, which also chooses those of random hyperparameters. A category
            whose condition names an ordered parameter is always chosen by the Gaussian process.
            "exp3" with `resample_probability=0` is PB2-Mix.
        policy: as for `Optimizer`; by default `DriftingGP()`.
        seed: seed of all random numbers.
        storage, name: where observations are stored, as for `Optimizer`. A stored population
            starts from its earlier observations.

    Raises:
        DriftpeakError: `Optimizer` rejects an argument; the quantile is out of range; there is no
            category for "exp3".
        StudyMismatchError: the stored study has another space, direction, policy or seed.

    Example:
        >>> import driftpeak as dp
        >>> space = dp.Box(rate=dp.Float(0.01, 1, log=True))
        >>> population = dp.PopulationBasedBandit(space, minimize=True)
        >>> losses = {}
        >>> for member in "abcd":
        ...     setting = population.add(member)
        ...     losses[member] = 2.0 - setting["rate"]
        >>> for member, loss in losses.items():
        ...     population.report(member, loss, time=1)
        >>> worst = max(losses, key=losses.get)
        >>> population.exploit(worst).source == min(losses, key=losses.get)
        True

    Source: TV.EXP3.M and PB2-Mix (Parker-Holder, Nguyen, Desai and Roberts 2021).
    """

    @checked
    def __init__(
        self,
        space: Space,
        *,
        maximize: bool | None = None,
        minimize: bool | None = None,
        quantile: float = 0.25,
        resample_probability: float = 0.5,
        categories: Categories = "gp",
        policy: LivePolicy | None = None,
        seed: int = 0,
        storage: Storage | None = None,
        name: str | None = None,
    ) -> None:
        self.quantile = unit_interval("quantile", quantile, low_open=True)
        if self.quantile > 0.5:
            raise DriftpeakError(f"quantile must be in (0, 0.5]; got {shown(quantile)}")
        self.resample_probability = unit_interval("resample_probability", resample_probability)
        self._bandit = make_bandit(categories, make_coding(space), seed)
        self.optimizer = Optimizer(
            space,
            maximize=maximize,
            minimize=minimize,
            policy=policy,
            seed=seed,
            storage=storage,
            name=name,
        )
        for pending in self.optimizer.pending():
            self.optimizer.cancel(pending)  # of a program that ended before these were told
        self.members: dict[Hashable, Member] = {}
        self._random = np.random.default_rng(self.optimizer.seed)
        self._improvements: list[float] = []

    def add(
        self,
        member: Hashable,
        setting: Mapping[str, object] | None = None,
        *,
        time: float | np.number[Any] = 0.0,
        metric: float | np.number[Any] | None = None,
        context: Mapping[str, object] | None = None,
    ) -> ParameterValues:
        """Add a member and return its first hyperparameters.

        Arguments:
            member: its name.
            setting: its hyperparameters; by default they are suggested.
            time: when its training starts.
            metric: its metric at this time; by default its first report is only a starting point.
            context: the member's state, for a space with a context.
        """
        if member in self.members:
            raise DriftpeakError(f"member must be new; got {shown(member)} again. Use another name")
        time = finite("time", time)
        metric = None if metric is None else finite("metric", metric)
        number = None
        if setting is None:
            suggestion = self.optimizer.ask(time, context=context)
            setting, number = dict(suggestion), suggestion.id
        clean = self.optimizer.coding.clean(setting)
        context_values = self.optimizer.coding.clean_context(context)
        self.members[member] = Member(clean, number, time, metric, context_values)
        return dict(clean)

    def report(
        self,
        member: Hashable,
        metric: float | np.number[Any],
        time: float | np.number[Any],
        *,
        context: Mapping[str, object] | None = None,
    ) -> None:
        """Report a member's metric at a time.

        Arguments:
            member: its name.
            metric: a finite number.
            time: later than the member's last report.
            context: the member's state now, for a space with a context.
        """
        state = self._member(member)
        if isinstance(metric, float | np.floating) and not math.isfinite(metric):
            raise DriftpeakError(
                f"metric must be a finite number; got {metric} for member {shown(member)}. Call "
                "fail() if its training diverged"
            )
        metric, time = finite("metric", metric), finite("time", time)
        if state.metric is not None and time <= state.time:
            raise DriftpeakError(
                f"time must be after the member's last report at {state.time:g}; got {time:g}"
            )
        context_values = self.optimizer.coding.clean_context(context)
        if state.metric is not None:
            improvement = (metric - state.metric) / (time - state.time)
            self._tell(state, improvement)
            state.suggestion = None
        state.metric = state.score = metric
        state.time, state.context, state.replaced = time, context_values, False

    def _tell(self, state: Member, improvement: float) -> None:
        recent = self._improvements[-RECENT * len(self.members) :]
        scale = float(np.mean(np.abs(recent))) if recent else abs(improvement)
        self._improvements.append(improvement)
        number = self._pending(state)
        self.optimizer.tell(
            state.setting if number is None else number,
            improvement / scale if scale else 0.0,
            state.time,
            context=state.context or None,
        )

    def _pending(self, state: Member) -> int | None:
        """Return the number of a member's suggestion while it is pending.

        A report of a member with equal hyperparameters may have answered it.
        """
        pending = {suggestion.id for suggestion in self.optimizer.pending()}
        return state.suggestion if state.suggestion in pending else None

    def _cancel(self, state: Member) -> None:
        number = self._pending(state)
        if number is not None:
            self.optimizer.cancel(number)

    def fail(self, member: Hashable) -> None:
        """Report that a member's training diverged, for example with a metric of NaN.

        Its hyperparameters get the lowest improvement so far, and it has the lowest rank until it
        is replaced.
        """
        state = self._member(member)
        if self._improvements and state.metric is not None:
            worst = min if self.optimizer.maximize else max
            self._tell(state, worst(self._improvements))
            state.suggestion = None
        state.score = -math.inf if self.optimizer.maximize else math.inf
        state.metric, state.replaced = None, False

    def remove(self, member: Hashable) -> None:
        """Remove a member that trains no longer; its observations are kept."""
        state = self._member(member)
        self._cancel(state)
        del self.members[member]

    def exploit(self, member: Hashable) -> Exploit | None:
        """Return the weights and hyperparameters with which a member continues.

        Returns:
            None if it continues with its own; else the member to copy, and new hyperparameters.
        """
        lowest, highest = self._quantiles()
        if self._member(member).replaced or member not in lowest:
            return None
        source = highest[self._random.integers(len(highest))]
        return Exploit(source, self.explore(member, source))

    def explore(self, member: Hashable, source: Hashable) -> ParameterValues:
        """Return new hyperparameters for a member that continues from the weights of another."""
        state, origin = self._member(member), self._member(source)
        self._cancel(state)
        suggestion = self._suggested(origin.time, origin.context or None)
        state.setting, state.suggestion = dict(suggestion), suggestion.id
        state.time, state.metric, state.context = origin.time, origin.metric, origin.context
        state.replaced = True
        return dict(suggestion)

    def _suggested(self, time: float, context: ParameterValues | None) -> Suggestion:
        """Return a pending suggestion: the optimiser's, or uniform random hyperparameters.

        The bandit's categories are part of both.
        """
        fixed: ParameterValues = {}
        if self._bandit is not None:
            replaced = sum(state.replaced for state in self.members.values())
            history = self.optimizer.history()
            fixed = self._bandit.choose(
                history, len(self.members), replaced, maximize=self.optimizer.maximize
            )
        if self._random.random() < self.resample_probability:
            fixed = random_setting(self.optimizer.coding, self._random, fixed)
        return self.optimizer.ask(time, context=context, fixed=fixed)

    def _quantiles(self) -> tuple[list[Hashable], list[Hashable]]:
        """Return the members in the lowest and in the highest quantile, of those that reported."""
        scores = {name: state.score for name, state in self.members.items()}
        sign = 1 if self.optimizer.maximize else -1
        reported = [name for name, score in scores.items() if score is not None]
        ranked = sorted(reported, key=lambda name: sign * scores[name])  # type: ignore[operator]
        count = min(math.ceil(len(ranked) * self.quantile), len(ranked) // 2)
        highest = [name for name in ranked[len(ranked) - count :] if math.isfinite(scores[name])]  # type: ignore[arg-type]
        return (ranked[:count], highest) if highest else ([], [])

    def _member(self, member: Hashable) -> Member:
        if member not in self.members:
            names = ", ".join(map(shown, self.members)) or "none"
            raise DriftpeakError(f"member must be one of {names}; got {shown(member)}")
        return self.members[member]
