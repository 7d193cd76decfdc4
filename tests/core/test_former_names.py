"""Modules that moved: an import by the former name fails with the new one."""

import importlib.util
import subprocess
import sys

import pytest

import driftpeak as dp
from driftpeak._core.former_names import (
    NEW_CLASS_NAMES,
    NEW_PUBLIC_NAMES,
    PACKAGE,
    former_class_name,
    former_name,
    new_name,
    new_names,
)
from driftpeak.gp import dynamics, feature_matrix


@pytest.mark.parametrize("former", sorted(new_names()))
def test_the_error_names_a_module_that_exists(former):
    """Python imports parents first: the error may be about a package that moved."""
    with pytest.raises(ModuleNotFoundError) as caught:
        importlib.import_module(f"{PACKAGE}.{former}")
    old, name = str(caught.value).partition(", which is private")[0].split(" is now ")
    assert f"{PACKAGE}.{former}.".startswith(f"{old}.")
    assert name == new_name(old)
    assert importlib.util.find_spec(name) is not None
    assert importlib.util.find_spec(new_name(f"{PACKAGE}.{former}")) is not None


def test_former_and_new_names_are_inverse():
    for former in new_names():
        name = new_name(f"{PACKAGE}.{former}")
        assert former_name(name) == f"{PACKAGE}.{former}"
    assert new_name("driftpeak.kernels") == "driftpeak.gp.kernels"
    assert new_name("driftpeak.live.storage.journal") == "driftpeak.live._study.storage.journal"
    assert new_name("driftpeak.live.optimizer") == "driftpeak.live._optimizer"
    assert former_name("driftpeak.live._optimizer") == "driftpeak.live.optimizer"
    assert former_name("driftpeak._core.times") == "driftpeak.times"
    assert new_name("numpy.linalg") is None
    assert new_name("driftpeak.nothing") is None
    assert former_name("driftpeak.theory.rates") == "driftpeak.theory.rates"


@pytest.mark.parametrize("former", NEW_PUBLIC_NAMES)
def test_a_former_public_name_gives_the_new_one(former):
    new = NEW_PUBLIC_NAMES[former]
    assert callable(getattr(dp, new))
    with pytest.raises(ImportError, match=f"driftpeak.{former} is now driftpeak.{new}"):
        getattr(dp, former)
    with pytest.raises(ImportError, match=f"driftpeak.{former} is now driftpeak.{new}"):
        exec(f"from driftpeak import {former}")


@pytest.mark.parametrize(
    ("module", "former"),
    [
        (dynamics, "SmoothMotion"), (dynamics, "Oscillation"),
        (feature_matrix, "Loadings"), (feature_matrix, "Rows"), (feature_matrix, "Columns"),
    ],
)  # fmt: skip
def test_a_former_class_of_a_module_gives_the_new_one(module, former):
    new = NEW_CLASS_NAMES[former]
    assert callable(getattr(module, new))
    with pytest.raises(ImportError, match=rf"{module.__name__}\.{former} is now .*\.{new}"):
        exec(f"from {module.__name__} import {former}")
    with pytest.raises(AttributeError, match="has no attribute 'Unknown'"):
        module.Unknown  # noqa: B018


def test_fingerprints_use_former_class_names():
    for former, new in NEW_CLASS_NAMES.items():
        assert former_class_name(new) == former
        assert former_class_name(f"{new}.values") == f"{former}.values"
    assert former_class_name("Window") == "Window"


def test_an_import_statement_says_so():
    program = "from driftpeak.forgetting import Window"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "driftpeak.forgetting is now driftpeak.gp.forgetting" in done.stderr


def test_the_error_for_a_private_module_says_what_to_import():
    with pytest.raises(ModuleNotFoundError) as caught:
        importlib.import_module("driftpeak.simulation.comparison")
    assert str(caught.value) == (
        "driftpeak.simulation.comparison is now driftpeak.simulation._comparison, "
        "which is private; driftpeak.simulation exports its public names"
    )
