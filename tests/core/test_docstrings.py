"""Public names say what they take and when they refuse it; the most used show how to use them."""

import doctest
import importlib
import inspect
import re

import pytest

import driftpeak as dp

PACKAGES = (
    "driftpeak",
    "driftpeak.offline.data",
    "driftpeak.environments",
    "driftpeak.offline.history",
    "driftpeak.inference.fitting",
    "driftpeak.live",
    "driftpeak.offline.logs",
    "driftpeak.plots",
    "driftpeak.policies",
    "driftpeak.offline.replay",
    "driftpeak.simulation",
    "driftpeak.policies.testing",
)
WITH_EXAMPLES = {
    "AbruptSwitches", "Arms", "Auto", "Box", "DriftingGP", "DriftpeakError", "GPUCB", "Grid",
    "MarkovDrift", "Matern", "Optimizer", "Prior", "RGPUCB", "SE", "SWGPUCB", "TVGPUCB", "WGPUCB",
    "fit", "fit_history", "optimize", "simulate", "true_functions",
}  # fmt: skip
"""The names that pages, examples and users have most; their examples run here."""
MADE_BY_OTHERS = {"Advice", "EstimatedPeak", "Learned", "Suggestion"}
"""Classes that users are given and do not make."""
CHECKS = re.compile(
    r"raise \w*Error\(|\b(?:finite|finite_array|positive|unit_interval|at_least|"
    r"at_least_integer|increasing)\("
)
SECTION = re.compile(r"\n(?=(?:Arguments|Args|Attributes|Raises|Returns|Warns|Example):\n)")


def public():
    """Functions and classes by name, each once."""
    found = {}
    for package in PACKAGES:
        module = importlib.import_module(package)
        names = getattr(module, "__all__", None) or [
            name
            for name, one in vars(module).items()
            if not name.startswith("_") and getattr(one, "__module__", None) == package
        ]
        for name in names:
            one = getattr(module, name)
            if inspect.isclass(one) or inspect.isfunction(one):
                found.setdefault(name, one)
    return found


PUBLIC = public()
CALLED = sorted(
    name
    for name, one in PUBLIC.items()
    if name not in MADE_BY_OTHERS
    and not (inspect.isclass(one) and issubclass(one, Exception | Warning))
)


def called(one):
    """What runs when a name is called: a class's own constructor, if it has one."""
    own = inspect.isclass(one) and "__init__" in vars(one)
    return one.__init__ if own else one


def sections(one):
    """The docstring's parts by their headings, the text before all under ""."""
    first, *rest = SECTION.split(inspect.getdoc(one) or "")
    return {"": first} | {part.partition(":")[0]: part for part in rest}


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_it_says_what_it_is(name):
    assert PUBLIC[name].__doc__


@pytest.mark.parametrize("name", CALLED)
def test_it_describes_what_it_takes(name):
    """Every parameter is named at the beginning of a line of the arguments."""
    taken = [one for one in inspect.signature(called(PUBLIC[name])).parameters if one != "self"]
    told = sections(PUBLIC[name])
    text = "\n".join(told.get(part, "") for part in ("Arguments", "Args", "Attributes"))
    entries = re.findall(r"^ {4}([*\w][*\w, ]*):", text, re.M)
    described = {word.strip("* ") for entry in entries for word in entry.split(",")}
    assert set(taken) <= described, f"{name} does not describe {set(taken) - described}"


@pytest.mark.parametrize("name", CALLED)
def test_it_says_what_it_refuses(name):
    """Of those that check something themselves."""
    try:
        source = inspect.getsource(called(PUBLIC[name]))
    except (OSError, TypeError):
        source = ""
    if CHECKS.search(source):
        assert "Raises" in sections(PUBLIC[name])


def test_examples_are_of_public_names():
    assert set(PUBLIC) >= WITH_EXAMPLES
    assert len(WITH_EXAMPLES) >= 20


@pytest.mark.parametrize("name", sorted(WITH_EXAMPLES))
def test_its_example_runs(name):
    one = getattr(dp, name)
    assert "Example" in sections(one)
    finder = doctest.DocTestFinder(recurse=False)
    (test,) = finder.find(one, name, globs={})
    assert test.examples
    assert doctest.DocTestRunner(verbose=False).run(test).failed == 0
