"""The folder for OptunaHub's registry: laid out as it asks, and its example runs."""

import runpy
import sys
import tomllib
import types
from pathlib import Path

import optuna
import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "integrations" / "optunahub" / "package" / "samplers" / "drift"


def header():
    """What stands between the lines of dashes, as text by name: simple YAML."""
    lines = (FOLDER / "README.md").read_text().split("---\n")[1].splitlines()
    return dict(line.split(": ", 1) for line in lines)


def test_the_readme_has_what_the_registry_asks_for():
    assert header().keys() == {
        "author", "title", "description", "tags", "optuna_versions", "license"
    }  # fmt: skip
    assert header()["tags"].startswith("[sampler,")
    assert header()["license"] == "MIT License"
    assert (FOLDER / "LICENSE").read_text().startswith("MIT License")


def test_the_readme_is_of_the_version_that_is_tested():
    assert header()["optuna_versions"] == f"[{optuna.__version__}]"


def test_it_requires_the_extra_that_exists():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    name, extra = (FOLDER / "requirements.txt").read_text().strip().rstrip("]").split("[")
    assert name == project["name"]
    assert extra in project["optional-dependencies"]


@pytest.mark.slow
def test_the_example_runs(monkeypatch, capsys):
    """As OptunaHub would load the package, by its name in the registry."""

    def load_module(package):
        assert package == f"samplers/{FOLDER.name}"
        return types.SimpleNamespace(**runpy.run_path(str(FOLDER / "__init__.py")))

    hub = types.ModuleType("optunahub")
    hub.load_module = load_module
    monkeypatch.setitem(sys.modules, "optunahub", hub)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    runpy.run_path(str(FOLDER / "example.py"), run_name="__main__")
    _, now = capsys.readouterr().out.splitlines()
    rate = float(now.split("'rate': ")[1].split("}")[0].split(",")[0])
    assert rate == pytest.approx(10 ** (-1.5 - 29 / 30), rel=0.6)
