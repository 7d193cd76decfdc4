"""Stored studies damaged, replaced, linked, forked or hostile: noticed, and never made worse."""

import contextlib
import errno
import io
import itertools
import json
import logging
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import traceback
import warnings
import zlib
from collections import Counter

import live_worker
import numpy as np
import pytest
from commands import EXIT_CODES
from live_stored_fuzzer import written

import driftpeak as dp
from driftpeak.live._study.storage import journal, open_store, study, verify
from driftpeak.live._study.storage.locks import lock


def play(optimizer, steps):
    for _ in range(steps):
        one = optimizer.ask()
        optimizer.tell(one, live_worker.reward(one))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A study of 12 events, in a journal and in SQLite, each with a snapshot of the first 8."""
    folder = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study, "EVERY", 8)
        for address in (f"{folder}/journal", f"sqlite:///{folder}/sqlite"):
            play(live_worker.make(address, "whole"), 6)
    return folder


def events(address):
    store = open_store(address)
    assert store.describe() is not None
    return [event for _, event in store.read(store.start()).events]


def content(address):
    """All that a user can see, or the error or warning instead."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            snapshot = verify(open_store(address))["snapshot"]
            return snapshot if "not used" in snapshot else events(address)
        except (dp.DriftpeakError, dp.DriftpeakWarning) as error:
            return str(error)


# every flipped bit, every cut


def damaged(good, kind, generator):
    """One bit flipped, or the end cut off, at random."""
    place = int(generator.integers(len(good)))
    if kind == "cut":
        return good[:place]
    return good[:place] + bytes([good[place] ^ 1 << int(generator.integers(8))]) + good[place + 1 :]


