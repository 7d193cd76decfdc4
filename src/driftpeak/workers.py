"""Who shares the work: processes of this machine, or the workers of a dask cluster."""

import logging
import os
import platform
import re
import signal
import threading
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    as_completed,
)
from contextlib import contextmanager
from functools import cache
from importlib.metadata import version
from multiprocessing import get_context
from queue import Empty, SimpleQueue
from typing import Any, TypeVar
from urllib.parse import urlsplit

from driftpeak.errors import DriftpeakError, DriftpeakWarning, at_least_integer, shown

Job = TypeVar("Job")
Result = TypeVar("Result")

CONNECTING = 10  # seconds that the scheduler, and then its first worker, may take
WATCHING = 10  # seconds between two looks whether there are workers
MADE_WITH = ("driftpeak", "jax", "jaxlib", "equinox", "numpy", "scipy", "xarray")
KEPT = "finished parts are kept if a folder was given for them: run the same again to go on"
_LOADED_BY = os.getpid()  # a forked child still has its parent's


@cache
def versions() -> dict[str, str]:
    """What results come from: with the same versions they are the same."""
    python = ".".join(platform.python_version_tuple()[:2])
    return {"python": python, **{name: version(name) for name in MADE_WITH}}


@contextmanager
def local_workers(
    workers: int, *, begin: Callable[[], object] | None = None
) -> Iterator[Executor | None]:
    """An executor with so many processes of this machine, for `executor=`.

    None, for this process alone, if one is enough. They are started with `spawn`, so a script that
    uses them does its work under `if __name__ == "__main__":`, and policies and worlds of its own
    are classes at the top level of a module. Ctrl-C is for the process that started them: they end
    with what they are at.

    Arguments:
        workers: at least 1.
        begin: called in every process before its first job; at the top level of a module.

    Raises:
        DriftpeakError: fewer than one.
    """
    if at_least_integer("workers", workers, 1) == 1:
        yield None
        return
    pool = ProcessPoolExecutor(
        workers, mp_context=get_context("spawn"), initializer=_begin, initargs=(begin,)
    )
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _begin(begin: Callable[[], object] | None) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if begin is not None:
        begin()


@contextmanager
def cluster_workers(address: str) -> Iterator[Executor]:
    """An executor whose jobs are played by the workers of a dask scheduler, for `executor=`.

    What a lost worker was playing, another one plays again. Workers may come and go; while there is
    none, a warning says so.

    Arguments:
        address: of the scheduler, `tcp://HOST:PORT`.

    Raises:
        DriftpeakError: dask is not installed, a malformed address, nobody answers there, no worker,
            a worker with other versions than here; later, the scheduler is lost, or a job was lost
            with every worker that tried it.
    """
    _check_address(address)
    try:
        from distributed import Client
    except ImportError as error:
        raise DriftpeakError(
            f"a cluster needs dask ({error}): pip install 'driftpeak[dask]'"
        ) from None
    with _quiet("distributed.client", "distributed.core", "distributed.comm"):
        client = _connected(Client, address)
        try:
            with taken(client) as executor:
                assert executor is not None
                yield executor
        finally:
            client.close(timeout=CONNECTING)


@contextmanager
def taken(executor: Any) -> Iterator[Executor | None]:
    """What users give as `executor=`, as something with the interface of `concurrent.futures`.

    Arguments:
        executor: None; a `concurrent.futures.Executor`; or a `distributed.Client` of dask.

    Raises:
        DriftpeakError: something else; a dask cluster without workers or with other versions;
            later, its scheduler is lost, or a job with every worker that tried it.
    """
    if executor is None or isinstance(executor, Executor):
        yield executor
        return
    if not (hasattr(executor, "get_executor") and hasattr(executor, "scheduler_info")):
        raise DriftpeakError(
            "executor must be a concurrent.futures.Executor (as `driftpeak.workers.local_workers` "
            f"gives it) or a distributed.Client of dask; got {shown(executor)}"
        )
    from distributed.scheduler import KilledWorker

    address, over = executor.scheduler_info()["address"], threading.Event()
    watch = threading.Thread(target=_watch, args=(executor, address, over), daemon=True)
    try:
        _check_workers(executor, address)
        watch.start()
        yield executor.get_executor(pure=False)
    except KilledWorker as error:
        raise DriftpeakError(
            f"{error.allowed_failures + 1} workers died while playing the same job, perhaps "
            f"for lack of memory (`dask worker --memory-limit`); {KEPT}"
        ) from None
    except (CancelledError, OSError) as error:
        if isinstance(error, OSError) and executor.status == "running":
            raise
        raise DriftpeakError(f"lost the dask scheduler at {address}; {KEPT}") from None
    finally:
        over.set()


