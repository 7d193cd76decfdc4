"""The example of the heater that ages: what it judges by, in short, and who follows, at length."""

import runpy
from pathlib import Path

import numpy as np
import pytest

FILE = Path(__file__).parents[2] / "examples" / "running_system" / "heater.py"


def play(episodes, machines):
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("EPISODES", str(episodes))
        patched.setenv("MACHINES", str(machines))
        return runpy.run_path(str(FILE))


@pytest.fixture(scope="module")
def heater():
    return play(16, 2)


@pytest.mark.slow
def test_the_heater(heater):
    """A stronger heater needs a smaller gain; without control, the error stays."""
    gains = [heater["best_knobs"](strength)[0][0] for strength in (0.4, 1.0, 2.5)]
    assert gains[0] > 2 * gains[1] > 3 * gains[2]
    idle = heater["cost"](0.0, 1.0, 1.0)
    np.testing.assert_allclose(idle, heater["STEP"] * heater["STEPS"])


@pytest.mark.slow
def test_the_judge(heater):
    """Its interpolated least cost is that of the best knobs, and nobody is below by more."""
    machine = heater["machines"][0]
    every = np.log([heater["best_knobs"](strength)[1] for strength in machine[0]])
    np.testing.assert_allclose(heater["least"](machine), every, atol=0.002)
    assert min(found.min() for found in heater["judged"].values()) > -0.05


@pytest.mark.slow
def test_seeking_on_several_machines_is_seeking_on_each(heater):
    one = heater["seek"](heater["machines"][:1], 2, 0.1)
    np.testing.assert_allclose(one[0], heater["tracks"]["seeking, untuned"][0], rtol=1e-9)
    assert (one[0] >= [0.2 - 1e-9, 0.5 - 1e-9]).all()
    assert (one[0] <= 20 + 1e-9).all()


@pytest.mark.long
def test_driftpeak_follows_where_the_others_lose_the_peak():
    judged = play(90, 3)["judged"]
    late = {name: found[:, 30:].mean() for name, found in judged.items()}
    assert late["driftpeak"] < late["static"]
    assert late["driftpeak"] < late["static, restarted"]
    assert late["driftpeak"] < late["tuned once"]
