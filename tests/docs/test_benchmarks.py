"""Every benchmark can be loaded, because pages name them as commands; two versions are compared."""

import importlib
import pkgutil
import sys
from types import SimpleNamespace

import benchmarks
import pytest
from benchmarks import __main__ as runner, worker
from benchmarks._settings import whole_number, whole_numbers

WORKER = """
import json, pathlib
place = pathlib.Path({place!r})
place.write_text(place.read_text() + "{version} ")
number = {number} + place.read_text().count("{version}")
ratio = f"{{number / 100}} (0.01 to 1.00)"
figures = {{"time (s)": number, "regret": ratio, "found": "2 of 4", {version!r}: 1.0}}
targets = {{"time (s)": "<= 5", "regret": "<= 0.01"}}
print(json.dumps({{"figures": figures, "targets": targets}}))
"""

NEED_MORE = {"_agents", "_ray_pb2", "botorch"}  # libraries that the tests do not install
NAMES = sorted(module.name for module in pkgutil.iter_modules(benchmarks.__path__))


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(NAMES) - NEED_MORE))
def test_loads(name):
    importlib.import_module(f"benchmarks.{name}")


@pytest.fixture
def versions(tmp_path, monkeypatch):
    """Make checkouts of two versions with a benchmark `speed`, and a file that logs their runs."""
    log = tmp_path / "log"
    log.touch()
    for version, number in (("old", 10), ("new", 2)):
        folder = tmp_path / version / "benchmarks"
        folder.mkdir(parents=True)
        (folder / "__init__.py").touch()
        (folder / "speed.py").write_text('"""Time of nothing."""')
        worker = WORKER.format(place=str(log), version=version, number=number)
        (folder / "worker.py").write_text(worker)
    monkeypatch.setattr(runner, "HERE", tmp_path / "new" / "benchmarks")
    return log


def test_two_versions_run_alternately(versions, monkeypatch, capsys):
    """In runs 1 to 3, the old version takes 11, 12 and 13 s, and the new one 3, 4 and 5 s."""
    command = ["benchmarks", "--against", str(versions.parent / "old"), "speed"]
    monkeypatch.setattr("sys.argv", command)
    monkeypatch.setenv("COLUMNS", "120")
    assert runner.main() == 0
    assert versions.read_text().split() == ["old", "new"] * 3
    printed = rows(capsys.readouterr().out)
    assert printed["time (s)"] == ["12", "4", "0.3333", "<= 5", "yes"]
    assert printed["regret"] == ["0.12", "0.04", "0.3333", "<= 0.01", "NO"]
    assert "found" not in printed
    outcome = runner.compared("speed", versions.parent / "old", 1)
    assert outcome["before"] == {"time (s)": 14.0, "regret": 0.14, "old": 1.0}
    assert outcome["figures"] == {"time (s)": 6.0, "regret": 0.06, "new": 1.0}


def test_figures_with_intervals_are_shown_and_checked(versions, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["benchmarks", "speed"])
    monkeypatch.setenv("COLUMNS", "120")
    assert runner.main() == 0
    printed = rows(capsys.readouterr().out)
    assert printed["regret"] == ["0.03 (0.01 to 1.00)", "<= 0.01", "NO"]
    assert printed["found"] == ["2 of 4", "", ""]


def rows(output):
    """Return the cells of each row of a printed table by its first cell."""
    each = [line.split("\u2502")[1:-1] for line in output.splitlines() if "\u2502" in line]
    return {name.strip(): [cell.strip() for cell in cells] for name, *cells in each}


def test_a_benchmark_that_the_other_version_lacks_is_skipped(versions):
    (versions.parent / "old" / "benchmarks" / "speed.py").unlink()
    outcome = runner.compared("speed", versions.parent / "old", 1)
    assert outcome == {"skipped": f"not in {versions.parent / 'old'}"}
    assert versions.read_text() == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--against", "nowhere"], "must be the folder of a checkout"),
        (["--rounds", "0"], "least 1"),
    ],
)
def test_wrong_arguments_of_a_comparison(words, message, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["benchmarks", *words, "speed"])
    with pytest.raises(SystemExit, match="2"):
        runner.main()
    assert message in capsys.readouterr().err


def test_numbers_in_environment_variables(monkeypatch):
    assert whole_number("SEEDS", 4) == 4
    assert whole_numbers("SIDES", (5, 6)) == (5, 6)
    monkeypatch.setenv("SEEDS", "7")
    monkeypatch.setenv("SIDES", "10, 20 30;40")
    assert whole_number("SEEDS", 4) == 7
    assert whole_numbers("SIDES", (5, 6)) == (10, 20, 30, 40)


@pytest.mark.parametrize("text", ["", "x", "2.5", "0", "-1", "3 4"])
def test_wrong_numbers_in_environment_variables(text, monkeypatch):
    monkeypatch.setenv("SEEDS", text)
    with pytest.raises(SystemExit, match="SEEDS must be a whole number of at least 1; got"):
        whole_number("SEEDS", 4)


def test_wrong_lists_in_environment_variables(monkeypatch):
    monkeypatch.setenv("SIDES", "10 2")
    with pytest.raises(SystemExit, match="SIDES must be whole numbers of at least 3; got '10 2'"):
        whole_numbers("SIDES", (5, 6), least=3)


def test_a_benchmark_may_say_why_it_is_skipped(monkeypatch):
    skipped = {"skipped": "set ADDRESS"}
    monkeypatch.setitem(sys.modules, "benchmarks.away", SimpleNamespace(run=lambda: skipped))
    assert worker.main("away") == skipped
