"""Executor on the workers of a dask cluster."""

import logging
import re
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Executor, Future
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import Any
from urllib.parse import urlsplit

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DriftpeakError, DriftpeakWarning, shown
from driftpeak.simulation.executors._compatibility import MADE_WITH, check_alike, likeness
from driftpeak.simulation.executors._dispatch import KEPT

CONNECTING = 10  # seconds allowed for the scheduler, and again for its first worker
WATCHING = 10  # seconds between two checks whether there are workers


@checked
@contextmanager
def cluster_workers(address: str) -> Iterator[Executor]:
    """Return an executor for `executor=` whose jobs run on the workers of a dask scheduler.

    Another worker repeats the job of a lost worker. Workers may join and leave; a warning is issued
    while there is none.

    Arguments:
        address: address of the scheduler, `tcp://HOST:PORT`.

    Raises:
        DriftpeakError: dask is not installed; a malformed address; no scheduler at the address; no
            worker; a worker with other versions than this process. Later: the scheduler is lost, or
            every worker that tried a job died.
    """
    _check_address(address)
    try:
        from distributed import Client
    except ImportError as error:
        raise DriftpeakError(
            f"a cluster needs dask ({error}). Run pip install 'driftpeak[dask]'"
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
    """Return the argument `executor` with the interface of `concurrent.futures`.

    Arguments:
        executor: None; a `concurrent.futures.Executor`; or a `distributed.Client` of dask.

    Raises:
        DriftpeakError: another type; a dask cluster without workers or with other versions. Later:
            the scheduler is lost, or every worker that tried a job died.
    """
    if executor is None or isinstance(executor, Executor):
        yield executor
        return
    if not (hasattr(executor, "get_executor") and hasattr(executor, "scheduler_info")):
        raise DriftpeakError(
            "executor must be a concurrent.futures.Executor (for example from "
            "driftpeak.simulation.executors.local_workers) "
            f"or a distributed.Client of dask; got {shown(executor)}"
        )
    if executor.status != "running":
        raise DriftpeakError(
            f"the dask client must be running; got status {executor.status}. Create a new one"
        )
    address, over = executor.scheduler_info()["address"], threading.Event()
    watch = threading.Thread(target=_watch, args=(executor, address, over), daemon=True)
    try:
        _check_workers(executor, address)
        watch.start()
        yield _Cluster(executor)
    except (CancelledError, OSError) as error:
        if isinstance(error, OSError) and executor.status == "running":
            raise
        raise DriftpeakError(
            f"the connection to the dask scheduler at {address} was lost; {KEPT}"
        ) from None
    finally:
        over.set()


class _Cluster(Executor):
    """Executor on the workers of a dask client."""

    def __init__(self, client: Any) -> None:
        self._client, self._jobs = client, client.get_executor(pure=False)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return self._jobs.submit(fn, *args, **kwargs)

    def lend(self, content: bytes) -> Any:
        """Return a future to pass to `submit` instead of the content; workers share its value.

        A job creates the value, so dask creates it again if the workers that held it are lost.
        """
        import dask

        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
            return self._client.submit(_itself, content, pure=False)


def _itself(content: bytes) -> bytes:
    return content


def _connected(client: Callable[..., Any], address: str) -> Any:
    """Return a client of the scheduler at an address.

    The client's own timeout does not apply to a server that accepts the connection but never
    answers. It is therefore created in a daemon thread that can be abandoned.
    """
    results: SimpleQueue[Any] = SimpleQueue()

    def connect() -> None:
        try:
            results.put(client(address, timeout=CONNECTING, set_as_default=False))
        except Exception as error:
            results.put(error)

    threading.Thread(target=connect, daemon=True).start()
    try:
        answer = results.get(timeout=CONNECTING + 1)
    except Empty:
        answer = TimeoutError("the port accepts connections, but does not answer")
    if isinstance(answer, Exception):
        why = (str(answer) or type(answer).__name__).splitlines()[0]
        raise DriftpeakError(
            f"no dask scheduler answered at {address} within {CONNECTING} s ({why}). Start one "
            "with `dask scheduler`, and check host and port"
        )
    return answer


def _check_address(address: str) -> None:
    try:
        parts = urlsplit(address)
        whole = re.fullmatch(r"tcp://[^/@?#]+", address) and parts.hostname and parts.port
    except (ValueError, TypeError, AttributeError):  # the last two: it is not a string
        whole = False
    if not whole:
        raise DriftpeakError(
            "cluster must be the address of a dask scheduler, tcp://HOST:PORT such as "
            f"tcp://127.0.0.1:8786; got {shown(address)}"
        )


def _check_workers(client: Any, address: str) -> None:
    """Raise DriftpeakError if there is no worker, or a worker whose results could differ."""
    try:
        client.wait_for_workers(1, timeout=CONNECTING)
    except TimeoutError:
        raise DriftpeakError(
            f"the dask scheduler at {address} has no workers, and none joined within {CONNECTING} "
            f"s. Start some with `dask worker {address} --nthreads 1 --nworkers N`"
        ) from None
    for worker, info in client.get_versions(packages=MADE_WITH)["workers"].items():
        packages = info["packages"]
        python = ".".join(packages["python"].split(".")[:2])
        check_alike(worker, {"python": python, **{name: packages[name] for name in MADE_WITH}})
    for worker, like in client.run(
        likeness, on_error="ignore"
    ).items():  # a worker may just have left
        check_alike(worker, like)


def _watch(client: Any, address: str, over: threading.Event) -> None:
    """Warn when all workers have left; the run waits for new ones."""
    had = True
    while not over.wait(WATCHING):
        has = client.status != "running" or bool(client.scheduler_info()["workers"])
        if had and not has:
            warnings.warn(
                f"the dask scheduler at {address} has no workers left. Start one with "
                f"`dask worker {address}` to continue, or press Ctrl-C to end the run",
                DriftpeakWarning,
                stacklevel=1,
            )
        had = has


@contextmanager
def _quiet(*names: str) -> Iterator[None]:
    """Silence loggers of other packages, so that each error is reported once."""
    loggers = [logging.getLogger(name) for name in names]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