@pytest.mark.parametrize("snapshot", [False, True])
def test_every_flipped_bit_of_a_journal_is_noticed(whole, tmp_path, snapshot):
    good, path = (whole / "journal").read_bytes(), tmp_path / "journal"
    if snapshot:
        shutil.copy(whole / "journal.snapshot", tmp_path / "journal.snapshot")
    expected, last = events(whole / "journal"), len(good) - 1
    for place in range(0, len(good) - 1, 7):
        bit = 1 << (place // 7 % 8)
        path.write_bytes(good[:place] + bytes([good[place] ^ bit]) + good[place + 1 :])
        assert isinstance(content(path), str), place
    # the last newline says nothing: without it, the line is whole
    path.write_bytes(good[:last] + b"\x0b")
    assert content(path) == expected
    optimizer = dp.Optimizer.load(path)
    optimizer.cancel(optimizer.ask())
    begin = good.index(b"\n") + 1 + journal.HEAD
    assert path.read_bytes()[begin:].startswith(good[begin:])  # mended


def test_every_cut_of_a_journal_is_noticed(whole, tmp_path):
    """Also one between two lines: the head knows how many there are."""
    good, path = (whole / "journal").read_bytes(), tmp_path / "journal"
    ends = [place + 1 for place, byte in enumerate(good) if byte == ord("\n")]
    for place in {*range(1, len(good) - 1, 37), *ends[:-1], *(end - 1 for end in ends[:-1])}:
        path.write_bytes(good[:place])
        assert isinstance(content(path), str), place
        assert path.read_bytes() == good[:place]


def damage(whole, tmp_path, kind, rounds):
    """What became of damaged files: noticed, or the same as before; nothing else is possible.

    One file in ten is cut, in the others a bit is flipped. With a snapshot, a third of the damage
    is done to that.
    """
    generator, file = np.random.default_rng(rounds), kind.split()[0]
    good, path = (whole / file).read_bytes(), tmp_path / file
    kept, beside = (whole / "journal.snapshot").read_bytes(), tmp_path / "journal.snapshot"
    address = f"{'sqlite' if file == 'sqlite' else 'journal'}:///{path}"
    expected, found = events(f"{address.partition(':')[0]}:///{whole / file}"), Counter()
    for number in range(rounds):
        how = "cut" if number % 10 == 0 else "flip"
        first = kind != "journal with snapshot" or number % 3
        path.write_bytes(damaged(good, how, generator) if first else good)
        if kind == "journal with snapshot":
            beside.write_bytes(kept if first else damaged(kept, how, generator))
        seen = content(address)
        assert isinstance(seen, str) or seen == expected, f"round {number}"
        found[how, "noticed" if isinstance(seen, str) else "same"] += 1
    return found


KINDS = ("journal", "journal with snapshot", "sqlite")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_no_damage_tells_another_story(whole, tmp_path, kind):
    """A third of an SQLite file is not in use: what is flipped there changes nothing."""
    found = damage(whole, tmp_path, kind, 100)
    assert found["flip", "noticed"] > 15


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_no_damage_tells_another_story_often(whole, tmp_path, kind):
    found = damage(whole, tmp_path, kind, 3_000)
    print(kind, dict(found))
    assert found["flip", "noticed"] > 400
    if kind != "sqlite":  # the last newline of a journal says nothing
        assert found["flip", "same"] < 10


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_changed_row_is_refused_with_the_place(request, tmp_path, kind):
    """Edited, taken away, put in, or renumbered: in the middle, and at the end."""
    import sqlalchemy as sa

    address = f"sqlite:///{tmp_path}/studies"
    if kind == "postgresql":
        address = request.getfixturevalue("postgresql")
    changes = {
        "UPDATE driftpeak_events SET event = event || ' ' WHERE number = 5": "at event 5",
        "UPDATE driftpeak_events SET checksum = checksum + 1 WHERE number = 7": "at event 7",
        "DELETE FROM driftpeak_events WHERE number = 8": "at least the 8 confirmed events; got 7",
        "DELETE FROM driftpeak_events WHERE number = 4": "at event 4 .* it is missing",
        "UPDATE driftpeak_studies SET events = 7": "confirmed events|at event",
        "UPDATE driftpeak_studies SET last = last + 1": "confirmed events|at event",
        "UPDATE driftpeak_studies SET description = replace(description, 'd\": 3', 'd\": 4')": (
            "at event 1 "
        ),
    }
    for number, (change, said) in enumerate(changes.items()):
        name = f"changed {kind} {number}"
        play(live_worker.make(address, name), 4)
        url = address.replace("postgresql://", "postgresql+psycopg://")
        engine = sa.create_engine(url)
        with engine.begin() as connection:
            chosen = "SELECT id FROM driftpeak_studies WHERE name = :name"
            row = connection.scalar(sa.text(chosen), {"name": name})
            which = "study" if "_events" in change else "id"
            joined = " AND " if "WHERE" in change else " WHERE "
            connection.exec_driver_sql(f"{change}{joined}{which} = {row}")
        engine.dispose()
        with pytest.raises(dp.DriftpeakError, match=said):
            dp.Optimizer.load(address, name)


def test_a_study_whose_name_is_no_text_is_refused(whole, tmp_path):
    """One flipped bit makes a blob of a text."""
    path = tmp_path / "studies.db"
    shutil.copy(whole / "sqlite", path)
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE driftpeak_studies SET name = x'77FF'")
    with pytest.raises(dp.StorageError, match=r"studies.db is corrupt: the name of a study"):
        open_store(f"sqlite:///{path}").names()


def test_a_snapshot_is_bound_to_its_history_and_layout(tmp_path, monkeypatch):
    """One of another study, of another layout, or damaged, is not used, and said not to be."""
    monkeypatch.setattr(study, "EVERY", 8)
    for name in ("one", "other"):
        play(live_worker.make(tmp_path / name, "same"), 6)
    expected = dp.Optimizer.load(tmp_path / "one").history()
    kept = tmp_path / "one.snapshot"
    good = kept.read_bytes()
    position, state = study.read_snapshot(good)
    shell = {"engine": {}, "ledger": {}}
    target = io.BytesIO()
    np.savez(target, shell=np.frombuffer(json.dumps(shell).encode(), np.uint8))
    bad = [
        (tmp_path / "other.snapshot").read_bytes(),
        study.write_snapshot(position, target.getvalue()),  # what another layout may look like
        study.write_snapshot(position, state[:-50]),
        study.write_snapshot(position, b""),
        study.write_snapshot((*position[:2], position[2] ^ 1), state),
        study.write_snapshot((8,), state),
        *(damaged(good, "flip", np.random.default_rng(seed)) for seed in range(20)),
    ]
    for content in bad:
        kept.write_bytes(content)
        with pytest.warns(dp.DriftpeakWarning, match="All events are replayed instead"):
            assert dp.Optimizer.load(tmp_path / "one").history() == expected
        assert verify(open_store(tmp_path / "one"))["events"] == 12
    kept.write_bytes(good)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert dp.Optimizer.load(tmp_path / "one").history() == expected


def test_verify_on_the_command_line(whole, tmp_path, run):
    for address in (f"{whole}/journal", f"sqlite:///{whole}/sqlite"):
        code, out, err = run("live", "verify", address)
        assert (code, err) == (0, "")
        assert json.loads(out) == {"name": "whole", "events": 12, "snapshot": "of this history"}
    path = tmp_path / "journal"
    path.write_bytes((whole / "journal").read_bytes().replace(b'"reward":', b'"reward":9', 1))
    code, out, err = run("live", "verify", path)
    assert (code, out) == (dp.StorageCorruptError.exit_code, "")
    assert "corrupt at event 2" in err
    code, out, err = run("live", "verify", tmp_path / "none")
    assert code == dp.StudyNotFoundError.exit_code
    assert "there is no study" in err


# looking never writes


@pytest.mark.slow
def test_looking_changes_nothing(whole, tmp_path, run):
    """Nor does refusing: no lock files, no snapshots, no repairs."""
    folder = tmp_path / "folder"
    shutil.copytree(whole, folder)
    contents = {
        "thesis.json": b'{"study": "thesis data", "rows": [1]}',
        "brace": b"{",
        "stripped": (whole / "journal").read_bytes().replace(b"\n", b""),
        "torn": (whole / "journal").read_bytes()[:-20],
        "empty": b"",
        "text.db": b"SQLite format 3",
    }
    for name, one in contents.items():
        (folder / name).write_bytes(one)
    before = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}
    for name in [*before, "none", "no/folder/none"]:
        for address in (f"{folder}/{name}", f"sqlite:///{folder}/{name}"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for command in ("show", "best", "verify"):
                    run("live", command, address)
    after = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}
    assert after == before


