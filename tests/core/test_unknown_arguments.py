"""An unknown keyword argument is answered with the valid ones, wherever users construct or call."""

import importlib
import inspect

import pytest

import driftpeak as dp

pytestmark = pytest.mark.usefixtures("without_type_checks")
PACKAGES = (
    "environments", "fleet", "gp", "gp.features", "gp.forgetting", "gp.kernels", "inference",
    "live", "offline.data", "offline.history", "offline.logs", "offline.replay", "plots",
    "policies", "policies.testing", "policies.widths", "service", "simulation",
    "simulation.executors", "theory",
)  # fmt: skip
OURS = {"Look", "Posterior", "Prediction", "Reading", "spread", "taken"}
"""Tuples that users do not construct, and functions that only the library calls."""
GIVEN = {"ADAOPKB": "prior", "OPKB": "prior", "ROPKB": "prior"}
"""Arguments without which a function with free names cannot be called."""
PRIOR = dp.Prior(dp.Grid([0, 1], size=6), dp.SE(0.3), 0.05)


def public():
    """Public functions and classes whose docstring lists arguments, by name."""
    found = {name: getattr(dp, name) for name in dp.__all__}
    for package in PACKAGES:
        made = importlib.import_module(f"driftpeak.{package}")
        own = [
            n for n, one in vars(made).items() if getattr(one, "__module__", "") == made.__name__
        ]
        names = getattr(made, "__all__", [name for name in own if not name.startswith("_")])
        found |= {name: getattr(made, name) for name in names}
    return {
        name: one
        for name, one in found.items()
        if callable(one)
        and getattr(one, "__module__", "").startswith("driftpeak")
        and "Arguments:" in (inspect.getdoc(one) or "")
        and not inspect.isabstract(one)
    }


PUBLIC = public()


def test_the_list_is_long():
    assert len(PUBLIC) > 150
    assert {"Optimizer", "Box", "AbruptSwitches", "simulate", "Client", "OPKB"} <= set(PUBLIC)


@pytest.mark.parametrize("name", sorted(set(PUBLIC) - OURS - {"Box", "load_data", *GIVEN}))
def test_the_answer_names_the_valid_arguments(name):
    with pytest.raises(
        (TypeError, dp.DriftpeakError), match="has no argument 'unheard_of'"
    ) as found:
        PUBLIC[name](unheard_of=1)
    assert "Its arguments are" in str(found.value)


@pytest.mark.parametrize("name", GIVEN)
def test_policies_with_constants_name_them(name):
    with pytest.raises((TypeError, dp.DriftpeakError), match="unheard_of") as found:
        PUBLIC[name](PRIOR, horizon=20, unheard_of=1)
    assert "constants must be fields of" in str(found.value)


def test_a_parameter_of_a_box_may_have_any_name():
    with pytest.raises(dp.DriftpeakError, match="'unheard_of' must be a Float, Integer"):
        dp.Box(unheard_of=1)
