"""Fleets on Dask workers: the arrays of one fleet, and no acknowledged observation is lost."""

import os
import signal
import threading

import numpy as np
import pytest

import driftpeak as dp
from driftpeak.fleet import ShardedFleet, _log, verify
from driftpeak.fleet._shard import Open, Shard, store_of
from driftpeak.fleet._sharded import shard_of
from driftpeak.fleet._workers import placed
from driftpeak.live import open_store

distributed = pytest.importorskip("distributed")

PRIOR = dp.Prior(dp.Arms(np.array([0.0, 0.2, 0.5, 1.0])), dp.SE(0.3), noise_variance=0.1)
POLICY = dp.TVGPUCB(PRIOR, drift=0.05)
IDS = [f"member {i}" for i in range(9)]
QUIET = {"dashboard_address": "127.0.0.1:0", "scheduler_kwargs": {"dashboard": False}}


@pytest.fixture(scope="module")
def client():
    """Two workers, which are threads of this process."""
    settings = {"n_workers": 2, "threads_per_worker": 1, "processes": False, **QUIET}
    with (
        distributed.LocalCluster(**settings, silence_logs=50) as cluster,
        distributed.Client(cluster, set_as_default=False) as found,
    ):
        yield found


def make(client, folder, **options):
    given = {"members": IDS, "policy": POLICY, "shards": 3, "late": 4, "storage": folder} | options
    return ShardedFleet(client, PRIOR.domain, given.pop("members"), **given)


def alone(**options):
    given = {"members": IDS, "policy": POLICY, "late": 4} | options
    return dp.Fleet(PRIOR.domain, given.pop("members"), **given)


def play(fleet, first, last):
    """Batches with late, missing and recorded rewards, that depend on the steps alone."""
    every = []
    for step in range(first, last):
        generator = np.random.default_rng(step)
        some = fleet.members[generator.random(len(fleet)) < 0.8]
        asked = fleet.ask(some, time=float(step))
        told = generator.permutation(len(some))[: max(len(some) - 2, 1)]
        used = fleet.tell(asked.ids[told], generator.normal(size=len(told)))
        used_too = fleet.observe(some[:2], [0, 1], [1.0, 2.0], time=step - [3.0, 0.5][step % 2])
        every.append((asked.members, asked.ids, asked.choices, asked.times, used, used_too))
        if step == 3:
            fleet.remove(IDS[1:2])
            fleet.add(["new", "newer"], arms=np.array([[True, True, False, False]] * 2))
        if step == 4:
            fleet.reset(IDS[2:3])
    return every


def assert_equal(first, second):
    """Two nested tuples or lists of arrays are equal."""
    for one, other in zip(first, second, strict=True):
        if isinstance(one, tuple):
            assert_equal(one, other)
        else:
            np.testing.assert_array_equal(one, other)


def equal_states(one, other):
    assert one.members.tolist() == other.members.tolist()
    np.testing.assert_array_equal(one.observations, other.observations)
    assert_equal(one.predict(time=50.0), other.predict(time=50.0))
    for name, column in one.diagnostics(IDS[4:7]).items():
        np.testing.assert_array_equal(column, other.diagnostics(IDS[4:7])[name])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["folder", "sqlite", "postgresql"])
def test_the_shards_are_one_fleet(client, tmp_path, kind, request):
    """Ids, choices, times and posteriors are those of a `Fleet`, also after it is resumed."""
    where = {"folder": str(tmp_path), "sqlite": f"sqlite:///{tmp_path}/fleets"}.get(kind)
    where = where or request.getfixturevalue("postgresql")
    single, sharded = alone(storage=tmp_path / "one"), make(client, where)
    assert_equal(play(single, 1, 5), play(sharded, 1, 5))
    equal_states(single, sharded)
    assert set(sharded.places) == set(client.scheduler_info()["workers"])
    again = ShardedFleet.load(client, where)
    assert "3 shards" in repr(again)
    assert_equal(play(single, 5, 8), play(again, 5, 8))
    equal_states(single, again)
    stored = [verify(store_of(where, "fleet", shard)) for shard in range(3)]
    whole = verify(open_store(tmp_path / "one"))["observations"]
    assert sum(one["observations"] for one in stored) == whole > 20


