"""The examples of a beamline and of a shop: the worlds, what they are judged by, who follows."""

import runpy
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
LINE = EXAMPLES / "running_system" / "alignment.py"
SHOP = EXAMPLES / "my_data" / "revenue.py"


def beginning(script, until):
    """The names of a script up to the section in which something is played."""
    text, rest = script.read_text().split(until)
    assert rest
    names = {}
    exec(compile(text, str(script), "exec"), names)
    return names


@pytest.fixture(scope="module")
def line():
    return beginning(LINE, "# It has two hyperparameters")


@pytest.fixture(scope="module")
def shop():
    return beginning(SHOP, "# Results")


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


def test_seeking_keeps_to_the_limits_and_follows(line):
    """It stays within range and step, and keeps more light than a line that is left alone."""
    kept, left = [], []
    for seed in range(4):
        aligned, _ = one = line["a_line"](seed)
        track = line["seek"](one, 16, 0.07)
        assert np.abs(track).max() <= line["RANGE"]
        assert np.abs(np.diff(track, axis=0)).max() <= line["LARGEST_STEP"] + 1e-9
        kept.append(line["light"](track, aligned)[-60:].mean())
        left.append(line["light"](np.zeros_like(track), aligned)[-60:].mean())
    assert np.mean(kept) > np.mean(left)


def test_the_demand_of_a_shop(shop):
    """It falls with the price, is more at weekends, and is counted as Poisson's."""
    demand, sold = shop["a_shop"](5)
    assert (np.diff(demand, axis=1) < 0).all()
    weekend = np.arange(len(demand)) % 7 >= 5
    assert demand[weekend].min(axis=0)[0] > demand[~weekend].max(axis=0)[0]
    apart = (sold - demand) / np.sqrt(demand)
    assert abs(apart.mean()) < 4 / np.sqrt(apart.size)
    assert abs(apart.var() - 1) < 4 * np.sqrt(2.1 / apart.size)


def test_the_schedule_tries_five_prices_on_every_weekday(shop):
    _, sold = shop["a_shop"](5)
    chosen = shop["scheduled"](sold)
    for weekday in range(7):
        assert sorted(chosen[weekday:35:7]) == [1, 2, 3, 4, 5]
        assert len(set(chosen[35 + weekday :: 7])) == 1


@pytest.mark.long
def test_driftpeak_keeps_the_light(monkeypatch):
    """Of four lines the median: now and then a search walks far from the beam."""
    monkeypatch.setenv("LINES", "4")
    seen = runpy.run_path(str(LINE))["seen"]
    late = {name: np.median(found[:, -60:].mean(axis=1)) for name, found in seen.items()}
    assert late["driftpeak"] > max(0.9, late["no correction"])


@pytest.mark.long
def test_driftpeak_earns_more_than_who_begins_anew(monkeypatch):
    monkeypatch.setenv("SHOPS", "2")
    found = runpy.run_path(str(SHOP))
    late = {name: found["share"](one, 35).mean() for name, one in found["earned"].items()}
    assert max(late.values()) <= 1
    assert late["driftpeak, revenue"] > max(0.9, late["static, restarted"])
