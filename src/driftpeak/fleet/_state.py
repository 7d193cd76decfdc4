"""The state of a fleet: a function of its arguments and its events, in order."""

from typing import Any

import numpy as np
import pandas as pd

from driftpeak._core.types import Integers, Vector
from driftpeak.fleet._engine import Decisions, Engine
from driftpeak.fleet._events import Event
from driftpeak.fleet._members import Members, member_ids
from driftpeak.fleet._pending import Pending, number_of, serial_of
from driftpeak.fleet._pool import Pool
from driftpeak.fleet._population import Population
from driftpeak.fleet._rows import Rows

PLACES = {
    "engine": ("now", "middle", "old", "whose", "tells", "refreshed", "clock"),
    "steps": ("kinds", "arms", "rewards", "times", "counts", "latest", "reach"),
    "pending": ("asked", "_number", "_points", "_times"),
    "members": ("rows", "serials", "resets", "groups", "_row_of_serial"),
}
"""The arrays of each part of a snapshot."""


class State:
    """Members, their players, and their pending suggestions.

    Arguments:
        engine: the players of a fleet without members.
        points: number of arms of the space.
        pool: the groups that share a prior, or None.

    Attributes:
        call: the id of the call that made the newest event, or None.
        used: which rewards of the newest event were used; None if it has no rewards.
    """

    def __init__(self, engine: Engine, points: int, pool: Pool | None = None) -> None:
        self.engine, self.members, self.pending = engine, Members(points), Pending()
        self.pool = pool
        self.call: str | None = None
        self.used: Any = None

    def apply(self, event: Event, decisions: Decisions | None = None) -> Any:
        """Apply an event.

        Arguments:
            event: the event.
            decisions: those of an event that was just made; they are computed again for stored
                events, if they change the players' states.

        Returns:
            Which rewards were used, for events with rewards.
        """
        self.used = self._applied(event, decisions)
        self.call = (event.rest or {}).get("call")
        return self.used

    def _applied(self, event: Event, decisions: Decisions | None) -> Any:
        arrays = event.arrays
        if event.kind == "Added":
            return self._add(event.ids or [], arrays["arms"], event.rest or {})
        if event.kind == "Refreshed":
            return self._refresh(event.rest or {})
        if event.kind == "Told":
            rows = self.members.rows_of(serial_of(arrays["ids"]))
            numbers = number_of(arrays["ids"])
            points, _ = self.pending.find(rows, numbers)
            self.pending.remove(rows, numbers)
            return self._observe(rows, points, arrays["rewards"], arrays["times"])
        rows = self.members.rows_of(arrays["serials"])
        if event.kind == "Asked":
            points = arrays["points"].astype(np.int64)
            if decisions is None and len(self.engine.changed):
                none = self.pending.none(rows)
                decisions = self.engine.decide(rows, arrays["times"], none, None)
            if decisions is not None:
                self.engine.decided(rows, decisions)
            self.engine.pass_time(rows, arrays["times"])
            self.pending.add(rows, points, arrays["times"])
        elif event.kind == "Observed":
            points = arrays["points"].astype(np.int64)
            return self._observe(rows, points, arrays["rewards"], arrays["times"])
        elif event.kind == "Removed":
            self.members.remove(rows)
        else:
            self.members.resets[rows] += 1
            self.pending.clear(rows)
            self._begin(rows)
        return None

    def _add(self, ids: list[Any], flat: Any, rest: dict[str, Any]) -> None:
        mask = flat.reshape(len(ids), self.members.points) if len(flat) else None
        labels = rest.get("groups") or [None] * len(ids)
        groups = 0 if self.pool is None else self.pool.codes(labels)
        serials = np.array(rest["serials"], np.int64) if "serials" in rest else None
        rows = self.members.add(member_ids(ids), mask, groups, serials)
        self.engine.resize(self.members.room)
        self.pending.resize(self.members.room)
        self.pending.clear(rows)
        self.pending.asked[rows] = 0
        self._begin(rows)

    def _begin(self, rows: Rows) -> None:
        if self.pool is not None:
            self.engine.whose[rows] = np.array(self.pool.newest)[self.members.groups[rows]]
        self.engine.begin(rows, self.members.serials[rows], self.members.resets[rows])

    def _observe(self, rows: Rows, points: Integers, values: Vector, times: Vector) -> Any:
        """Process observations in the order of time, one of each member after another."""
        used = np.zeros(len(rows), bool)
        order = np.lexsort((times, rows))
        starts = np.flatnonzero(np.diff(rows[order], prepend=-1))
        turn = np.arange(len(rows)) - np.repeat(starts, np.diff(starts, append=len(rows)))
        for number in range(int(turn.max()) + 1 if len(rows) else 0):
            some = order[turn == number]
            used[some] = self.engine.tell(rows[some], points[some], values[some], times[some])
        if self.pool is not None:
            self.pool.count(self.members.groups[rows[used]])
        return used

    def refreshed(self, group: int) -> Event | None:
        """Return the event of a new prior of a group, or None if there is none."""
        assert self.pool is not None
        sample = self.pool.sample(self.rows_of_group(group), self.engine)
        population = None if sample is None else self.pool.fitted(group, [sample])
        if population is None:
            return None
        return Event("Refreshed", {}, rest={"group": group, "population": population.to_dict()})

    def _refresh(self, rest: dict[str, Any]) -> None:
        """Give a new prior to a group, and to those of its members whose history is complete."""
        assert self.pool is not None
        group = int(self.pool.codes([rest["label"]])[0]) if "label" in rest else rest["group"]
        self.pool.adopt(group, Population.from_dict(rest["population"]), self.engine)
        rows = self.rows_of_group(group)
        rows = rows[np.isneginf(self.engine.steps.reach[rows])]
        self.engine.whose[rows] = self.pool.newest[group]
        self.engine.restart(rows, self.members.serials[rows], self.members.resets[rows])

    def rows_of_group(self, group: int) -> Rows:
        """Return the rows of the members of a group."""
        return self.members.rows[self.members.groups[self.members.rows] == group]

    # snapshots

    def save(self) -> tuple[dict[str, np.ndarray[Any, np.dtype[Any]]], dict[str, Any]]:
        """Return all arrays by name, and the rest in JSON-compatible data."""
        parts = self._parts()
        arrays = {
            f"{part} {name}": getattr(parts[part], name)
            for part, names in PLACES.items()
            for name in names
        }
        if self.members.arms is not None:
            arrays["members arms"] = self.members.arms
        rest = {"members": self.members.index.to_list(), "call": self.call}
        if self.used is not None:
            arrays["last used"] = self.used
        return arrays, rest | ({} if self.pool is None else {"pool": self.pool.save()})

    def load(self, arrays: dict[str, Any], rest: dict[str, Any]) -> None:
        """Take the state that `save` returned."""
        parts = self._parts()
        self.call, self.used = rest.get("call"), arrays.pop("last used", None)
        for place, array in arrays.items():
            part, name = place.split(" ")
            setattr(parts[part], name, array)
        if len(self.members.groups) < self.members.room:  # of a snapshot without groups
            self.members.groups = np.zeros(self.members.room, np.int64)
        if self.pool is not None:
            self.pool.load(rest["pool"], self.engine)
        ids = rest["members"]
        numbered = all(isinstance(each, int) for each in ids)
        self.members.index = pd.Index(np.array(ids, np.int64 if numbered else object))

    def _parts(self) -> dict[str, Any]:
        parts = {"engine": self.engine, "steps": self.engine.steps}
        return parts | {"pending": self.pending, "members": self.members}
