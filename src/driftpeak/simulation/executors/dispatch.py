"""Jobs are spread over whoever shares the work, and come back as they are done."""

import os
import platform
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import BrokenExecutor, Executor, Future, as_completed
from typing import Any, TypeVar

from driftpeak._core.errors import DriftpeakError
from driftpeak.simulation.executors.compatibility import check_alike, likeness

Job = TypeVar("Job")
Result = TypeVar("Result")

KEPT = "finished parts are kept if a folder was given for them: run the same again to go on"
_LOADED_BY = os.getpid()  # a forked child still has its parent's


def spread(
    function: Callable[..., Result],
    jobs: Iterable[Job],
    executor: Executor | None,
    *,
    common: bytes | None = None,
    called: Callable[[Job], str] = str,
) -> Generator[tuple[Job, Result], None, None]:
    """Every job with what the function gives for it, as soon as that is there.

    Without an executor one after another. Close the iterator to withdraw what is left.

    Arguments:
        function: at the top level of a module, so that it can be sent; called with a job and, if
            there is any, what all have in common.
        jobs: what can be sent too.
        common: an executor that can `lend` it to all its workers sends it to each once; another
            with every job.
        called: what a job is called in messages.

    Raises:
        DriftpeakError: every worker that tried a job died; an executor that cannot replace them
            lost one; it was shut down; a worker was forked, or has other versions or threads than
            this process.
    """
    given: tuple[Any, ...] = () if common is None else (common,)
    if executor is None:
        for job in jobs:
            yield job, function(job, *given)
        return
    if hasattr(executor, "lend"):
        given = tuple(map(executor.lend, given))
    futures: dict[Future[tuple[Result, str, dict[str, str]]], Job] = {}
    try:
        for job in jobs:
            futures[_submitted(executor, function, job, *given)] = job
        for future in as_completed(futures):
            job = futures.pop(future)
            result, worker, made_with = future.result()
            check_alike(worker, made_with)
            yield job, result
    except Exception as error:
        _check_lost(error, called(job))
        raise
    finally:
        for future in futures:
            future.cancel()


def _check_lost(error: Exception, job: str) -> None:
    """Raise DriftpeakError if it is not the job that went wrong, but workers that died with it."""
    # of `LostJobError`, and of `distributed.KilledWorker`
    allowed = getattr(error, "allowed_failures", None)
    if allowed is not None:
        raise DriftpeakError(
            f"{allowed + 1} workers died one after another while playing {job}, perhaps for lack "
            "of memory: give each more of it (fewer processes, `dask worker --memory-limit`), or "
            f"less to do at once (memory_budget or chunk of simulate); {KEPT}"
        ) from None
    if isinstance(error, BrokenExecutor):
        raise DriftpeakError(
            "a worker process died, perhaps for lack of memory, and this executor does not replace "
            f"it as `driftpeak.simulation.executors.local_workers` does; {KEPT}, with fewer workers"
        ) from None


def _submitted(executor: Executor, function: Callable[..., Any], *given: Any) -> Future[Any]:
    try:
        return executor.submit(_signed, function, *given)
    except BrokenExecutor:
        raise
    except RuntimeError as error:  # as `concurrent.futures` says it
        raise DriftpeakError(f"the executor takes no jobs ({error}): make a new one") from None


def _signed(function: Callable[..., Result], *given: Any) -> tuple[Result, str, dict[str, str]]:
    """A result, and who made it with what: a worker that comes late is not asked before."""
    if os.getpid() != _LOADED_BY:
        raise DriftpeakError(
            "JAX does not compute in a forked process, and this executor forks: take "
            "`driftpeak.simulation.executors.local_workers(N)`, or give ProcessPoolExecutor "
            "mp_context=multiprocessing.get_context('spawn')"
        )
    return function(*given), platform.node(), likeness()