def test_a_journal_that_cannot_be_written_can_be_read(whole, tmp_path, monkeypatch):
    """As on a disk that is mounted to be read only."""
    path = tmp_path / "journal"
    shutil.copy(whole / "journal", path)
    opened = os.open

    def read_only(path, flags, *rest):
        if flags & (os.O_RDWR | os.O_WRONLY):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        return opened(path, flags, *rest)

    monkeypatch.setattr(os, "open", read_only)
    optimizer = dp.Optimizer.load(path)
    assert len(optimizer.history()) == 6
    assert optimizer.best().deviation > 0
    with pytest.raises(dp.DriftpeakError, match="cannot be written: Read-only file system"):
        optimizer.ask()
    assert optimizer.pending() == []


def test_refused_paths_leave_nothing_behind(tmp_path):
    for address in (
        tmp_path / "no" / "folder",
        f"journal:///{tmp_path}/no/folder",
        tmp_path,
        tmp_path / ("x" * 300),
        f"{tmp_path}/null\0",
    ):
        with pytest.raises(dp.DriftpeakError) as caught:
            live_worker.make(address)
        assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_messages_stay_in_one_line(tmp_path):
    name, path = "two\nlines", tmp_path / "two\nlines"
    live_worker.make(path, name)
    for wrong in ("other\nname", name + "s"):
        with pytest.raises(dp.DriftpeakError) as caught:
            dp.Optimizer.load(path, wrong)
        assert "\n" not in str(caught.value)
    assert dp.Optimizer.load(path).name == name
    for bad in ("null\0", "half \ud800"):
        with pytest.raises(dp.DriftpeakError, match="without NUL"):
            live_worker.make(tmp_path / "other", bad)


