"""The examples in which five kinds of newcomers do what they came for; `make docs` runs all."""

import runpy
from pathlib import Path

import pytest
from matplotlib.figure import Figure

EXAMPLES = Path(__file__).parents[2] / "examples"
NEWCOMERS = (
    "my_data/sensors_with_gaps",  # heating: a file with blanks, decimal commas, a failed sensor
    "running_system/laser_operator",  # four knobs and a largest step
    "running_system/from_optuna",  # SQLite, three workers, a data frame
    "research/own_policy_and_world",  # and a table in LaTeX
    "my_data/prices",  # named arms, yes-or-no rewards, late
)
GALLERY = sorted(
    str(path.relative_to(EXAMPLES).with_suffix("")) for path in EXAMPLES.glob("*/*.py")
)


@pytest.mark.slow
@pytest.mark.parametrize("name", NEWCOMERS)
def test_a_newcomer_succeeds(name):
    """The assertions are in the examples, for the reader to see."""
    made = runpy.run_path(str(EXAMPLES / f"{name}.py"))
    assert isinstance(made["figure"], Figure)


def test_the_gallery_is_one():
    assert set(NEWCOMERS) < set(GALLERY)
    assert len(GALLERY) >= 10


@pytest.mark.parametrize("name", GALLERY)
def test_an_example_says_what_it_is(name):
    """A title and a sentence below it, for the gallery."""
    text = (EXAMPLES / f"{name}.py").read_text()
    title, rule, _, sentence = text.split("\n", 5)[1:5]
    assert set(rule) == {"="}
    assert len(rule) == len(title)
    assert sentence


@pytest.mark.long  # `make docs` runs them too, without the checks of types and shapes
@pytest.mark.parametrize("name", sorted(set(GALLERY) - set(NEWCOMERS)))
def test_an_example_runs(name):
    made = runpy.run_path(str(EXAMPLES / f"{name}.py"))
    assert isinstance(made["figure"], Figure)
