"""Large simulations: in chunks, kept as they come, shared among processes, and always the same."""

import itertools
import json
import multiprocessing
import os
import pickle
import random
import signal
import subprocess
import sys
import threading
import time
import types
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import equinox as eqx
import jax
import numpy as np
import own_simulation as own
import psutil
import pytest
import xarray as xr
from scipy import stats

import driftpeak as dp
from driftpeak._core.numerics.machine_code import program_folder
from driftpeak.plots import belief_figure
from driftpeak.simulation import _folder as folders, executors as workers
from driftpeak.simulation._aggregation import Gathering, summarised
from driftpeak.simulation._chunk_runner import ChunkRunner
from driftpeak.simulation._chunking import Chunk
from driftpeak.simulation._comparison import verdict
from driftpeak.simulation._fingerprint import fingerprint
from driftpeak.simulation._plots import band, ranking_figure, regret_figure
from driftpeak.simulation._results import summarise
from driftpeak.simulation.executors import _dispatch as spreading, _local as local
from driftpeak.simulation.executors._compatibility import THREADS

TRIALS, CHUNK, STEPS = 8, 3, 20  # three chunks, the last one shorter
MEASURED = ["seconds", "compile_seconds"]
MANY_TRIALS = 240  # 80 chunks, so that there is time to interfere
PATIENCE = 240  # seconds for anything to happen on a busy machine


def play(**how):
    return own.play(**({"trials": TRIALS, "chunk": CHUNK} | how))


def assert_same(one, other):
    """To the last bit."""
    attributes = ("unfinished_trials", "jax_version")
    plain = [
        runs.drop_vars(MEASURED).assign_attrs(dict.fromkeys(attributes)) for runs in (one, other)
    ]
    xr.testing.assert_identical(*plain)


@pytest.fixture(scope="module")
def everything():
    return play()


@pytest.fixture(scope="module")
def summaries():
    return play(keep="summaries")


# what is kept


@pytest.mark.slow
def test_chunks_change_nothing_but_rounding(everything):
    whole = play(chunk=None)
    np.testing.assert_array_equal(whole["action"], everything["action"])
    np.testing.assert_allclose(whole["regret"], everything["regret"], atol=1e-12)


@pytest.mark.slow
def test_later_trials_are_those_of_a_longer_run(everything):
    later = play(first_trial=CHUNK, trials=CHUNK)
    assert_same(later, everything.isel(trial=slice(CHUNK, 2 * CHUNK)))


def test_summaries_are_numpys_of_everything(everything, summaries):
    """Means over trials, standard errors, Student's t with 7 degrees of freedom."""
    regret = everything["regret"].values
    so_far = regret.cumsum(axis=2) / np.arange(1, STEPS + 1)
    assert dict(summaries.sizes) == {"policy": 2, "trial": TRIALS, "step": STEPS}
    for name, values in (("mean_regret", regret), ("mean_regret_so_far", so_far)):
        mean, error = values.mean(axis=1), values.std(axis=1, ddof=1) / np.sqrt(TRIALS)
        np.testing.assert_allclose(summaries[name], mean, rtol=1e-12)
        np.testing.assert_allclose(summaries[f"{name}_stderr"], error, rtol=1e-12)
    error = regret.std(axis=1, ddof=1) / np.sqrt(TRIALS)
    low, high = stats.t.interval(0.95, TRIALS - 1, regret.mean(axis=1), error)
    np.testing.assert_allclose(summaries["mean_regret_low"], low, rtol=1e-9)
    np.testing.assert_allclose(summaries["mean_regret_high"], high, rtol=1e-9)
    np.testing.assert_allclose(summaries["total_regret"], regret.sum(axis=2), rtol=1e-12)
    np.testing.assert_array_equal(summaries["best_steps"], (regret <= 0).sum(axis=2))
    assert summaries.attrs["keep"] == "summaries"
    largest = max(summaries[name].size for name in summaries.variables)
    assert largest < everything["regret"].size


def made_up(trials: int, steps: int = 5) -> xr.Dataset:
    """A record of two policies, with side queries and restarts."""
    generator = np.random.default_rng(0)
    shape, dims = (2, trials, steps), ("policy", "trial", "step")
    return xr.Dataset(
        {
            "regret": (dims, generator.exponential(size=shape) * generator.integers(2, size=shape)),
            "restarts": (dims, generator.integers(2, size=shape).astype(np.uint8)),
            "side_queries": (dims, generator.integers(4, size=shape).astype(np.int32)),
            "seconds": ("policy", [0.25, 0.5]),
            "compile_seconds": ("policy", [1.0, 2.0]),
        },
        coords={
            "policy": ["one", "two"],
            "foresight": ("policy", ["none", "none"]),
            "trial": np.arange(trials),
            "step": np.arange(1, steps + 1),
            "time": ("step", np.arange(1.0, steps + 1)),
        },
        attrs={"seed": 0},
    )


def gathered(runs: xr.Dataset, keep: str, order: list[int], size: int = 3) -> xr.Dataset:
    """Cut into chunks and put together again, in whatever order these come."""
    trials = runs.sizes["trial"]
    chunks = [
        Chunk(number, first, min(size, trials - first))
        for number, first in enumerate(range(0, trials, size))
    ]
    gathering = Gathering(keep, chunks)
    for number in order:
        _, first, count = chunks[number]
        part = runs.isel(trial=slice(first, first + count))
        gathering.add(chunks[number], summarised(part) if keep == "summaries" else part)
    return gathering.dataset()


