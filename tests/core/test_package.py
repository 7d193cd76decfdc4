"""What the package says of itself, in its several places, is the same."""

import tomllib
from pathlib import Path

import driftpeak as dp

ROOT = Path(__file__).parents[2]


def cited() -> dict[str, str]:
    """The top level of CITATION.cff, as text: its own keys are simple ones."""
    lines = (ROOT / "CITATION.cff").read_text().splitlines()
    pairs = (line.split(": ", 1) for line in lines if line and line[0].isalpha() and ": " in line)
    return dict(pairs)


def test_one_version_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert dp.__version__ == project["version"] == cited()["version"]
    assert f"## {project['version']}" in (ROOT / "CHANGELOG.md").read_text()


def test_one_licence_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["license"] == cited()["license"]
    assert cited()["title"] == project["name"]
