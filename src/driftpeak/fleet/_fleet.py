"""`Fleet`: thousands of drifting optimisers that are advanced in batches."""

from typing import Any, Literal

import numpy as np

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import (
    LARGEST_SEED,
    DriftpeakError,
    StorageError,
    UnsupportedError,
    at_least_integer,
    one_of,
    shown,
)
from driftpeak._core.times import Horizon
from driftpeak._core.types import Integers, Matrix, Vector
from driftpeak.fleet import _columns as columns, _requests as requests
from driftpeak.fleet._default import default_policy
from driftpeak.fleet._engine import Decisions, Engine
from driftpeak.fleet._events import Event
from driftpeak.fleet._log import Log, description_of
from driftpeak.fleet._pending import PLACES, number_of, serial_of
from driftpeak.fleet._pool import Pool
from driftpeak.fleet._population import Population
from driftpeak.fleet._rows import Rows
from driftpeak.fleet._state import State
from driftpeak.fleet._suggestions import Suggestions
from driftpeak.gp.context_points import Contexts
from driftpeak.gp.domains import Domain
from driftpeak.live import space_from_data, space_to_data
from driftpeak.live._study.interrupts import interrupts
from driftpeak.live._study.policy_data import policy_from_data, policy_to_data
from driftpeak.live._study.storage import Storage, open_store
from driftpeak.policies import Policy

Invalid = Literal["reject", "skip"]
INVALID: tuple[Invalid, ...] = ("reject", "skip")