@pytest.mark.parametrize("keep", ["everything", "summaries"])
def test_the_order_in_which_chunks_come_makes_no_difference(keep):
    runs = made_up(11)
    orders = [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]]
    first, *others = (gathered(runs, keep, order) for order in orders)
    for other in others:
        xr.testing.assert_identical(first, other)
    np.testing.assert_array_equal(first["seconds"], [1.0, 2.0])
    if keep == "everything":
        xr.testing.assert_identical(
            first.drop_vars(MEASURED).drop_attrs(), runs.drop_vars(MEASURED).drop_attrs()
        )
    else:
        np.testing.assert_array_equal(first["total_restarts"], runs["restarts"].sum("step"))
        np.testing.assert_array_equal(first["total_side_queries"], runs["side_queries"].sum("step"))
        queries = runs["side_queries"].values.mean(axis=1)
        np.testing.assert_allclose(first["mean_side_queries"], queries, rtol=1e-12)


def test_one_trial_has_no_interval():
    one = gathered(made_up(1), "summaries", [0])
    assert one["mean_regret_stderr"].isnull().all()
    assert one["mean_regret_low"].isnull().all()
    assert np.isfinite(one["mean_regret"]).all()


@pytest.mark.parametrize("independent", [True, False])
def test_summaries_are_judged_as_everything(independent):
    runs = made_up(11, steps=30)
    brief = gathered(runs, "summaries", [0, 1, 2, 3])
    tables = [dp.table(one, independent_trials=independent) for one in (runs, brief)]
    columns = ["mean_regret", "low", "high"]
    np.testing.assert_allclose(*(one.frame[columns].to_numpy() for one in tables), rtol=1e-12)
    assert tables[0].frame.drop(columns=columns).equals(tables[1].frame.drop(columns=columns))
    assert tables[0].caption == tables[1].caption
    judged = [verdict(one, independent_trials=independent) for one in (runs, brief)]
    assert judged[0].in_words() == judged[1].in_words()
    results = [summarise(one, independent_trials=independent) for one in (runs, brief)]
    for name, row in results[0].items():
        fields = [key for key in vars(row) if key not in MEASURED]
        expected = [getattr(row, key) for key in fields]
        found = [getattr(results[1][name], key) for key in fields]
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    for draw in (regret_figure, ranking_figure):
        pictures = [draw(one, independent_trials=independent) for one in (runs, brief)]
        for mine, theirs in zip(*(picture.axes for picture in pictures), strict=True):
            assert len(mine.lines) == len(theirs.lines) > 0
            for line, other in zip(mine.lines, theirs.lines, strict=True):
                np.testing.assert_allclose(line.get_xydata(), other.get_xydata(), rtol=1e-9)
            for area, other in zip(mine.collections, theirs.collections, strict=True):
                corners = (one.get_paths()[0].vertices for one in (area, other))
                np.testing.assert_allclose(*corners, rtol=1e-9)
    assert len(band(runs["regret"].values[0], independent)[0]) > 0


def test_what_was_not_kept_is_named(summaries):
    with pytest.raises(dp.DriftpeakError, match=r"got 'action'.*keep='everything' to record"):
        dp.to_dataframe(summaries)
    with pytest.raises(dp.DriftpeakError, match=r"have believed_drift, reward.*keep='everything'"):
        belief_figure(summaries)
    each = dp.to_dataframe(summaries, ["total_regret"])
    assert list(each.columns) == ["policy", "trial", "total_regret"]
    for asked in ("predictions", "readings", "forecast"):
        with pytest.raises(dp.DriftpeakError, match=f"{asked} must be False.*keep='everything'"):
            play(keep="summaries", **{asked: True})


def test_a_way_of_keeping_that_is_none(without_type_checks):
    with pytest.raises(dp.DriftpeakError, match=r"keep must be one of .*Did you mean 'summaries'"):
        play(keep="summary")


def test_chunks_keep_to_the_budget():
    with pytest.raises(dp.DriftpeakError, match=r"at least [\d,]+ bytes for chunks of 3 trials"):
        play(memory_budget=1000)
    with pytest.raises(dp.DriftpeakError, match="chunk must be an integer of at least 1; got 0"):
        play(chunk=0)


# folders


class StopError(Exception):
    """Instead of something that goes wrong."""


def stopped_after(monkeypatch, count: int, error: type[BaseException]) -> list[int]:
    """Let only so many chunks be played; the numbers of those that were."""
    numbers: list[int] = []
    real = ChunkRunner.play

    def some(self, plan, chunk, *rest):
        if len(numbers) == count:
            raise error
        numbers.append(chunk.number)
        return real(self, plan, chunk, *rest)

    monkeypatch.setattr(ChunkRunner, "play", some)
    return numbers


