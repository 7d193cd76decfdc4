"""Runs on a cluster: a real dask scheduler and workers on this machine, killed and interrupted.

Everything runs in processes of its own, as it would on other machines.
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import Executor, Future
from contextlib import ExitStack
from pathlib import Path

import own_simulation as own
import pytest
import xarray as xr

from driftpeak._core.errors import DriftpeakError
from driftpeak.experiments.running import runner
from driftpeak.offline.data import read_table
from driftpeak.offline.replay import replay
from driftpeak.simulation.executors import cluster_workers, spread
from driftpeak.simulation.executors._compatibility import threads

TINY = Path(__file__).parents[1] / "helpers" / "tiny_experiment.py"
MANY = ("tiny", "--trials", "90")  # 60 jobs, so that there is time to interfere
PATIENCE = 120  # seconds for anything to happen on a busy machine


def until(ready, what: str):
    """Wait until `ready()` gives something true, and return that."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if found := ready():
            return found
        time.sleep(0.05)
    pytest.fail(f"waited {PATIENCE} s in vain for {what}")


class Cluster:
    """A scheduler and its workers; each worker is one process, so that it can be killed."""

    def __init__(self, folder: Path, started: ExitStack) -> None:
        self.folder, self.started = folder, started
        self.scheduler = self.dask(
            "scheduler", "--port", "0", "--scheduler-file", str(folder / "s")
        )
        self.address = until(self._address, "a scheduler")

    def dask(self, kind: str, *words: str, **environment: str) -> subprocess.Popen:
        command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", *words,
                   "--host", "127.0.0.1", "--no-dashboard"]  # fmt: skip
        log = self.started.enter_context((self.folder / f"{kind}.log").open("ab"))
        process = subprocess.Popen(command, stdout=log, stderr=log, env=os.environ | environment)
        self.started.callback(process.wait)
        self.started.callback(process.kill)
        return process

    def _address(self) -> str:
        try:
            return json.loads((self.folder / "s").read_text())["address"]
        except (OSError, ValueError):
            return ""

    def worker(self, **environment: str) -> subprocess.Popen:
        place = self.folder / f"worker{time.monotonic_ns()}"
        words = ("--nthreads", "1", "--no-nanny", "--preload", str(TINY))
        environment = {"NPROC": "1"} | environment  # as `reproduce` has it
        return self.dask(
            "worker", self.address, *words, "--local-directory", str(place), **environment
        )


@pytest.fixture
def cluster(tmp_path):
    with ExitStack() as started:
        (tmp_path / "dask").mkdir()
        yield Cluster(tmp_path / "dask", started)


def start(*words: object) -> subprocess.Popen:
    command = [sys.executable, TINY, "reproduce", *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def played(*words: object) -> None:
    process = start(*words)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, errors


def refused(process: subprocess.Popen, pattern: str) -> None:
    """It ends with exit code 2 and one line that matches."""
    try:
        output, errors = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert (process.returncode, output) == (2, ""), errors
    assert len(errors.splitlines()) == 1, errors
    assert re.search(pattern, errors), errors


def parts(output: Path) -> int:
    return len(list((output / "unfinished").glob("*.nc")))


def assert_same(one: Path, other: Path, id: str = "tiny") -> None:
    """The two folders hold the same results, to the last bit."""
    results = [runner.read_results(folder / f"{id}.nc")[0] for folder in (one, other)]
    assert list(results[0]) == list(results[1])
    for case in results[0]:
        xr.testing.assert_identical(*(found[case].drop_vars("seconds") for found in results))


@pytest.mark.long
def test_a_worker_killed_half_way_changes_nothing(tmp_path, cluster):
    """60 jobs, two workers, one of them killed; then as in one process, to the last bit."""
    serial, spread = tmp_path / "serial", tmp_path / "spread"
    workers = [cluster.worker(), cluster.worker()]
    process = start(*MANY, "--cluster", cluster.address, "--output", spread)
    until(lambda: parts(spread) >= 4 or process.poll() is not None, "four parts")
    assert process.poll() is None, process.communicate()
    workers[0].kill()
    killed_at = parts(spread)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, errors
    assert killed_at < 60
    assert workers[1].poll() is None
    played(*MANY, "--workers", "1", "--output", serial)
    assert_same(spread, serial)


@pytest.mark.long
def test_without_workers_a_run_waits_for_others(tmp_path, cluster):
    lost, output = cluster.worker(), tmp_path / "output"
    process = start(*MANY, "--cluster", cluster.address, "--output", output)
    until(lambda: parts(output) >= 2 or process.poll() is not None, "two parts")
    lost.kill()
    assert "no workers left. Start one with" in process.stderr.readline()
    cluster.worker()
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, errors
    assert "no workers left" not in errors


@pytest.mark.long
def test_an_interrupted_run_goes_on(tmp_path, cluster):
    """Ctrl-C ends the run in one line; what it had is used again, here by a run without cluster."""
    cluster.worker()
    for attempt in range(3):
        output = tmp_path / f"output{attempt}"
        process = start(*MANY, "--cluster", cluster.address, "--output", output)
        until(lambda: parts(output) >= 2 or process.poll() is not None, "two parts")  # noqa: B023
        process.send_signal(signal.SIGINT)
        printed, errors = process.communicate(timeout=PATIENCE)
        # Python drops an interrupt that arrives inside a callback of its garbage collector; and a
        # test that is itself held up may come too late, after the last part
        if process.returncode != 0 and "Exception ignored in" not in errors:
            break
    assert (process.returncode, printed) == (2, ""), errors
    assert re.search("^driftpeak: interrupted; repeat the command to resume from ", errors)
    assert len(errors.splitlines()) == 1, errors
    kept = {path.name: path.stat().st_mtime_ns for path in (output / "unfinished").iterdir()}
    assert 2 <= len(kept) < 60
    process = start(*MANY, "--workers", "1", "--output", output)
    until(lambda: parts(output) > len(kept) or process.poll() is not None, "another part")
    now = {path.name: path.stat().st_mtime_ns for path in (output / "unfinished").glob("*.nc")}
    assert process.poll() is None
    assert kept.items() <= now.items()
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    played(*MANY, "--workers", "1", "--output", tmp_path / "serial")
    assert_same(output, tmp_path / "serial")


@pytest.mark.long
def test_a_lost_scheduler_is_told(tmp_path, cluster):
    cluster.worker()
    output = tmp_path / "output"
    process = start(*MANY, "--cluster", cluster.address, "--output", output)
    until(lambda: parts(output) >= 2 or process.poll() is not None, "two parts")
    cluster.scheduler.kill()
    refused(process, "connection to the dask scheduler at tcp://.*finished chunks are stored")
    assert 2 <= parts(output) < 60


@pytest.mark.long
def test_recorded_data(tmp_path, cluster):
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "stocks_dow.csv.gz").write_text("date,a,b\n1,2,3\n2,3,4\n")
    cluster.worker()
    words = ("recorded", "--data", folder, "--output")
    played(*words, tmp_path / "spread", "--cluster", cluster.address)
    played(*words, tmp_path / "serial", "--workers", "1")
    assert_same(tmp_path / "spread", tmp_path / "serial", "recorded")


