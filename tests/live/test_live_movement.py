"""Moves: limits, costs, staying, where a system starts, and what an operator did instead."""

import json
import math
from datetime import datetime, timedelta
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, strategies as st

import driftpeak as dp
from driftpeak.live._search.maximization import Reachable
from driftpeak.live._space.encoding import make_coding
from driftpeak.live._space.movement import Movement, Place
from driftpeak.live._space.parameters import Float, Integer
from driftpeak.live._study import events

pytestmark = pytest.mark.usefixtures("without_type_checks")
BOX = dp.Box(
    speed=dp.Float(0, 10, max_step=0.5),
    gain=dp.Float(1e-3, 1, log=True, max_rate=1.2),
    stages=dp.Integer(1, 9, max_step=1),
)
START = {"speed": 5.0, "gain": 0.1, "stages": 5}


def value(setting):
    return -0.1 * (setting["speed"] - 9) ** 2 - (np.log10(setting["gain"]) + 2) ** 2


def far(one, other, elapsed):
    """Whether a plant with these limits would refuse the move, written plainly."""
    factor = max(one["gain"] / other["gain"], other["gain"] / one["gain"])
    return (
        abs(one["speed"] - other["speed"]) > 0.5
        or factor > 1.2**elapsed * (1 + 1e-9)
        or abs(one["stages"] - other["stages"]) > 1
    )


@pytest.mark.slow
def test_no_suggestion_is_farther_than_the_plant_can_go():
    """And it gets there all the same: as far as ten moves of one step lead."""
    optimizer = dp.Optimizer(BOX, maximize=True, start=START)
    stands, since = dict(START), 0.0
    generator, times = np.random.default_rng(0), np.cumsum([0, *[1, 2, 0.5, 0, 3] * 5])
    for time in times:
        suggestion = optimizer.ask(float(time))
        assert not far(suggestion, stands, time - since), (dict(suggestion), stands)
        # now and then the operator goes only half the way
        stands, since = dict(suggestion), float(time)
        if generator.uniform() < 0.3:
            stands["speed"] = generator.uniform(0, 10)
            optimizer.tell(suggestion, float(value(stands)), actual=stands)
        else:
            optimizer.tell(suggestion, float(value(suggestion)))
        assert optimizer.history()[-1].parameters == stands
    assert optimizer.pending() == []
    assert optimizer.best()["speed"] > 7


@pytest.mark.parametrize(
    "one",
    [
        Float(-3, 7, max_step=0.7),
        Float(-3, 7, max_rate=0.3),
        Float(0, 4, step=0.1, max_step=0.35, max_rate=0.9),
        Float(1e-4, 1, log=True, max_step=1.5, max_rate=3.0),
        Integer(-5, 40, max_step=3),
        Integer(0, 90, step=3, max_rate=2.5),
        Integer(1, 5000, log=True, max_step=2.5),
        Integer(1, 9),
    ],
)
@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 5), st.one_of(st.just(1.0), st.floats(0, 1)))
def test_what_is_in_reach(one, place, another, elapsed, share):
    """All that is within the limits is, and nothing else."""
    value, other = one.decode(place), one.decode(another)
    least, greatest = one.reach(value, elapsed, share)
    step = math.inf if one.max_step is None else one.max_step
    if one.log:
        limit = math.inf if one.max_rate is None else one.max_rate**elapsed
        limit = min(step, limit, (one.high / one.low) ** share)
        gaps = [max(v / value, value / v) for v in (least, greatest, other)]
    else:
        limit = math.inf if one.max_rate is None else one.max_rate * elapsed
        limit = min(step, limit, share * (one.high - one.low))
        gaps = [abs(v - value) for v in (least, greatest, other)]
    slack = 1e-8 * (one.step or one.unit or limit)
    assert one.low <= least <= value <= greatest <= one.high
    assert max(gaps[:2]) <= limit + slack
    if not (one.step or one.unit):
        assert max(gaps[:2]) <= step  # to the last digit
    if gaps[2] <= limit - slack:
        assert least <= other <= greatest


def test_what_a_way_costs():
    """In proportion along what has an order, and for any change of what has none."""
    box = dp.Box(
        x=dp.Float(0, 10),
        grade=dp.Categorical("low", "medium", "high", ordered=True),
        kind=dp.Categorical("a", "b", "c"),
    )
    coding = make_coding(box)
    travel = Movement(coding, None, {"x": 2.0, "grade": 4.0, "kind": 8.0})
    reach = travel.reach(Place(0.0, 0, {"x": 5, "grade": "low", "kind": "a"}), 1.0)
    reachable = Reachable(reach.here, reach.near, reach.lower, reach.upper, reach.cost)
    places = (
        {"x": 5, "grade": "low", "kind": "a"},
        {"x": 0, "grade": "medium", "kind": "a"},
        {"x": 10, "grade": "high", "kind": "c"},
    )
    rows = np.array([coding.row(one) for one in places])
    costs_of_moves = reachable.costs_of_moves(SimpleNamespace(gaps=np.array(coding.gaps)), rows)
    np.testing.assert_allclose(costs_of_moves, [0, 1 + 2, 1 + 4 + 8], rtol=1e-6)


