"""Stored fleets: nothing acknowledged is lost, damage is detected, and reading never writes."""

import os
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

import driftpeak as dp
from driftpeak.fleet import _log, verify
from driftpeak.live import open_store

PRIOR = dp.Prior(dp.Arms(np.array([0.0, 0.2, 0.5, 1.0])), dp.SE(0.3), noise_variance=0.1)
POLICY = dp.TVGPUCB(PRIOR, drift=0.05)


def make(storage=None, **options):
    members = options.pop("members", ["a", "b", "c"])
    return dp.Fleet(PRIOR.domain, members, policy=POLICY, late=4, storage=storage, **options)


def play(fleet, first, last):
    """Asks and tells with late, skipped and removed ones, that depend on the steps alone."""
    for step in range(first, last):
        generator = np.random.default_rng(step)
        some = fleet.members[generator.random(len(fleet)) < 0.8]
        asked = fleet.ask(some, time=float(step))
        told = generator.random(len(some)) < 0.7
        fleet.tell(asked.ids[told], generator.normal(size=told.sum()))
        when = step - generator.integers(3)
        fleet.observe(
            some[:1], np.zeros(len(some[:1]), int), np.ones(len(some[:1])), time=float(when)
        )
        if step == 5:
            fleet.remove(["b"])
            fleet.add(["d", "e"], arms=np.array([[True, True, False, False]] * 2))
        if step == 7:
            fleet.reset(["a"])


def assert_equal(first, second):
    assert first.members.tolist() == second.members.tolist()
    for x, y in zip(first.predict(time=99.0), second.predict(time=99.0), strict=True):
        np.testing.assert_array_equal(x, y)
    first._log = second._log = None  # neither is stored from now on
    one, other = first.ask(time=99.0), second.ask(time=99.0)
    np.testing.assert_array_equal(one.ids, other.ids)
    np.testing.assert_array_equal(one.choices, other.choices)


@pytest.mark.slow
@pytest.mark.parametrize("every", [10**9, 7])
def test_a_resumed_fleet_is_the_uninterrupted_one(storage, monkeypatch, every):
    """From its events alone, and from a snapshot and the events after it."""
    monkeypatch.setattr(_log, "EVERY", every)
    name = f"prices {every}"
    whole, stored = make(), make(storage, name=name)
    play(whole, 1, 12)
    play(stored, 1, 6)
    play(dp.Fleet.load(storage, name), 6, 9)
    play(make(storage, name=name, members=1), 9, 12)
    found = verify(open_store(storage, name))
    assert found["observations"] > 20
    assert found["snapshot"] == ("none" if every > 7 else "of this history")
    assert_equal(dp.Fleet.load(storage, name), whole)


def test_one_process_at_a_time_changes_a_fleet(tmp_path):
    first = make(tmp_path / "fleet")
    second = dp.Fleet.load(tmp_path / "fleet")
    asked = first.ask()
    with pytest.raises(dp.StorageError, match="another process changed the fleet"):
        second.ask()
    assert first.tell(asked.ids, [1.0, 2.0, 3.0]).all()
    assert_equal(dp.Fleet.load(tmp_path / "fleet"), first)


def test_shards_share_a_database(tmp_path):
    address = f"sqlite:///{tmp_path}/fleet.db"
    shards = [make(address, name=f"shard {k}", members=np.arange(10)[k::2]) for k in range(2)]
    for shard in shards * 3:
        shard.tell(shard.ask().ids, np.ones(5))
    for k, shard in enumerate(shards):
        again = dp.Fleet.load(address, f"shard {k}")
        assert again.observations.tolist() == [3] * 5
        assert_equal(again, shard)


def test_a_flipped_bit_is_detected(tmp_path):
    path = tmp_path / "fleet"
    play(make(path), 1, 4)
    content = path.read_bytes()
    generator = np.random.default_rng(0)
    for place in generator.integers(len(content), size=60):
        damaged = bytearray(content)
        damaged[place] ^= 1 << int(generator.integers(8))
        path.write_bytes(damaged)
        with pytest.warns(dp.DriftpeakWarning) if _in_head(content, place) else nullcontext():
            try:
                verify(open_store(path))
            except dp.DriftpeakError:
                continue
        assert _in_head(content, place) or place == len(content) - 1


def _in_head(content, place):
    """The head is repaired by the next change: a warning is enough."""
    begin = content.index(b"\n") + 1
    return begin <= place < content.index(b"\n", begin) + 1


def test_reading_never_writes(tmp_path):
    path = tmp_path / "fleet"
    play(make(path), 1, 4)
    before = {one: one.read_bytes() for one in tmp_path.iterdir()}
    fleet = dp.Fleet.load(path)
    fleet.predict(time=9.0)
    verify(open_store(path))
    assert {one: one.read_bytes() for one in tmp_path.iterdir()} == before


def test_another_kind_of_file_is_refused(tmp_path):
    dp.Optimizer(PRIOR.domain, maximize=True, policy=POLICY, storage=tmp_path / "study")
    with pytest.raises(dp.StorageError, match="must hold a fleet in format fleet-1"):
        dp.Fleet.load(tmp_path / "study")
    make(tmp_path / "fleet")
    with pytest.raises(dp.StudyNotFoundError, match="has no study, but a fleet"):
        dp.Optimizer.load(tmp_path / "fleet")
    with pytest.raises(dp.StudyNotFoundError, match="has no study, but a fleet"):
        dp.Optimizer(PRIOR.domain, maximize=True, policy=POLICY, storage=tmp_path / "fleet")
    with pytest.raises(dp.StudyMismatchError, match="another late"):
        dp.Fleet(PRIOR.domain, 3, policy=POLICY, late=5, storage=tmp_path / "fleet")
    with pytest.raises(dp.StudyNotFoundError, match="there is no fleet"):
        dp.Fleet.load(tmp_path / "none")


WORKER = """
import sys
import numpy as np
import driftpeak as dp
fleet = dp.Fleet.load(sys.argv[1])
for step in range(10**6):
    asked = fleet.ask()
    fleet.tell(asked.ids, np.full(len(asked), 1.0))
    print(fleet.observations.sum(), flush=True)
"""


@pytest.mark.slow
def test_a_kill_loses_no_acknowledged_observation(tmp_path):
    path = tmp_path / "fleet"
    make(path, members=50)
    source = str(Path(dp.__file__).parents[1])
    for _ in range(2):
        with subprocess.Popen(
            [sys.executable, "-c", WORKER, path],
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": source},
        ) as process:
            assert process.stdout is not None
            lines = [process.stdout.readline() for _ in range(5)]
            time.sleep(0.01 * np.random.default_rng(process.pid).random())
            process.send_signal(signal.SIGKILL)
            acknowledged = int([*lines, *process.stdout.read().splitlines()][-1])
        with pytest.warns(dp.DriftpeakWarning) if _unfinished(path) else nullcontext():
            observations = dp.Fleet.load(path).observations
        assert observations.sum() >= acknowledged
        assert len(set(observations)) == 1


def _unfinished(path):
    return not path.read_bytes().endswith(b"\n")


def test_a_file_of_another_version_is_refused_and_unchanged(tmp_path, monkeypatch):
    path = tmp_path / "fleet"
    with monkeypatch.context() as other:
        other.setattr(_log, "FORMAT", "fleet-9")
        play(make(path), 1, 3)
    before = path.read_bytes()
    for act in (lambda: dp.Fleet.load(path), lambda: make(path), lambda: verify(open_store(path))):
        with pytest.raises(dp.StorageError, match="got format fleet-9, written by driftpeak"):
            act()
    assert path.read_bytes() == before
