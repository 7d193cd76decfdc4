"""A disk that is full: nothing confirmed is lost, nothing half written stays, and work continues.

The disk is a small tmpfs, which only root may mount; elsewhere these tests are skipped, and those
with a limit on the size of files (`test_live_storage`, `test_folders`) remain.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import live_worker
import numpy as np
import own_simulation as own
import pytest
import xarray as xr

import driftpeak as dp
from driftpeak._core.files import write_dataset, write_results
from driftpeak.live._study.storage import open_store, verify

FULL = "No space left on device|database or disk is full|disk I/O error|unable to open"
BALLAST = "ballast"


@pytest.fixture
def disk(tmp_path) -> Iterator[Path]:
    """A disk of 512 KiB."""
    path = tmp_path / "disk"
    path.mkdir()
    if sys.platform != "linux":
        pytest.skip("tmpfs is Linux's")
    mount = ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", path]
    if subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("no disk may be mounted here")
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", path], check=True)


def fill(disk: Path, leave: int) -> None:
    """Leave so many bytes free."""
    with (disk / BALLAST).open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            file.truncate(max(file.tell() - leave, 0))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["journal", "sqlite"])
def test_a_stored_study_on_a_full_disk(kind, disk):
    address = f"{kind}:///{disk}/study"
    optimizer = live_worker.make(address, "kiln")
    pending = optimizer.ask()
    fill(disk, 32_768)  # SQLite needs some pages for its rollback journal
    confirmed = []

    def tell(number):
        optimizer.tell({"arm": "1"}, number / 300)
        confirmed.append(number / 300)

    full = rf"disk/study.*(unchanged|failed).*({FULL})"
    with pytest.raises(dp.StorageError, match=full):
        list(map(tell, range(300)))
    assert 0 < len(confirmed) < 300
    with pytest.raises(dp.StorageError, match=FULL):
        live_worker.make(f"{kind}:///{disk}/new", "new").ask()
    assert {one.name for one in disk.iterdir()} <= {"study", "new", BALLAST}
    for reader in (optimizer, dp.Optimizer.load(address)):  # reading needs no space
        assert [one.reward for one in reader.history()] == confirmed
        assert [one.id for one in reader.pending()] == [pending.id]
    assert verify(open_store(address))["events"] == len(confirmed) + 1

    (disk / BALLAST).unlink()
    optimizer.tell(pending, 0.5)
    for one in (optimizer, dp.Optimizer.load(address)):
        one.tell({"arm": "2"}, 0.75)
    expected = [*confirmed, 0.5, 0.75, 0.75]
    assert [one.reward for one in dp.Optimizer.load(address).history()] == expected
    assert verify(open_store(address))["events"] == len(expected) + 1
    assert live_worker.make(f"{kind}:///{disk}/new", "new").ask().id == 1


@pytest.mark.slow
def test_a_simulation_on_a_full_disk(disk):
    """What is finished is kept; the same call finishes the rest, with the bits of a whole run."""
    expected = own.play(trials=4, chunk=2)
    own.play(trials=4, chunk=2, folder=disk / "run")
    size = (disk / "run" / "chunk-000001.nc").stat().st_size
    (disk / "run" / "chunk-000001.nc").unlink()
    kept = (disk / "run" / "chunk-000000.nc").read_bytes()
    fill(disk, size // 2)
    with pytest.raises(dp.StorageError, match=r"chunk-000001\.nc cannot be written: No space left"):
        own.play(trials=4, chunk=2, folder=disk / "run")
    names = {one.name for one in (disk / "run").iterdir()}
    assert names == {"simulation.json", "chunk-000000.nc"}
    assert dp.read_runs(disk / "run").sizes["trial"] == 2
    fill(disk, 0)
    with pytest.raises(dp.StorageError, match="cannot be written: No space left on device"):
        own.play(trials=4, chunk=2, folder=disk / "other")

    (disk / BALLAST).unlink()
    resumed = own.play(trials=4, chunk=2, folder=disk / "run")
    for name in ("regret", "reward", "action"):
        np.testing.assert_array_equal(resumed[name], expected[name])
    assert (disk / "run" / "chunk-000000.nc").read_bytes() == kept
    assert own.play(trials=4, chunk=2, folder=disk / "other").sizes["trial"] == 4


def test_results_on_a_full_disk(disk):
    data = xr.Dataset({"a": (("x", "y"), np.random.default_rng(0).normal(size=(50, 20)))})
    (disk / "data.nc").write_bytes(b"earlier")
    fill(disk, 4096)
    with pytest.raises(dp.StorageError, match=r"data\.nc cannot be written: No space left"):
        write_dataset(data, disk / "data.nc")
    with pytest.raises(dp.StorageError, match="results cannot be written: No space left"):
        write_results(disk / "results", data, {"command": "compare"}, {})
    assert {one.name for one in disk.iterdir()} == {"data.nc", BALLAST}
    assert (disk / "data.nc").read_bytes() == b"earlier"
    (disk / BALLAST).unlink()
    write_dataset(data, disk / "data.nc")
    write_results(disk / "results", data, {"command": "compare"}, {})
    with xr.open_dataset(disk / "data.nc") as stored:
        np.testing.assert_array_equal(stored["a"], data["a"])
