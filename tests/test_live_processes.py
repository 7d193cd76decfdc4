"""Stored studies under kill -9 and under several processes: nothing is lost, nothing doubled."""

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
from driftpeak.live.events import Asked, Told, from_dict
from driftpeak.live.storage import open_store

PATIENCE = 120  # seconds for anything to happen on a busy machine


def start(storage, name, acknowledged, seconds, *words):
    command = [sys.executable, live_worker.__file__, storage, name, acknowledged, seconds, *words]
    return subprocess.Popen(list(map(str, command)), stderr=subprocess.PIPE, text=True)


def calls(path: Path):
    """What was acknowledged: all the calls that returned."""
    return Counter(path.read_text().splitlines()) if path.exists() else Counter()


def wait_for(count, path, process):
    deadline = time.monotonic() + PATIENCE
    while calls(path).total() < count:
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.005)


def events(storage, name):
    store = open_store(storage, name)
    assert store.describe() is not None
    return [from_dict(written) for _, written in store.read(store.start()).events]


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


@pytest.mark.slow
def test_killed_at_random_moments(storage, tmp_path):
    """Ten times, over 1,000 asks and tells: as if it had never been killed."""
    generator, acknowledged = np.random.default_rng(7), tmp_path / "acknowledged"
    before = 0
    for _ in range(10):
        process = start(storage, "killed", acknowledged, PATIENCE, "alone")
        wait_for(before + int(generator.integers(60, 160)), acknowledged, process)
        time.sleep(float(generator.uniform(0, 0.02)))  # anywhere within a call
        process.send_signal(signal.SIGKILL)
        process.communicate()
        before = calls(acknowledged).total()
        check(storage, "killed", acknowledged)
    stored, confirmed = check(storage, "killed", acknowledged)
    assert confirmed.total() >= 600
    resumed = dp.Optimizer.load(storage, "killed")
    for one in resumed.pending():
        resumed.tell(one, live_worker.reward(one))
    for _ in range(1000 - len(resumed.history())):
        one = resumed.ask()
        resumed.tell(one, live_worker.reward(one))
    stored = events(storage, "killed")
    assert len(stored) >= 2000
    # one that was never killed, nor stored
    whole, log = live_worker.make(), []
    whole.on_event = log.append
    while len(log) < len(stored):
        one = whole.ask()
        whole.tell(one, live_worker.reward(one))
    assert log == stored
    resumed = dp.Optimizer.load(storage, "killed")
    assert [dict(one) for one in resumed.ask(count=3)] == [dict(one) for one in whole.ask(count=3)]


def share(storage, tmp_path, seconds):
    files = [tmp_path / "first", tmp_path / "second"]
    processes = [start(storage, "shared", file, seconds) for file in files]
    for process in processes:
        _, said = process.communicate(timeout=seconds + PATIENCE)
        assert process.returncode == 0, said
    first, second = map(calls, files)
    assert not first & second  # no suggestion went to both
    assert min(first.total(), second.total()) > 20
    both = tmp_path / "both"
    both.write_text("".join(file.read_text() for file in files))
    stored, confirmed = check(storage, "shared", both)
    assert confirmed.total() == len(stored)
    return stored


def test_two_processes_share_a_study(tmp_path):
    share(f"journal:///{tmp_path}/study", tmp_path, 2)


@pytest.mark.slow
def test_two_processes_share_a_study_for_long(storage, tmp_path):
    stored = share(storage, tmp_path, 60)
    assert len(stored) > 500
    replayed = live_worker.make()
    replayed.replay(stored)
    resumed = dp.Optimizer.load(storage, "shared")
    assert dict(replayed.ask()) == dict(resumed.ask())