@pytest.mark.slow
def test_a_killed_worker_loses_no_acknowledged_observation(tmp_path):
    """A worker is killed between calls, another one during a call; a new one joins.

    All results are those of one fleet that is not interrupted, so each call was applied once.
    """
    whole = play(alone(), 1, 12)
    settings = {"n_workers": 3, "threads_per_worker": 1, **QUIET}
    with (
        distributed.LocalCluster(**settings, silence_logs=50) as cluster,
        distributed.Client(cluster, set_as_default=False) as own,
    ):
        fleet = make(own, tmp_path)
        found = play(fleet, 1, 5)
        pids = own.run(os.getpid)
        os.kill(pids[fleet.places[0]], signal.SIGKILL)
        found += play(fleet, 5, 7)
        pids = own.run(os.getpid)
        killer = threading.Timer(0.05, os.kill, (pids[fleet.places[1]], signal.SIGKILL))
        killer.start()
        while killer.is_alive():
            fleet.predict(time=50.0)
        found += play(fleet, 7, 9)
        cluster.scale(5)
        own.wait_for_workers(4, timeout=300)  # one of them may still be the killed one
        found += play(fleet, 9, 12)
        assert len(set(fleet.places)) == 3
        assert_equal(found, whole)
        acknowledged = sum(used.sum() + recorded.sum() for *_, used, recorded in found)
        del fleet
        again = ShardedFleet.load(own, tmp_path)
        stored = [verify(store_of(str(tmp_path), "fleet", shard)) for shard in range(3)]
        assert sum(one["observations"] for one in stored) >= acknowledged
        single = alone()
        play(single, 1, 12)
        equal_states(single, again)


@pytest.mark.slow
@pytest.mark.parametrize("every", [10**9, 1])
def test_a_repeated_call_has_its_first_result(client, tmp_path, monkeypatch, every):
    """A worker that was lost after it had stored its part is replaced by another one.

    It reads the events, or a snapshot that was made by the call itself.
    """
    monkeypatch.setattr(_log, "EVERY", every)
    make(client, tmp_path, members=IDS[:4], shards=1)

    def run(*given):
        return Shard.load(store_of(str(tmp_path), "fleet", 0)).run(*given)

    some = np.array(IDS[:3], object)
    asked = {"members": some, "time": np.array([3.0, 1.0, 2.0]), "context": None}
    first = run("a", "suggest", asked)
    assert_equal(run("a", "suggest", asked), first)
    told = {"ids": first[0], "rewards": np.ones(3), "time": None}
    assert (
        run("b", "answer", told)[0].tolist() == run("b", "answer", told)[0].tolist() == [True] * 3
    )
    for step in range(9):
        recorded = {"members": some[:1], "choices": np.zeros(1, int), "rewards": np.ones(1)}
        run(f"c{step}", "record", recorded | {"time": np.array([10.0 + step])})
    late = {"members": some[:2], "choices": np.zeros(2, int), "rewards": np.ones(2)}
    late["time"] = np.array([1.0, 5.0])
    for _ in range(3):
        assert run("d", "record", late)[0].tolist() == [False, True]
    new = {"members": np.array(["x"], object), "serials": np.array([7])}
    for _ in range(2):
        run("e", "remove", {"members": some[:1]})
    for _ in range(2):
        run("f", "insert", new | {"mask": None, "groups": None})
    found = run(None, "describe", {})
    assert (found["members"].tolist(), found["next"]) == ([*IDS[1:4], "x"], 8)
    assert verify(store_of(str(tmp_path), "fleet", 0))["observations"] == 3 + 9 + 2


@pytest.mark.slow
def test_a_worker_that_was_thought_lost_changes_nothing_twice(client, tmp_path):
    """Both workers have the shard open; the second call of each opens it again."""
    make(client, tmp_path, members=IDS[:4], shards=1)
    first, second = Open(), Open()
    where = str(tmp_path), "fleet", 0
    asked = {"members": np.array(IDS[:2], object), "time": None, "context": None}
    numbers = [
        opened.run(*where, call, "suggest", asked)[0][0]
        for opened, call in ((first, "a"), (second, "b"), (first, "b"), (first, "c"))
    ]
    assert (np.array(numbers)[:, 0] & 0xFFFFFFFF).tolist() == [0, 1, 1, 2]


@pytest.mark.slow
@pytest.mark.parametrize("share", ["all", "region"])
def test_the_prior_is_estimated_from_all_shards(client, tmp_path, share):
    """With few members all observations are used, as in one fleet."""
    auto = dp.Auto(PRIOR, rates=[])
    table = {"member": np.arange(40), "region": ["north", "south"] * 20}
    single = alone(members=table, policy=auto, share=share)
    sharded = make(client, tmp_path, members=table, policy=auto, share=share)
    group = "south" if share == "region" else None
    assert sharded.population(group) is None
    for fleet in (single, sharded):
        for step in range(1, 4):
            asked = fleet.ask(time=float(step))
            noise = np.random.default_rng(step).normal(size=40)
            used = fleet.tell(asked.ids, asked.choices + 0.5 * noise)
            assert used.all()
    assert sharded.population(group).observations == single.population(group).observations
    for name in ("mean", "covariance", "noise_variance", "drift", "weights"):
        one, other = (getattr(fleet.population(group), name) for fleet in (single, sharded))
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)
    again = ShardedFleet.load(client, tmp_path)
    assert again._pool.due == sharded._pool.due == single._pool.due
    assert again.population(group).to_dict() == sharded.population(group).to_dict()
    new = {"member": [41], "region": ["south"]}
    again.add(new)
    np.testing.assert_allclose(again.predict([41])[0][0], again.population(group).mean, atol=1e-6)