def spread(
    function: Callable[[Job], Result], jobs: Iterable[Job], executor: Executor | None
) -> Generator[tuple[Job, Result], None, None]:
    """Every job with what the function gives for it, as soon as that is there.

    Without an executor one after another. Close the iterator to withdraw what is left.

    Arguments:
        function: at the top level of a module, so that it can be sent.
        jobs: what can be sent too.

    Raises:
        DriftpeakError: a worker process died, was forked, or has other versions than this process.
    """
    if executor is None:
        for job in jobs:
            yield job, function(job)
        return
    futures: dict[Future[tuple[Result, str, dict[str, str]]], Job] = {}
    try:
        futures |= {executor.submit(_signed, function, job): job for job in jobs}
        for future in as_completed(futures):
            job = futures.pop(future)
            result, worker, made_with = future.result()
            check_versions(worker, made_with)
            yield job, result
    except BrokenExecutor:
        raise DriftpeakError(
            f"a worker process died, perhaps for lack of memory; {KEPT}, with fewer workers"
        ) from None
    finally:
        for future in futures:
            future.cancel()


def _signed(function: Callable[[Job], Result], job: Job) -> tuple[Result, str, dict[str, str]]:
    """A result, and who made it with what: a worker that comes late is not asked before."""
    if os.getpid() != _LOADED_BY:
        raise DriftpeakError(
            "JAX does not compute in a forked process, and this executor forks: take "
            "`driftpeak.workers.local_workers(N)`, or give ProcessPoolExecutor "
            "mp_context=multiprocessing.get_context('spawn')"
        )
    return function(job), platform.node(), versions()


def _connected(client: Callable[..., Any], address: str) -> Any:
    """A client of the scheduler there.

    The client's own timeout does not end its wait for a server that takes the connection but never
    says a word, so it is made in a thread that can be left behind.
    """
    found: SimpleQueue[Any] = SimpleQueue()

    def connect() -> None:
        try:
            found.put(client(address, timeout=CONNECTING, set_as_default=False))
        except Exception as error:
            found.put(error)

    threading.Thread(target=connect, daemon=True).start()
    try:
        answer = found.get(timeout=CONNECTING + 1)
    except Empty:
        answer = TimeoutError("something listens there, but says nothing")
    if isinstance(answer, Exception):
        why = (str(answer) or type(answer).__name__).splitlines()[0]
        raise DriftpeakError(
            f"no dask scheduler answers at {address} within {CONNECTING} s ({why}); start one with "
            "`dask scheduler`, and check host and port"
        )
    return answer


def _check_address(address: str) -> None:
    try:
        parts = urlsplit(address)
        whole = re.fullmatch(r"tcp://[^/@?#]+", address) and parts.hostname and parts.port
    except ValueError:
        whole = False
    if not whole:
        raise DriftpeakError(
            "cluster must be the address of a dask scheduler, tcp://HOST:PORT such as "
            f"tcp://127.0.0.1:8786; got {address!r}"
        )


def _check_workers(client: Any, address: str) -> None:
    """Raise DriftpeakError if there is no worker, or one whose results could differ."""
    try:
        client.wait_for_workers(1, timeout=CONNECTING)
    except TimeoutError:
        raise DriftpeakError(
            f"the dask scheduler at {address} has no workers, and none came within {CONNECTING} s; "
            f"start some with `dask worker {address} --nthreads 1 --nworkers N`"
        ) from None
    found = client.get_versions(packages=MADE_WITH)["workers"]
    for worker, info in found.items():
        packages = info["packages"]
        python = ".".join(packages["python"].split(".")[:2])
        check_versions(worker, {"python": python, **{name: packages[name] for name in MADE_WITH}})


def check_versions(worker: str, found: Mapping[str, str | None]) -> None:
    """Raise DriftpeakError if a worker's versions differ from those here."""
    wrong = [
        f"{name} {found.get(name) or 'missing'} (here {mine})"
        for name, mine in versions().items()
        if found.get(name) != mine
    ]
    if wrong:
        raise DriftpeakError(
            f"the worker {worker} has {', '.join(wrong)}; results would depend on who plays what: "
            "install the same versions there, or stop that worker"
        )


def _watch(client: Any, address: str, over: threading.Event) -> None:
    """Say so when all workers are gone: the run waits for others to come."""
    had = True
    while not over.wait(WATCHING):
        has = client.status != "running" or bool(client.scheduler_info()["workers"])
        if had and not has:
            warnings.warn(
                f"the dask scheduler at {address} has no workers left; waiting for one "
                f"(`dask worker {address}`). Ctrl-C ends the run",
                DriftpeakWarning,
                stacklevel=1,
            )
        had = has


@contextmanager
def _quiet(*names: str) -> Iterator[None]:
    """What goes wrong is told once, in one line: not by the logs of others as well."""
    loggers = [logging.getLogger(name) for name in names]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
