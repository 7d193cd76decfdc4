"""The example of the drifting controller, in short."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

FILE = Path(__file__).parent.parent / "examples" / "drifting_controller.py"


@pytest.fixture(scope="module")
def controller():
    specification = importlib.util.spec_from_file_location("drifting_controller", FILE)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_the_heater(controller):
    """A stronger heater needs a smaller gain; without control, the error stays."""
    gains = [controller.best_settings(strength)["gain"] for strength in (0.4, 1.0, 2.5)]
    assert gains[0] > 2 * gains[1] > 3 * gains[2]
    idle = controller.cost(0.0, 1.0, 1.0)
    np.testing.assert_allclose(idle, controller.STEP * controller.STEPS)
    strengths = np.array([0.4, 1.0, 2.5])
    best = [list(controller.best_settings(float(one)).values()) for one in strengths]
    found = controller.cost(*np.transpose(best), strengths)
    np.testing.assert_allclose(found, controller.best_cost(strengths))


@pytest.mark.long
def test_driftpeak_follows_where_the_others_lose_the_peak(controller, tmp_path):
    costs, knobs = controller.compare(episodes=90, seeds=3)
    late = {name: found[:, 30:].mean() for name, found in costs.items()}
    assert late["driftpeak"] < late["static"]
    assert late["driftpeak"] < late["tuned once"]
    assert min(found.min() for found in costs.values()) > -0.05
    controller.picture(costs, knobs, tmp_path / "picture.png")
    with Image.open(tmp_path / "picture.png") as image:
        assert image.size == (990, 396)


def test_the_program_runs(controller, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["example", "--episodes", "12", "--seeds", "2"])
    controller.main()
    printed = capsys.readouterr().out
    assert "static over driftpeak, paired: x" in printed