@pytest.mark.slow
def test_the_first_suggestions_know_no_cost():
    optimizer = dp.Optimizer(
        dp.Box(x=dp.Float(0, 1)), maximize=True, start={"x": 0.5}, moving_cost=1e6
    )
    asked = []
    for _ in range(6):
        asked.append(optimizer.ask())
        optimizer.tell(asked[-1], 1.0 - asked[-1]["x"])
    assert [one.hold for one in asked] == [False] * 3 + [True] * 3  # one and two


@pytest.mark.slow
def test_the_cost_keeps_it_where_it_is():
    """A move is worth its way or is not made: the dearer, the less is moved, and more is held."""
    box, moved, held = dp.Box(x=dp.Float(0, 1), k=dp.Categorical("a", "b")), [], []
    for cost in (0.0, 0.1, 100.0):
        optimizer = dp.Optimizer(box, maximize=True, start={"x": 0.5, "k": "a"}, moving_cost=cost)
        generator, path = np.random.default_rng(0), []
        for step in range(30):
            one = optimizer.ask()
            reward = -((one["x"] - 0.5 - 0.3 * np.sin(step / 8)) ** 2) + (one["k"] == "b")
            optimizer.tell(one, float(reward + 0.02 * generator.normal()))
            path.append(one)
        xs = np.array([one["x"] for one in path[6:]])
        moved.append(float(np.abs(np.diff(xs)).sum()))
        held.append(sum(one.hold for one in path[6:]))
    assert moved[0] > 1.5 * moved[1]
    assert moved[2] == 0
    assert held[0] < held[1] < held[2] == 24


@pytest.mark.slow
def test_it_goes_on_to_the_bit(tmp_path):
    def play(optimizer, steps):
        for _ in range(steps):
            one = optimizer.ask()
            optimizer.tell(one, float(value(one)))
        optimizer.ask(count=2)
        optimizer.tell(optimizer.pending()[0].id, 0.0, actual=START)
        return [dict(one) for one in (*optimizer.pending(), optimizer.ask(), optimizer.ask())]

    def make(**storage):
        options = {"max_travel": {"gain": 0.4}, "moving_cost": {"speed": 0.1}}
        return dp.Optimizer(BOX, maximize=True, start=START, **options, **storage)

    live = make()
    kept = make(storage=tmp_path / "study")
    assert play(live, 4) == play(kept, 4)
    again = dp.Optimizer.load(tmp_path / "study")
    assert again.describe() == kept.describe() == live.describe()
    assert [one.hold for one in again.pending()] == [one.hold for one in live.pending()]
    restored = make()
    restored.restore(live.snapshot())
    assert play(again, 2) == play(live, 2) == play(restored, 2)
    for other in ({}, {"start": {**START, "stages": 4}}, {"moving_cost": 0.1}):
        with pytest.raises(dp.DriftpeakError, match=r"has another (start|moving_cost|max_travel)"):
            dp.Optimizer(BOX, maximize=True, **other, storage=tmp_path / "study")


def test_where_it_stands():
    """The latest setting, asked for or told; what was taken back is not gone to."""
    optimizer = dp.Optimizer(dp.Box(x=dp.Float(0, 1)), maximize=True)
    stands = lambda: optimizer._state.place  # noqa: E731
    assert stands() is None
    one, two = optimizer.ask(1), optimizer.ask(1)
    assert stands() == Place(1.0, 2, dict(two))
    optimizer.tell(one, 0.0)  # the first of a batch is told: it is on its way to the second
    assert stands() == Place(1.0, 2, dict(two))
    optimizer.cancel(two)
    assert stands() == Place(1.0, 1, dict(one))
    optimizer.tell({"x": 0.25}, 0.0, 0.5)  # old data
    assert stands() == Place(1.0, 1, dict(one))
    three = optimizer.ask(2)
    optimizer.tell(three, 0.0, 3, actual={"x": 0.75})
    assert stands() == Place(3.0, 3, {"x": 0.75})
    optimizer.reset()
    assert stands().parameters == {"x": 0.75}  # nobody has moved it
    assert stands().time == -math.inf


def test_the_first_suggestion():
    box = dp.Box(x=dp.Float(0, 1, max_rate=0.001))
    optimizer = dp.Optimizer(box, maximize=True, start={"x": 1})
    first = optimizer.ask(datetime(2026, 1, 1))
    assert dict(first) == {"x": 1.0}
    optimizer.cancel(first)
    one, two = optimizer.ask(datetime(2026, 1, 1), 2)
    assert (dict(one), dict(two)) == ({"x": 1.0}, {"x": 1.0})  # there is no time to move
    assert (one.hold, two.hold) == (False, True)
    later = optimizer.ask(datetime(2026, 1, 1) + timedelta(seconds=100))
    assert 0.9 <= later["x"] < 1  # per second
    other = dp.Optimizer(box, maximize=True, start={"x": 1})
    other.tell({"x": 0.2}, 1.0, 5)
    assert abs(other.ask(6)["x"] - 0.2) <= 0.001
    unknown = dp.Optimizer(box, maximize=True)
    with pytest.raises(dp.DriftpeakError, match="must be known, as moves are limited"):
        unknown.ask()
    assert unknown.pending() == []
    with pytest.raises(dp.DriftpeakError, match="'y'"):
        dp.Optimizer(box, maximize=True, start={"y": 1})


