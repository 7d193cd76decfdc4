"""Stored studies: resumed as they were, shared, and refused where something is wrong."""

import errno
import os
import re
import sqlite3
import sys
import tempfile
import time
import warnings
from pathlib import Path

import live_worker
import numpy as np
import pytest
import sqlalchemy as sa

import driftpeak as dp
from driftpeak._core.numerics import compiled
from driftpeak.live._study import storage as storages
from driftpeak.live._study.storage import contention, journal, sql, study, verify

BOX = dp.Box(x=dp.Float(0, 1), y=dp.Float(1e-3, 1, log=True), kind=dp.Categorical("a", "b"))


@pytest.fixture
def name(request) -> str:
    """A name of the test's own: the PostgreSQL server holds the studies of all tests."""
    return request.node.name


def play(optimizer, steps):
    for _ in range(steps):
        one = optimizer.ask()
        optimizer.tell(one, live_worker.reward(one))


def made(folder: Path, steps=6) -> Path:
    """The journal of a short study."""
    path = folder / "study"
    play(live_worker.make(path), steps)
    return path


# resuming and sharing


def test_a_study_is_resumed_as_it_was(storage, name):
    first, plain = live_worker.make(storage, name), live_worker.make()
    for optimizer in (first, plain):
        play(optimizer, 12)
        optimizer.ask()
        optimizer.cancel(optimizer.ask())
        optimizer.tell({"arm": "2"}, 0.5, time=13)
    second = dp.Optimizer.load(storage, name)
    assert second.name == name
    assert second.history() == first.history() == plain.history()
    assert [dict(one) for one in second.pending()] == [dict(one) for one in plain.pending()]
    np.testing.assert_array_equal(second.belief()[0], plain.belief()[0])
    wanted = [dict(one) for one in plain.ask(count=3)]
    assert [dict(one) for one in second.ask(count=3)] == wanted


@pytest.mark.slow
def test_a_box_is_resumed_as_it_was(storage, name):
    def value(setting, step):
        return -((setting["x"] - 0.5 - 0.3 * np.sin(step / 9)) ** 2) + (setting["kind"] == "a")

    first = dp.Optimizer(BOX, maximize=True, seed=4, storage=storage, name=name)
    plain = dp.Optimizer(BOX, maximize=True, seed=4)
    for step in range(25):
        asked = [optimizer.ask() for optimizer in (first, plain)]
        assert dict(asked[0]) == dict(asked[1])
        for optimizer, one in zip((first, plain), asked, strict=True):
            optimizer.tell(one, value(one, step))
    second = dp.Optimizer.load(storage, name)
    assert dict(second.ask()) == dict(plain.ask())
    assert second.best() == plain.best()


def test_the_same_program_started_again_goes_on(storage, name):
    play(live_worker.make(storage, name), 3)
    again = live_worker.make(storage, name)
    assert len(again.history()) == 3
    assert again.ask().id == 4


def test_two_optimisers_see_each_other(storage, name):
    first, second = live_worker.make(storage, name), live_worker.make(storage, name)
    one, two = first.ask(), second.ask()
    assert (one.id, two.id) == (1, 2)
    assert [pending.id for pending in first.pending()] == [1, 2]
    first.tell(2, 0.5)  # an id that the other one gave out
    with pytest.raises(dp.DriftpeakError, match="suggestion 2 is already told"):
        second.tell(two, 0.5)
    second.forget()
    assert [len(optimizer.history()) for optimizer in (first, second)] == [1, 1]
    assert first.ask().id == 3


def patient(storage, seconds):
    """The address of a store that waits so long for others."""
    return f"{storage}{'&' if '?' in storage else '?'}timeout={seconds}"


def test_who_has_lost_a_race_takes_turns(storage, name, monkeypatch):
    """Of one machine; and one that does not, on another machine say, is still too slow."""
    monkeypatch.setattr(study, "TURNS", 5)
    monkeypatch.setattr(contention, "PATIENCE", 0.05)
    first, other = (live_worker.make(storage, name) for _ in range(2))
    suggest, tried = dp.Optimizer._suggest, []

    def watched(self, *rest):
        if self is first:
            with contention.turn(first._study._id, lambda: None) as free:
                tried.append("race" if free else "turn")
            if tried[-1] == "race":
                play(other, 1)
        return suggest(self, *rest)

    monkeypatch.setattr(dp.Optimizer, "_suggest", watched)
    for _ in range(7):
        first.ask()
    assert tried == ["race", *6 * ["turn"], "race", "turn"]  # lost twice, and none in between


