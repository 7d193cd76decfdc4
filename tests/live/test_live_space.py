"""Spaces and times of live use: there and back, and what is refused."""

import datetime as dt

import numpy as np
import pytest
from hypothesis import given, strategies as st

import driftpeak as dp
from driftpeak.live._space.encoding import make_coding
from driftpeak.live._study.clock import read_time, show_time

pytestmark = pytest.mark.usefixtures("without_type_checks")
BOX = dp.Box(
    x=dp.Float(-2, 3),
    rate=dp.Float(1e-4, 1, log=True),
    n=dp.Integer(1, 9),
    kind=dp.Categorical("a", "b", True, 1),
)
GOOD = {"x": 0.5, "rate": 0.01, "n": 3, "kind": "a"}


@given(st.lists(st.floats(0, 1), min_size=4, max_size=4))
def test_a_row_comes_back_from_its_parameters(row):
    coding = make_coding(BOX)
    snapped = coding.snap(np.array(row))
    np.testing.assert_allclose(coding.row(coding.parameters(snapped)), snapped, atol=1e-12)


def test_encoding():
    row = make_coding(BOX).row(GOOD)
    np.testing.assert_allclose(row, [0.5, 0.5, 0.25, 0.0])
    assert make_coding(BOX).clean({**GOOD, "x": 1, "kind": np.str_("b")}) == {
        "x": 1.0,
        "rate": 0.01,
        "n": 3,
        "kind": "b",
    }
    assert make_coding(BOX).parameters(np.array([0, 1, 1, 2 / 3]))["kind"] is True
    assert make_coding(BOX).parameters(np.array([0, 1, 1, 1]))["kind"] == 1


def test_every_level_is_equally_frequent_when_spread():
    coding = make_coding(BOX)
    uniform = np.tile(((np.arange(900) + 0.5) / 900)[:, None], (1, 4))
    rows = coding.spread(uniform)
    assert np.unique(rows[:, 2], return_counts=True)[1].tolist() == [100] * 9
    assert np.unique(rows[:, 3], return_counts=True)[1].tolist() == [225] * 4
    np.testing.assert_array_equal(rows[:, 0], uniform[:, 0])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"x": 3.1}, r"'x' must lie in \[-2, 3\]; got 3.1"),
        ({"x": float("nan")}, "'x' must be a finite number"),
        ({"x": "1"}, "'x' must be a finite number"),
        ({"x": True}, "'x' must be a finite number"),
        ({"rate": 0.0}, "'rate' must lie in"),
        ({"n": 2.0}, "'n' must be an integer from 1 to 9; got 2.0"),
        ({"n": 10}, "'n' must be an integer from 1 to 9"),
        ({"n": None}, "'n' must be an integer"),
        ({"kind": "A"}, "Did you mean 'a'"),
        ({"kind": [1]}, "'kind' must be one of"),
        ({"y": 1}, "parameters must be among .*; got 'y'"),
        ({"rates": 1}, "Did you mean 'rate'"),
    ],
)
def test_bad_settings_are_refused(change, words):
    with pytest.raises(dp.DriftpeakError, match=words):
        make_coding(BOX).row({**GOOD, **change})


def test_a_missing_parameter_is_named():
    with pytest.raises(dp.DriftpeakError, match="'n' is missing"):
        make_coding(BOX).row({"x": 0, "rate": 0.1, "kind": "a"})
    with pytest.raises(dp.DriftpeakError, match="a mapping of x, rate, n, kind"):
        make_coding(BOX).row([1, 2, 3, 4])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: dp.Float(1, 1), "low must be below high"),
        (lambda: dp.Float(0, 1, log=True), "low must be above 0"),
        (lambda: dp.Float(0, float("inf")), "high must be a finite number"),
        (lambda: dp.Integer(0.5, 2), "low must be an integer"),
        (lambda: dp.Integer(3, 3), "low must be below high"),
        (lambda: dp.Categorical("a"), "at least 2 choices"),
        (lambda: dp.Categorical("a", "a"), "distinct"),
        (lambda: dp.Categorical("a", ()), "strings, numbers, booleans or None"),
        (lambda: dp.Box(), "at least one parameter"),
        (lambda: dp.Box(x=(0, 1)), "'x' must be a Float, Integer, Categorical or Boolean"),
        (
            lambda: dp.Box({"x": dp.Float(0, 1)}, x=dp.Float(0, 1)),
            "must be distinct; got 'x' twice",
        ),
        (lambda: dp.Box({1: dp.Float(0, 1)}), "parameters must be a mapping with string keys"),
    ],
)
def test_bad_spaces_are_refused(make, words):
    with pytest.raises(dp.DriftpeakError, match=words):
        make()


def test_arms_and_grids():
    arms = make_coding(dp.Arms(3, names=["low", "middle", "high"]))
    assert arms.number({"arm": "high"}) == arms.number({"arm": np.int64(2)}) == 2
    assert arms.clean({"arm": 1}) == {"arm": "middle"}
    for bad, words in [("hihg", "Did you mean 'high'"), (3, "0 to 2"), (None, "got None")]:
        with pytest.raises(dp.DriftpeakError, match=words):
            arms.number({"arm": bad})
    grid = make_coding(dp.Grid([0, 1], [10, 20], size=(3, 5)))
    assert grid.at(7) == {"x1": 0.5, "x2": 15.0}
    assert grid.number({"x1": 0.5, "x2": 15}) == 7
    for bad, words in [
        (14.9, "must be a point of the grid"),
        (float("nan"), "finite number"),
        ("15", "finite number"),
    ]:
        with pytest.raises(dp.DriftpeakError, match=words):
            grid.number({"x1": 0.5, "x2": bad})


MOMENT = dt.datetime(2026, 3, 1, 12, 30, 15, 250_000)


@pytest.mark.parametrize("time", [3, 2.5, np.float32(0.25), MOMENT, MOMENT.replace(tzinfo=dt.UTC)])
def test_times_come_back(time):
    number, kind = read_time(time, None)
    assert show_time(number, kind) == time


def test_times_of_one_kind_only():
    assert read_time(np.datetime64(MOMENT), "dates") == read_time(MOMENT, None)
    assert read_time(4, "steps", counted=True) == (4.0, "steps")
    east = dt.timezone(dt.timedelta(hours=2))
    there = (MOMENT + dt.timedelta(hours=2)).replace(tzinfo=east)
    assert read_time(there, None) == read_time(MOMENT.replace(tzinfo=dt.UTC), None)
    for time, kind in [(1.0, "dates"), (MOMENT, "numbers"), (MOMENT, "zoned dates"), (1, "steps")]:
        with pytest.raises(dp.DriftpeakError, match="must be comparable"):
            read_time(time, kind)


@pytest.mark.parametrize(
    "time", [float("nan"), float("inf"), None, "today", True, np.datetime64("NaT", "s"), [1]]
)
def test_what_is_no_time(time):
    with pytest.raises(dp.DriftpeakError, match="a time must be"):
        read_time(time, None)


def test_now_is_the_clock_only_where_times_are_dates():
    before = dt.datetime.now(dt.UTC)
    number, kind = read_time("now", None)
    assert kind == "zoned dates"
    assert before <= show_time(number, kind) <= dt.datetime.now(dt.UTC)
    assert read_time("now", "dates")[1] == "dates"
    with pytest.raises(dp.DriftpeakError, match="must be comparable"):
        read_time("now", "numbers")
