"""Executor with several processes on this machine; a process that dies is replaced."""

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
from driftpeak.simulation.executors._compatibility import threads

# starting a process also reaps ended processes, whose exit codes `join` would then not find
_REAPING = Lock()
MOST_WORKERS = 1_024
ALLOWED_FAILURES = 3  # processes that may die with a job before it is lost, as in dask


@checked
@contextmanager
def local_workers(
    workers: int, *, programs: str | PathLike[str] | None = None
) -> Iterator[Executor | None]:
    """Return an executor for `executor=` with several processes on this machine.

    The result is None, for this process alone, if `workers` is 1. Processes are started with
    `spawn`. A script must therefore do its work under `if __name__ == "__main__":`, and its own
    policies and environments must be classes at the top level of a module. Another process repeats
    the job of a process that dies. Ctrl-C interrupts only the process that started the workers; the
    workers end after their current jobs.

    Arguments:
        workers: number of processes, at least 1.
        programs: folder in which the processes cache compiled programs, at most 256 MiB. The
            programs are machine code, so only you may have write access. By default, nothing is
            cached.

    Raises:
        DriftpeakError: fewer than one worker; a folder that others can write to, or that cannot be
            written. Later: a job with which four processes died.

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
    """Raised if every process that tried a job died."""

    allowed_failures = ALLOWED_FAILURES


class Processes(ThreadPoolExecutor):
    """Executor with several processes on this machine and one supervising thread for each."""

    def __init__(self, count: int, programs: Path | None) -> None:
        super().__init__(count)
        self._programs = programs
        self._idle: list[_Process] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return super().submit(self._mind, fn, *args, **kwargs)

    def lend(self, content: bytes) -> "_Lent":
        """Return a handle to pass to `submit`, so that the content is not sent with every job."""
        return _Lent(content)

    def _mind(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Run a function in an idle process, and return its result."""
        message = pickle.dumps((function, args, kwargs))
        for _ in range(ALLOWED_FAILURES + 1):
            process = self._free()
            try:
                for lent in (value for value in args if isinstance(value, _Lent)):
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
        """Return an idle process, or a new one."""
        with suppress(IndexError):  # a check of the length would race with other threads
            return self._idle.pop()
        return _Process(self._programs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        super().shutdown(wait, cancel_futures=cancel_futures)
        while self._idle:
            self._idle.pop().end()


class _Process:
    """A worker process and the pipe to it."""

    def __init__(self, programs: Path | None) -> None:
        context = get_context("spawn")
        self._here, there = context.Pipe()
        self._process = context.Process(target=_serve, args=(there, threads(), programs))
        with _REAPING:
            self._process.start()
        there.close()  # so that the pipe closes when the process ends
        self._begun = False
        self._holds: _Lent | None = None

    def answer(self, message: bytes) -> bytes:
        """Send a message to the process, and return its answer.

        Raises:
            EOFError, OSError: it has died.
        """
        if not self._begun:
            self._here.recv_bytes()
            self._begun = True
        self._here.send_bytes(message)
        return self._here.recv_bytes()

    def hold(self, lent: "_Lent") -> None:
        """Send lent content to the process unless the process already has it.

        Raises:
            EOFError, OSError: it has died.
        """
        if self._holds is not lent:
            self.answer(pickle.dumps((_hold, (lent.content,), {})))
            self._holds = lent

    def end(self) -> int:
        """End the process, and return its exit code."""
        self._here.close()
        wait([self._process.sentinel])
        with _REAPING:
            self._process.join()
            return self._process.exitcode or 0

    def bury(self) -> None:
        """Warn that the process died.

        Raises:
            DriftpeakError: the process ended before its first job and was not killed, so that a new
                process would end in the same way.
        """
        code = self.end()
        if code > 0 and not self._begun:
            raise DriftpeakError(
                f"a worker process ended before its first job (exit code {code}); its error is "
                "printed above. Put the work of a script under "
                '`if __name__ == "__main__":`'
            )
        warnings.warn(
            f"a worker process died (exit code {code}), perhaps for lack of memory; its job is "
            "repeated",
            DriftpeakWarning,
            stacklevel=1,
        )


class _Lent:
    """Handle of content for all jobs; it is pickled as a reference to the process's copy."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    def __reduce__(self) -> tuple[Callable[[], bytes], tuple[()]]:
        return _held, ()


_holding = [b""]  # in a worker process, the content that was lent last


def _hold(content: bytes) -> None:
    _holding[0] = content


def _held() -> bytes:
    return _holding[0]


def _serve(there: Connection, threads: int, programs: Path | None) -> None:
    """Run jobs one after another until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ["NPROC"] = str(threads)  # XLA reads it at its first computation
    if programs is not None:
        keep_programs_in(programs)
    with suppress(EOFError, OSError):
        there.send_bytes(b"begun")
        while True:
            there.send_bytes(_answered(there.recv_bytes()))


def _answered(message: bytes) -> bytes:
    """Return the pickled pair of result and None, or None and error."""
    try:
        function, args, kwargs = pickle.loads(message)
        return pickle.dumps((function(*args, **kwargs), None))
    except Exception as error:
        error.add_note("".join(["In a worker process:\n", *traceback.format_exception(error)]))
        try:
            return pickle.dumps((None, pickle.loads(pickle.dumps(error))))
        except Exception:
            picklable = RuntimeError(f"{type(error).__name__}: {error}")
            return pickle.dumps((None, picklable))