@pytest.mark.slow
@pytest.mark.parametrize("keep", ["everything", "summaries"])
def test_an_interrupted_run_goes_on(keep, tmp_path, monkeypatch, everything, summaries):
    path = tmp_path / "run"
    with monkeypatch.context() as patch:
        played = stopped_after(patch, 2, KeyboardInterrupt)
        with pytest.raises(KeyboardInterrupt, match=r"2 of 3 chunks are stored in .*run; call"):
            play(folder=path, keep=keep)
    assert played == [0, 1]
    part = dp.read_runs(path)
    assert part.attrs["unfinished_trials"] == 2
    assert part.sizes["trial"] == 6
    if keep == "everything":
        assert_same(part, everything.isel(trial=slice(6)))
    with monkeypatch.context() as patch:
        played = stopped_after(patch, 99, StopError)
        whole = play(folder=path, keep=keep)
    assert played == [2]
    expected = everything if keep == "everything" else summaries
    assert_same(whole, expected)
    assert_same(dp.read_runs(path), expected)
    assert_same(dp.read_runs(path, keep="summaries"), summaries)
    monkeypatch.setattr(ChunkRunner, "play", None)  # nothing is left to play
    assert_same(play(folder=path, keep=keep), expected)


@pytest.mark.slow
def test_a_chunk_is_counted_that_was_just_written_when_a_run_is_interrupted(tmp_path, monkeypatch):
    real = folders.Folder.write

    def write(self, chunk, part):
        real(self, chunk, part)
        if chunk.number == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(folders.Folder, "write", write)
    with pytest.raises(KeyboardInterrupt, match=r"^2 of 3 chunks are stored"):
        play(folder=tmp_path / "run")
    assert dp.read_runs(tmp_path / "run").sizes["trial"] == 2 * CHUNK


def test_without_a_folder_nothing_is_promised(monkeypatch):
    stopped_after(monkeypatch, 2, KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt, match=r"^$"):
        play()


def test_looking_writes_nothing(tmp_path):
    play(folder=tmp_path / "run")
    (tmp_path / "run" / "chunk-000001.nc").unlink()

    def look():
        return {
            path.name: (path.stat().st_mtime_ns, path.read_bytes())
            for path in (tmp_path / "run").iterdir()
        }

    before, folder = look(), (tmp_path / "run").stat().st_mtime_ns
    for keep in (None, "summaries"):
        assert dp.read_runs(tmp_path / "run", keep=keep).attrs["unfinished_trials"] == 3
    assert look() == before
    assert (tmp_path / "run").stat().st_mtime_ns == folder


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-500])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def changed(path: Path) -> None:
    """Readable, but with another number in it."""
    with xr.open_dataset(path, engine="h5netcdf") as stored:
        runs = stored.load()
    runs["reward"][0, 0, 0] += 1
    runs.to_netcdf(path, engine="h5netcdf")


def another(path: Path) -> None:
    """That of another simulation."""
    there = path.parent.parent / "other"
    play(folder=there, seed=2)
    path.write_bytes((there / path.name).read_bytes())


def neighbour(path: Path) -> None:
    path.write_bytes((path.parent / "chunk-000000.nc").read_bytes())


@pytest.mark.parametrize(
    "damage",
    [
        cut,
        changed,
        *(pytest.param(one, marks=pytest.mark.slow) for one in (empty, another, neighbour)),
    ],
)
def test_a_damaged_chunk_is_played_again(damage, tmp_path, everything):
    path = tmp_path / "run"
    play(folder=path)
    damage(path / "chunk-000001.nc")
    with pytest.warns(
        dp.DriftpeakWarning, match=r"chunk-000001\.nc is damaged; its chunk counts as unf"
    ):
        assert dp.read_runs(path).sizes["trial"] == 5
    with pytest.warns(dp.DriftpeakWarning, match=r"chunk-000001\.nc is damaged"):
        assert_same(play(folder=path), everything)
    assert_same(play(folder=path), everything)  # without a warning


OTHER = {"mine": own.Greedy(0.4, own.SIZE), "TV": own.POLICIES["TV"]}
TURNED = dict(reversed(own.POLICIES.items()))


@pytest.mark.parametrize(
    ("policies", "world", "how", "message"),
    [
        (OTHER, own.WORLD, {}, "policy 'mine' has another configuration or code"),
        (TURNED, own.WORLD, {}, "policies 'mine', 'TV' there, 'TV', 'mine' here"),
        (own.POLICIES, own.Tide(0.04, 41.0), {}, r"\(the environment differs\)"),
        (own.POLICIES, own.WORLD, {"seed": 2}, "seed: 1 there, 2 here"),
        (own.POLICIES, own.WORLD, {"steps": 21}, "steps: 20 there, 21 here"),
        (own.POLICIES, own.WORLD, {"steps": None, "times": np.arange(20.0)}, "the times differ"),
        (own.POLICIES, own.WORLD, {"trials": 9}, "trials: 8 there, 9 here"),
        (own.POLICIES, own.WORLD, {"first_trial": 1}, "first_trial: 0 there, 1 here"),
        (own.POLICIES, own.WORLD, {"chunk": 4}, "chunk .*: 3 there, 4 here"),
        (own.POLICIES, own.WORLD, {"keep": "summaries"}, "keep: everything there, summaries here"),
        (own.POLICIES, own.WORLD, {"predictions": True}, "predictions: False there, True here"),
    ],
)
def test_another_simulation_is_refused_by_name(policies, world, how, message, belonging):
    asked = {"steps": STEPS, "trials": TRIALS, "chunk": CHUNK, "seed": 1, "folder": belonging}
    before = sorted(belonging.iterdir())
    with pytest.raises(dp.DriftpeakError, match=f"got another one.*{message}.*another folder"):
        dp.simulate(policies, world, **(asked | how))
    assert sorted(belonging.iterdir()) == before