@pytest.mark.slow
@pytest.mark.parametrize("command", ["replay", "compare"])
def test_replays_and_comparisons(command, tmp_path, cluster):
    """Two workers give what one process gives."""
    cluster.worker()
    cluster.worker()
    words = own.command(command, tmp_path)
    alone = own.answer(words, NPROC="1")
    assert own.answer(words, "--cluster", cluster.address, NPROC="1") == alone


@pytest.mark.slow
def test_a_client_shares_a_replay(tmp_path, cluster):
    from distributed import Client

    cluster.worker(NPROC=str(threads()))
    how = {"policies": ["random", "gp-ucb", "tv-gp-ucb:drift=0.1"], "trials": 3, "progress": False}
    recorded = read_table(own.table(tmp_path))
    with Client(cluster.address, set_as_default=False) as client:
        shared = replay(recorded, executor=client, **how)
    measured = ["seconds", "compile_seconds"]
    alone = replay(recorded, **how)
    xr.testing.assert_identical(shared.drop_vars(measured), alone.drop_vars(measured))


@pytest.mark.slow
def test_no_workers_is_told(cluster):
    refused(start("tiny", "--cluster", cluster.address), "has no workers.*`dask worker tcp://")


@pytest.mark.slow
def test_other_versions_are_refused(tmp_path, cluster):
    """A worker that finds another JAX installed."""
    other = tmp_path / "site" / "jax-0.1.2.dist-info"
    other.mkdir(parents=True)
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: jax\nVersion: 0.1.2\n")
    path = os.pathsep.join([str(other.parent), os.environ.get("PYTHONPATH", "")])
    cluster.worker(PYTHONPATH=path)
    refused(
        start("tiny", "--cluster", cluster.address),
        r"worker tcp://\S+ must .*got jax 0\.1\.2 \(here",
    )


@pytest.mark.slow
def test_other_threads_are_refused(cluster):
    """Of a worker that was started without NPROC=1, on a machine with several cores."""
    cluster.worker(NPROC="3")
    refused(
        start("tiny", "--cluster", cluster.address),
        r"worker tcp://\S+ must .*got threads \(NPROC\) 3 \(here 1\).*start it with NPROC=1",
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "pattern"),
    [
        (["--cluster", "127.0.0.1:8786"], "must be the address of a dask scheduler, tcp://HOST"),
        pytest.param(
            ["--cluster", "tcp://127.0.0.1:9"],
            "no dask scheduler answered at tcp://127.0.0.1:9 within",
            marks=pytest.mark.slow,
        ),
        (
            ["--cluster", "tcp://127.0.0.1:9", "--workers", "2"],
            "exclude each other",
        ),
    ],
)
def test_mistakes(words, pattern):
    refused(start("tiny", *words), pattern)


def test_a_job_that_ends_every_worker_is_named():
    from distributed import KilledWorker

    class Lost(Executor):
        def submit(self, *_):
            future = Future()
            future.set_exception(KilledWorker("key", None, 3))
            return future

    with pytest.raises(DriftpeakError, match=r"^4 workers died.* while running job 9.*memory"):
        list(spread(abs, [9], Lost(), called="job {}".format))


@pytest.mark.parametrize("address", ["tcp://127.0.0.1", "tcp://127.0.0.1:99999"])
def test_half_an_address_is_refused(address):
    with pytest.raises(DriftpeakError, match="must be the address"), cluster_workers(address):
        pass


@pytest.mark.slow
def test_another_server_is_no_scheduler():
    """Something listens there, but never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        refused(start("tiny", "--cluster", address), "no dask scheduler answered")


@pytest.mark.slow
def test_without_dask(tmp_path):
    (tmp_path / "distributed.py").write_text("raise ImportError('none here')")
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); " \
        "sys.argv[1:] = ['reproduce', 'b16-fig2a', '--cluster', 'tcp://127.0.0.1:9']; " \
        "from driftpeak.cli.app import main; main()"  # fmt: skip
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)  # fmt: skip
    refused(process, r"a cluster needs dask.*pip install 'driftpeak\[dask\]'")
