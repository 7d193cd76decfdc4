"""Modules that moved: an import by the former name fails with the new one."""

import importlib.util
import subprocess
import sys

import pytest

from driftpeak._core.former_names import NEW_NAMES, PACKAGE, former_name, new_name

# Packages of today have these former module names.
STILL_THERE = {"live.search", "live.space"}


@pytest.mark.parametrize("former", sorted(NEW_NAMES.keys() - STILL_THERE))
def test_the_error_names_a_module_that_exists(former):
    """Python imports parents first: the error may be about a package that moved."""
    with pytest.raises(ModuleNotFoundError) as caught:
        importlib.import_module(f"{PACKAGE}.{former}")
    old, name = str(caught.value).split(" is now ")
    assert f"{PACKAGE}.{former}.".startswith(f"{old}.")
    assert name == new_name(old)
    assert importlib.util.find_spec(name) is not None
    assert importlib.util.find_spec(f"{PACKAGE}.{NEW_NAMES[former]}") is not None


def test_former_and_new_names_are_inverse():
    for former in NEW_NAMES:
        name = new_name(f"{PACKAGE}.{former}")
        assert former_name(name) == f"{PACKAGE}.{former}"
    assert new_name("driftpeak.kernels") == "driftpeak.gp.kernels"
    assert new_name("driftpeak.live.storage.journal") == "driftpeak.live.study.storage.journal"
    assert new_name("numpy.linalg") is None
    assert former_name("driftpeak.theory.rates") == "driftpeak.theory.rates"


def test_an_import_statement_says_so():
    program = "from driftpeak.forgetting import Window"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "driftpeak.forgetting is now driftpeak.gp.forgetting" in done.stderr
