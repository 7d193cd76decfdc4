"""Programs for longer arrays are compiled in the background, before a study needs them."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
import scipy.linalg  # noqa: F401  loads the library that JAX calls
from threadpoolctl import threadpool_info, threadpool_limits

import driftpeak as dp
from driftpeak._core.numerics.compiled import compiling_only_if
from driftpeak._core.numerics.threads import single_threaded_lapack
from driftpeak.live._model.hyperparameters import SIZES
from driftpeak.live._model.observations import size_for
from driftpeak.live._space.records import Request, Sample
from driftpeak.live._study import precompilation
from driftpeak.live._study.event_sourced import computing

BOX = dp.Box(x=dp.Float(0, 1), kind=dp.Categorical("a", "b"))


def study(**options):
    return dp.Optimizer(BOX, maximize=True, **options)


def observe(optimizer, count):
    """Tell `count` rewards without learning."""
    random = np.random.default_rng(1)
    with computing():
        for step in range(count):
            setting = {"x": float(random.random()), "kind": "a"}
            sample = Sample(optimizer.coding.clean(setting), float(step))
            optimizer._engine.observe(sample, float(random.random()))


@pytest.mark.parametrize("capacity", [40, 100, 512])
def test_programs_are_compiled_again_where_an_array_gets_longer(capacity):
    """An array holds all observations, and another one the newest 256, to learn from."""
    optimizer = study(policy=dp.DriftingGP(capacity=capacity))
    engine = optimizer._engine
    lengths = [
        (
            count >= engine.initial,
            size_for(count, capacity),
            size_for(min(count, 256), capacity, 256, *SIZES),
        )
        for count in range(capacity + 1)
    ]
    grows = [n for n in range(1, capacity + 1) if lengths[n] != lengths[n - 1]]
    found, count = [], 0
    while (count := engine.next_recompilation()) <= capacity:
        found.append(count)
        observe(optimizer, count - len(engine.memory))
    assert found == grows
    assert count == capacity + 1  # where a full memory drops observations


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({}, marks=pytest.mark.slow),
        pytest.param({"likelihood": "bernoulli"}, marks=pytest.mark.slow),
        pytest.param({"forgetting": dp.forgetting.Window(20)}, marks=pytest.mark.slow),
        pytest.param({"limit": dp.Limit(at_most=0.7)}, marks=pytest.mark.slow),
    ],
    ids=["default", "binary", "rule", "limit"],
)
def test_after_a_warm_up_a_study_compiles_nothing(options):
    """Neither at the first count of a length nor afterwards, up to the next length."""
    limit = options.pop("limit", None)
    rules = {} if limit is None else {"constraints": {"heat": limit}}
    policy = dp.DriftingGP(capacity=40, **options)
    optimizer = study(policy=policy, **rules)
    engine = optimizer._engine
    with computing():
        other = optimizer._make_engine()
        other.warm_up(engine.next_recompilation(), Request(1, 0.0, {}))
        other.warm_up_learning()
    random = np.random.default_rng(2)
    with compiling_only_if(lambda: False):
        for step in range(36):
            setting = optimizer.ask(step)
            measured = {"heat": float(random.random())} if rules else None
            optimizer.tell(setting, float(random.integers(2)), constraints=measured)
    assert len(engine.memory) == 36


def warm_ups(monkeypatch):
    """Replace warm-ups, and return the list that gets the count of each, and "learning"."""
    calls = []
    engine = type(study()._engine)
    monkeypatch.setattr(precompilation, "_STARTED", set())
    monkeypatch.setattr(engine, "warm_up", lambda self, count, request: calls.append(count))
    monkeypatch.setattr(engine, "warm_up_learning", lambda self: calls.append("learning"))
    return calls


def finish():
    """Wait for the threads that compile."""
    for thread in threading.enumerate():
        if thread.name == "driftpeak-compiler":
            thread.join()


def test_studies_with_the_same_arguments_share_a_warm_up(monkeypatch):
    calls = warm_ups(monkeypatch)
    monkeypatch.delenv("DRIFTPEAK_PRECOMPILE")

    def warms_up(*, pending=0, **options):
        """Return whether a new study warms up, after it has asked `pending` times."""
        monkeypatch.setenv("DRIFTPEAK_PRECOMPILE", "off")
        optimizer = study(**options)
        for step in range(pending):
            optimizer.ask(step)
        monkeypatch.delenv("DRIFTPEAK_PRECOMPILE")
        before = len(calls)
        optimizer.ask(pending)
        finish()
        return len(calls) > before

    assert warms_up()
    assert not warms_up()
    assert not warms_up(seed=3)
    assert warms_up(policy=dp.DriftingGP(capacity=40))
    assert warms_up(policy=dp.DriftingGP(likelihood="bernoulli"))
    assert warms_up(pending=1)
    assert not warms_up(pending=2)
    assert warms_up(constraints={"sum": dp.WeightedSum({"x": 1}, at_most=0.5)})


def test_the_thread_warms_up_for_each_length_once(monkeypatch):
    """First the search, then the learning. With the variable set to "off" there is no thread."""
    calls = warm_ups(monkeypatch)
    optimizer = study()
    engine = type(optimizer._engine)
    optimizer.ask(0)
    finish()
    assert calls == []  # the test suite sets "off"
    monkeypatch.delenv("DRIFTPEAK_PRECOMPILE")
    optimizer.ask(1)
    optimizer.ask(2)
    finish()
    assert calls == [4, "learning"]
    observe(optimizer, 64)
    monkeypatch.setattr(engine, "propose", lambda self, request: {"x": 0.5, "kind": "a"})
    optimizer.ask(3)
    finish()
    assert calls[2:] == [65, "learning"]


@pytest.fixture
def two_threads():
    """Let LAPACK use two threads, and return each library's number; one may refuse a second."""
    with threadpool_limits(2, user_api="blas"):
        before = lapack_threads()
        assert 2 in before
        yield before