def test_one_that_is_halted_holds_nobody_up_for_long(storage, name, monkeypatch):
    monkeypatch.setattr(contention, "PATIENCE", 0.2)
    optimizer = live_worker.make(storage, name)
    optimizer._study._turns, started = 50, time.monotonic()
    with contention.turn(optimizer._study._id, lambda: None):
        play(optimizer, 4)
    assert optimizer._study._turns == 0
    assert 0.2 < time.monotonic() - started < 10


def test_no_turns_without_a_folder_for_them(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    with contention.turn("../../study", lambda: None) as mine:
        assert not mine
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with contention.turn("../../study", lambda: None) as mine:
        assert mine
    (one,) = tmp_path.iterdir()
    one.unlink()
    one.symlink_to(tmp_path / "elsewhere")
    with contention.turn("../../study", lambda: None) as mine:
        assert not mine
    assert list(tmp_path.iterdir()) == [one]


@pytest.mark.parametrize(
    "storage",
    ["journal", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("sqlite", "postgresql"))],
    indirect=True,
)
def test_nothing_is_compiled_while_a_study_is_held(storage, name, monkeypatch):
    count = 9 + ["journal", "sqlite", "postgresql"].index(storage.partition(":")[0])
    space = dp.Box({f"x{j}": dp.Float(0, 1) for j in range(count)})  # as many as nowhere else
    policy = dp.DriftingGP(learn=False)
    optimizer = dp.Optimizer(
        space, maximize=True, policy=policy, storage=patient(storage, 5), name=name
    )

    def too_slow(self, act):
        before = self._state.mark()
        act()
        self._state.back(before)
        self._added = []
        return False, None

    monkeypatch.setattr(study.Study, "_attempt_in_turn", too_slow)
    monkeypatch.setattr(study, "TURNS", 10**6)
    optimizer._study._turns = 1
    store = storages.open_store(patient(storage, 0.1), name)
    program, made = compiled._program, []

    def watched(function, *rest):
        store.describe()
        with store.locked():
            made.append(function.__name__)
        return program(function, *rest)

    monkeypatch.setattr(compiled, "_program", watched)
    for step in range(count + 4):
        one = optimizer.ask()
        optimizer.tell(one, one["x0"] + step / 10)
    assert len(made) >= 4
    assert len(optimizer.history()) == count + 4


def test_snapshots_replace_replaying(storage, name, monkeypatch):
    monkeypatch.setattr(study, "EVERY", 10)
    plain = live_worker.make()
    optimizer = live_worker.make(storage, name)
    for one in (optimizer, plain):
        play(one, 23)
    applied = []
    monkeypatch.setattr(
        dp.Optimizer,
        "_apply",
        lambda self, event, old=dp.Optimizer._apply: applied.append(old(self, event)),
    )
    resumed = dp.Optimizer.load(storage, name)
    assert len(applied) == 6  # of 46
    assert resumed.history() == plain.history()
    assert dict(resumed.ask()) == dict(plain.ask())


def test_looking_keeps_no_snapshot_and_the_first_change_does(storage, name, monkeypatch):
    play(live_worker.make(storage, name), 8)
    monkeypatch.setattr(study, "EVERY", 10)
    resumed = dp.Optimizer.load(storage, name)  # 16 events
    resumed.best()
    assert resumed._study.store.snapshot() is None
    resumed.ask()
    assert resumed._study.store.snapshot() is not None


def test_opening_holds_nothing(storage, name, monkeypatch):
    """While one replays, others ask and tell: in this study, and in others of the database."""
    play(live_worker.make(storage, name), 3)
    others = [dp.Optimizer.load(storage, name)]
    if not storage.startswith("journal"):
        others.append(live_worker.make(storage, name + " too"))
    apply, held_up = dp.Optimizer._apply, []

    def interrupted(self, event):
        if not held_up:
            held_up.append(event)
            for other in others:
                play(other, 2)
        apply(self, event)

    monkeypatch.setattr(dp.Optimizer, "_apply", interrupted)
    resumed = dp.Optimizer.load(patient(storage, 2), name)
    assert len(resumed.history()) == 5
    assert [len(other.history()) for other in others] == [5, 2][: len(others)]


