"""Stored studies under kill -9 and under several processes: nothing is lost, nothing doubled."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import live_worker
import numpy as np
import pytest

import driftpeak as dp
from driftpeak.live._study.events import Asked, Told, from_dict
from driftpeak.live._study.storage import open_store

PATIENCE = 400  # seconds for anything to happen on a busy machine


def calls(path: Path):
    """What was acknowledged: all the calls that returned."""
    return Counter(path.read_text().splitlines()) if path.exists() else Counter()


def wait_for(count, path, process, errors):
    deadline = time.monotonic() + PATIENCE
    while calls(path).total() < count:
        assert process.poll() is None, errors.read_text()
        assert time.monotonic() < deadline
        time.sleep(0.005)


def events(storage, name):
    store = open_store(storage, name)
    assert store.describe() is not None
    return [from_dict(written) for _, written in store.read(store.start()).events]


def wait_for_server(storage, name):
    """A database server ends the transaction of a client that was killed while it committed."""
    store = open_store(storage, name)
    if store.describe() is not None:
        with store.locked():
            pass


def check(storage, name, acknowledged):
    """Every call that returned is stored once; nothing else but the call that was interrupted."""
    stored = events(storage, name)
    asked = [event.id for event in stored if isinstance(event, Asked)]
    told = [event.id for event in stored if isinstance(event, Told)]
    assert asked == list(range(1, len(asked) + 1))
    assert max(Counter(told).values()) == 1
    assert set(told) <= set(asked)
    confirmed = calls(acknowledged)
    assert max(confirmed.values()) == 1
    assert {f"told {number}" for number in told} >= {c for c in confirmed if c[:4] == "told"}
    assert {f"asked {number}" for number in asked} >= {c for c in confirmed if c[:5] == "asked"}
    for event in stored:
        if isinstance(event, Told):
            suggestion = type("S", (), {"index": int(event.parameters["arm"]), "id": event.id})
            assert event.reward == live_worker.reward(suggestion)
    return stored, confirmed


@pytest.mark.parametrize(
    "kills", [pytest.param(2, marks=pytest.mark.slow), pytest.param(6, marks=pytest.mark.long)]
)
def test_killed_at_random_moments(storage, tmp_path, kills):
    """Six times, over 500 asks and tells: as if it had never been killed."""
    generator, acknowledged = np.random.default_rng(7), tmp_path / "acknowledged"
    before = 0
    for _ in range(kills):
        process, errors = live_worker.start(storage, "killed", acknowledged, PATIENCE, "alone")
        wait_for(before + int(generator.integers(60, 160)), acknowledged, process, errors)
        time.sleep(float(generator.uniform(0, 0.02)))  # anywhere within a call
        process.send_signal(signal.SIGKILL)
        process.wait()
        wait_for_server(storage, "killed")
        before = calls(acknowledged).total()
        check(storage, "killed", acknowledged)
    stored, confirmed = check(storage, "killed", acknowledged)
    assert confirmed.total() >= 60 * kills
    resumed = dp.Optimizer.load(storage, "killed")
    for one in resumed.pending():
        resumed.tell(one, live_worker.reward(one))
    for _ in range(87 * kills - len(resumed.history())):
        one = resumed.ask()
        resumed.tell(one, live_worker.reward(one))
    stored = events(storage, "killed")
    assert len(stored) >= 167 * kills
    # one that was never killed, nor stored
    whole, log = live_worker.make(), []
    whole.on_event = log.append
    while len(log) < len(stored):
        one = whole.ask()
        whole.tell(one, live_worker.reward(one))
    assert log == stored
    resumed = dp.Optimizer.load(storage, "killed")
    assert [dict(one) for one in resumed.ask(count=3)] == [dict(one) for one in whole.ask(count=3)]


def share(storages, name, tmp_path, seconds):
    """Processes that ask and tell one study together, each by an address of its own."""
    files = [tmp_path / f"acknowledged-{number}" for number in range(len(storages))]
    pairs = zip(storages, files, strict=True)
    started = [live_worker.start(storage, name, file, seconds) for storage, file in pairs]
    live_worker.wait(started, seconds + PATIENCE)
    together = sum(map(calls, files), Counter())
    assert max(together.values()) == 1  # no suggestion went to two
    assert min(calls(file).total() for file in files) > 20
    every = tmp_path / "every"
    every.write_text("".join(file.read_text() for file in files))
    stored, confirmed = check(storages[0], name, every)
    assert confirmed.total() == len(stored)
    return stored


def by_two_names(tmp_path):
    """Addresses of one new journal: its own, and that of a link to it."""
    live_worker.make(tmp_path / "study", "shared")
    os.link(tmp_path / "study", tmp_path / "link")
    return [f"journal:///{tmp_path}/{name}" for name in ("study", "link")]


@pytest.mark.slow
def test_two_processes_share_a_study(tmp_path):
    """One by the journal's own name and one by a link: nothing is lost, nothing doubled."""
    share(by_two_names(tmp_path), "shared", tmp_path, 1)