# one file, whatever its name


def test_a_link_is_the_same_journal(tmp_path):
    path = tmp_path / "study"
    first = live_worker.make(path)
    (tmp_path / "soft").symlink_to(path)
    os.link(path, tmp_path / "hard")
    others = [dp.Optimizer.load(tmp_path / name) for name in ("soft", "hard")]
    for number, one in enumerate([first, *others, *others], start=1):
        assert one.ask().id == number
    with path.open("r+b") as file:
        lock(file, shared=False, deadline=0)
        impatient = open_store(f"journal:///{tmp_path}/hard?timeout=0.1")
        with pytest.raises(dp.DriftpeakError, match="is locked"):
            dp.Optimizer.load(impatient)
    assert {one.name for one in tmp_path.iterdir()} == {"study", "soft", "hard"}


# replaced


def test_a_replaced_journal_is_refused_for_good(tmp_path):
    path, aside = tmp_path / "study", tmp_path / "aside"
    optimizer = live_worker.make(path, "study")
    play(optimizer, 3)
    path.rename(aside)
    with pytest.raises(dp.DriftpeakError, match="no longer exists"):
        optimizer.ask()
    play(live_worker.make(path, "study"), 9)  # another, of the same description
    now = path.read_bytes()
    for _ in range(3):
        for act in (optimizer.ask, optimizer.history, lambda: optimizer.tell({"arm": "1"}, 1.0)):
            with pytest.raises(dp.DriftpeakError, match=r"holds another study than when"):
                act()
    assert path.read_bytes() == now
    aside.replace(path)
    assert optimizer.ask().id == 4


