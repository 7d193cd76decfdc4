"""Studies that start from a schedule: its settings first, limits, storage and bad arguments."""

import json
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

import driftpeak as dp
from driftpeak.live._space.encoding import make_coding
from driftpeak.live._space.schedule import Offsets, schedule_from_data

pytestmark = pytest.mark.usefixtures("without_type_checks")
SMALL = dp.DriftingGP(capacity=32, forgetting="markov", learn=False)
HALVES = dp.Schedule([{"heat": 0.3, "fans": 2}, {"heat": 0.6, "fans": 4}], period=24)
BOX = dp.Box(heat=dp.Float(0, 1), fans=dp.Integer(1, 6))


@pytest.mark.parametrize(
    ("moment", "place"),
    [
        (datetime(2026, 3, 2), 0),
        (datetime(2026, 3, 2, 13, 59, 59), 13),
        (datetime(1969, 12, 31, 23), 23),
        (datetime(2026, 7, 1, 5, tzinfo=UTC), 5),
    ],
)
def test_the_setting_of_an_hour(moment, place):
    schedule = dp.Schedule([{"x": float(hour)} for hour in range(24)])
    number = (moment.replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()
    assert schedule.at(number) == {"x": float(place)}


def test_a_week_begins_on_monday():
    schedule = dp.Schedule([{"x": float(day)} for day in range(7)], period="1 week")
    for day in range(14):
        moment = datetime(2026, 3, 2, 12) + timedelta(days=day)  # a Monday
        number = (moment - datetime(1970, 1, 1)).total_seconds()
        assert schedule.at(number) == {"x": float(moment.weekday())}


@pytest.mark.slow
def test_the_schedule_comes_first_and_then_settings_near_it():
    optimizer = dp.Optimizer(BOX, maximize=True, policy=SMALL, schedule=HALVES)
    near = 0
    for hour in range(12):
        setting, wanted = optimizer.ask(hour * 4.0), HALVES.at(hour * 4.0)
        if hour < 2:
            assert dict(setting) == wanted
        assert abs(setting["heat"] - wanted["heat"]) < 0.05 * 2 ** ((hour + 1) / 24) + 1e-6
        assert abs(setting["fans"] - wanted["fans"]) <= 1
        near += dict(setting) != wanted
        optimizer.tell(setting, 10 - (setting["heat"] - wanted["heat"]) ** 2)
    assert near > 0


@pytest.mark.slow
def test_a_better_setting_than_the_schedule_is_found():
    """The best heat is 0.15 above the schedule at all times, which the model knows soon."""
    optimizer = dp.Optimizer(BOX, maximize=True, policy=SMALL, schedule=HALVES)
    for step in range(40):
        setting, wanted = optimizer.ask(step * 6.0), HALVES.at(step * 6.0)
        loss = (setting["heat"] - wanted["heat"] - 0.15) ** 2
        optimizer.tell(setting, -20 * loss)
    for hour in (241.0, 253.0):  # in both halves of the day
        best = optimizer.best(hour)["heat"] - HALVES.at(hour)["heat"]
        assert best == pytest.approx(0.15, abs=0.05)


def test_rows_are_differences_from_the_schedule():
    """Conditional columns and those without order are unchanged, and so is the context."""
    box = dp.Box(
        heat=dp.Float(0, 2),
        mode=dp.Categorical("a", "b"),
        flow=dp.Float(0, 1, when={"mode": "a"}),
    )
    coding = make_coding(box.context(load=dp.Float(0, 1)))
    settings = [{"heat": 1.0, "mode": "a", "flow": 0.2}, {"heat": 1.5, "mode": "b"}]
    offsets = Offsets(coding, dp.Schedule(settings, period=2.0))
    row = offsets.row({"heat": 0.5, "mode": "b", "load": 0.7}, 3.5)
    np.testing.assert_allclose(row, [0.25 - 0.75, 1.0, 0.5, 0.7])
    assert Offsets(coding, None).at(1.0) is None


@pytest.mark.slow
def test_limits_hold_at_the_schedule_when_the_quantity_follows_it():
    """The heat limit is 70; the schedule has 65 at all times, and 0.2 more would have 75."""
    learning = dp.DriftingGP(capacity=32, forgetting="markov")
    limit = {"heat": dp.Limit(at_most=70)}
    optimizer = dp.Optimizer(
        BOX, maximize=True, policy=learning, constraints=limit, schedule=HALVES
    )
    above, highest = 0, 0.0
    for step in range(30):
        setting, wanted = optimizer.ask(step * 6.0), HALVES.at(step * 6.0)
        heat = 65 + 50 * (setting["heat"] - wanted["heat"])
        above += heat > 70
        highest = max(highest, setting["heat"] - wanted["heat"])
        optimizer.tell(setting, setting["heat"], constraints={"heat": heat})
    assert above <= 2
    assert highest > 0.02


@pytest.mark.slow
def test_a_stored_study_resumes_with_its_schedule(tmp_path):
    path, twin = str(tmp_path / "kiln.jsonl"), None
    for storage in (None, path):
        optimizer = dp.Optimizer(BOX, maximize=True, policy=SMALL, schedule=HALVES, storage=storage)
        for step in range(9):
            optimizer.tell(optimizer.ask(step * 5.0), float(step % 4))
        twin = twin or optimizer
    copy = dp.Optimizer(BOX, maximize=True, policy=SMALL, schedule=HALVES)
    copy.restore(twin.snapshot())
    expected = dict(twin.ask(50.0))
    assert dict(copy.ask(50.0)) == expected
    assert dict(dp.Optimizer.load(path).ask(50.0)) == expected
    with pytest.raises(dp.StudyMismatchError, match="another schedule"):
        dp.Optimizer(BOX, maximize=True, policy=SMALL, storage=path)


@pytest.mark.slow
def test_fixed_values_movement_limits_and_constraints_come_before_the_schedule():
    box = dp.Box(heat=dp.Float(0, 1, max_step=0.1), fans=dp.Integer(1, 6))
    optimizer = dp.Optimizer(
        box, maximize=True, policy=SMALL, schedule=HALVES, start={"heat": 0.0, "fans": 3}
    )
    assert optimizer.ask(0.0)["heat"] == 0.0
    assert dict(optimizer.ask(1.0)) == {"heat": pytest.approx(0.1), "fans": 2}
    assert dict(optimizer.ask(1.5, fixed={"fans": 6}))["fans"] == 6
    most = dp.ByContext("night", {True: 0.4, False: 1})
    sums = {"sum": dp.WeightedSum({"heat": 1}, at_most=most)}
    hall = dp.Optimizer(
        BOX.context(night=dp.Boolean()), maximize=True, policy=SMALL, constraints=sums,
        schedule=HALVES,
    )  # fmt: skip
    assert hall.ask(13.0, context={"night": False})["heat"] == 0.6
    assert hall.ask(14.0, context={"night": True})["heat"] <= 0.4


@pytest.mark.slow
def test_other_spaces_and_likelihoods():
    grid = dp.Grid([0, 1], size=11)
    middle = dp.Schedule([{"x1": 0.5}], period=1.0)
    for space, schedule, likelihood in (
        (grid, middle, "gaussian"),
        (dp.Arms(4), dp.Schedule([{"arm": 2}], period=1.0), "gaussian"),
        (BOX, HALVES, "bernoulli"),
    ):
        policy = dp.DriftingGP(capacity=32, forgetting="markov", likelihood=likelihood)
        optimizer = dp.Optimizer(space, maximize=True, policy=policy, schedule=schedule)
        assert dict(optimizer.ask(0)) == optimizer.coding.clean(schedule.at(0))
        for step in range(8):
            optimizer.tell(optimizer.ask(step), float(step % 2))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: dp.Schedule([]), "must be 1 to 10,000; got 0"),
        (lambda: dp.Schedule([{"x": 1}], period=0), "period must be"),
        (lambda: dp.Schedule([{"x": 1}], period="a day"), "period must be a number, or a text"),
        (lambda: schedule_from_data(3), "schedule must be a list of settings"),
        (lambda: schedule_from_data({"settings": [1]}), "must be mappings"),
        (lambda: schedule_from_data({"settings": [{}], "periods": 1}), "periods"),
        (lambda: study(schedule=dp.Schedule([{"heat": 2.0, "fans": 1}])), "heat"),
        (lambda: study(schedule=dp.Schedule([{"heat": 0.5}])), "'fans' is missing"),
        (
            lambda: study(constraints={"c": lambda s: s["fans"] < 4}, schedule=HALVES),
            "a setting of the schedule must meet constraint 'c'",
        ),
    ],
)
def test_bad_arguments(make, message):
    with pytest.raises(dp.DriftpeakError, match=message):
        make()


