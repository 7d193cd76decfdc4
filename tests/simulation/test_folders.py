"""What keeps a run when things go wrong: a full disk, permissions that bind, a damaged manifest."""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np
import own_simulation as own
import pytest
import xarray as xr
from hypothesis import given, settings, strategies as st
from permissions import other_user

import driftpeak as dp
from driftpeak._core.files import write_dataset
from driftpeak.simulation import _folder as folders
from driftpeak.simulation._chunk_runner import ChunkRunner

TRIALS, CHUNK = 4, 2  # two chunks


def play(folder: Path) -> xr.Dataset:
    return own.play(trials=TRIALS, chunk=CHUNK, folder=folder)


# a full disk

FULL = """
import resource, sys
sys.dont_write_bytecode = True  # the limit would cut bytecode short, for every later process
from pathlib import Path
import numpy as np, xarray as xr
from driftpeak._core.errors import DriftpeakError
from driftpeak._core.files import write_dataset, write_results

data = xr.Dataset({"a": (("x", "y"), np.random.default_rng(0).normal(size=(500, 200)))})
tree = xr.DataTree.from_dict({"/": xr.Dataset(attrs={"seed": 1}), "case": data})
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
folder = Path(sys.argv[1])
for write in (
    lambda: write_dataset(data, folder / "data.nc"),
    lambda: write_dataset(tree, folder / "tree.nc"),
    lambda: write_results(folder / "results", data, {"command": "compare"}, {}),
):
    try:
        write()
    except DriftpeakError as error:
        print(error)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="limits are POSIX's")
def test_a_full_disk_is_told_and_leaves_nothing(tmp_path):
    """In a process of its own, whose files may not grow: HDF5 used to crash it."""
    found = subprocess.run([sys.executable, "-c", FULL, tmp_path], capture_output=True, text=True)
    assert (found.returncode, found.stderr) == (0, "")
    names = ("data.nc", "tree.nc", "results")
    assert found.stdout.splitlines() == [
        f"{tmp_path / name} cannot be written: File too large" for name in names
    ]
    assert list(tmp_path.iterdir()) == []


def test_files_hold_what_xarray_would_have_written(tmp_path):
    numbers = np.random.default_rng(0).normal(size=(3, 4))
    data = xr.Dataset(
        {"reward": (("trial", "step"), numbers, {"unit": "kW"}), "seconds": ("trial", [1, 2, 3])},
        coords={"policy": ("trial", ["one", "two", "drei\N{SNOWMAN}"])},
        attrs={"seed": 3, "title": "Tide"},
    )
    write_dataset(data, tmp_path / "ours.nc")
    data.to_netcdf(tmp_path / "theirs.nc", engine="h5netcdf")
    with (
        xr.open_dataset(tmp_path / "ours.nc") as ours,
        xr.open_dataset(tmp_path / "theirs.nc") as it,
    ):
        xr.testing.assert_identical(ours.load(), it.load())
    with h5py.File(tmp_path / "ours.nc") as file:
        np.testing.assert_array_equal(file["reward"], numbers)
        assert (file["reward"].compression, file["reward"].compression_opts) == ("gzip", 1)
        assert file["seconds"].compression is None
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ours.nc", "theirs.nc"]


# permissions


@pytest.fixture
def shared(monkeypatch) -> Iterator[Path]:
    """A finished run where everybody may look; those of `tmp_path` are private."""
    if not hasattr(os, "seteuid"):
        pytest.skip("permissions are POSIX's")
    with tempfile.TemporaryDirectory() as home:
        Path(home).chmod(0o755)
        path = Path(home) / "run"
        play(path)
        path.chmod(0o555)
        for one in path.iterdir():
            one.chmod(0o444)
        monkeypatch.setattr(ChunkRunner, "play", None)  # nothing may be played from here on
        yield path
        path.chmod(0o755)


@pytest.mark.slow
def test_a_finished_run_is_read_where_nothing_may_be_written(shared):
    shared.chmod(0o755)
    begun = shared / ".chunk-000001.nc.4711.part"
    begun.write_bytes(b"half")
    os.utime(begun, (0, 0))  # long ago: it is removed where that is allowed
    shared.chmod(0o555)
    with other_user():
        again, whole = dp.read_runs(shared), play(shared)
    assert again.sizes["trial"] == whole.sizes["trial"] == TRIALS
    np.testing.assert_array_equal(again["regret"], whole["regret"])
    assert begun.exists()


def test_where_chunks_are_missing_a_folder_is_refused_before_they_are_played(shared):
    shared.chmod(0o755)
    (shared / "chunk-000001.nc").unlink()
    shared.chmod(0o555)
    with (
        other_user(),
        pytest.raises(dp.DriftpeakError, match=r"run cannot be written: Permission denied$"),
    ):
        play(shared)


@pytest.mark.parametrize("name", ["chunk-000001.nc", folders.MANIFEST])
def test_a_file_that_may_not_be_read_is_not_a_damaged_one(name, shared):
    """No warning either: warnings are errors here."""
    (shared / name).chmod(0)
    told = rf"run/{name} cannot be read: Permission denied\. Make it readable, or name another"
    for look in (dp.read_runs, play):
        with other_user(), pytest.raises(dp.DriftpeakError, match=told):
            look(shared)


@pytest.mark.parametrize("error", [PermissionError(13, "Permission denied"), OSError(5, "EIO")])
def test_what_the_system_refuses_is_told_as_that(error, tmp_path, monkeypatch):
    """The same for everybody, root too: the system's answer is made up."""
    play(tmp_path)
    real = folders.read_regular

    def read_regular(path):
        if path.suffix == ".nc":
            raise error
        return real(path)

    monkeypatch.setattr(folders, "read_regular", read_regular)
    monkeypatch.setattr(ChunkRunner, "play", None)
    for look in (dp.read_runs, play):
        with pytest.raises(
            dp.DriftpeakError, match=f"000000.nc cannot be read: {error.strerror}[.]"
        ):
            look(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are POSIX's")
@pytest.mark.parametrize("name", ["chunk-000001.nc", folders.MANIFEST])
@pytest.mark.parametrize("device", [None, "/dev/zero"])
def test_a_pipe_or_a_device_is_refused(name, device, tmp_path, monkeypatch):
    """Reading either would never end."""
    play(tmp_path)
    (tmp_path / name).unlink()
    if device is None:
        os.mkfifo(tmp_path / name)
    else:
        (tmp_path / name).symlink_to(device)
    monkeypatch.setattr(ChunkRunner, "play", None)
    for look in (dp.read_runs, play):
        with pytest.raises(dp.StorageError, match=rf"{name} cannot be read: it is a pipe or a dev"):
            look(tmp_path)


# flipped bits


def flipped(good: bytes, place: int, bit: int) -> bytes:
    """Return the bytes with one bit changed."""
    return good[:place] + bytes([good[place] ^ 1 << bit]) + good[place + 1 :]


def written_by_an_earlier_version(path: Path) -> None:
    """Write the chunks of a folder as 0.1.0 did before chunks had an ending."""
    bond = folders._bond(json.loads((path / folders.MANIFEST).read_text()))
    for number, chunk in enumerate(sorted(path.glob("chunk-*.nc"))):
        with xr.open_dataset(chunk, engine="h5netcdf", decode_times=False) as stored:
            part = stored.load()
        found = hashlib.sha256()
        for name in sorted(map(str, part.data_vars)):
            values = part[name].values
            found.update(f"{name} {part[name].dims} {values.dtype} {values.shape}".encode())
            found.update(np.ascontiguousarray(values).tobytes())
        attributes = {"simulation": bond, "chunk": number, "checksum": found.hexdigest()}
        write_dataset(part.assign_attrs(attributes), chunk)


@pytest.mark.slow
def test_every_flipped_bit_of_a_chunk_is_noticed(tmp_path, monkeypatch):
    """HDF5 reads no damaged byte: some flips of a coordinate changed it, and some looped."""
    play(tmp_path)
    path = tmp_path / "chunk-000001.nc"
    good, expected = path.read_bytes(), dp.read_runs(tmp_path)
    begin = len(good) - len(folders._ending(b""))
    assert good[begin:] == (
        b"\ndriftpeak sha256 " + hashlib.sha256(good[:begin]).hexdigest().encode() + b"\n"
    )
    there = folders.Folder(tmp_path, json.loads((tmp_path / folders.MANIFEST).read_text()))
    with monkeypatch.context() as patch:
        patch.setattr(xr, "open_dataset", None)  # a damaged file must not be parsed
        for number, place in enumerate(range(0, begin, 29)):
            path.write_bytes(flipped(good, place, number % 8))
            with pytest.warns(dp.DriftpeakWarning, match=r"chunk-000001\.nc is damaged"):
                assert there.read(there.plan.chunks[1]) is None, place
        assert number > 400
    for place in range(begin, len(good), 9):  # in the ending, which a chunk must have
        path.write_bytes(flipped(good, place, place % 8))
        with pytest.warns(dp.DriftpeakWarning, match=r"chunk-000001\.nc is damaged"):
            assert there.read(there.plan.chunks[1]) is None, place
    path.write_bytes(good)
    xr.testing.assert_identical(dp.read_runs(tmp_path), expected)


@pytest.mark.slow
def test_chunks_of_an_earlier_version_are_read(tmp_path, monkeypatch):
    """A folder of an earlier version resumes, and may hold chunks of both kinds."""
    expected = play(tmp_path)
    new = (tmp_path / "chunk-000000.nc").read_bytes()
    written_by_an_earlier_version(tmp_path)
    old = (tmp_path / "chunk-000000.nc").read_bytes()
    assert b"driftpeak sha256" in new
    assert b"driftpeak sha256" not in old
    with monkeypatch.context() as patch:
        patch.setattr(ChunkRunner, "play", None)
        xr.testing.assert_identical(play(tmp_path), expected)
    (tmp_path / "chunk-000001.nc").unlink()
    resumed = play(tmp_path)
    for name in ("regret", "reward", "trial", "step", "policy"):
        np.testing.assert_array_equal(resumed[name], expected[name])
    assert (tmp_path / "chunk-000000.nc").read_bytes() == old
    assert b"driftpeak sha256" in (tmp_path / "chunk-000001.nc").read_bytes()
    with xr.open_dataset(tmp_path / "chunk-000000.nc", engine="h5netcdf") as stored:
        part = stored.load()
    part["reward"][0, 0, 0] += 1
    write_dataset(part, tmp_path / "chunk-000000.nc")
    with pytest.warns(dp.DriftpeakWarning, match=r"chunk-000000\.nc is damaged"):
        assert dp.read_runs(tmp_path).sizes["trial"] == CHUNK


def test_other_programs_read_a_chunk(tmp_path):
    """The ending lies behind what HDF5 says is its end."""
    runs = play(tmp_path)
    with h5py.File(tmp_path / "chunk-000001.nc") as file:
        np.testing.assert_array_equal(file["reward"], runs["reward"].isel(trial=slice(2, 4)))
    with xr.open_dataset(tmp_path / "chunk-000001.nc") as chunk:
        np.testing.assert_array_equal(chunk["trial"], [2, 3])


# a damaged manifest


@pytest.fixture(scope="module")
def manifest(tmp_path_factory) -> dict[str, object]:
    path = tmp_path_factory.mktemp("manifest") / "run"
    play(path)
    return json.loads((path / folders.MANIFEST).read_text())


@pytest.fixture(scope="module")
def scratch(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("scratch")


def tell(folder: Path, manifest: object) -> Path:
    """Let a folder without chunks say that of itself."""
    (folder / folders.MANIFEST).write_text(json.dumps(manifest))
    return folder


def test_every_field_of_a_manifest_has_its_rule(manifest):
    assert set(manifest) == {"kind", "format", *folders.FIELDS}


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("policies", [["TV", 3]], "give every policy's name and fingerprint"),
        ("policies", [], "give every policy's name and fingerprint"),
        ("policies", [["TV", "1"], ["TV", "1"]], "give every policy's name and fingerprint"),
        ("chunk", "x", "be an integer of at least 1; got 'x'"),
        ("chunk", 0, "be an integer of at least 1; got 0"),
        ("trials", True, "be an integer of at least 1; got True"),
        ("first_trial", -1, "be an integer of at least 0; got -1"),
        ("steps", 20.0, r"be an integer of at least 1; got 20\.0"),
        ("keep", "nothing", "be one of everything, summaries; got 'nothing'"),
        ("readings", 1, "be true or false; got 1"),
        ("environment", None, "be a string; got None"),
        ("made_with", {"jax": 1}, "give a version for every name"),
    ],
)
def test_a_damaged_field_is_told_by_name(field, value, told, manifest, tmp_path):
    tell(tmp_path, manifest | {field: value})
    message = rf"simulation\.json is damaged: {field} must {told}.*\. Restore a copy of it, or name"
    for look in (dp.read_runs, lambda path: folders.Folder.claim(path, manifest)):
        with pytest.raises(dp.DriftpeakError, match=message):
            look(tmp_path)