@pytest.mark.long
def test_four_processes_by_two_names(tmp_path):
    share(by_two_names(tmp_path) * 2, "shared", tmp_path, 4)


@pytest.mark.parametrize(
    "count", [pytest.param(3, marks=pytest.mark.slow), pytest.param(8, marks=pytest.mark.long)]
)
def test_processes_that_start_together(storage, tmp_path, count):
    """Each of them begins or opens the study, replays it and plays: without an error."""
    stored = share([storage] * count, f"together {count}", tmp_path, 1)
    assert len(dp.Optimizer.load(storage, f"together {count}").history()) == len(stored) / 2


@pytest.mark.long
def test_two_processes_share_a_study_for_long(storage, tmp_path):
    stored = share([storage] * 2, "shared", tmp_path, 15)
    assert len(stored) > 100  # thousands on idle cores
    replayed = live_worker.make()
    replayed.replay(stored)
    resumed = dp.Optimizer.load(storage, "shared")
    assert dict(replayed.ask()) == dict(resumed.ask())


# one that takes long: while it replays, and while it holds the study

REPLAYING = """
import sys, time
from pathlib import Path
import live_worker
import driftpeak as dp
from driftpeak.live._study.storage import study

address, name, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])

def wait(number):
    (folder / f"at-{number}").touch()
    while not (folder / f"go-{number}").exists():
        time.sleep(0.01)

read, seen = study.from_dict, []

def slow(written):
    seen.append(written)
    if len(seen) == 5:
        wait(1)
    return read(written)

study.from_dict = slow
optimizer = dp.Optimizer.load(address, name)
for _ in range(5):
    one = optimizer.ask()
    optimizer.tell(one, live_worker.reward(one))
with optimizer._study.store.locked():
    wait(2)
"""


@pytest.mark.slow
def test_a_process_that_takes_long(storage, tmp_path):
    """While it replays, others ask and tell; while it holds the study, they wait, and say so."""
    first = live_worker.make(storage, "long")
    for one in first.ask(count=10):
        first.tell(one, live_worker.reward(one))
    words = [sys.executable, "-c", REPLAYING, storage, "long", tmp_path]
    other = subprocess.Popen(words, env=live_worker.environment(), stderr=subprocess.PIPE)

    def until(number):
        deadline = time.monotonic() + PATIENCE
        while not (tmp_path / f"at-{number}").exists():
            assert other.poll() is None, other.stderr.read().decode()
            assert time.monotonic() < deadline
            time.sleep(0.01)

    try:
        until(1)  # the other has read 5 of 20 events, and waits
        second = dp.Optimizer.load(storage, "long")
        for optimizer in (first, second):
            for _ in range(5):
                one = optimizer.ask()
                optimizer.tell(one, live_worker.reward(one))
        (tmp_path / "go-1").touch()
        until(2)  # the other has caught up, asked and told, and now holds the study
        impatient = open_store(f"{storage}{'&' if '?' in storage else '?'}timeout=0.3", "long")
        began = time.monotonic()
        with pytest.raises(dp.StorageLockedError, match=r"is locked: .* 0\.3 s\. Try again later"):
            dp.Optimizer.load(impatient).ask()
        assert time.monotonic() - began < PATIENCE
        (tmp_path / "go-2").touch()
        one = first.ask()
        first.tell(one, live_worker.reward(one))
        _, errors = other.communicate(timeout=PATIENCE)
        assert other.returncode == 0, errors.decode()
    finally:
        other.kill()
        other.wait()
    stored = events(storage, "long")
    asked = [event.id for event in stored if isinstance(event, Asked)]
    told = [event.id for event in stored if isinstance(event, Told)]
    assert sorted(asked) == sorted(told) == list(range(1, 27))
