"""The examples of a beamline and of a shop: the worlds, what they are judged by, who follows."""

import runpy
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


@pytest.fixture(scope="module")
def line():
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("LINES", "2")
        return runpy.run_path(str(EXAMPLES / "running_system" / "alignment.py"))


@pytest.fixture(scope="module")
def shop():
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("SHOPS", "2")
        return runpy.run_path(str(EXAMPLES / "my_data" / "revenue.py"))


@pytest.mark.slow
def test_the_light_of_a_line(line):
    """1 where it is aligned; of one corrector that is off, by the transfer matrix."""
    aligned, errors = line["a_line"](5)
    np.testing.assert_array_equal(line["light"](aligned, aligned), 1.0)
    np.testing.assert_array_equal(aligned[0], 0.0)
    assert abs(errors.std() / line["NOISE"] - 1) < 0.2
    for number in range(8):
        off = np.zeros(8)
        off[number] = 3.0  # microradians
        places = np.arange(number, 8)
        moved = 3e-3 * 20 * np.sin(np.pi / 3 * (places - number + 0.5))  # millimetres
        expected = np.exp(-0.5 * (moved**2).sum() / 0.5**2)
        assert line["light"](off, np.zeros(8)) == pytest.approx(expected)


@pytest.mark.slow
def test_who_keeps_the_light(line):
    """All keep to the limits; driftpeak loses less than a line that is left alone."""
    for tracks in line["tracks"].values():
        for track in tracks:
            assert np.abs(track).max() <= line["RANGE"]
            assert np.abs(np.diff(track, axis=0)).max() <= line["LARGEST_STEP"] + 1e-9
    late = {name: found[:, -60:].mean() for name, found in line["seen"].items()}
    assert late["driftpeak"] > max(0.9, late["left as it was"])
    assert late["driftpeak"] > late["seeking, untuned"]


@pytest.mark.slow
def test_the_demand_of_a_shop(shop):
    """It falls with the price, is more at weekends, and is counted as Poisson's."""
    demand, sold = shop["a_shop"](5)
    assert (np.diff(demand, axis=1) < 0).all()
    weekend = np.arange(len(demand)) % 7 >= 5
    assert demand[weekend].min(axis=0)[0] > demand[~weekend].max(axis=0)[0]
    apart = (sold - demand) / np.sqrt(demand)
    assert abs(apart.mean()) < 4 / np.sqrt(apart.size)
    assert abs(apart.var() - 1) < 4 * np.sqrt(2.1 / apart.size)


@pytest.mark.slow
def test_the_schedule_tries_five_prices_on_every_weekday(shop):
    _, sold = shop["a_shop"](5)
    chosen = shop["scheduled"](sold)
    for weekday in range(7):
        assert sorted(chosen[weekday:35:7]) == [1, 2, 3, 4, 5]
        assert len(set(chosen[35 + weekday :: 7])) == 1


@pytest.mark.slow
def test_who_earns_most(shop):
    """Nobody more than is possible; after five weeks driftpeak more than who begins anew."""
    since = {name: shop["share"](found, 35).mean() for name, found in shop["earned"].items()}
    assert max(since.values()) <= 1
    assert since["driftpeak, revenue"] > max(0.9, since["static, begun anew"])