@pytest.mark.slow
def test_contexts(client, tmp_path):
    contexts = dp.Contexts([{"day": "week"}, {"day": "weekend"}])
    policy = dp.TVGPUCB(
        dp.Prior(contexts.cells(PRIOR.domain), dp.kernels.Table(np.eye(8)), 0.1), drift=0.1
    )
    given = {"members": 5, "policy": policy, "contexts": contexts}
    found = []
    for fleet in (alone(**given), make(client, tmp_path, **given)):
        for step in range(1, 4):
            said = [{"day": ("week", "weekend")[(i + step) % 2]} for i in range(5)]
            asked = fleet.ask(time=float(step), context=said)
            fleet.tell(asked.ids, asked.choices * 1.0)
        found.append((asked.choices, *fleet.predict(time=5.0)))
    assert_equal(*found)


@pytest.mark.slow
def test_invalid_calls_change_no_shard(client, tmp_path):
    fleet = make(client, tmp_path)
    asked = fleet.ask(time=1.0)
    ids, rewards = asked.ids, np.ones(9)
    other = np.where(np.arange(9) == 4, 77, ids)
    for call, message in (
        (lambda: fleet.tell(ids, np.where(np.arange(9) == 5, np.nan, 1.0)), "nan at row 5"),
        (lambda: fleet.tell(other, rewards), "got 77 at row 4"),
        (lambda: fleet.tell(np.r_[ids, ids[:1]], np.ones(10)), "at row 9 for the second time"),
        (lambda: fleet.tell(ids, rewards[:3]), "9 entries, one for each row; got 3"),
        (lambda: fleet.ask(["member 1", "none"]), "got 'none'"),
        (lambda: fleet.ask(time=np.inf), "time must be finite"),
        (lambda: fleet.ask(context="x"), "context must be None"),
        (lambda: fleet.observe(IDS[:1], [4], [1.0], time=1.0), r"numbers of arms in 0\.\.3; got 4"),
        (lambda: fleet.add(["new", "member 1"]), "got 'member 1', which exists"),
        (lambda: fleet.add([5]), "all integers or all strings"),
        (lambda: fleet.population(), "share must be 'all' or a column"),
    ):
        with pytest.raises(dp.DriftpeakError, match=message):
            call()
    assert fleet.observations.sum() == 0
    assert fleet.tell(other, rewards, invalid="skip").tolist() == [True] * 4 + [False] + [True] * 4
    with pytest.raises(dp.UnknownSuggestionError, match="at row 0, which is already answered"):
        fleet.tell(ids[3:4], [1.0])
    assert fleet.tell([], []).tolist() == []
    assert len(fleet.ask([])) == 0
    fleet.remove(IDS[4:5])
    with pytest.raises(dp.UnknownSuggestionError, match="whose member was removed"):
        fleet.tell(ids[4:5], [1.0])
    again = ShardedFleet.load(client, tmp_path)
    with pytest.raises(dp.UnknownSuggestionError, match="at row 0"):
        again.tell(ids[4:5], [1.0])
    with pytest.raises(dp.StudyMismatchError, match="another shard"):
        make(client, tmp_path, shards=2)


CASES = {
    "client": ({"client": "tcp://"}, "client must be a distributed.Client; got 'tcp://'"),
    "shards": ({"shards": 0}, "shards must be an integer of at least 1"),
    "many": ({"shards": 257}, "at most 256"),
    "journal": ({"storage": "journal:///shop"}, "a folder or the address of a database; got 'jou"),
    "name": ({"name": "a/b"}, "name must be a word without '/'; got 'a/b'"),
}


@pytest.mark.parametrize("case", CASES)
def test_invalid_arguments_are_refused(tmp_path, case):
    given, message = CASES[case]
    given = {"client": None} | given
    with pytest.raises(dp.DriftpeakError, match=message):
        make(given.pop("client"), tmp_path, **given)


def test_shards_are_checksums():
    """The check value of CRC-32 is that of its specification."""
    assert shard_of(np.array([123456789]), 2**31).tolist() == [0xCBF43926 % 2**31]
    assert np.bincount(shard_of(np.arange(10_000), 16)).min() > 600


def test_shards_move_only_if_they_must():
    first = placed([""] * 8, ["a", "b"])
    assert sorted(first) == ["a"] * 4 + ["b"] * 4
    joined = placed(first, ["a", "b", "c"])
    assert sum(x != y for x, y in zip(first, joined, strict=True)) == 2
    left = placed(joined, ["a", "c"])
    assert [y for x, y in zip(joined, left, strict=True) if x != "b"] == [
        x for x in joined if x != "b"
    ]
    assert max(left.count(worker) for worker in "ac") == 4
    assert placed(["a"], ["b", "c"]) == ["b"]
