"""`ShardedFleet`: a fleet whose members are divided among the workers of a Dask cluster."""

import uuid
import zlib
from pathlib import Path
from typing import Any, Literal

import numpy as np

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DriftpeakError, StorageError, at_least_integer, one_of
from driftpeak._core.types import Integers, Matrix, Vector
from driftpeak.fleet import _requests as requests
from driftpeak.fleet._fleet import INVALID, Fleet, Invalid, arguments_from_data
from driftpeak.fleet._log import Log, description_of
from driftpeak.fleet._pending import serial_of
from driftpeak.fleet._pool import MEMBERS
from driftpeak.fleet._population import Population
from driftpeak.fleet._rows import Rows
from driftpeak.fleet._shard import store_of
from driftpeak.fleet._suggestions import Suggestions
from driftpeak.fleet._workers import Workers
from driftpeak.gp.context_points import Contexts
from driftpeak.gp.domains import Domain
from driftpeak.live._study.policy_data import policy_from_data
from driftpeak.policies import Policy


class ShardedFleet:
    """A fleet whose members are divided among the workers of a Dask cluster.

    The calls, the arrays, and the decisions of each member are those of `Fleet`. A member is in the
    shard that is given by the CRC-32 checksum of its id. Each shard is a stored fleet. A call is
    stored before it returns, so that losing or adding workers loses no observation. A shard of a
    lost worker is opened by another worker, which repeats the unfinished part of the call. Each
    part is applied once.

    A call with an invalid row is rejected before any shard is changed. If the storage of a shard
    fails, the call raises an error, but other shards may have applied their parts.

    With `share`, a prior is estimated in this process, from the newest observations of at most 256
    members of all shards.

    Arguments:
        client: a `distributed.Client` of Dask. Its workers need the versions of this process.
        space, members, arms, policy, share, contexts, seed, late, horizon: as for `Fleet`. Policies
            with user-defined parts are not supported.
        storage: a folder, for one journal of each shard, or the address of a database. Every worker
            and this process must reach it. If it holds the fleet already, the stored fleet is
            resumed, and `members` and `arms` are not used. One process at a time may change a
            fleet.
        name: name of the fleet. Shard number k has the name `NAME-k`.
        shards: number of shards, 1 to 256; at least the largest number of workers. It cannot be
            changed later.

    Raises:
        DriftpeakError: an argument is invalid as for `Fleet`, or the client has no workers or
            workers with other versions.
        StudyMismatchError: the stored fleet has other arguments.
        StorageError: the storage cannot be used, or another version wrote it.
    """

    @checked
    def __init__(
        self,
        client: Any,
        space: Domain,
        members: Any,
        *,
        storage: str | Path,
        name: str = "fleet",
        shards: int = 16,
        arms: Any = None,
        policy: Literal["auto"] | Policy = "auto",
        share: str = "none",
        contexts: Contexts | None = None,
        seed: int = 0,
        late: int = 16,
        horizon: int = 100_000,
    ) -> None:
        shards = at_least_integer("shards", shards, 1, MEMBERS)
        if not name or "/" in name:
            raise DriftpeakError(f"name must be a word without '/'; got {name!r}")
        if str(storage).startswith("journal:"):
            raise DriftpeakError(
                f"storage must be a folder or the address of a database; got {storage!r}. Give the "
                "folder of the journals"
            )
        self.space, self.contexts, self.share = space, contexts, share
        self._template = Fleet(
            space, [], policy=policy, share=share, contexts=contexts, seed=seed, late=late,
            horizon=horizon,
        )  # fmt: skip
        self.policy = self._template.policy
        self._members, self._pool = self._template._members, self._template._pool
        description = self._template._description()
        policy_from_data(description["policy"])  # raises an error for user-defined parts
        if "://" not in str(storage):
            Path(storage).mkdir(parents=True, exist_ok=True)
            storage = Path(storage).absolute()
        self._workers = Workers(client, str(storage), name, shards)
        self._seen: dict[int, dict[Any, int]] = {}
        for shard in range(shards):
            Log(store_of(str(storage), name, shard), description | {"shard": [shard, shards]})
        self._restore()
        if not self._members.next_serial:
            self.add(requests.first_members(members), arms=arms)

    @classmethod
    def load(cls, client: Any, storage: str | Path, name: str = "fleet") -> "ShardedFleet":
        """Resume a stored fleet.

        Arguments:
            client, storage, name: as for the constructor.

        Raises:
            StudyNotFoundError: there is no such fleet.
            StorageError: another version wrote the fleet, or it is corrupt.
        """
        found = description_of(store_of(str(storage), name, 0))
        if "shard" not in found:
            raise StorageError(
                f"{storage} must hold a sharded fleet {name!r}; got another fleet. Use Fleet.load"
            )
        return cls(
            client,
            members=0,
            storage=storage,
            name=name,
            shards=found["shard"][1],
            **arguments_from_data(found),
        )

    def _restore(self) -> None:
        """Read the members and groups of all shards."""
        found = self._run("describe", {shard: {} for shard in range(self.shards)})
        serials = np.concatenate([one["serials"] for one in found.values()])
        if len(serials):
            order = np.argsort(serials)
            shards = np.repeat(list(found), [len(one["serials"]) for one in found.values()])
            some = [one["members"] for one in found.values() if len(one["members"])]
            masks = [self._arms_of(one) for one in found.values()]
            partial = any(one["arms"] is not None for one in found.values())
            arms = np.concatenate(masks)[order] if partial else None
            ids = np.concatenate(some)[order]
            self._members.add(ids, arms, shards[order], serials[order])
        self._members.reserve(max(one["next"] for one in found.values()))
        if self._pool is not None:
            self._pool.merge([one["pool"] for one in found.values()], self._template._engine)

    def _arms_of(self, found: dict[str, Any]) -> Any:
        everything = np.ones((len(found["members"]), len(self.space)), bool)
        return everything if found["arms"] is None else found["arms"]

    def _run(self, method: str, jobs: dict[int, Any], *, changes: bool = False) -> dict[int, Any]:
        """Return the results of a method of some shards, by number of shard.

        Raises:
            DriftpeakError: the first error of a shard.
        """
        call = uuid.uuid4().hex if changes else None
        found = self._workers.run(call, method, jobs)
        for shard, (result, seen) in found.items():
            if seen is None:
                raise result
            self._seen[shard] = seen
        return {shard: result for shard, (result, _) in found.items()}

    def _each(
        self, shards: Integers, method: str, columns: dict[str, Any], *, changes: bool = False
    ) -> tuple[Any, ...]:
        """Return the columns of a method's results, in the order of the rows.

        Arguments:
            shards: the shard of each row.
            method: name of a method of the shards.
            columns: arguments of the method, one entry for each row; None if not given.
            changes: whether the method changes the shards.
        """
        some = np.unique(shards).tolist() or [0]  # without rows, shard 0 returns empty columns
        rows = [np.flatnonzero(shards == shard) for shard in some]
        jobs = {
            shard: {name: None if x is None else x[mine] for name, x in columns.items()}
            for shard, mine in zip(some, rows, strict=True)
        }
        found = self._run(method, jobs, changes=changes)
        back = np.argsort(np.concatenate(rows))
        results = zip(*(found[shard] or () for shard in some), strict=True)
        return tuple(np.concatenate(parts)[back] for parts in results)

    def _find(self, members: Any) -> tuple[np.ndarray[Any, np.dtype[Any]], Rows, Integers]:
        """Return ids, rows and shards of distinct members; all of them if None."""
        ids, rows = self._members.find(members)
        return ids.copy(), rows, self._members.groups[rows]

    def __len__(self) -> int:
        """Return the number of members."""
        return len(self._members)

    @property
    def members(self) -> np.ndarray[Any, np.dtype[Any]]:
        """The ids of the members, in the order in which they were added."""
        return self._members.index.to_numpy().copy()

    @property
    def shards(self) -> int:
        """The number of shards."""
        return len(self._workers.places)

    @property
    def places(self) -> list[str]:
        """The address of the worker that has each shard."""
        return list(self._workers.places)

    @property
    def observations(self) -> Integers:
        """The number of observations of each member that were used, since its last reset."""
        ids, _, shards = self._find(None)
        (found,) = self._each(shards, "count", {"members": ids})
        return found

    def ask(self, members: Any = None, *, time: Any = None, context: Any = None) -> Suggestions:
        """Suggest the next arm of each member, as `Fleet.ask` does.

        Raises:
            DriftpeakError: as for `Fleet.ask`. Nothing is changed, except if a member has reached
                the horizon: other shards then have made their suggestions.
        """
        ids, rows, times, kinds = requests.questions(
            members, time, context, there=self._members, contexts=self.contexts
        )
        contexts = None
        if kinds is not None and self.contexts is not None:
            every = np.empty(len(self.contexts.kinds), object)
            every[:] = [dict(kind) for kind in self.contexts.kinds]
            contexts = every[kinds]
        columns = {"members": ids, "time": times, "context": contexts}
        numbers, choices, times = self._each(
            self._members.groups[rows], "suggest", columns, changes=True
        )
        return Suggestions(numbers, ids, choices, times, self.space)

    def tell(
        self, ids: Any, rewards: Any = None, *, time: Any = None, invalid: Invalid = "reject"
    ) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Report the rewards of suggestions, as `Fleet.tell` does.

        Raises:
            UnknownSuggestionError, DriftpeakError: as for `Fleet.tell`. Nothing is changed.
        """
        one_of("invalid", invalid, INVALID)
        told = requests.rewards_of(ids, rewards, time)
        rows = self._members.rows_of(serial_of(told.ids))
        pending, known = np.zeros(len(rows), bool), np.flatnonzero(rows >= 0)
        shards = np.zeros(len(rows), np.int64)
        shards[known] = self._members.groups[rows[known]]
        (pending[known],) = self._each(shards[known], "pending", {"ids": told.ids[known]})

        def why_not(place: int, name: str) -> Exception:
            shard = int(shards[place])
            asked = {"id": int(told.ids[place]), "name": name}
            error: Exception = self._run("why_not", {shard: asked})[shard]
            return error

        reject = invalid == "reject"
        fits = requests.answerable(told.ids, rows, pending, why_not, reject=reject)
        if reject:
            told.check()
        mine = np.flatnonzero(fits & told.finite)
        used = np.zeros(len(fits), bool)
        times = None if told.times is None else told.times[mine]
        columns = {"ids": told.ids[mine], "rewards": told.values[mine], "time": times}
        if len(mine):
            (used[mine],) = self._each(shards[mine], "answer", columns, changes=True)
            self._refresh()
        return used

    def observe(
        self, members: Any, choices: Any, rewards: Any, *, time: Any
    ) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Report rewards of arms that were not suggested, as `Fleet.observe` does.

        Raises:
            DriftpeakError: as for `Fleet.observe`. Nothing is changed.
        """
        ids, rows, points, values, times = requests.records(
            members, choices, rewards, time, there=self._members, points=self.policy.points
        )
        columns = {"members": ids, "choices": points, "rewards": values, "time": times}
        shards = self._members.groups[rows]
        (used,) = self._each(shards, "record", columns, changes=True)
        self._refresh()
        return used

    def predict(self, members: Any = None, *, time: Any = None) -> tuple[Matrix, Matrix, Vector]:
        """Return the prediction of each member's objective at a time, as `Fleet.predict` does."""
        ids, rows, times, _ = requests.questions(
            members, time, None, there=self._members, contexts=None
        )
        columns, shards = {"members": ids, "time": times}, self._members.groups[rows]
        mean, variance, noise = self._each(shards, "forecast", columns)
        return mean, variance, noise

    def diagnostics(self, members: Any = None) -> dict[str, Any]:
        """Return how each member moves, and its errors, as `Fleet.diagnostics` does."""
        ids, _, shards = self._find(members)
        names = ("observations", "drift", "error")
        found = self._each(shards, "diagnose", {"members": ids})
        return {"member": ids} | dict(zip(names, found, strict=True))

    def add(self, members: Any, *, arms: Any = None) -> None:
        """Add members, as `Fleet.add` does.

        Raises:
            DriftpeakError: as for `Fleet.add`. Nothing is changed.
        """
        ids, mask, groups = requests.additions(
            members, arms, there=self._members, pool=self._pool, share=self.share,
            policy=self.policy,
        )  # fmt: skip
        shards = shard_of(ids, self.shards)
        serials = self._members.next_serial + np.arange(len(ids))
        labels = None if groups is None else np.array(groups, object)
        columns = {"members": ids, "serials": serials, "mask": mask, "groups": labels}
        self._each(shards, "insert", columns, changes=True)
        if self._pool is not None:
            self._pool.codes([None] if groups is None else groups)
        self._members.add(ids, mask, shards, serials)

    def remove(self, members: Any) -> None:
        """Remove members, as `Fleet.remove` does."""
        ids, rows, shards = self._find(members)
        self._each(shards, "remove", {"members": ids}, changes=True)
        self._members.remove(rows)

    def reset(self, members: Any = None) -> None:
        """Delete the observations and pending suggestions of members; all by default."""
        ids, _, shards = self._find(members)
        self._each(shards, "reset", {"members": ids}, changes=True)

    def population(self, group: Any = None) -> Population | None:
        """Return the prior that new members of a group start from, as `Fleet.population` does."""
        return self._template.population(group)

    def _refresh(self) -> None:
        """Estimate the priors of groups again whose number of observations has doubled."""
        pool = self._pool
        if pool is None:
            return
        pool.seen = [sum(one.get(label, 0) for one in self._seen.values()) for label in pool.labels]
        for group in pool.overdue():
            one = {"label": pool.labels[group], "most": MEMBERS // self.shards}
            found = self._run("sample", dict.fromkeys(range(self.shards), one))
            samples = [sample for sample in found.values() if sample is not None]
            population = pool.fitted(group, samples) if samples else None
            if population is not None:
                new = {"label": pool.labels[group], "population": population.to_dict()}
                self._run("take", dict.fromkeys(range(self.shards), new), changes=True)
                pool.adopt(group, population, self._template._engine)

    def __repr__(self) -> str:
        name = type(self.policy).__name__
        return f"ShardedFleet({self.space!r}, {len(self):,} members, {self.shards} shards, {name})"


def shard_of(ids: np.ndarray[Any, np.dtype[Any]], shards: int) -> Integers:
    """Return the shard of each member: the CRC-32 checksum of its id, modulo their number."""
    return np.array([zlib.crc32(str(one).encode()) % shards for one in ids], np.int64)