def test_what_fails_halfway_is_undone(storage, name, monkeypatch):
    optimizer = live_worker.make(storage, name)
    play(optimizer, 4)
    before, suggest, calls = optimizer.belief()[0], dp.Optimizer._suggest, []

    def interrupted(self, when, *rest):
        if calls:
            raise KeyboardInterrupt
        calls.append(when)
        return suggest(self, when, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(dp.Optimizer, "_suggest", interrupted)
        with pytest.raises(KeyboardInterrupt):
            optimizer.ask(count=2)
    assert optimizer.pending() == dp.Optimizer.load(storage, name).pending() == []
    np.testing.assert_array_equal(optimizer.belief()[0], before)
    assert optimizer.ask().id == 5


def test_bad_input_changes_nothing(storage, name):
    optimizer = live_worker.make(storage, name)
    one = optimizer.ask()
    for suggestion, reward in ((one, np.nan), (7, 1.0), ({"arn": "2"}, 1.0), ({"arm": "9"}, 1.0)):
        with pytest.raises(dp.DriftpeakError):
            optimizer.tell(suggestion, reward)
    assert dp.Optimizer.load(storage, name).history() == []


# what is refused


def test_another_study_under_the_same_name_is_refused(storage, name):
    play(live_worker.make(storage, name), 2)
    given = {"maximize": True, "policy": live_worker.policy(), "seed": 3}
    wrong = (
        ({"maximize": False}, "another maximize: true, not false"),
        ({"seed": 4}, "another seed: 3, not 4"),
        ({"horizon": 9}, "another horizon"),
        ({"policy": None}, "another policy"),
        ({"space": dp.Arms(6, names=list("abcdef"))}, "another space"),
    )
    for change, said in wrong:
        options = {"space": dp.Arms(live_worker.ARMS)} | given | change
        space = options.pop("space")
        with pytest.raises(dp.DriftpeakError, match=said):
            dp.Optimizer(space, storage=storage, name=name, **options)
    with pytest.raises(dp.DriftpeakError, match="another policy"):
        dp.Optimizer.load(storage, name, policy=dp.DriftingGP())
    assert len(dp.Optimizer.load(storage, name).history()) == 2


def test_another_format_is_refused(storage, name, monkeypatch):
    monkeypatch.setattr(study, "FORMAT", 1)
    live_worker.make(storage, name)
    monkeypatch.undo()
    for make in (lambda: dp.Optimizer.load(storage, name), lambda: live_worker.make(storage, name)):
        with pytest.raises(dp.DriftpeakError, match=r"must have format 3 .*; got format 1"):
            make()


def test_a_study_that_is_not_there_is_not_made_by_loading(storage, name, tmp_path):
    with pytest.raises(dp.StudyNotFoundError, match="there is no study"):
        dp.Optimizer.load(storage, name)
    assert list(tmp_path.iterdir()) == []
    live_worker.make(storage, name)
    with pytest.raises(dp.DriftpeakError, match=re.escape(f"'{name}'")):
        dp.Optimizer.load(storage, name + "s")


def test_a_locked_study_says_so(storage, name):
    optimizer = live_worker.make(storage, name)
    impatient = storages.open_store(patient(storage, 0.2), name)
    with (
        optimizer._study.store.locked(),
        pytest.raises(dp.StorageLockedError, match=r"is locked.*0\.2 s.*\?timeout=SECONDS"),
    ):
        dp.Optimizer.load(impatient).ask()
    assert dp.Optimizer.load(impatient).ask().id == 1


@pytest.mark.usefixtures("without_type_checks")
@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("mysql://host/db", "storage must be a path"),
        ("journal://study", "must be journal:///PATH"),
        ("journal:///no/such/folder", "there is no folder"),
        ("no/such/folder/study", "there is no folder"),
        ("sqlite://", "must name a file"),
        ("sqlite:///no/such/folder/study", "unable to open"),
        ("sqlite:///x?timeout=soon", "timeout must be a number"),
        ("journal:///x?timeout=-1", "timeout must be a number"),
        ("postgresql://nobody@127.0.0.1:1/none", "refused"),
        ("/dev/null", "cannot be read: it is a pipe or a device; name a regular file"),
        ("", "storage must be"),
        (7, "storage must be"),
    ],
)
def test_storages_that_are_none(address, said):
    with pytest.raises(dp.DriftpeakError, match=said):
        live_worker.make(address, "study")


