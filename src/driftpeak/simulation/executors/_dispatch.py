"""Distribution of jobs to an executor; results are yielded as they are finished."""

import os
import platform
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import BrokenExecutor, Executor, Future, as_completed
from typing import Any, TypeVar

from driftpeak._core.errors import DriftpeakError
from driftpeak.simulation.executors._compatibility import check_alike, likeness

Job = TypeVar("Job")
Result = TypeVar("Result")

KEPT = "finished chunks are stored if a folder was given: repeat the same call to resume"
_LOADED_BY = os.getpid()  # a forked child still has its parent's


def spread(
    function: Callable[..., Result],
    jobs: Iterable[Job],
    executor: Executor | None,
    *,
    common: bytes | None = None,
    called: Callable[[Job], str] = str,
) -> Generator[tuple[Job, Result], None, None]:
    """Yield every job with its result, as soon as the result is available.

    Without an executor, jobs run one after another. Close the iterator to cancel remaining jobs.

    Arguments:
        function: function at the top level of a module, so that it can be pickled. It is called
            with a job and, if given, with `common`.
        jobs: jobs, which must be picklable too.
        common: data for all jobs. An executor with a method `lend` sends it to each worker once;
            other executors send it with every job.
        called: returns the name of a job for messages.

    Raises:
        DriftpeakError: every worker that tried a job died; an executor that cannot replace workers
            lost one; the executor was shut down; a worker was forked, or has other versions or
            threads than this process.
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
    """Raise DriftpeakError if the error is the death of workers, not an error of the job."""
    # an attribute of `LostJobError` and `distributed.KilledWorker`
    allowed = getattr(error, "allowed_failures", None)
    if allowed is not None:
        raise DriftpeakError(
            f"{allowed + 1} workers died one after another while running {job}, perhaps for lack "
            "of memory. Give each worker more memory (fewer processes, `dask worker "
            "--memory-limit`), or reduce memory_budget or chunk of simulate. Note: "
            f"{KEPT}"
        ) from None
    if isinstance(error, BrokenExecutor):
        raise DriftpeakError(
            "a worker process died, perhaps for lack of memory, and this executor does not replace "
            "workers. Use `driftpeak.simulation.executors.local_workers`, or fewer workers. Note: "
            f"{KEPT}"
        ) from None


def _submitted(executor: Executor, function: Callable[..., Any], *given: Any) -> Future[Any]:
    try:
        return executor.submit(_signed, function, *given)
    except BrokenExecutor:
        raise
    except RuntimeError as error:  # raised by `concurrent.futures` after a shutdown
        raise DriftpeakError(f"the executor accepts no jobs ({error}). Create a new one") from None


def _signed(function: Callable[..., Result], *given: Any) -> tuple[Result, str, dict[str, str]]:
    """Return a result with its worker and versions: a late worker is not checked beforehand."""
    if os.getpid() != _LOADED_BY:
        raise DriftpeakError(
            "executor must not fork, because JAX does not work in a forked process. Use "
            "`driftpeak.simulation.executors.local_workers(N)`, or ProcessPoolExecutor with "
            "mp_context=multiprocessing.get_context('spawn')"
        )
    return function(*given), platform.node(), likeness()