@pytest.fixture(scope="module")
def belonging(tmp_path_factory):
    path = tmp_path_factory.mktemp("belonging") / "run"
    play(folder=path)
    return path


def rewritten(path: Path, **entries: object) -> Path:
    """A folder that says something else of itself."""
    path.mkdir()
    (path / folders.MANIFEST).write_text(json.dumps({"kind": folders.KIND, **entries}))
    return path


def test_what_is_no_folder_of_this_format_is_refused(tmp_path, belonging):
    later = rewritten(tmp_path / "later", format=2)
    for look in (dp.read_runs, lambda path: play(folder=path)):
        with pytest.raises(dp.DriftpeakError, match=r"must have format 1; got 2.*Use the version"):
            look(later)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("mine")
    for look in (dp.read_runs, lambda path: play(folder=path)):
        with pytest.raises(dp.DriftpeakError, match=r"is not a folder of simulate.*a new or empty"):
            look(tmp_path / "mine")
    assert [one.name for one in (tmp_path / "mine").iterdir()] == ["thesis.txt"]
    (tmp_path / "file").write_text("")
    with pytest.raises(dp.DriftpeakError, match=r"got the file .*Name a folder"):
        play(folder=tmp_path / "file")
    with pytest.raises(dp.DriftpeakError, match="is not a folder of simulate"):
        dp.read_runs(tmp_path / "nothing")
    unplayed = tmp_path / "unplayed"
    unplayed.mkdir()
    (unplayed / folders.MANIFEST).write_text((belonging / folders.MANIFEST).read_text())
    with pytest.raises(dp.DriftpeakError, match="must hold at least one finished chunk"):
        dp.read_runs(unplayed)


def test_what_a_killed_process_had_begun_is_in_nobodys_way(tmp_path, everything):
    """Killed in the first instant, or within a chunk; a file of somebody else's stays."""
    (tmp_path / ".simulation.json.4711.part").write_text("{")
    assert_same(play(folder=tmp_path), everything)
    old, new = (tmp_path / f".chunk-000001.nc.{pid}.part" for pid in (4711, 4712))
    for part in (old, new):
        part.write_bytes(b"half")
    (tmp_path / ".notes.part").write_text("mine")
    os.utime(tmp_path / ".notes.part", (0, 0))
    os.utime(old, (0, 0))
    assert_same(play(folder=tmp_path), everything)
    assert not old.exists()
    assert new.exists()  # somebody may be writing it
    assert (tmp_path / ".notes.part").read_text() == "mine"


def test_other_versions_do_not_go_on(tmp_path, monkeypatch):
    play(folder=tmp_path)
    here = workers.likeness()
    monkeypatch.setattr(folders, "likeness", lambda: here | {"jax": "0.1.2"})
    with pytest.raises(dp.DriftpeakError, match=r"made with jax [\d.]+, here 0\.1\.2"):
        play(folder=tmp_path)
    monkeypatch.setattr(folders, "likeness", lambda: here | {THREADS: "77"})
    with pytest.raises(dp.DriftpeakError, match=r"made with threads \(NPROC\) \d+, here 77"):
        play(folder=tmp_path)
    assert dp.read_runs(tmp_path).sizes["trial"] == TRIALS  # looking is allowed


def test_summaries_have_no_more_to_give(tmp_path):
    play(folder=tmp_path, keep="summaries")
    with pytest.raises(dp.DriftpeakError, match="holds only summaries; got 'everything'"):
        dp.read_runs(tmp_path, keep="everything")


# fingerprints


def test_a_fingerprint_is_that_of_what_is_configured():
    for thing in (*own.POLICIES.values(), own.WORLD, own.PRIOR, dp.Auto(own.PRIOR)):
        assert fingerprint(pickle.loads(pickle.dumps(thing))) == fingerprint(thing)
    prior = dp.Prior(dp.Grid([0, 1], size=own.SIZE), dp.SE(0.3), noise_variance=0.04)
    assert fingerprint(dp.TVGPUCB(prior, drift=0.05)) == fingerprint(own.POLICIES["TV"])
    things = [
        dp.TVGPUCB(prior, drift=0.06),
        dp.TVGPUCB(prior, drift=0.05, acquisition="thompson"),
        dp.TVGPUCB(prior.with_noise_variance(0.05), drift=0.05),
        dp.TVGPUCB(dp.Prior(prior.domain, dp.Matern(1.5, 0.3), 0.04), drift=0.05),
        dp.TVGPUCB(dp.Prior(prior.domain, dp.SE(0.3), 0.04, mean=1.0), drift=0.05),
        dp.GPUCB(prior),
        *own.POLICIES.values(),
        0, 1, 1.0, True, "1", None, [1], (1,), {1: 2}, {2: 1}, np.zeros(2), np.zeros((2, 1)),
        np.zeros(2, int), np.sin, np.cos, len, sorted,
    ]  # fmt: skip
    assert len({fingerprint(one) for one in things}) == len(things)


def test_other_code_is_another_policy():
    def make(sign):
        if sign > 0:

            class Mine(own.Greedy):
                def tell(self, state, query, reward, time):
                    return state._replace(totals=state.totals.at[query].add(reward))
        else:

            class Mine(own.Greedy):
                def tell(self, state, query, reward, time):
                    return state._replace(totals=state.totals.at[query].add(-reward))

        return Mine(0.3, 12)

    assert fingerprint(make(1)) == fingerprint(make(1))
    assert fingerprint(make(1)) != fingerprint(make(-1))