class Fleet:
    """Many optimisers of one space, each with its own drifting objective, advanced in batches.

    A member is one objective, such as the price of one article. All members have one policy, and
    each member has its own state, random key and clock. Rewards are maximised. A member's decisions
    are those of a single player of the policy, whatever the batches.

    Arguments:
        space: `Arms` or a `Grid`, the candidates of every member.
        members: their number, for the ids 0, 1, ...; or their ids, distinct integers or strings; or
            a table (pandas, Arrow or a mapping) with the ids in the column "member".
        arms: which arms each member has, booleans of shape `(members, n)`; all by default. It needs
            a policy that supports a choice among given points: `Auto` or the GP-UCB family.
        policy: "auto", or a policy of `driftpeak.policies` with as many points as the space.
        share: which members share a prior: "none"; "all"; or the name of a column of the table of
            members, whose values are groups. The prior of a group (mean, covariance, drift, noise
            and period) is estimated from all its members. It needs the policy `Auto`.
        contexts: the contexts that `ask` may be given; the policy is then one of
            `contexts.cells(space)`.
        seed: seed of the random keys. The member added as number s has the key of trial s of
            `simulate` with this seed.
        late: number of the newest asks and tells of each member among which a late observation is
            inserted at its time. Older observations are not used.
        horizon: maximum of decisions of a member, for policies that allocate memory for them.
        storage: where every change is written before a call returns: the path of a journal,
            `journal:///path`, `sqlite:///path`, `postgresql://...` or a `Store` (`dp.live`). If it
            holds the fleet already, the stored fleet is resumed with its stored members, and
            `members` and `arms` are not used. One process at a time may change a fleet.
        name: name of the fleet in the storage.

    Raises:
        DriftpeakError: ids that are not distinct, a policy with another number of points, arms of
            another shape, or a member without arms.
        StudyMismatchError: the stored fleet has other arguments.
        StorageError: the storage cannot be used, or another version wrote it.
        UnsupportedError: a policy that needs the true function, makes side queries, or does not
            support sets of arms or contexts although they are given.

    The states are kept in double precision on the host, `bytes_per_member` bytes for each member.

    Example:
        >>> import driftpeak as dp
        >>> shop = dp.Fleet(dp.Arms([9.9, 11.9, 13.9]), members=["tea", "coffee"])
        >>> offers = shop.ask(time=1.0)
        >>> offers.members.tolist()
        ['tea', 'coffee']
        >>> shop.tell(offers.ids, [20.0, 31.5]).tolist()
        [True, True]
    """

    @checked
    def __init__(
        self,
        space: Domain,
        members: Any,
        *,
        arms: Any = None,
        policy: Literal["auto"] | Policy = "auto",
        share: str = "none",
        contexts: Contexts | None = None,
        seed: int = 0,
        late: int = 16,
        horizon: int = 100_000,
        storage: Storage | None = None,
        name: str | None = None,
    ) -> None:
        self.space, self.contexts = space, contexts
        self.late = at_least_integer("late", late, 1, 1024)
        self.horizon = at_least_integer("horizon", horizon, 1)
        self.seed = at_least_integer("seed", seed, 0, LARGEST_SEED)
        self._kinds = 1 if contexts is None else len(contexts.kinds)
        cells = space if contexts is None else contexts.cells(space)
        self.policy = default_policy(cells) if isinstance(policy, str) else policy
        self._check_policy(len(cells))
        self.share = share
        self._pool = None if share == "none" else Pool(self.policy, self.horizon)
        player = self.policy.prepare(Horizon(self.horizon))
        if self._pool is not None:
            player = self._pool.first()
        if player.side_capacity:
            raise UnsupportedError(
                f"a fleet supports no side queries; got {type(self.policy).__name__}. Use an "
                "Optimizer for each member"
            )
        self._state = State(Engine(player, seed=self.seed, late=self.late), len(space), self._pool)
        self._members, self._pending = self._state.members, self._state.pending
        self._engine = self._state.engine
        self._log = None
        self._sound = True
        if storage is not None:
            self._log = Log(open_store(storage, name), self._description())
            self._restore(self._log)
        if self._log is None or self._log.position[0] == 0:
            self.add(requests.first_members(members), arms=arms)

    @classmethod
    def load(
        cls, storage: Storage, name: str | None = None, *, policy: Policy | None = None
    ) -> "Fleet":
        """Resume a stored fleet.

        Arguments:
            storage, name: as for the constructor.
            policy: the fleet's policy; needed if a part of it is user-defined.

        Raises:
            StudyNotFoundError: there is no such fleet.
            StorageError: another version wrote the fleet, or it is corrupt.
        """
        store = open_store(storage, name)
        found = arguments_from_data(description_of(store), policy)
        return cls(members=0, storage=store, **found)

    def _description(self) -> dict[str, Any]:
        contexts = self.contexts
        return {
            "space": space_to_data(self.space),
            "policy": policy_to_data(self.policy),
            "contexts": None if contexts is None else [dict(kind) for kind in contexts.kinds],
            "seed": self.seed,
            "late": self.late,
            "horizon": self.horizon,
        } | ({} if self.share == "none" else {"share": self.share})

    def _restore(self, log: Log) -> None:
        """Apply the stored events, from a snapshot if there is one."""
        found = log.snapshot()
        if found is not None:
            self._state.load(*found)
        for event in log.read():
            self._state.apply(event)

    def _change(self, event: Event, decisions: Decisions | None = None) -> Any:
        """Store an event, then apply it; Ctrl-C waits for the end."""
        if not self._sound:
            raise StorageError(
                "the last change of this fleet failed before its end. Use Fleet.load to resume the "
                "fleet from its storage"
            )
        with interrupts() as handler, handler.delayed():
            if self._log is not None:
                self._log.append(event)
            self._sound = False
            result = self._state.apply(event, decisions)
            self._sound = True
            if self._log is not None and self._log.due:
                self._log.keep(*self._state.save())
        return result

    def _check_policy(self, points: int) -> None:
        name = type(self.policy).__name__
        if self.policy.points != points:
            raise DriftpeakError(
                f"the policy must have as many points as the space, {points}; got "
                f"{self.policy.points}"
            )
        if self.policy.foresight != "none":
            raise UnsupportedError(
                f"{name} needs the true function and cannot run live. Use another policy"
            )
        if self.contexts is not None and not self.policy.chooses_among:
            raise UnsupportedError(
                f"{name} supports no contexts. Use Auto or a policy of the GP-UCB family"
            )

    def __len__(self) -> int:
        """Return the number of members."""
        return len(self._members)

    @property
    def members(self) -> np.ndarray[Any, np.dtype[Any]]:
        """The ids of the members, in the order in which they were added."""
        return self._members.index.to_numpy().copy()

    @property
    def bytes_per_member(self) -> int:
        """Bytes of memory of one member, without its id."""
        pending = PLACES * (8 + 4 + 8)
        return self._engine.bytes_per_member + pending + len(self.space) + 40

    @property
    def observations(self) -> Integers:
        """The number of observations of each member that were used, since its last reset."""
        return self._engine.tells[self._members.rows].copy()

    def ask(self, members: Any = None, *, time: Any = None, context: Any = None) -> Suggestions:
        """Suggest the next arm of each member.

        Pending suggestions of a member are fantasised at their posterior mean. A member has at most
        16; further ones replace the oldest.

        Arguments:
            members: distinct ids; all members by default.
            time: one time or one for each member; by default 1, 2, ... for the first, second, ...
                suggestion of each member. A time before the member's latest step counts as the time
                of that step.
            context: one context or one for each member, if the fleet has contexts.

        Raises:
            DriftpeakError: an unknown member, a member given twice, a time that is not a finite
                number, an unknown context, or more decisions than the horizon. Nothing is changed.
        """
        ids, rows, given, kinds = requests.questions(
            members, time, context, there=self._members, contexts=self.contexts
        )
        asked = self._pending.asked[rows]
        times = asked.astype(float) + 1.0 if given is None else given
        if len(asked) and asked.max() >= self.horizon:
            raise DriftpeakError(
                f"a member must have at most horizon={self.horizon:,} decisions; got one more for "
                f"{shown(ids[np.argmax(asked)])}. Create a fleet with a larger horizon"
            )
        pending = self._pending.of(rows)
        serials = self._members.serials[rows]
        among = self._among(rows, kinds)
        if self._pool is not None:
            own = self._members.groups[rows], serials, self._engine.tells[rows]
            among = self._pool.spread(*own, among)
        decisions = self._engine.decide(rows, times, pending, among)
        numbers = self._pending.ids(rows, serials)
        arrays = {"serials": serials, "times": decisions.times, "points": decisions.points}
        self._change(Event("Asked", arrays), decisions)
        choices = decisions.points % len(self.space)
        return Suggestions(numbers, ids, choices, decisions.times, self.space)

    def _among(self, rows: Rows, kinds: Integers | None) -> Any:
        """Return the points that members may choose as a mask, or None for all."""
        arms = None if self._members.arms is None else self._members.arms[rows]
        if kinds is None:
            return arms
        here = np.repeat(np.arange(self._kinds), len(self.space)) == kinds[:, None]
        return here if arms is None else here & np.tile(arms, self._kinds)

    def tell(
        self, ids: Any, rewards: Any = None, *, time: Any = None, invalid: Invalid = "reject"
    ) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Report the rewards of suggestions, in any order and of any subset.

        A suggestion can be answered once. If a row is invalid, the whole call is rejected and
        nothing is changed; with `invalid="skip"` the other rows are accepted.

        Arguments:
            ids: ids of pending suggestions. Or a table with the columns "id", "reward" and, if
                times are not those of the suggestions, "time".
            rewards: finite numbers, one for each id.
            time: one time or one for each id, of the observation; by default the time of the
                suggestion. Observations of one call are processed in the order of time.
            invalid: "reject", or "skip" for rows with unknown or answered ids and rows whose reward
                or time is not a finite number.

        Returns:
            Which rows were used. Rows that are too late (see `late`) or were skipped are not.

        Raises:
            UnknownSuggestionError: an id is unknown, already answered, given twice or of a removed
                member.
            DriftpeakError: columns of different lengths, or a reward or time that is not a finite
                number.
        """
        one_of("invalid", invalid, INVALID)
        told = requests.rewards_of(ids, rewards, time)
        rows, numbers = self._members.rows_of(serial_of(told.ids)), number_of(told.ids)
        reject = invalid == "reject"
        fits = requests.answerable(
            told.ids,
            rows,
            self._pending.known(rows, numbers),
            lambda place, name: self._pending.why_not(int(rows[place]), int(numbers[place]), name),
            reject=reject,
        )
        if reject:
            told.check()
        mine = np.flatnonzero(fits & told.finite)
        used = np.zeros(len(fits), bool)
        if len(mine):
            times = (
                self._pending.find(rows[mine], numbers[mine])[1]
                if told.times is None
                else told.times[mine]
            )
            arrays = {"ids": told.ids[mine], "rewards": told.values[mine], "times": times}
            used[mine] = self._change(Event("Told", arrays))
            self._refresh()
        return used

    def observe(
        self, members: Any, choices: Any, rewards: Any, *, time: Any
    ) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Report rewards of arms that were not suggested, such as recorded ones.

        Arguments:
            members: ids, which may repeat.
            choices: numbers of arms, from 0; with contexts, numbers of cells.
            rewards: finite numbers.
            time: one time or one for each row.

        Returns:
            Which rows were used. Rows that are too late (see `late`) are not.

        Raises:
            DriftpeakError: an unknown member, an arm that does not exist or that the member does
                not have, columns of different lengths, or a number that is not finite. Nothing is
                changed.
        """
        _, rows, points, values, times = requests.records(
            members, choices, rewards, time, there=self._members, points=self._engine.points
        )
        serials = self._members.serials[rows]
        arrays = {"serials": serials, "points": points, "rewards": values, "times": times}
        used = self._change(Event("Observed", arrays))
        self._refresh()
        return used

    def _refresh(self) -> None:
        """Estimate the priors of groups again whose number of observations has doubled."""
        for group in [] if self._pool is None else self._pool.overdue():
            event = self._state.refreshed(group)
            if event is not None:
                self._change(event)

    def predict(self, members: Any = None, *, time: Any = None) -> tuple[Matrix, Matrix, Vector]:
        """Return the prediction of each member's objective at a time.

        Arguments:
            members: distinct ids; all members by default.
            time: one time or one for each member; by default, and at the earliest, the time of its
                latest step.

        Returns:
            The mean and the variance of the noiseless objective, shape `(members, n)`, in units of
            the reward and of its square, and the variance of the noise of one reward, shape
            `(members,)`.

        Raises:
            UnsupportedError: the policy makes no predictions.
            DriftpeakError: an unknown member, or a time that is not a finite number.
        """
        _, rows = self._members.find(members)
        latest = np.nan_to_num(self._engine.steps.latest[rows], neginf=0.0)
        times = columns.reals("time", latest if time is None else time, len(rows), scalar=True)
        columns.check_valid("time", times)
        return self._engine.predict(rows, times)

    def diagnostics(self, members: Any = None) -> dict[str, Any]:
        """Return how each member moves, and how its rewards differ from their forecasts.

        Arguments:
            members: distinct ids; all members by default.

        Returns:
            Arrays by name, with one entry for each member: "member"; "observations", the number
            since the last reset; "drift", the estimated drift per step, NaN if the policy estimates
            none; and "error", the mean squared error of one-step forecasts of the newest rewards
            (those that are kept, see `late`), in units of the forecast variance: about 1 for a good
            model, NaN without rewards.

        Raises:
            UnsupportedError: the policy makes no predictions.
            DriftpeakError: an unknown member.
        """
        ids, rows = self._members.find(members)
        return {
            "member": ids.copy(),
            "observations": self._engine.tells[rows],
            "drift": self._engine.read(rows, "believed_drift"),
            "error": self._engine.errors(rows),
        }

    def add(self, members: Any, *, arms: Any = None) -> None:
        """Add members.

        Arguments:
            members: new ids, or a table with the column "member".
            arms: which arms each has, as for the fleet.

        Raises:
            DriftpeakError: ids that are not distinct or not new, arms of another shape, or a member
                without arms. Nothing is changed.
        """
        ids, mask, groups = requests.additions(
            members,
            arms,
            there=self._members,
            pool=self._pool,
            share=self.share,
            policy=self.policy,
        )
        flat = np.zeros(0, bool) if mask is None else mask.ravel()
        rest = None if groups is None else {"groups": groups}
        self._change(Event("Added", {"arms": flat}, ids.tolist(), rest))

    def population(self, group: Any = None) -> Population | None:
        """Return the prior that new members of a group start from.

        Arguments:
            group: a value of the column `share`; None with `share="all"`.

        Returns:
            The population prior; None before the first estimate.

        Raises:
            DriftpeakError: an unknown group, or a fleet with `share="none"`.
        """
        if self._pool is None:
            raise DriftpeakError("share must be 'all' or a column for a population; got 'none'")
        if group not in self._pool.labels:
            raise DriftpeakError(
                f"group must be one of {shown(self._pool.labels)}; got {shown(group)}"
            )
        return self._pool.populations[self._pool.newest[self._pool.labels.index(group)]]

    def remove(self, members: Any) -> None:
        """Remove members. Their pending suggestions can no longer be answered.

        Raises:
            DriftpeakError: an unknown member, or a member given twice.
        """
        _, rows = self._members.find(members)
        self._change(Event("Removed", {"serials": self._members.serials[rows]}))

    def reset(self, members: Any = None) -> None:
        """Delete the observations and pending suggestions of members; all members by default.

        Raises:
            DriftpeakError: an unknown member, or a member given twice.
        """
        _, rows = self._members.find(members)
        self._change(Event("Reset", {"serials": self._members.serials[rows]}))

    def __repr__(self) -> str:
        return f"Fleet({self.space!r}, {len(self):,} members, {type(self.policy).__name__})"


def arguments_from_data(found: dict[str, Any], policy: Policy | None = None) -> dict[str, Any]:
    """Return the arguments of a fleet, except its members and storage, from stored data."""
    kinds = found["contexts"]
    return {
        "space": space_from_data(found["space"]),
        "policy": policy_from_data(found["policy"]) if policy is None else policy,
        "contexts": None if kinds is None else Contexts(kinds),
        "share": found.get("share", "none"),
        **{name: found[name] for name in ("seed", "late", "horizon")},
    }
