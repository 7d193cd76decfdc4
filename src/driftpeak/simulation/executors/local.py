"""Processes of this machine share the work; one that dies is replaced."""

import os
import pickle
import signal
import traceback
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from os import PathLike
from pathlib import Path
from threading import Lock
from typing import Any

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DriftpeakError, DriftpeakWarning, at_least_integer
from driftpeak._core.numerics.machine_code import keep_programs_in, program_folder
from driftpeak.simulation.executors.compatibility import threads

# starting a process also reaps those that have ended, and their exit codes would be lost to `join`
_REAPING = Lock()
MOST_WORKERS = 1_024
ALLOWED_FAILURES = 3  # processes that a job may cost before it is given up; of dask, too


@checked
@contextmanager
def local_workers(
    workers: int, *, programs: str | PathLike[str] | None = None
) -> Iterator[Executor | None]:
    """An executor with so many processes of this machine, for `executor=`.

    None, for this process alone, if one is enough. They are started with `spawn`, so a script that
    uses them does its work under `if __name__ == "__main__":`, and policies and worlds of its own
    are classes at the top level of a module. What a process that dies was playing, another one
    plays again. Ctrl-C is for the process that started them: they end with what they are at.

    Arguments:
        workers: at least 1.
        programs: folder below which they keep what they compile, at most 256 MiB, for one another
            and for later ones: machine code, so one that only you can write into. By default, and
            in this process, nothing is kept.

    Raises:
        DriftpeakError: fewer than one, or a folder that others can write into, or nobody; later, a
            job with which four processes died.

    Warns:
        DriftpeakWarning: a process died.
    """
    if at_least_integer("workers", workers, 1, MOST_WORKERS) == 1:
        yield None
        return
    folder = None if programs is None else program_folder(Path(programs).expanduser())
    processes = Processes(workers, folder)
    try:
        yield processes
    finally:
        processes.shutdown(wait=True, cancel_futures=True)


class LostJobError(BrokenExecutor):
    """Every process that tried a job died."""

    allowed_failures = ALLOWED_FAILURES


class Processes(ThreadPoolExecutor):
    """So many processes of this machine, with a thread for each that minds it."""

    def __init__(self, count: int, programs: Path | None) -> None:
        super().__init__(count)
        self._programs = programs
        self._idle: list[_Process] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return super().submit(self._mind, fn, *args, **kwargs)

    def lend(self, content: bytes) -> "_Lent":
        """What to give to `submit` instead of it, so that it is not sent with every job."""
        return _Lent(content)

    def _mind(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """What the function gives in a process that is free."""
        message = pickle.dumps((function, args, kwargs))
        for _ in range(ALLOWED_FAILURES + 1):
            process = self._free()
            try:
                for lent in (one for one in args if isinstance(one, _Lent)):
                    process.hold(lent)
                answer = process.answer(message)
            except (EOFError, OSError):
                process.bury()
                continue
            self._idle.append(process)
            result, error = pickle.loads(answer)
            if error is not None:
                raise error
            return result
        raise LostJobError

    def _free(self) -> "_Process":
        """One that is idle, or a new one."""
        with suppress(IndexError):  # asked first, another thread could take it in between
            return self._idle.pop()
        return _Process(self._programs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        super().shutdown(wait, cancel_futures=cancel_futures)
        while self._idle:
            self._idle.pop().end()


class _Process:
    """One process, and the pipe to it."""

    def __init__(self, programs: Path | None) -> None:
        context = get_context("spawn")
        self._here, there = context.Pipe()
        self._process = context.Process(target=_serve, args=(there, threads(), programs))
        with _REAPING:
            self._process.start()
        there.close()  # now the end of the process is the end of the pipe
        self._begun = False
        self._holds: _Lent | None = None

    def answer(self, message: bytes) -> bytes:
        """Of the process.

        Raises:
            EOFError, OSError: it has died.
        """
        if not self._begun:
            self._here.recv_bytes()
            self._begun = True
        self._here.send_bytes(message)
        return self._here.recv_bytes()

    def hold(self, lent: "_Lent") -> None:
        """Let the process have it, if it has something else.

        Raises:
            EOFError, OSError: it has died.
        """
        if self._holds is not lent:
            self.answer(pickle.dumps((_hold, (lent.content,), {})))
            self._holds = lent

    def end(self) -> int:
        """Let it go; its exit code."""
        self._here.close()
        wait([self._process.sentinel])
        with _REAPING:
            self._process.join()
            return self._process.exitcode or 0

    def bury(self) -> None:
        """Tell how it ended.

        Raises:
            DriftpeakError: before it began, and not killed: the next one would do the same.
        """
        code = self.end()
        if code > 0 and not self._begun:
            raise DriftpeakError(
                f"a worker process ended before it began (exit code {code}), as it says above: a "
                'script does its work under `if __name__ == "__main__":`'
            )
        warnings.warn(
            f"a worker process died (exit code {code}), perhaps for lack of memory; what it was "
            "playing is played again",
            DriftpeakWarning,
            stacklevel=1,
        )


class _Lent:
    """What jobs have in common: when they arrive, their process holds it already."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    def __reduce__(self) -> tuple[Callable[[], bytes], tuple[()]]:
        return _held, ()


_holding = [b""]  # in a worker process, what it was lent last


def _hold(content: bytes) -> None:
    _holding[0] = content


def _held() -> bytes:
    return _holding[0]


def _serve(there: Connection, threads: int, programs: Path | None) -> None:
    """One job after another, until whoever sends them is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ["NPROC"] = str(threads)  # which XLA reads when it first computes
    if programs is not None:
        keep_programs_in(programs)
    with suppress(EOFError, OSError):
        there.send_bytes(b"begun")
        while True:
            there.send_bytes(_answered(there.recv_bytes()))


def _answered(message: bytes) -> bytes:
    """A result and None, or None and an error, as bytes."""
    try:
        function, args, kwargs = pickle.loads(message)
        return pickle.dumps((function(*args, **kwargs), None))
    except Exception as error:
        error.add_note("".join(["In a worker process:\n", *traceback.format_exception(error)]))
        try:
            return pickle.dumps((None, pickle.loads(pickle.dumps(error))))
        except Exception:
            told = RuntimeError(f"{type(error).__name__}: {error}")
            return pickle.dumps((None, told))