MODULE = """
import dataclasses
import functools
import math
import jax

SCALE, _memory, TABLE = 2.0, {{}}, [1, 2]

def height(x):
    return math.sqrt(x) * SCALE

@jax.jit
def steep(x):
    return x * {inner}

class Base:
    AMPLITUDE = {amplitude}
    _cache = {{}}

class World(Base):
    def step(self, x, power={power}, *, shift={shift}):
        return self.AMPLITUDE * height(x) ** power + shift + steep(x) + TABLE[0]

    @functools.cached_property
    def top(self):
        return {top}

    @staticmethod
    def low(x):
        return {low}
"""
USUAL = {"amplitude": 1.0, "power": 2, "shift": 0.0, "inner": 3, "top": 4, "low": 5}


def module(monkeypatch, **values):
    """A module of a user's, as if it had just been imported."""
    found = types.ModuleType("users_own")
    monkeypatch.setitem(sys.modules, "users_own", found)
    exec(MODULE.format(**(USUAL | values)), vars(found))
    return found


def test_what_a_class_uses_of_its_module_is_a_part_of_it(monkeypatch):
    """Constants of classes and modules, defaults, functions near by; not what they remember."""
    usual = module(monkeypatch)
    mark = fingerprint(usual.World())
    again = module(monkeypatch)
    again._memory["x"] = again.World._cache["y"] = 1
    assert fingerprint(again.World()) == mark
    assert fingerprint(again.World) == fingerprint(usual.World)
    for name in USUAL:
        assert fingerprint(module(monkeypatch, **{name: 7}).World()) != mark, name
    for name, other in (("SCALE", 3.0), ("TABLE", [1, 3]), ("height", lambda x: x)):
        changed = module(monkeypatch)
        if name == "height":
            other.__module__ = "users_own"
        setattr(changed, name, other)
        assert fingerprint(changed.World()) != mark, name


# executors


class Posted(Executor):
    """Plays in this process what went through pickle, out of order."""

    def __init__(self) -> None:
        self.posted = []

    def submit(self, function, *arguments):
        future = Future()
        self.posted.append((future, pickle.dumps((function, arguments))))
        if len(self.posted) == 6:  # three chunks, two policies
            random.Random(0).shuffle(self.posted)
            for one, letter in self.posted:
                called, given = pickle.loads(letter)
                try:
                    one.set_result(pickle.loads(pickle.dumps(called(*given))))
                except Exception as error:
                    one.set_exception(error)
        return future


@pytest.mark.parametrize("keep", ["everything", "summaries"])
def test_who_plays_makes_no_difference(keep, tmp_path, everything, summaries):
    expected = everything if keep == "everything" else summaries
    executor = Posted()
    assert_same(play(keep=keep, executor=executor), expected)
    assert len(executor.posted) == 6
    assert_same(play(keep=keep, executor=Posted(), folder=tmp_path), expected)
    assert_same(dp.read_runs(tmp_path), expected)


@pytest.mark.slow
def test_readings_of_policies_that_were_apart():
    """`Auto` has readings, others have none; they come together as if played side by side."""
    policies = {"auto": dp.Auto(own.PRIOR), **own.POLICIES}
    how = {"steps": 6, "trials": 2, "readings": True, "forecast": True, "predictions": True}

    class Shared(Posted):
        def submit(self, function, *arguments):
            future = Future()
            future.set_result(function(*arguments))
            return future

    alone = dp.simulate(policies, own.WORLD, **how)
    assert "believed_drift" in alone
    assert_same(dp.simulate(policies, own.WORLD, **how, executor=Shared()), alone)


def test_what_cannot_be_sent_is_named():
    class Locked(own.Greedy):
        lock: object = eqx.field(static=True)

    policies = {"fine": own.POLICIES["mine"], "odd": Locked(0.3, own.SIZE, threading.Lock())}
    with pytest.raises(dp.DriftpeakError, match="policy 'odd' must be picklable"):
        dp.simulate(policies, own.WORLD, steps=STEPS, trials=3, executor=Posted())


def test_a_class_that_workers_do_not_find_is_named(monkeypatch):
    monkeypatch.setattr(own, "Gone", type("Gone", (own.Greedy,), {}), raising=False)
    own.Gone.__module__, own.Gone.__qualname__ = own.__name__, "Gone"
    policies = {"gone": own.Gone(0.3, own.SIZE), "TV": own.POLICIES["TV"]}

    class Elsewhere(Posted):
        def submit(self, function, *arguments):
            monkeypatch.delattr(own, "Gone", raising=False)
            return super().submit(function, *arguments)

    with pytest.raises(dp.DriftpeakError, match=r"cannot import a class.*'Gone'.*top level of a"):
        dp.simulate(policies, own.WORLD, steps=STEPS, trials=3, chunk=1, executor=Elsewhere())


def test_a_worker_with_another_version_of_a_class_is_refused(monkeypatch):
    """As where a file was changed and not given to the workers, or given to them alone."""

    class Elsewhere(Posted):
        def submit(self, function, *arguments):
            monkeypatch.setattr(own.Greedy, "CALM", 0.5, raising=False)
            return super().submit(function, *arguments)

    with pytest.raises(
        dp.DriftpeakError, match=r"own_simulation.Greedy must be the same.*upload_f"
    ):
        play(executor=Elsewhere(), seed=77)  # that nobody has opened yet


