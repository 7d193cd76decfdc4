"""The arguments of the calls of a fleet, checked before anything is changed."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from driftpeak._core.errors import (
    DriftpeakError,
    UnknownSuggestionError,
    UnsupportedError,
    at_least_integer,
    shown,
    whole,
)
from driftpeak._core.types import Integers, Vector
from driftpeak.fleet import _columns as columns
from driftpeak.fleet._contexts import kinds_of
from driftpeak.fleet._members import Members, member_ids
from driftpeak.fleet._pool import Pool
from driftpeak.fleet._rows import Rows
from driftpeak.fleet._suggestions import Suggestions
from driftpeak.gp.context_points import Contexts
from driftpeak.policies import Policy

MOST_MEMBERS = 10**8
Ids = np.ndarray[Any, np.dtype[Any]]


class Rewards(NamedTuple):
    """Rewards of suggestions, which may be NaN. Times are None if not given."""

    ids: Integers
    values: Vector
    times: Vector | None

    @property
    def finite(self) -> Any:
        """Which rows have a finite reward and, if given, a finite time."""
        found = columns.valid(self.values)
        return found if self.times is None else found & columns.valid(self.times)

    def check(self) -> None:
        """Raise DriftpeakError if a reward or a time is not a finite number."""
        columns.check_valid("rewards", self.values)
        if self.times is not None:
            columns.check_valid("time", self.times)


def first_members(members: Any) -> Any:
    """Return the members of a new fleet: the ids 0, 1, ... for a number."""
    if whole(members):
        return np.arange(at_least_integer("members", members, 0, MOST_MEMBERS))
    if isinstance(members, str) or (isinstance(members, np.ndarray) and members.ndim == 0):
        raise DriftpeakError(
            'members must be their number, a list of ids, or a table with the column "member"; got '
            f"{shown(members)}. Give a list for a single member"
        )
    return members


def additions(
    members: Any, arms: Any, *, there: Members, pool: Pool | None, share: str, policy: Policy
) -> tuple[Ids, Any, list[Any] | None]:
    """Return new members: their ids, their arms as a mask or None, and their groups or None.

    Raises:
        DriftpeakError: ids that are not distinct or not new, arms of another shape, a member
            without arms, or no groups.
        UnsupportedError: the policy supports no sets of arms.
    """
    ids = member_ids(columns.of_table(members, "member") if columns.is_table(members) else members)
    groups = None if pool is None else pool.labels_of(members, share, len(ids))
    mask = there.check_new(ids, arms)
    if mask is not None and not policy.chooses_among:
        raise UnsupportedError(
            f"{type(policy).__name__} supports no sets of arms. Use Auto or a policy of the "
            "GP-UCB family"
        )
    return ids, mask, groups


def questions(
    members: Any, time: Any, context: Any, *, there: Members, contexts: Contexts | None
) -> tuple[Ids, Rows, Vector | None, Integers | None]:
    """Return ids, rows, times and kinds of contexts of the members of a call of `ask`.

    Times and kinds of contexts are None if they are not given.

    Raises:
        DriftpeakError: an unknown member, a member given twice, a time that is not a finite number,
            or an unknown context.
    """
    ids, rows = there.find(members)
    times = None if time is None else columns.reals("time", time, len(rows), scalar=True)
    if times is not None:
        columns.check_valid("time", times)
    return ids.copy(), rows, times, kinds_of(contexts, context, len(rows))


def rewards_of(ids: Any, rewards: Any, time: Any) -> Rewards:
    """Return the rewards of a call of `tell`, whose ids may be a table.

    Raises:
        DriftpeakError: columns of different lengths, or values of another type.
    """
    if columns.is_table(ids):
        if rewards is not None or time is not None:
            raise DriftpeakError("rewards and time must be columns of the table, if one is given")
        table, ids = ids, columns.of_table(ids, "id")
        rewards = columns.of_table(table, "reward")
        time = table["time"] if columns.has_column(table, "time") else None
    numbers = columns.integers("ids", ids.ids if isinstance(ids, Suggestions) else ids)
    values = columns.reals("rewards", rewards, len(numbers))
    times = None if time is None else columns.reals("time", time, len(numbers), scalar=True)
    return Rewards(numbers, values, times)


def answerable(
    ids: Integers,
    rows: Rows,
    pending: Any,
    why_not: Callable[[int, str], Exception],
    *,
    reject: bool,
) -> Any:
    """Return which ids are pending and given for the first time.

    Arguments:
        ids: ids of suggestions.
        rows: the rows of their members; -1 for removed members, -2 for numbers never used.
        pending: which of them are pending.
        why_not: returns the error for an id that is not pending, from its place and its name.
        reject: whether to raise an error if an id is not.

    Raises:
        UnknownSuggestionError: an id is not, if `reject` is true.
    """
    first = np.zeros(len(ids), bool)
    first[np.unique(ids, return_index=True)[1]] = True
    if reject and not (pending & first).all():
        place = int(np.argmin(pending & first))
        name = f"{ids[place]} at row {place}"
        if pending[place]:
            raise UnknownSuggestionError(
                f"ids must be distinct; got {name} for the second time. Leave it out, or set "
                "invalid='skip'"
            )
        if rows[place] == -1:
            raise UnknownSuggestionError(
                f"ids must be of members of the fleet; got {name}, whose member was removed. "
                "Leave it out, or set invalid='skip'"
            )
        if rows[place] < 0:
            raise UnknownSuggestionError(f"ids must be ids that ask() returned; got {name}")
        raise why_not(place, name)
    return pending & first


def records(
    members: Any, choices: Any, rewards: Any, time: Any, *, there: Members, points: int
) -> tuple[Ids, Rows, Integers, Vector, Vector]:
    """Return ids, rows, points, rewards and times of a call of `observe`.

    Arguments:
        there: the members of the fleet.
        points: number of points of the policy.

    Raises:
        DriftpeakError: an unknown member, an arm that does not exist or that the member does not
            have, columns of different lengths, or a number that is not finite.
    """
    ids, rows = there.find_repeated(members)
    chosen = columns.integers("choices", choices)
    if len(chosen) != len(rows):
        raise DriftpeakError(
            f"choices must have {len(rows):,} entries, one for each row; got {len(chosen):,}"
        )
    wrong = (chosen < 0) | (chosen >= points)
    if wrong.any():
        raise DriftpeakError(
            f"choices must be numbers of arms in 0..{points - 1}; got {chosen[np.argmax(wrong)]} "
            f"at row {np.argmax(wrong)}"
        )
    if there.arms is not None:
        has = there.arms[rows, chosen % there.points]
        if not has.all():
            place = int(np.argmin(has))
            raise DriftpeakError(
                f"choices must be arms that the members have; got {chosen[place]} at row {place}"
            )
    values = columns.reals("rewards", rewards, len(rows))
    times = columns.reals("time", time, len(rows), scalar=True)
    columns.check_valid("rewards", values)
    columns.check_valid("time", times)
    return ids, rows, chosen, values, times