def test_an_older_copy_in_the_journals_place_is_refused(tmp_path):
    path = tmp_path / "study"
    optimizer = live_worker.make(path)
    play(optimizer, 2)
    older = path.read_bytes()
    play(optimizer, 2)
    newer = path.read_bytes()
    for _ in range(2):
        path.write_bytes(older)
        with pytest.raises(dp.DriftpeakError, match="at least the 8 confirmed events"):
            optimizer.ask()
        assert path.read_bytes() == older
    path.write_bytes(newer)
    assert optimizer.ask().id == 5
    path.write_bytes(older)
    fresh = dp.Optimizer.load(path)  # whoever opens it now goes on from there, otherwise
    fresh.tell({"arm": "1"}, 0.125)
    play(fresh, 7)
    with pytest.raises(dp.DriftpeakError, match="differs from the confirmed event"):
        optimizer.ask()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_deleted_or_replaced_study_of_a_database_is_refused(request, tmp_path, kind):
    import sqlalchemy as sa

    address = f"sqlite:///{tmp_path}/studies"
    if kind == "postgresql":
        address = request.getfixturevalue("postgresql")
    optimizer = live_worker.make(address, "replaced")
    play(optimizer, 3)
    engine = sa.create_engine(address.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM driftpeak_studies WHERE name = 'replaced'")
    engine.dispose()
    with pytest.raises(dp.DriftpeakError, match="study 'replaced' no longer exists"):
        optimizer.ask()
    live_worker.make(address, "replaced")
    for _ in range(2):
        with pytest.raises(dp.DriftpeakError):
            optimizer.ask()
    assert dp.Optimizer.load(address, "replaced").history() == []


# fork: JAX does not compute in a forked child, but the books can be kept there

FORKED = """
import os, sys, warnings
warnings.simplefilter("ignore")
import live_worker
for address in sys.argv[1:]:
    optimizer = live_worker.make(address, "forked")
    optimizer.ask(count=15)
    children = []
    for first in (1, 6):
        child = os.fork()
        if child == 0:
            for number in range(first, first + 5):
                optimizer.cancel(number)
            assert len(optimizer.pending()) <= 10
            os._exit(0)
        children.append(child)
    for number in range(11, 16):
        optimizer.cancel(number)
    for child in children:
        assert os.waitpid(child, 0)[1] == 0
    assert optimizer.pending() == []
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("kind", ["files", pytest.param("postgresql", marks=pytest.mark.slow)])
def test_children_share_nothing_with_their_parent(request, tmp_path, kind):
    addresses = [f"journal:///{tmp_path}/journal", f"sqlite:///{tmp_path}/sqlite"]
    if kind == "postgresql":
        addresses = [request.getfixturevalue("postgresql")]
    done = subprocess.run(
        [sys.executable, "-c", FORKED, *addresses],
        env=live_worker.environment(),
        capture_output=True,
        timeout=400,
    )
    assert done.returncode == 0, done.stderr.decode()[-2000:]


# passwords

SECRET = "hu7ter-2"  # quoted, it is the same


def spellings(host):
    """Addresses with a password, well and badly written."""
    schemes = [
        "postgresql",
        "postgres",
        "Postgresql",
        "mysql",
        "mysql+pymysql",
        "postgresql+x",
        "x",
    ]
    for scheme, rest in itertools.product(schemes, ["://", ":///", "//", ":/", ":", "+://"]):
        yield f"{scheme}{rest}user:{SECRET}@{host}/database"
    for scheme in ("postgresql", "postgresql+psycopg", "sqlite", "journal", "postgres"):
        yield f"{scheme}://user:{SECRET}@b@{host}/database"
        yield f"{scheme}://user:a@{SECRET}@{host}/database"
        yield f"{scheme}://user@{host}/database?password={SECRET}"
        yield f"{scheme}://{host}/database?user=u&password={SECRET}&timeout=0.1"
        yield f"{scheme}://user:{SECRET}@{host}:port/database"
        yield f"{scheme}://user:{SECRET}@{host}:99999999/database"
        yield f"{scheme}://user:{SECRET}@[::1/database"
        yield f"{scheme}://user:{SECRET}@{host}/database?timeout=soon"
        yield f"{scheme}://user:{SECRET}@{host}/database?sslmode=none&sslpassword={SECRET}"
        yield f" {scheme}://user:{SECRET}@{host}/database"
        yield f"{scheme}://:{SECRET}@"
        yield f"{scheme}://user:%68{SECRET[1:]}@{host}/d\n"
    yield f"user:{SECRET}@{host}"


def test_no_password_in_any_text(tmp_path, monkeypatch, caplog):
    """Not in messages, chained tracebacks, logs, nor in what is printed of the objects."""
    monkeypatch.chdir(tmp_path)
    caplog.set_level(logging.DEBUG)
    count = 0
    for address in spellings("127.0.0.1:1"):
        for use in (open_store, dp.Optimizer.load):
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                try:
                    texts = [repr(vars(use(address)))]
                except dp.DriftpeakError as error:
                    texts = [str(error), repr(error), *traceback.format_exception(error)]
            texts += [str(one.message) for one in said]
            for text in texts:
                assert SECRET not in re.sub(r"File .*\n.*", "", text), address
            count += 1
    assert count > 200
    assert SECRET not in caplog.text
    with contextlib.suppress(OSError):
        assert not [path for path in tmp_path.rglob("*") if SECRET in str(path)]


def test_postgresql_hides_passwords_everywhere(postgresql):
    address = postgresql.replace("tester@", f"tester:{SECRET}@")
    optimizer = live_worker.make(address, "with a password")
    store = optimizer._study.store
    for text in (store.where, repr(store), repr(optimizer), repr(store._engine)):
        assert SECRET not in text
    assert SECRET not in store._secrets.hidden(f"a driver may say {SECRET}")


# hostile content in the right shape


@pytest.mark.parametrize(
    "change",
    [
        {
            "policy": {
                "class": "driftpeak.live._study.storage.journal:os.system",
                "items": ["id > FILE"],
            }
        },
        {"policy": {"name": "driftpeak.__main__:x"}},
        {"policy": {"os.system": {"command": "id > FILE"}}},
        {"policy": 5},
        {"policy": None},
        {"space": 5},
        {"space": {"arms": "x"}},
        {"space": {"box": {"x": {"type": []}}}},
        {"maximize": "yes"},
        {"seed": 1.5},
        {"seed": "x"},
        {"horizon": -1},
        {"horizon": []},
        {"name": 5},
        {"name": None},
        {"format": 99},
        {"format": {}},
    ],
)
def test_hostile_descriptions(tmp_path, run, change, without_type_checks):
    path = tmp_path / "study"
    live_worker.make(path)
    good = json.loads(path.read_bytes().splitlines()[0])["study"]
    content = written(good | change, [])
    path.write_bytes(content)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(dp.DriftpeakError):
        dp.Optimizer.load(path)
    assert run("live", "show", path)[0] in EXIT_CODES
    assert sorted(tmp_path.iterdir()) == before
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"event": "Told"},
        {"event": []},
        {"event": "Asked", "id": "x", "time": 1.0, "kind": "steps", "parameters": {"arm": "1"}},
        {"event": "Asked", "id": 1, "time": "x", "kind": "steps", "parameters": {"arm": "1"}},
        {"event": "Asked", "id": 1, "time": 1.0, "kind": "os", "parameters": {"arm": "1"}},
        {"event": "Asked", "id": 1, "time": 1.0, "kind": "steps", "parameters": [1]},
        {"event": "Told", "id": None, "time": 1.0, "kind": "steps", "parameters": {"arm": "99"},
         "reward": 1.0},
        {"event": "Told", "id": None, "time": 1.0, "kind": "steps", "parameters": {"arm": "1"},
         "reward": "x"},
        {"event": "Told", "id": 7, "time": 1.0, "kind": "steps", "parameters": {"arm": "1"},
         "reward": 1.0},
        {"event": "Learned", "values": {"motions": "os.system"}},
        {"event": "Answered", "time": 1.0, "kind": "steps", "queries": 5, "answers": 5},
        {"event": "Cancelled", "id": 1},
        {"event": "Forgot", "before": "x"},
        {"event": "Reset", "now": 1},
        {"event": {}, "id": 1},
        {"event": "Asked", "id": 2, "time": 1.0, "kind": "steps", "parameters": {"arm": "1"}},
        {"event": "Asked", "id": 1, "time": 1e10, "kind": "steps", "parameters": {"arm": []}},
        {"event": "Asked", "id": 1, "time": 1e20, "kind": "dates", "parameters": {"arm": "1"}},
        {"event": "Told", "id": None, "time": 1.0, "kind": "steps", "parameters": {"arm": "1"},
         "reward": float("nan")},
        {"event": "Told", "id": None, "time": 1.0, "kind": "steps", "parameters": {"arm": "1"},
         "reward": 1.0, "expected": [1, {}]},
        {"event": "Told", "id": None, "time": 1.0, "kind": "steps", "parameters": {"arm": "1"},
         "reward": 1e200},
        {"event": "Forgot", "before": float("inf")},
    ],
)  # fmt: skip
def test_hostile_events(tmp_path, event, without_type_checks):
    """More of them: `live_stored_fuzzer`."""
    path = tmp_path / "study"
    live_worker.make(path)
    good = json.loads(path.read_bytes().splitlines()[0])["study"]
    path.write_bytes(written(good, [event]))
    with pytest.raises(dp.DriftpeakError) as caught:
        dp.Optimizer.load(path)
    assert "\n" not in str(caught.value)


def test_checksums_are_what_they_are_said_to_be(whole):
    """Written again, plainly: each is the CRC-32 of all bytes before it, but for the head's."""
    lines = (whole / "journal").read_bytes().splitlines(keepends=True)
    history = b""
    for line in [lines[0], *lines[2:]]:
        body, check = line[: -len(',"check":"01234567"}\n')], line[-11:-3]
        assert b"%08x" % zlib.crc32(history + body) == check
        history += line
    with sqlite3.connect(whole / "sqlite") as connection:
        (text, count, last) = connection.execute(
            "SELECT description, events, last FROM driftpeak_studies"
        ).fetchone()
        history = b"whole" + text.encode()
        for event, check in connection.execute("SELECT event, checksum FROM driftpeak_events"):
            history += event.encode()
            assert zlib.crc32(history) == check
    connection.close()
    assert (count, check) == (12, last)