SWELL = """
import jax
import jax.numpy as jnp
from driftpeak.environments import Environment

class Swell(Environment):
    noise_variance: float
    HEIGHT = {height}

    def init(self, key):
        return jax.random.uniform(key)

    def step(self, state, time):
        return state, self.HEIGHT * jnp.cos(2 * jnp.pi * (jnp.linspace(0, 1, {size}) - state))
"""


@pytest.mark.slow
def test_a_class_that_was_changed_is_played_as_it_is(monkeypatch):
    """A worker that has played it, and was given the changed file, does not play what it knew."""
    highest = []
    for height in (1.0, 10.0):
        found = types.ModuleType("users_swell")
        monkeypatch.setitem(sys.modules, "users_swell", found)
        exec(SWELL.format(height=height, size=own.SIZE), vars(found))
        how = {"steps": STEPS, "trials": 3, "chunk": 1, "executor": Posted(), "progress": False}
        runs = dp.simulate(own.POLICIES, found.Swell(0.04), **how)
        highest.append(float(runs["regret"].max()))
    assert highest[0] < 2.1 < 10 < highest[1]


def test_what_is_no_executor_is_refused():
    with pytest.raises(dp.DriftpeakError, match=r"executor must be a concurrent.*local_workers"):
        play(executor=4)


class Closed:
    """A client of dask after `close`, as far as is asked of it."""

    status = "closed"

    def get_executor(self):
        raise AssertionError

    def scheduler_info(self):
        return {"workers": {}}


def test_an_executor_that_is_over_is_refused(without_type_checks):
    over = ThreadPoolExecutor(1)
    over.shutdown()
    with pytest.raises(dp.DriftpeakError, match=r"accepts no jobs \(cannot schedule.*Create a new"):
        play(executor=over)
    with pytest.raises(dp.DriftpeakError, match=r"got status closed\. Create a new one"):
        play(executor=Closed())
    for wrong in (None, 3, "here"):
        with (
            pytest.raises(
                dp.DriftpeakError, match=r"must be (a string|the address of a dask sch.*); got"
            ),
            workers.cluster_workers(wrong),
        ):
            pass
    with (
        pytest.raises(dp.DriftpeakError, match="programs must be a string, a path, or None; got 3"),
        workers.local_workers(2, programs=3),
    ):
        pass


def test_a_forked_process_is_refused(monkeypatch):
    monkeypatch.setattr(spreading, "_LOADED_BY", os.getpid() + 1)
    with pytest.raises(dp.DriftpeakError, match=r"forked process.*local_workers\(N\)"):
        play(executor=Posted())


def test_a_worker_with_other_threads_is_refused():
    """Its sums would be rounded otherwise."""

    class Elsewhere(Executor):
        def submit(self, function, *arguments):
            result, worker, made_with = function(*arguments)
            future = Future()
            future.set_result((result, worker, made_with | {THREADS: "77"}))
            return future

    with pytest.raises(dp.DriftpeakError, match=r"got threads \(NPROC\) 77 \(here \d.*NPROC=77"):
        play(executor=Elsewhere())


COUNT = """
import jax, os
from pathlib import Path
from driftpeak.simulation.executors._compatibility import threads
jax.numpy.ones(3).sum()
names = [(one / "comm").read_text().strip() for one in Path("/proc/self/task").iterdir()]
print(threads(), names.count("tf_XLAEigen"))
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads have names on Linux")
@pytest.mark.parametrize("told", ["3", "0", "many", None])
def test_the_threads_are_those_that_xla_starts(told):
    environment = {name: one for name, one in os.environ.items() if name != "NPROC"}
    if told is not None:
        environment["NPROC"] = told
    found = subprocess.run(
        [sys.executable, "-c", COUNT], capture_output=True, text=True, env=environment, check=True
    )
    said, counted = map(int, found.stdout.split())
    assert said == counted


# real processes


def until(ready, what):
    """Wait until `ready()` is true."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if ready():
            return
        time.sleep(0.01)
    pytest.fail(f"waited {PATIENCE} s in vain for {what}")


def started(tmp_path, *options, **how):
    """The script of a user, in a process of its own, and the folder that it writes to."""
    arguments = {"trials": MANY_TRIALS, "chunk": CHUNK, "folder": str(tmp_path / "run")} | how
    command = [sys.executable, own.__file__, str(tmp_path / "runs.nc"), json.dumps(arguments)]
    process = subprocess.Popen([*command, *options], stderr=subprocess.PIPE, text=True)
    return process, tmp_path / "run"


