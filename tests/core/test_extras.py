"""What works without the optional packages, and what the errors say."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from driftpeak._core.extras import EXTRAS

ROOT = Path(__file__).parents[2]
OTHERS = ("fastapi", "uvicorn", "distributed", "pyarrow")
HIDING = f"""
from importlib.machinery import PathFinder
find = PathFinder.find_spec
PathFinder.find_spec = lambda name, *rest: (
    None if name.partition(".")[0] in {(*EXTRAS, *OTHERS)!r} else find(name, *rest)
)
import driftpeak as dp
"""
SIMULATION = """
prior = dp.Prior(dp.Grid([0, 1], size=5), dp.SE(0.2), 0.01)
world = dp.MarkovDrift(prior, drift=0.1)
"""


def run(program, folder=None):
    command = [sys.executable, "-c", HIDING + program]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=folder)


@pytest.mark.slow
def test_the_core_needs_no_extra():
    done = run(
        SIMULATION
        + """
runs = dp.simulate({"random": dp.UniformRandom(prior)}, world, steps=3)
assert runs["regret"].shape == (1, 1, 3)
optimizer = dp.Optimizer(dp.Box(x=dp.Float(0, 1)), maximize=True)
for _ in range(2):
    optimizer.tell(optimizer.ask(), 1.0)
optimizer.best()
"""
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "package"),
    [
        ("import driftpeak.plots; driftpeak.plots.new_figure(3, 2)", "matplotlib"),
        (SIMULATION + "dp.simulate({'a': dp.UniformRandom(prior)}, world, steps=2, folder='x')",
         "h5netcdf"),
        ("import driftpeak.cli.app", "typer"),
        ("import driftpeak.integrations.optuna", "optuna"),
        ("import driftpeak.integrations.xopt", "xopt"),
        ("dp.live.open_store('sqlite:///x')", "sqlalchemy"),
    ],
)  # fmt: skip
def test_the_error_names_the_extra(program, package, tmp_path):
    done = run(program, tmp_path)
    assert done.returncode == 1
    expected = f"this needs the package {package}. Run pip install 'driftpeak[{EXTRAS[package]}]'"
    assert expected in done.stderr
    assert not list(tmp_path.iterdir())


def test_the_command_says_what_to_install():
    done = run("from driftpeak.__main__ import main; main()")
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "driftpeak: this needs the package typer. Run pip install 'driftpeak[cli]'"
    ]


def test_other_packages_fail_as_usual():
    done = run("from importlib import import_module\nimport_module('matplotlib')")
    assert "No module named 'matplotlib'" in done.stderr


def test_every_optional_package_is_in_its_extra():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    optional = extras["optional-dependencies"]
    for package, extra in EXTRAS.items():
        names = [one.partition(">=")[0].partition("[")[0] for one in optional[extra]]
        assert package in names, package
        assert not any(one.startswith(package) for one in extras["dependencies"]), package
