"""The workers of a dask cluster share the work."""

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
from driftpeak.simulation.executors.compatibility import MADE_WITH, check_alike, likeness
from driftpeak.simulation.executors.dispatch import KEPT

CONNECTING = 10  # seconds that the scheduler, and then its first worker, may take
WATCHING = 10  # seconds between two looks whether there are workers


@checked
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
            "executor must be a concurrent.futures.Executor (for example from "
            "driftpeak.simulation.executors.local_workers) "
            f"or a distributed.Client of dask; got {shown(executor)}"
        )
    if executor.status != "running":
        raise DriftpeakError(f"the client of dask is {executor.status}: make a new one")
    address, over = executor.scheduler_info()["address"], threading.Event()
    watch = threading.Thread(target=_watch, args=(executor, address, over), daemon=True)
    try:
        _check_workers(executor, address)
        watch.start()
        yield _Cluster(executor)
    except (CancelledError, OSError) as error:
        if isinstance(error, OSError) and executor.status == "running":
            raise
        raise DriftpeakError(f"lost the dask scheduler at {address}; {KEPT}") from None
    finally:
        over.set()


class _Cluster(Executor):
    """The workers of a dask client."""

    def __init__(self, client: Any) -> None:
        self._client, self._jobs = client, client.get_executor(pure=False)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return self._jobs.submit(fn, *args, **kwargs)

    def lend(self, content: bytes) -> Any:
        """What to give to `submit` instead of it: workers hand it to one another.

        It is made by a job, and so made again when the workers that had it are lost.
        """
        import dask

        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
            return self._client.submit(_itself, content, pure=False)


def _itself(content: bytes) -> bytes:
    return content


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
    except (ValueError, TypeError, AttributeError):  # the last two: it is no text
        whole = False
    if not whole:
        raise DriftpeakError(
            "cluster must be the address of a dask scheduler, tcp://HOST:PORT such as "
            f"tcp://127.0.0.1:8786; got {shown(address)}"
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
        check_alike(worker, {"python": python, **{name: packages[name] for name in MADE_WITH}})
    for worker, like in client.run(likeness, on_error="ignore").items():  # some may just have left
        check_alike(worker, like)


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
