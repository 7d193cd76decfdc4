"""Processes of this machine: what they send back, when they begin, and how they end."""

import itertools
import multiprocessing.connection
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from driftpeak._core.errors import DriftpeakError, DriftpeakWarning
from driftpeak.simulation import executors as workers
from driftpeak.simulation.executors import _local as local
from driftpeak.simulation.executors._compatibility import threads


class OddError(Exception):
    """Can be pickled, but not read again."""

    def __init__(self, one, other):
        super().__init__(f"{one} and {other}")


def fail(kind, *words):
    raise kind(*words)


def end_once(path):
    """A process that finds no such file leaves one, and is killed."""
    if not path.exists():
        path.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return os.getpid()


@pytest.fixture(scope="module")
def pool():
    with local.Processes(1, None) as pool:
        yield pool


@pytest.mark.slow
def test_errors_come_back_with_where_they_were_raised(pool):
    with pytest.raises(ZeroDivisionError) as caught:
        pool.submit(divmod, 1, 0).result()
    assert "In a worker process:\nTraceback" in caught.value.__notes__[0]
    with pytest.raises(RuntimeError, match="OddError: this and that"):
        pool.submit(fail, OddError, "this", "that").result()
    with pytest.raises(TypeError, match="cannot pickle"):
        pool.submit(threading.Lock).result()
    assert pool.submit(divmod, 7, 2).result() == (3, 1)


def test_a_job_is_played_again_in_another_process(pool, tmp_path):
    before = pool.submit(os.getpid).result()
    with pytest.warns(DriftpeakWarning, match=r"worker process died \(exit code -9\)"):
        after = pool.submit(end_once, tmp_path / "been").result()
    assert before != after == pool.submit(os.getpid).result()


@pytest.mark.slow
def test_a_job_that_ends_every_process_is_named(pool):
    with (
        pytest.warns(DriftpeakWarning, match="worker process died"),
        pytest.raises(DriftpeakError, match=r"^4 workers died.* while running job 9, .*fewer proc"),
    ):
        list(workers.spread(os._exit, [9], pool, called="job {}".format))


def kill_at_start(monkeypatch, count):
    """Kill so many processes as soon as they are started: they still load what they need."""
    begin, started = local._Process.__init__, itertools.count()

    def init(self, programs):
        begin(self, programs)
        if next(started) < count:
            os.kill(self._process.pid, signal.SIGKILL)

    monkeypatch.setattr(local._Process, "__init__", init)


@pytest.mark.slow
def test_a_process_that_is_killed_while_it_starts_is_replaced(monkeypatch):
    before = set(multiprocessing.active_children())  # other tests share a process
    kill_at_start(monkeypatch, 1)
    with (
        pytest.warns(DriftpeakWarning, match=r"worker process died \(exit code -9\)"),
        workers.local_workers(2) as pool,
    ):
        assert dict(workers.spread(abs, [-3], pool)) == {-3: 3}
    assert set(multiprocessing.active_children()) == before


@pytest.mark.slow
def test_an_exit_code_is_not_lost_when_another_process_starts(monkeypatch):
    """Starting one reaps those that have ended: it begins to here, just before the join."""
    one, others = local._Process(None), []
    os.kill(one._process.pid, signal.SIGKILL)
    multiprocessing.connection.wait([one._process.sentinel])
    starting = threading.Thread(target=lambda: others.append(local._Process(None)))
    reap, join = os.waitpid, one._process.join

    def slow(pid, options):
        found = reap(pid, options)
        time.sleep(1.0 if found[0] else 0.0)
        return found

    def late():
        starting.start()
        time.sleep(0.4)
        join()

    monkeypatch.setattr(os, "waitpid", slow)
    one._process.join = late
    assert one.end() == -signal.SIGKILL
    starting.join()
    assert others[0].end() == 0


def test_processes_that_are_all_killed_while_they_start_end_the_run(monkeypatch):
    """With an error after four of them; none is left behind."""
    before = set(multiprocessing.active_children())
    kill_at_start(monkeypatch, 99)
    with (
        pytest.warns(DriftpeakWarning, match=r"worker process died \(exit code -9\)"),
        pytest.raises(
            DriftpeakError, match=r"^4 workers died.* while running -3, .*repeat the same"
        ),
        workers.local_workers(2) as pool,
    ):
        list(workers.spread(abs, [-3], pool))
    assert set(multiprocessing.active_children()) == before


def test_processes_compute_with_as_many_threads_as_this_one(monkeypatch):
    """However many cores they may use."""
    wanted = threads() + 1
    monkeypatch.setattr(local, "threads", lambda: wanted)
    with workers.local_workers(2) as pool:
        assert pool.submit(threads).result() == wanted


@pytest.mark.slow
def test_a_script_that_works_where_it_is_read_is_told(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "from driftpeak.simulation.executors import local_workers\n"
        "with local_workers(2) as pool:\n"
        "    pool.submit(abs, -1).result()\n"
    )
    found = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert found.returncode == 1
    assert "ended before its first job (exit code 1)" in found.stderr
    assert found.stderr.rstrip().endswith('of a script under `if __name__ == "__main__":`')