def test_names(tmp_path):
    database = f"sqlite:///{tmp_path}/studies"
    assert live_worker.make(database).name == "study"
    assert live_worker.make(database, "other").name == "other"
    with pytest.raises(dp.DriftpeakError, match="Give one of 'other', 'study'"):
        live_worker.make(database)
    with pytest.raises(dp.DriftpeakError, match=r"It holds 'other', 'study'. Did you mean 'other'"):
        dp.Optimizer.load(database, "othr")
    file = tmp_path / "journal"
    live_worker.make(file, "kiln")
    assert dp.Optimizer.load(str(file)).name == "kiln"
    with pytest.raises(dp.DriftpeakError, match="name must be 'kiln', the only study"):
        live_worker.make(file, "pump")
    with pytest.raises(dp.DriftpeakError, match="name must be given with storage"):
        live_worker.make(None, "kiln")
    with pytest.raises(dp.DriftpeakError, match="non-empty"):
        live_worker.make(file, "")


# the journal's file


def test_a_journal_cut_anywhere_loses_only_what_was_never_confirmed(tmp_path):
    """As a power cut leaves it: every line that was finished counts, the torn one is dropped."""
    whole = made(tmp_path).read_bytes()
    ends = [place + 1 for place, byte in enumerate(whole) if byte == ord("\n")][1:]
    cut = tmp_path / "cut"
    places = np.random.default_rng(0).integers(ends[0], len(whole), 12)
    for place in [*map(int, places), ends[3], ends[3] - 1]:
        cut.write_bytes(whole[:place])
        before = max(end for end in ends if end <= place)
        following = min((end for end in ends if end > place), default=0)
        torn = place not in (before, following - 1)  # only its newline is missing: it is whole
        _confirm(cut, whole[:place].count(b"\n") - 2 + (place == following - 1))
        left = cut.read_bytes()
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            optimizer = dp.Optimizer.load(cut)
            optimizer.pending()
            assert len(said) == torn  # once
            assert cut.read_bytes() == left
            for one in optimizer.pending():
                optimizer.tell(one, live_worker.reward(one))
            play(optimizer, 6 - len(optimizer.history()))
        assert len(said) <= 2 * torn  # and what was cut off
        assert cut.read_bytes() == whole
        kept = tmp_path / f"cut.cut-{before}"
        assert kept.exists() == torn
        if torn:
            assert kept.read_bytes() == whole[before:place]
            kept.unlink()


def _confirm(path, count):
    """Write the head that a journal has whose program was stopped within its last call."""
    content = path.read_bytes()
    begin = content.index(b"\n") + 1
    events = content[begin + journal.HEAD :].split(b"\n")[:count]
    check = int(re.findall(rb'"check":"(\w+)"', (events or [content[:begin]])[-1])[-1], 16)
    head = journal.Head.of(content[begin : begin + journal.HEAD])
    line = journal.Head(head.id, count, check).line()
    path.write_bytes(content[:begin] + line + content[begin + journal.HEAD :])


def test_an_empty_file_becomes_a_journal(tmp_path):
    path = tmp_path / "study"
    path.touch()
    assert live_worker.make(path).ask().id == 1


