"""The Dask workers of a sharded fleet, and the shards of each."""

from collections.abc import Sequence
from concurrent.futures import CancelledError
from typing import Any

from driftpeak._core.errors import DriftpeakError, shown
from driftpeak.fleet._shard import work
from driftpeak.simulation.executors import likeness, taken
from driftpeak.simulation.executors._compatibility import check_alike


def placed(before: Sequence[str], workers: Sequence[str]) -> list[str]:
    """Return the worker of each shard.

    A shard stays where it is, unless its worker is lost or has more shards than its share.

    Arguments:
        before: the worker of each shard so far, "" for none.
        workers: the present workers.
    """
    share = -(-len(before) // len(workers))
    counts = dict.fromkeys(workers, 0)
    after = [""] * len(before)
    for shard, worker in enumerate(before):
        if worker in counts and counts[worker] < share:
            after[shard] = worker
            counts[worker] += 1
    for shard, worker in enumerate(after):
        if not worker:
            after[shard] = min(counts, key=lambda each: counts[each])
            counts[after[shard]] += 1
    return after


class Workers:
    """The workers of a Dask client, among which shards are divided.

    Arguments:
        client: a `distributed.Client`.
        storage, name: where the shards are stored; every worker must reach it.
        shards: number of shards.

    Raises:
        DriftpeakError: the client is something else, is closed, or has no workers or workers with
            other versions.
    """

    def __init__(self, client: Any, storage: str, name: str, shards: int) -> None:
        if not hasattr(client, "scheduler_info"):
            raise DriftpeakError(f"client must be a distributed.Client; got {shown(client)}")
        with taken(client):  # checks workers and versions
            self._checked = set(client.scheduler_info()["workers"])
        self._client, self._storage, self._name = client, storage, name
        self.places = [""] * shards

    def run(self, call: str | None, method: str, jobs: dict[int, Any]) -> dict[int, Any]:
        """Run a method of some shards on their workers, as `driftpeak.fleet._shard.work` does.

        If a worker is lost, another one repeats its part.

        Raises:
            DriftpeakError: there are no workers, all workers that tried a part were lost, or the
                connection to the scheduler was lost.
        """
        import dask
        from distributed import KilledWorker

        self._place()
        parts: dict[str, dict[int, Any]] = {}
        for shard, arguments in jobs.items():
            parts.setdefault(self.places[shard], {})[shard] = arguments
        try:
            with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
                futures = [
                    self._client.submit(
                        work, self._storage, self._name, call, method, part,
                        [shard for shard, place in enumerate(self.places) if place == worker],
                        workers=[worker], allow_other_workers=True, pure=False,
                    )
                    for worker, part in parts.items()
                ]  # fmt: skip
            found = self._client.gather(futures)
        except KilledWorker as error:
            raise DriftpeakError(
                f"{error.allowed_failures + 1} workers died one after another in a call of a "
                "fleet, perhaps for lack of memory. Give each worker more memory, or start more "
                "workers. Acknowledged observations are stored"
            ) from None
        except (CancelledError, OSError):
            raise DriftpeakError(
                "the connection to the dask scheduler was lost. Acknowledged observations are "
                "stored; use ShardedFleet.load with a new client"
            ) from None
        return {shard: result for part in found for shard, result in part.items()}

    def _place(self) -> None:
        """Divide the shards among the present workers."""
        workers = sorted(self._client.scheduler_info()["workers"])
        if not workers:
            with taken(self._client):  # waits for one, or raises an error
                workers = sorted(self._client.scheduler_info()["workers"])
        new = [worker for worker in workers if worker not in self._checked]
        if new:
            for worker, like in self._client.run(likeness, workers=new, on_error="ignore").items():
                check_alike(worker, like)
            self._checked.update(new)
        self.places = placed(self.places, workers)