@pytest.mark.slow
def test_grids_and_arms_can_be_limited_too():
    grid = dp.Grid([0, 10], [0, 1], size=[11, 5])
    optimizer = dp.Optimizer(grid, maximize=True, start={"x1": 5, "x2": 0.5}, max_travel=0.25)
    before = optimizer.ask()
    for _ in range(10):
        optimizer.tell(before, before["x1"])
        one = optimizer.ask()
        assert abs(one["x1"] - before["x1"]) <= 2.5 + 1e-9
        assert abs(one["x2"] - before["x2"]) <= 0.25 + 1e-9
        before = one
    optimizer = dp.Optimizer(dp.Arms(4), maximize=True, moving_cost=1e6, start={"arm": 2})
    arms = []
    for _ in range(8):
        arms.append(optimizer.ask())
        optimizer.tell(arms[-1], float(arms[-1].index))
    assert {one.index for one in arms[4:]} == {arms[3].index}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_travel": 0}, r"max_travel must lie in \(0, 1\]; got 0"),
        ({"max_travel": 1.5}, "max_travel must lie in"),
        ({"max_travel": True}, "max_travel must lie in"),
        ({"max_travel": 0.1}, "'stages' must be at least 0.125, the gap"),
        ({"max_travel": {"speeds": 0.1}}, "Did you mean 'speed'"),
        ({"max_travel": {"kind": 0.1}}, "ordered parameters \\(speed, stages\\); got 'kind'"),
        ({"moving_cost": -1}, "moving_cost must be a finite number of at least 0"),
        ({"moving_cost": {"kind": "x"}}, "moving_cost of 'kind' must be"),
        ({"start": {"speed": 1}}, "'stages' is missing"),
    ],
)
def test_limits_that_are_none_are_refused(options, words):
    box = dp.Box(speed=dp.Float(0, 10), stages=dp.Integer(1, 9), kind=dp.Categorical("a", "b"))
    with pytest.raises(dp.DriftpeakError, match=words):
        dp.Optimizer(box, maximize=True, **options)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: dp.Float(0, 1, max_step=0), "max_step must be above 0; got 0"),
        (lambda: dp.Float(0, 1, max_rate="fast"), "max_rate must be a number, or a text such as"),
        (lambda: dp.Float(1, 9, log=True, max_step=0.5), "a factor above 1 with log=True; got 0.5"),
        (lambda: dp.Float(0, 1, step=0.1, max_step=0.05), "must be at least 0.1, the distance"),
        (lambda: dp.Integer(1, 9, max_step=0.5), "must be at least 1, the distance"),
        (lambda: dp.Integer(1, 9, log=True, max_step=1.5), "must be at least 2, the distance"),
        (lambda: Movement(make_coding(dp.Arms(3)), 0.1, None), "has no ordered parameter"),
    ],
)
def test_limits_of_a_parameter_are_checked(make, words):
    with pytest.raises(dp.DriftpeakError, match=words):
        make()


def test_other_policies_know_no_limits():
    prior = dp.Prior(dp.Grid([0, 1], size=5), dp.SE(0.3), 0.01)
    policy = dp.TVGPUCB(prior, drift=0.1)
    with pytest.raises(dp.DriftpeakError, match="Use a DriftingGP"):
        dp.Optimizer(prior.domain, maximize=True, policy=policy, max_travel=0.5)
    # but all know where they start, and what was done instead
    optimizer = dp.Optimizer(prior.domain, maximize=True, policy=policy, start={"x1": 1})
    one = optimizer.ask()
    assert one.index == 4
    optimizer.tell(one, 1.0, actual={"x1": 0.75})
    assert optimizer.history()[0].parameters == {"x1": 0.75}


def test_a_refused_actual_changes_nothing():
    optimizer = dp.Optimizer(BOX, maximize=True, start=START)
    one, log = optimizer.ask(), []
    optimizer.on_event = log.append
    for wrong in ({"speed": 1}, {**START, "speed": 11}, 5, "x"):
        with pytest.raises(dp.DriftpeakError):
            optimizer.tell(one, 1.0, actual=wrong)
    with pytest.raises(dp.DriftpeakError, match="Tell a setting that was not"):
        optimizer.tell(START, 1.0, actual=START)
    assert log == []
    optimizer.tell(one.id, 1.0, actual={**START, "speed": 4})
    written = json.loads(json.dumps(events.to_dict(log[0])))
    assert (written["id"], written["parameters"]["speed"]) == (1, 4.0)