@pytest.mark.parametrize("field", list(folders.FIELDS))
def test_a_missing_field_is_told_by_name(field, manifest, tmp_path):
    tell(tmp_path, {name: value for name, value in manifest.items() if name != field})
    with pytest.raises(
        dp.DriftpeakError, match=rf"simulation\.json is damaged: the field {field} is missing\."
    ):
        dp.read_runs(tmp_path)


def test_a_field_of_nobody_is_told_by_name(manifest, tmp_path):
    tell(tmp_path, manifest | {"sede": 1})
    with pytest.raises(dp.DriftpeakError, match="the field 'sede' is unknown"):
        dp.read_runs(tmp_path)


def test_a_folder_keeps_so_many_chunks(manifest, tmp_path):
    tell(tmp_path, manifest | {"trials": 10**18, "chunk": 1})
    with pytest.raises(
        dp.DriftpeakError, match=r"trials and chunk must make at most 1,000,000 chunks"
    ):
        dp.read_runs(tmp_path)


def test_a_manifest_without_versions_is_not_that_of_a_run_here(manifest, tmp_path):
    tell(tmp_path, manifest | {"made_with": {}})
    with pytest.raises(dp.DriftpeakError, match=r"made with jax None, here \d"):
        folders.Folder.claim(tmp_path, manifest)


ODD = ["everything", "summaries", 0, 1, 2, 10**30, 10**400, "\ud800", "two\nlines"]
anything = st.recursive(
    st.sampled_from(ODD) | st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.slow
@settings(max_examples=300)
@given(data=st.data(), value=anything)
def test_whatever_a_manifest_says_is_taken_or_told(data, value, manifest, scratch):
    """No other error, no endless loop; and what is taken for the run is what it was."""
    field = data.draw(st.sampled_from(sorted(manifest)))
    said = manifest | {field: value}
    tell(scratch, said)
    with pytest.raises(dp.DriftpeakError) as told:
        dp.read_runs(scratch)
    assert "\n" not in str(told.value)
    assert str(scratch) in str(told.value)
    try:
        folders.Folder.claim(scratch, manifest)
    except dp.DriftpeakError:
        pass
    else:
        assert json.dumps(said) == json.dumps(manifest)


@settings(max_examples=100)
@given(text=anything.map(json.dumps) | st.sampled_from(["", "[" * 100_000, "{", "\udcff"]))
def test_whatever_stands_in_its_place_is_no_manifest(text, scratch):
    (scratch / folders.MANIFEST).write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(dp.DriftpeakError, match="is not a folder of simulate"):
        dp.read_runs(scratch)
