"""Stored studies of another user: they are read where nothing may be written, and never changed."""

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import live_worker
import pytest
from permissions import other_user
from test_live_integrity import play

import driftpeak as dp
from driftpeak.live._study.storage import open_store, study, verify

KINDS = ("journal", "sqlite")
REFUSED = {
    "journal": "others/journal cannot be written: Permission denied",
    "sqlite": "others/sqlite failed: attempt to write a readonly database",
}


def look(folder: Path) -> dict[str, object]:
    """Return what a folder holds, to the last byte and the last nanosecond."""
    files = {one.name: (one.stat().st_mtime_ns, one.read_bytes()) for one in folder.iterdir()}
    return {"": folder.stat().st_mtime_ns, **files}


@pytest.fixture
def others(monkeypatch) -> Iterator[Path]:
    """A folder with a journal and an SQLite file, each with a snapshot, that may only be read."""
    if not hasattr(os, "seteuid"):
        pytest.skip("permissions are POSIX's")
    monkeypatch.setattr(study, "EVERY", 8)
    with tempfile.TemporaryDirectory() as home:
        Path(home).chmod(0o755)
        folder = Path(home) / "others"
        folder.mkdir()
        for kind in KINDS:
            play(live_worker.make(f"{kind}:///{folder}/{kind}", "kiln"), 6)
        for one in folder.iterdir():
            one.chmod(0o444)
        folder.chmod(0o555)
        yield folder
        folder.chmod(0o755)


# the other user cannot write into the cache of compiled programs that the tests share
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Error writing persistent compilation cache entry:UserWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_a_study_of_another_user_is_read_and_never_written(kind, others, run):
    address, before = f"{kind}:///{others}/{kind}", look(others)
    own = dp.Optimizer.load(address)
    expected = own.history(), own.best(), own.diagnostics()
    with other_user():
        other = dp.Optimizer.load(address)
        assert (other.history(), other.best(), other.diagnostics()) == expected
        assert live_worker.make(address, "kiln").history() == expected[0]  # as the program says it
        assert verify(open_store(address))["snapshot"] == "of this history"
        for command in ("show", "best", "export", "verify"):
            code, out, err = run("live", command, address)
            assert (code, err) == (0, ""), command
            assert json.loads(out)
        for act in (
            other.ask,
            lambda: other.tell({"arm": "1"}, 1.0),
            lambda: other.forget(before=1),
            other.reset,
            lambda: live_worker.make(
                f"{kind}:///{others}/{kind}", "new" if kind == "sqlite" else None
            ).ask(),
        ):
            with pytest.raises(dp.StorageError, match=REFUSED[kind]):
                act()
        code, out, err = run("live", "ask", address)
        assert (code, out) == (dp.StorageError.exit_code, "")
        assert REFUSED[kind] in err
        with pytest.raises(dp.StorageError, match="others/fresh"):
            live_worker.make(f"{kind}:///{others}/fresh")
        assert other.history() == expected[0]
    assert look(others) == before
    assert len(dp.Optimizer.load(address).ask(count=2)) == 2  # the owner can still write


@pytest.mark.parametrize("kind", KINDS)
def test_a_study_that_may_not_be_read_is_refused_by_name(kind, others):
    """The file itself, or the folder that it is in; neither counts as a study that is missing."""
    address, before = f"{kind}:///{others}/{kind}", look(others)
    for path, mode in ((others / kind, 0o000), (others, 0o700)):
        was = path.stat().st_mode
        path.chmod(mode)
        with other_user(), pytest.raises(dp.StorageError, match=rf"others/{kind}"):
            dp.Optimizer.load(address)
        path.chmod(was)
    assert look(others) == before