def chunks_of(path):
    return {one.name: one.stat().st_mtime_ns for one in path.glob("chunk-*.nc")}


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--workers", "2")], ids=["alone", "shared"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_process_that_was_ended_loses_at_most_a_chunk(number, options, tmp_path):
    """80 chunks; the process ends somewhere in the middle, and another one goes on."""
    process, path = started(tmp_path, *options)
    until(lambda: len(chunks_of(path)) >= 3 or process.poll() is not None, "three chunks")
    sharing = psutil.Process(process.pid).children(recursive=True)
    assert (len(sharing) >= 2) == bool(options)
    if number == signal.SIGINT:  # as a terminal does: to all of them
        for one in sharing:
            one.send_signal(number)
    process.send_signal(number)
    _, errors = process.communicate(timeout=PATIENCE)
    assert psutil.wait_procs(sharing, timeout=PATIENCE)[1] == []  # nobody is left behind
    kept = chunks_of(path)
    assert 3 <= len(kept) < 80, errors
    if number == signal.SIGINT:
        assert f"KeyboardInterrupt: {len(kept)} of 80 chunks are stored in {path}" in errors
    else:
        assert process.returncode == -signal.SIGKILL
    there = dp.read_runs(path)
    assert there.sizes["trial"] == CHUNK * len(kept)
    whole = own.play(trials=MANY_TRIALS, chunk=CHUNK, folder=path)
    assert kept.items() <= chunks_of(path).items()  # not one was played again
    assert_same(whole, own.play(trials=MANY_TRIALS, chunk=CHUNK))


@pytest.mark.slow
def test_processes_share_the_work_of_a_script(tmp_path):
    """Policy and world are classes of the script itself."""
    process, path = started(tmp_path, "--workers", "2", trials=90)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, errors
    assert_same(dp.read_runs(path), own.play(trials=90, chunk=CHUNK))


def kill_after_two_jobs(pool, victim):
    """Of 80: from within the pool, which may be done before this process sees to it."""
    submit, done = pool.submit, itertools.count(1)

    def kill(_):
        if next(done) == 2:
            os.kill(victim(), signal.SIGKILL)

    def watched(*arguments):
        future = submit(*arguments)
        future.add_done_callback(kill)
        return future

    pool.submit = watched


@pytest.mark.slow
def test_a_dead_process_is_replaced(tmp_path):
    """One of two is killed while it plays; without a folder, the bits are those of one process."""
    with workers.local_workers(2) as pool:
        kill_after_two_jobs(pool, lambda: multiprocessing.active_children()[0].pid)
        with pytest.warns(
            dp.DriftpeakWarning, match=r"worker process died \(exit code -9\).*repeated"
        ):
            runs = own.play(trials=MANY_TRIALS, chunk=CHUNK, executor=pool)
        assert len(multiprocessing.active_children()) == 2
    assert multiprocessing.active_children() == []
    assert_same(runs, own.play(trials=MANY_TRIALS, chunk=CHUNK))


@pytest.mark.slow
def test_finished_chunks_are_kept_when_all_processes_die(tmp_path, monkeypatch):
    """After two of 80 chunks all are killed, and so is every new one while it starts."""
    over, begin = threading.Event(), local._Process.__init__

    def init(self, programs):
        begin(self, programs)
        if over.is_set():
            os.kill(self._process.pid, signal.SIGKILL)

    def last():
        over.set()
        (first, *others) = multiprocessing.active_children()
        for one in others:
            os.kill(one.pid, signal.SIGKILL)
        return first.pid

    monkeypatch.setattr(local._Process, "__init__", init)
    with workers.local_workers(2) as pool:
        kill_after_two_jobs(pool, last)
        with (
            pytest.warns(dp.DriftpeakWarning, match=r"worker process died \(exit code -9\)"),
            pytest.raises(
                dp.DriftpeakError, match=r"^4 workers died.*stored if a folder was given"
            ),
        ):
            own.play(trials=MANY_TRIALS, chunk=CHUNK, folder=tmp_path, executor=pool)
    assert multiprocessing.active_children() == []
    kept = chunks_of(tmp_path)
    assert 2 <= len(kept) < 80
    whole = own.play(trials=MANY_TRIALS, chunk=CHUNK, folder=tmp_path)
    assert kept.items() <= chunks_of(tmp_path).items()  # not one was played again
    assert_same(whole, own.play(trials=MANY_TRIALS, chunk=CHUNK))


def size_of(number, common):
    return number, len(common), os.getpid()


@pytest.mark.slow
def test_what_jobs_have_in_common_is_sent_to_each_process_once(monkeypatch):
    sent = []
    answer = local._Process.answer

    def counted(self, message):
        sent.append(len(message))
        return answer(self, message)

    monkeypatch.setattr(local._Process, "answer", counted)
    with workers.local_workers(2) as pool:
        for size in (1_000_000, 2_000_000):
            sent.clear()
            jobs = workers.spread(size_of, range(40), pool, common=bytes(size))
            found = [result for _, result in jobs]
            assert sorted(number for number, _, _ in found) == list(range(40))
            assert {length for _, length, _ in found} == {size}
            assert sum(sent) < len({pid for _, _, pid in found}) * size + 40 * 1_000


LOOKED_UP = {"hits": 0, "misses": 0}


def count_programs():
    def count(event, **_):
        for kind in LOOKED_UP:
            LOOKED_UP[kind] += event == f"/jax/compilation_cache/cache_{kind}"

    jax.monitoring.register_event_listener(count)


def counted_programs():
    return LOOKED_UP