def test_a_torn_line_is_told_of_and_kept(tmp_path):
    path = made(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"event":"Told"')
    with pytest.warns(dp.DriftpeakWarning, match="15 bytes, .* no confirmed event"):
        optimizer = dp.Optimizer.load(path)
    assert path.read_bytes() == whole + b'{"event":"Told"'
    with pytest.warns(dp.DriftpeakWarning, match=r"15 bytes from byte \d+ were moved to"):
        optimizer.ask()
    (kept,) = tmp_path.glob("study.cut-*")
    assert kept.read_bytes() == b'{"event":"Told"'
    assert dp.Optimizer.load(path).pending() == optimizer.pending()


def test_a_changed_journal_is_refused_with_the_place(tmp_path):
    path = made(tmp_path)
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    changes = {
        whole.replace(b'"reward":', b'"reward":9', 1): r"event 2, byte \d+: its checksum is wrong",
        b"".join(lines[:4] + lines[5:]): "event 3, byte",  # one is missing
        b"".join([*lines[:4], lines[5], lines[4], *lines[6:]]): "event 3, byte",
        whole + b"\n": "event 13, byte",
        whole.replace(b'"seed":3', b'"seed":4', 1): "event 0, byte 0",
    }
    for content, said in changes.items():
        path.write_bytes(content)
        with pytest.raises(dp.DriftpeakError, match=f"corrupt at {said}"):
            dp.Optimizer.load(path)
        assert path.read_bytes() == content
    stripped = whole.replace(b"\n", b"")
    thesis = b'{"study": "thesis data", "rows": [1]}'
    for content in (b"time,value\n1,2\n", b"something", b"\n", b"{", thesis):
        path.write_bytes(content)
        for look in (live_worker.make, dp.Optimizer.load):
            with pytest.raises(dp.DriftpeakError, match="must be a journal of driftpeak"):
                look(path)
        assert path.read_bytes() == content
    path.write_bytes(stripped)
    with pytest.raises(dp.DriftpeakError, match="the checksum of its description is wrong"):
        live_worker.make(path)
    assert path.read_bytes() == stripped
    assert list(tmp_path.iterdir()) == [path]


def test_a_journal_that_shrinks_under_its_optimiser_is_refused(tmp_path):
    path = made(tmp_path)
    optimizer = dp.Optimizer.load(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:900])
    with pytest.raises(dp.DriftpeakError, match="at least the 12 confirmed events"):
        optimizer.ask()
    path.write_bytes(whole)
    assert optimizer.ask().id == 7


def test_a_full_disk(tmp_path, monkeypatch):
    """It may be found to be full only when what was written goes to the disk."""
    path = made(tmp_path)
    optimizer, whole = dp.Optimizer.load(path), path.read_bytes()
    one = optimizer.ask()
    after = path.read_bytes()

    def full(file):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(journal, "_sync", full)
        with pytest.raises(dp.DriftpeakError, match="is unchanged: No space left"):
            optimizer.tell(one, 1.0)
    assert path.read_bytes() == after != whole
    assert [pending.id for pending in optimizer.pending()] == [one.id]
    optimizer.tell(one, 1.0)
    assert len(dp.Optimizer.load(path).history()) == 7


def test_a_line_that_fits_in_part(tmp_path):
    """The system itself stops the writing in the middle of a line."""
    resource = pytest.importorskip("resource")
    path = made(tmp_path)
    optimizer, whole = dp.Optimizer.load(path), path.read_bytes()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(whole) + 50, before[1]))
    try:
        with pytest.raises(dp.DriftpeakError, match="is unchanged: File too large"):
            optimizer.ask()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert path.read_bytes() == whole
    assert optimizer.ask().id == 7


def test_a_bad_snapshot_costs_time_only(tmp_path, monkeypatch):
    monkeypatch.setattr(study, "EVERY", 10)
    path = made(tmp_path, 12)
    kept = Path(f"{path}.snapshot")
    good = kept.read_bytes()
    expected = dp.Optimizer.load(path).history()
    for bad in (
        good[:-1],
        b"",
        b"{}\n",
        good.replace(b'"format": 3', b'"format": 1'),
        b"no layout",
    ):
        kept.write_bytes(bad)
        with pytest.warns(dp.DriftpeakWarning, match="All events are replayed instead"):
            assert dp.Optimizer.load(path).history() == expected
    kept.unlink()
    assert dp.Optimizer.load(path).history() == expected
    kept.write_bytes(good)
    path.unlink()
    with pytest.warns(dp.DriftpeakWarning, match="All events are replayed instead"):
        assert live_worker.make(path).history() == []  # another study in the old one's place


def test_a_snapshot_that_cannot_be_kept_is_told_of(tmp_path, monkeypatch):
    monkeypatch.setattr(study, "EVERY", 10)
    path = made(tmp_path, 3)
    optimizer = dp.Optimizer.load(path)
    Path(tmp_path / "study.snapshot").mkdir()  # nothing can replace it
    with pytest.warns(dp.DriftpeakWarning, match="no snapshot was stored"):
        play(optimizer, 3)
    assert not list(tmp_path.glob("study.snapshot.*"))
    Path(tmp_path / "study.snapshot").rmdir()
    assert len(dp.Optimizer.load(path).history()) == 6