def lapack_threads():
    """Return the number of threads of each loaded LAPACK library."""
    return [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]


def test_the_limit_of_threads_ends_with_the_last_block(two_threads):
    """Blocks of several threads overlap: the first that ends leaves the limit to the others."""
    entered, leave = threading.Event(), threading.Event()

    def other():
        with single_threaded_lapack():
            entered.set()
            leave.wait()

    thread = threading.Thread(target=other)
    with single_threaded_lapack():
        thread.start()
        entered.wait()
    assert set(lapack_threads()) == {1}
    leave.set()
    thread.join()
    assert lapack_threads() == two_threads


def test_every_thread_can_limit_the_threads(two_threads):
    """threadpoolctl ignores all threads but the first that sets a limit, here the main thread."""
    found = []

    def other():
        with single_threaded_lapack():
            found.append(lapack_threads())
        found.append(lapack_threads())

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert set(found[0]) == {1}
    assert found[1] == two_threads


LIBRARY = """
import os, sys
{first}
import driftpeak as dp
optimizer = dp.Optimizer(dp.Box(x=dp.Float(0, 1)), maximize=True)
for step in range({count}):
    setting = optimizer.ask()
    optimizer.tell(setting, setting["x"])
"""


def run(folder, first="", count=4, **environment):
    """Return the error output of a program that uses the library."""
    unset = {"TF_CPP_MIN_LOG_LEVEL", "DRIFTPEAK_PRECOMPILE", "XLA_FLAGS"}
    inherited = {name: value for name, value in os.environ.items() if name not in unset}
    environment = inherited | {"DRIFTPEAK_CACHE": str(folder)} | environment
    code = LIBRARY.format(first=first, count=count)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def stored(folder):
    return {path.name: path.stat().st_mtime_ns for path in folder.glob("programs/*/*")}


@pytest.mark.slow
def test_programs_of_the_library_are_stored(tmp_path):
    assert run(tmp_path, DRIFTPEAK_PRECOMPILE="off") == ""
    first = stored(tmp_path)
    assert {"highest", "learn", "_value", "_slope"} <= {name.partition("-")[0] for name in first}
    assert run(tmp_path, DRIFTPEAK_PRECOMPILE="off") == ""
    assert stored(tmp_path) == first


@pytest.mark.slow
def test_where_programs_are_not_stored(tmp_path):
    """If XLA would print a line for each, if JAX's own cache is used, or if it is switched off."""
    assert run(tmp_path, first="import jax", count=1) == ""
    own = {"JAX_COMPILATION_CACHE_DIR": str(tmp_path / "own")}
    assert run(tmp_path, count=1, **own) == ""
    assert run("off", count=1) == ""
    assert not stored(tmp_path)
    (tmp_path / "file").touch()
    assert "compiled programs are not cached" in run(tmp_path / "file", count=1)


@pytest.mark.slow
def test_a_program_ends_while_programs_are_compiled():
    """It waits for the one that is being compiled, and prints nothing."""
    assert run("off", count=1) == ""
