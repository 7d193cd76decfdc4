"""Compiled programs are kept between calls of the command line, wherever that is safe."""

import os
import subprocess
import sys
import time
import warnings

import pytest

import driftpeak as dp
from driftpeak._core.errors import DriftpeakError
from driftpeak._core.files import cache_folder
from driftpeak._core.numerics import disk_cache as kept, machine_code
from driftpeak.cli import program_cache as programs

# what JAX says to XLA in this process would be inherited
OWN = {key: value for key, value in os.environ.items() if key != "TF_CPP_MIN_LOG_LEVEL"}
CALL = """
import sys
from driftpeak.cli import live
from driftpeak.cli import program_cache as programs
counts = {"hits": 0, "misses": 0}
def count(event, **_):
    for kind in counts:
        counts[kind] += event == f"/jax/compilation_cache/cache_{kind}"
def keep_programs():
    assert "jax" not in sys.modules
    programs.keep_programs()
    import jax
    jax.monitoring.register_event_listener(count)
live.keep_programs = keep_programs
"""
TINY = """
keep_programs()
import jax
for number in range(4):
    def tiny(x):
        return x * 3 + number
    tiny.__name__ = f"tiny{number}"
    assert float(jax.jit(tiny)(2.0)) == 6 + number
print(counts["hits"], counts["misses"], jax.config.jax_compilation_cache_dir)
"""


def folder_here():
    """What this machine uses."""
    return machine_code.folder_below(machine_code.cache_root())