@pytest.mark.skipif(sys.platform == "win32", reason="the lock is POSIX's")
@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_file_system_without_locks(number, tmp_path, monkeypatch):
    """A journal there is read, and never written; a study that is refused leaves no file."""
    path = made(tmp_path)
    expected, whole = dp.Optimizer.load(path).history(), path.read_bytes()

    def flock(file, operation):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("fcntl.flock", flock)
    optimizer = dp.Optimizer.load(path)
    assert optimizer.history() == expected
    assert verify(storages.open_store(path))["events"] == 12
    refused = "cannot be locked: .*. Use a disk of this machine, or PostgreSQL"
    with pytest.raises(dp.StorageError, match=f"study {refused}"):
        optimizer.ask()
    (tmp_path / "empty").touch()
    for name in ("other", "empty"):
        with pytest.raises(dp.StorageError, match=f"{name} {refused}"):
            live_worker.make(tmp_path / name)
    assert path.read_bytes() == whole
    assert {one.name: one.stat().st_size for one in tmp_path.iterdir()} == {
        "study": len(whole),
        "empty": 0,
    }


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are POSIX's")
def test_a_snapshot_that_is_a_pipe_is_refused(tmp_path):
    """Opening it would wait for a writer."""
    path = made(tmp_path)
    os.mkfifo(tmp_path / "study.snapshot")
    for look in (dp.Optimizer.load, lambda path: verify(storages.open_store(path))):
        with pytest.raises(dp.StorageError, match="cannot be read: it is a pipe or a device"):
            look(path)


# databases


def test_a_gap_in_a_database_is_refused_with_the_place(tmp_path):
    path = tmp_path / "studies"
    play(live_worker.make(f"sqlite:///{path}"), 4)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE driftpeak_events SET event = 'x' WHERE number = 5")
    connection.close()
    with pytest.raises(dp.StorageCorruptError, match="corrupt at event 5 of study 'study'"):
        dp.Optimizer.load(f"sqlite:///{path}")
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM driftpeak_events WHERE number = 5")
    connection.close()
    with pytest.raises(dp.DriftpeakError, match=r"corrupt at event 5 .*it is missing"):
        dp.Optimizer.load(f"sqlite:///{path}")


def test_a_full_database(tmp_path):
    address = f"sqlite:///{tmp_path}/studies"
    optimizer = live_worker.make(address)
    one = optimizer.ask()
    engine = optimizer._study.store._engine

    @sa.event.listens_for(engine, "begin", insert=True)
    def limit(connection):
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
        connection.exec_driver_sql(f"PRAGMA max_page_count={pages}")

    def fill():
        for _ in range(200):
            optimizer.tell({"arm": "1"}, 0.25)

    with pytest.raises(dp.DriftpeakError, match="failed: database or disk is"):
        fill()
    told = len(dp.Optimizer.load(address).history())
    assert 0 < told < 200
    sa.event.remove(engine, "begin", limit)
    with engine.begin() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count=100000")
    assert len(optimizer.history()) == told
    optimizer.tell(one, 0.5)
    assert len(dp.Optimizer.load(address).history()) == told + 1


def test_postgresql_hides_passwords(postgresql):
    address = postgresql.replace("tester@", "tester:secret@")
    live_worker.make(address, "hidden")
    with pytest.raises(dp.DriftpeakError) as caught:
        dp.Optimizer.load(address, "hiden")
    assert "secret" not in str(caught.value)
    assert "Did you mean 'hidden'" in str(caught.value)


def test_failing_statements_show_no_observations(storage, name, caplog):
    """A driver's error may reach a log or a traceback before it is caught."""
    if storage.startswith("journal"):
        pytest.skip("no database")
    store = storages.open_store(storage, name)
    live_worker.make(storage, name)
    row = {"study": -1, "number": 1, "event": "an observation", "checksum": 0}
    with pytest.raises(sa.exc.IntegrityError) as caught, store._engine.begin() as connection:
        connection.execute(sa.insert(sql.EVENTS), [row])
    assert "INSERT INTO driftpeak_events" in str(caught.value)
    assert "an observation" not in str(caught.value) + caplog.text