def test_a_policy_that_supports_no_schedule():
    prior = dp.Prior(dp.Grid([0, 1], size=11), dp.SE(0.2), 0.1)
    middle = dp.Schedule([{"x1": 0.5}], period=1.0)
    with pytest.raises(dp.UnsupportedError, match="supports no schedule"):
        dp.Optimizer(
            prior.domain, maximize=True, policy=dp.TVGPUCB(prior, drift=0.1), schedule=middle
        )


def test_a_period_with_a_unit_needs_dates():
    optimizer = study(schedule=dp.Schedule(list(HALVES.settings)))
    with pytest.raises(dp.DriftpeakError, match="times must be dates, as the period"):
        optimizer.ask()
    assert dict(optimizer.ask(datetime(2026, 3, 2, 13))) == HALVES.settings[1]


def study(**options):
    return dp.Optimizer(BOX, maximize=True, policy=SMALL, **options)


@pytest.mark.slow
def test_from_the_command_line(run, tmp_path):
    (tmp_path / "day.csv").write_text("heat;fans\n0,3;2\n0,6;4\n")
    (tmp_path / "past.csv").write_text(
        "time,heat,fans,reward\n2026-03-01 10:00,0.4,2,5.5\n2026-03-01 09:00,0.5,3,6\n"
    )
    space = json.dumps(
        {"box": {"heat": {"type": "float", "low": 0, "high": 1},
                 "fans": {"type": "integer", "low": 1, "high": 6}}}
    )  # fmt: skip
    store = str(tmp_path / "kiln.jsonl")
    words = ("--space", space, "--maximize", "--schedule", str(tmp_path / "day.csv"))
    assert run("live", "create", store, "kiln", *words)[0] == 0
    code, out, err = run("live", "tell-table", store, "--table", str(tmp_path / "past.csv"))
    assert (code, err) == (0, "")
    assert json.loads(out) == {"told": 2, "pending": 0}
    _, out, _ = run("live", "ask", store, "--time", "2026-03-02T18:00")
    assert json.loads(out)["parameters"] == {"heat": 0.6, "fans": 4}