def call(program=TINY, **environment):
    """What a process of its own prints, and its error output."""
    environment = {"XLA_FLAGS": "", **environment}
    done = subprocess.run(
        [sys.executable, "-c", CALL + program], capture_output=True, text=True, check=False,
        env=OWN | {key: str(value) for key, value in environment.items()},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.split(), done.stderr


def entries(folder):
    return sorted(folder.glob("programs/*/*-cache"))


@pytest.mark.slow
def test_the_second_process_compiles_nothing_and_damage_is_mended(tmp_path):
    (hits, misses, place), err = call(DRIFTPEAK_CACHE=tmp_path)
    assert err == ""
    assert int(hits) == 0 < int(misses) == len(entries(tmp_path))
    assert place.startswith(str(tmp_path))
    assert os.stat(place).st_mode & 0o077 == 0
    assert call(DRIFTPEAK_CACHE=tmp_path) == ([misses, "0", place], "")

    tiny = [one for one in entries(tmp_path) if "tiny" in one.name]
    whole = [one.read_bytes() for one in tiny]
    damaged = [b"", b"garbage", whole[2][:-20], whole[3][:100] + b"?" + whole[3][101:]]
    for one, damage in zip(tiny, damaged, strict=True):
        one.write_bytes(damage)
    (tiny[0].parent / "notes.txt").write_text("somebody's")
    (tiny[0].parent / "folder-cache").mkdir()
    (hits, again, _), err = call(DRIFTPEAK_CACHE=tmp_path)
    assert (int(hits), int(again)) == (int(misses) - 4, 4)  # every damage is noticed
    assert err == (
        "driftpeak: a cached program cannot be read and is compiled again "
        "(DRIFTPEAK_CACHE=DIR or off)\n"
    )
    assert call(DRIFTPEAK_CACHE=tmp_path) == ([misses, "0", place], "")  # mended


@pytest.mark.slow
@pytest.mark.parametrize("where", ["file", "file/below", "open"])
def test_a_folder_that_cannot_be_used_costs_a_line(tmp_path, where):
    (tmp_path / "file").write_text("no folder")
    if where == "open":
        made = programs_of(tmp_path / "open")
        made.mkdir(parents=True)
        made.chmod(0o777)
    (hits, misses, place), err = call(DRIFTPEAK_CACHE=tmp_path / where)
    assert (hits, misses, place) == ("0", "0", "None")
    assert err.count("\n") == 1
    assert err.endswith("(DRIFTPEAK_CACHE=DIR or off)\n")
    assert ("other users own or can write to" if where == "open" else "file") in err


def programs_of(folder, monkeypatch=None):
    """The folder that this machine uses below one that is named."""
    before = os.environ.get("DRIFTPEAK_CACHE")
    os.environ["DRIFTPEAK_CACHE"] = str(folder)
    try:
        return folder_here()
    finally:
        if before is None:
            del os.environ["DRIFTPEAK_CACHE"]
        else:
            os.environ["DRIFTPEAK_CACHE"] = before


@pytest.mark.slow
def test_a_folder_that_goes_away_costs_a_line(tmp_path):
    """The folder is gone when JAX looks for it, and a file is in its place."""
    spoil = """
import shutil
keep_programs()
import jax
place = jax.config.jax_compilation_cache_dir
shutil.rmtree(place)
open(place, "w").close()
"""
    program = spoil + TINY.replace("keep_programs()\n", "")
    (hits, _, _), err = call(program, DRIFTPEAK_CACHE=tmp_path)
    assert hits == "0"
    assert err.count("\n") == 1
    assert err.startswith("driftpeak: a cached program cannot be read")


def test_a_full_disk_costs_one_line(tmp_path, monkeypatch, capsys):
    others = []
    monkeypatch.setattr(warnings, "showwarning", lambda message, *rest: others.append(message))
    machine_code._mend(tmp_path, programs.HINT)
    full = "Error writing persistent compilation cache entry for 'jit_x': OSError: disk full"
    for text in (full, full.replace("jit_x", "jit_y"), "something else"):
        warnings.showwarning(UserWarning(text), UserWarning, "x.py", 1)
    line = f"driftpeak: compiled programs cannot be cached in {tmp_path}: disk full"
    assert capsys.readouterr().err == f"{line} (DRIFTPEAK_CACHE=DIR or off)\n"
    assert list(map(str, others)) == ["something else"]


@pytest.mark.slow
def test_it_can_be_switched_off_and_left_to_jax(tmp_path):
    assert call(DRIFTPEAK_CACHE="off") == (["0", "0", "None"], "")
    own = tmp_path / "own"
    (_, _, place), err = call(DRIFTPEAK_CACHE=tmp_path, JAX_COMPILATION_CACHE_DIR=own)
    assert (place, err) == (str(own), "")
    assert entries(tmp_path) == []


def test_the_folder(monkeypatch, tmp_path):
    monkeypatch.delenv("DRIFTPEAK_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    here = folder_here()
    assert here.parent == cache_folder() / "programs"
    monkeypatch.setattr(machine_code, "_processor", lambda: "flags: mmx sse avx9000")
    assert folder_here() != here
    assert folder_here().parent == here.parent


def test_the_oldest_are_removed_beyond_the_most_that_is_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(machine_code, "MOST_BYTES", 250)
    now = time.time()
    for age, name in enumerate(["new-cache", "middle-cache", "old-cache"]):
        folder = tmp_path / ("this" if age < 2 else "another-processor")
        folder.mkdir(exist_ok=True)
        (folder / name).write_bytes(bytes(100))
        os.utime(folder / name, (now - age, now - age))
    machine_code._prune(tmp_path / "this")
    assert sorted(one.name for one in tmp_path.glob("*/*")) == ["middle-cache", "new-cache"]


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="owners are POSIX's")
def test_somebody_elses_folder_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(DriftpeakError, match="other users own or can write to"):
        machine_code._private(tmp_path)


def test_what_is_kept_is_read_whole_or_not_at_all(tmp_path):
    assert kept.read("a") is None
    kept.write("a", b"nothing is kept unless a folder is named")
    kept.keep_in(tmp_path)
    try:
        assert kept.read("a") is None
        kept.write("a", b"content")
        assert kept.read("a") == b"content"
        assert [one.name for one in tmp_path.iterdir()] == ["a"]
        whole = (tmp_path / "a").read_bytes()
        for damage in (b"", b"content", whole[:-1], whole + b"x", whole[:-1] + b"T"):
            (tmp_path / "a").write_bytes(damage)
            assert kept.read("a") is None
        kept.keep_in(tmp_path / "missing")
        kept.write("a", b"content")  # a folder that is gone is no error
        assert kept.read("a") is None
    finally:
        kept.keep_in(None)


@pytest.mark.slow
@pytest.mark.parametrize(
    "space", [dp.Box(x=dp.Float(0, 1)), dp.Grid([0, 1], size=9)], ids=["box", "grid"]
)
def test_the_second_ask_of_a_study_compiles_nothing(tmp_path, space):
    """Nor does it look for what makes a Sobol sequence."""
    store = str(tmp_path / "study.jsonl")
    optimizer = dp.Optimizer(space, maximize=True, storage=store)
    for step in range(8):
        optimizer.tell({"x" if isinstance(space, dp.Box) else "x1": step / 8}, float(step))
    ask = f"""
from driftpeak.cli import app
sys.argv = ["driftpeak", "live", "ask", {store!r}]
try:
    app.main()
except SystemExit as exit:
    assert not exit.code, exit.code
print("scipy.stats" in sys.modules)
"""

    def stored():
        return {path.name for path in (tmp_path / "cache").glob("programs/*/*")}

    _, err = call(ask, DRIFTPEAK_CACHE=tmp_path / "cache")
    assert err == ""
    programs = stored()
    assert any(name.startswith("highest") for name in programs), programs
    optimizer.tell(1, 0.5)  # with nothing out, as at the first ask
    second, err = call(ask, DRIFTPEAK_CACHE=tmp_path / "cache")
    assert (second[-1], err) == ("False", "")
    assert stored() == programs