@pytest.mark.slow
def test_processes_keep_compiled_programs_for_one_another(tmp_path, everything):
    """The second one compiles nothing, and plays the same."""
    counts = []
    for _ in range(2):
        with local.Processes(1, program_folder(tmp_path)) as pool:
            pool.submit(count_programs).result()
            assert_same(play(executor=pool), everything)
            counts.append(pool.submit(counted_programs).result())
    (first, second) = counts
    assert first["misses"] > 0 == second["misses"]
    assert second["hits"] > 0
    assert list(tmp_path.glob("programs/*/jit_play-*-cache"))


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="owners are POSIX's")
def test_machine_code_that_others_could_change_is_not_run(tmp_path):
    with workers.local_workers(2, programs=tmp_path):
        pass
    (folder,) = (tmp_path / "programs").iterdir()
    folder.chmod(0o777)
    with (
        pytest.raises(dp.DriftpeakError, match="other users own or can write to"),
        workers.local_workers(2, programs=tmp_path),
    ):
        pass
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(dp.DriftpeakError, match=r"file.* cannot be used .*Name another folder"),
        workers.local_workers(2, programs=tmp_path / "file"),
    ):
        pass


class Deadly(own.Greedy):
    """Ends whatever process prepares it, but for the one that made it."""

    made_by: int = eqx.field(static=True, default_factory=os.getpid)

    def prepare(self, times):
        if os.getpid() != self.made_by:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().prepare(times)


@pytest.mark.slow
def test_a_job_that_ends_every_process_is_named():
    policies = {"deadly": Deadly(0.3, own.SIZE), "mine": own.POLICIES["mine"]}
    with (
        workers.local_workers(2) as pool,
        pytest.warns(dp.DriftpeakWarning, match="worker process died"),
        pytest.raises(
            dp.DriftpeakError, match=r"^4 workers died.*'deadly' in trials 0 to 2.*fewer"
        ),
    ):
        dp.simulate(policies, own.WORLD, steps=STEPS, trials=CHUNK, executor=pool, progress=False)


@pytest.mark.slow
def test_a_process_that_another_executor_lost_is_told_and_the_run_goes_on(tmp_path):
    """The pool breaks; what it had is kept, and the same call goes on without it."""
    spawning = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=spawning) as pool:
        kill_after_two_jobs(pool, lambda: next(iter(pool._processes)))
        with pytest.raises(dp.DriftpeakError, match=r"worker process died.*repeat the same call"):
            own.play(trials=MANY_TRIALS, chunk=CHUNK, folder=tmp_path, executor=pool)
    kept = chunks_of(tmp_path)
    assert 2 <= len(kept) < 80
    whole = own.play(trials=MANY_TRIALS, chunk=CHUNK, folder=tmp_path)
    assert kept.items() <= chunks_of(tmp_path).items()
    assert_same(whole, own.play(trials=MANY_TRIALS, chunk=CHUNK))


@pytest.mark.slow
def test_a_dask_cluster_that_loses_a_worker(tmp_path):
    """Three workers, one of which is killed while it plays: the same, to the last bit."""
    from distributed import Client, LocalCluster

    # without an address the scheduler wants port 8787, where another cluster's may be
    settings = {
        "n_workers": 3,
        "threads_per_worker": 1,
        "dashboard_address": "127.0.0.1:0",
        "scheduler_kwargs": {"dashboard": False},
    }
    with LocalCluster(**settings, silence_logs=50) as cluster, Client(cluster) as client:
        victim = next(iter(client.run(os.getpid).values()))
        there_when_killed = []

        def kill():
            until(lambda: len(chunks_of(tmp_path)) >= 2, "two chunks")
            os.kill(victim, signal.SIGKILL)
            there_when_killed.append(len(chunks_of(tmp_path)))

        killer = threading.Thread(target=kill)
        killer.start()
        runs = own.play(trials=MANY_TRIALS, chunk=CHUNK, folder=tmp_path, executor=client)
        killer.join()
        assert 2 <= there_when_killed[0] < 80
        assert victim not in client.run(os.getpid).values()
    assert_same(runs, own.play(trials=MANY_TRIALS, chunk=CHUNK))


MANY = """
import re
import resource
import sys
from pathlib import Path
import driftpeak as dp

prior = dp.Prior(dp.Grid([0, 1], size=100), dp.SE(0.2), noise_variance=0.01)
policies = {"TV": dp.TVGPUCB(prior, drift=0.01), "R": dp.RGPUCB(prior, period=38)}
world = dp.MarkovDrift(prior, drift=0.01)
runs = dp.simulate(policies, world, steps=200, trials=100_000, keep="summaries", progress=False)
assert runs["total_regret"].shape == (2, 100_000)
if sys.platform == "linux":  # where ru_maxrss also counts the process that started this one
    print(int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) / 2**20)
else:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**30)
"""


@pytest.mark.long
def test_a_hundred_thousand_trials_in_two_gibibytes():
    """One dimension, 100 points, 200 steps, two policies; all regrets alone would take 0.3 GiB."""
    environment = {name: one for name, one in os.environ.items() if name != "XLA_FLAGS"}
    found = subprocess.run(
        [sys.executable, "-c", MANY], capture_output=True, text=True, env=environment, check=True
    )
    assert float(found.stdout) < 2


@pytest.mark.slow
@pytest.mark.parametrize("command", ["replay", "compare"])
def test_the_command_line_shares_work_too(command, tmp_path):
    """Its answers are those of one process."""
    words = own.command(command, tmp_path)
    assert own.answer(words, "--workers", "2") == own.answer(words, "--workers", "1")
    both = [*words, "--workers", "2", "--cluster", "tcp://127.0.0.1:9"]
    found = subprocess.run(both, capture_output=True, text=True, timeout=PATIENCE)
    assert found.returncode == 2
    assert "--workers and --cluster exclude each other" in found.stderr
