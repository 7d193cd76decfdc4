"""Limits that depend on the context, and constraint functions in stored studies."""

import json

import numpy as np
import pytest
from commands import refused
from served import serving

import driftpeak as dp
from driftpeak.live._space import constraint_functions
from driftpeak.live._space.constraint_data import constraints_from_data
from driftpeak.live._space.encoding import make_coding
from driftpeak.live._space.rules import Rules

pytestmark = pytest.mark.usefixtures("without_type_checks")
HALL = dp.Box(fans=dp.Integer(1, 6), heat=dp.Float(0, 1)).context(
    period=dp.Categorical("day", "night"), open=dp.Boolean(), load=dp.Float(0, 1)
)
NIGHT = {"period": "night", "open": False, "load": 0.5}
DAY = NIGHT | {"period": "day"}
FANS = {
    "fans": dp.WeightedSum(
        {"fans": 1, "heat": 1}, at_most=dp.ByContext("period", {"day": None, "night": 2.5})
    )
}
NOISE = {"noise": dp.Limit(at_most=dp.ByContext("period", {"day": 60, "night": 45}))}


@pytest.fixture(autouse=True)
def _no_functions(monkeypatch):
    monkeypatch.setattr(constraint_functions, "_REGISTERED", {})


def noise(setting):
    return 30 + 4 * setting["fans"] + 10 * setting["heat"]


def test_a_sum_has_another_bound_at_night():
    """Rows and settings agree with the sum written plainly, in every context."""
    rules = Rules(make_coding(HALL), FANS)
    rows = np.random.default_rng(0).uniform(size=(50, 2))
    rows = rules.coding.snap(rows)
    settings = [rules.coding.parameters(row) for row in rows]
    totals = np.array([one["fans"] + one["heat"] for one in settings])
    at_night, by_day = rules.in_context(NIGHT), rules.in_context(DAY)
    assert at_night.sums_hold(rows).tolist() == (totals <= 2.5).tolist()
    assert [at_night.broken(one) for one in settings] == [
        "fans" if total > 2.5 else None for total in totals
    ]
    assert by_day.sums_hold(rows).all()
    assert np.asarray(by_day.hold(rows, None)).all()


@pytest.mark.slow
def test_suggestions_meet_the_limits_of_their_context():
    """By day up to 60, at night up to 45: both bounds are approached and seldom violated."""
    optimizer = dp.Optimizer(HALL, maximize=True, constraints=FANS | NOISE)
    for step in range(20):
        context = NIGHT if step % 2 else DAY
        setting = optimizer.ask(context=context)
        if context is NIGHT:
            assert setting["fans"] + setting["heat"] <= 2.5 + 1e-9
        level = noise(setting)
        optimizer.tell(setting, setting["fans"] + setting["heat"], constraints={"noise": level})
    history = optimizer.history()
    counts = optimizer.violations()["noise"]
    bounds = {"day": 60, "night": 45}
    over = [one.constraints["noise"] > bounds[one.context["period"]] for one in history]
    assert counts.violated == sum(over)
    by_day = [one for one in history if one.context["period"] == "day"]
    assert max(one.parameters["fans"] for one in by_day[-5:]) >= 5
    chance = {
        period: optimizer.chances([{"fans": 4, "heat": 0.5}], context=NIGHT | {"period": period})
        for period in bounds
    }
    assert chance["day"]["noise"][0] > 0.9  # 51 dB
    assert chance["night"]["noise"][0] < 0.5


def test_a_safe_setting_of_the_night_is_suggested_at_night():
    optimizer = dp.Optimizer(
        HALL,
        maximize=True,
        constraints=FANS | NOISE,
        safe_start=[{"fans": 4, "heat": 0.2}, {"fans": 1, "heat": 0.2}],
    )
    assert optimizer.ask(context=DAY)["fans"] == 4
    assert optimizer.ask(context=NIGHT)["fans"] == 1
    loud = dp.Optimizer(
        HALL, maximize=True, constraints=FANS | NOISE, safe_start=[{"fans": 4, "heat": 0.2}]
    )
    with pytest.raises(dp.InfeasibleError, match="that meets the constraints in this context"):
        loud.ask(context=NIGHT)


def test_limits_of_a_context_as_data(tmp_path):
    """Boolean and integer contexts have keys as in JSON."""
    bound = dp.ByContext("open", {True: 50, False: 70})
    given = NOISE | {"heat": dp.Limit(at_most=bound, at_least=10)} | FANS
    optimizer = dp.Optimizer(HALL, maximize=True, constraints=given, storage=tmp_path / "hall")
    data = json.loads(json.dumps(optimizer.describe()["constraints"]))
    assert data["heat"]["at_most"] == {"context": "open", "values": {"false": 70, "true": 50}}
    assert constraints_from_data(data)["noise"] == NOISE["noise"]
    again = dp.Optimizer.load(tmp_path / "hall")
    assert again.describe()["constraints"] == data
    assert again.rules.limits["heat"].span({"open": True}) == (10, 50)


@pytest.mark.parametrize(
    ("bound", "message"),
    [
        (dp.ByContext("perod", {"day": 1}), r"perod.*Did you mean 'period'"),
        (dp.ByContext("load", {"0.5": 1}), "context variable with a list of values"),
        (dp.ByContext("period", {"day": 1}), "got none for night. Give None"),
        (dp.ByContext("period", {"day": 1, "nigth": 2}), "'nigth'. Did you mean 'night'"),
    ],
)
def test_invalid_bounds(bound, message):
    with pytest.raises(dp.DriftpeakError, match=message):
        dp.Optimizer(HALL, maximize=True, constraints={"noise": dp.Limit(at_most=bound)})


def test_bounds_must_be_in_order_in_every_context():
    bound = dp.ByContext("period", {"day": 60, "night": 30})
    with pytest.raises(dp.DriftpeakError, match="at_least must be below at_most; got 40 and 30"):
        dp.Optimizer(
            HALL, maximize=True, constraints={"noise": dp.Limit(at_most=bound, at_least=40)}
        )
    with pytest.raises(dp.DriftpeakError, match="values must map values to bounds"):
        dp.ByContext("period", {"day": None})


def quiet(setting):
    """At night, at most two fans."""
    return setting["period"] == "day" or setting["fans"] <= 2


@pytest.mark.slow
def test_a_function_of_the_context_in_a_stored_study(tmp_path):
    dp.live.register_constraint("quiet", quiet)
    optimizer = dp.Optimizer(
        HALL, maximize=True, constraints={"rule": quiet}, storage=tmp_path / "hall"
    )
    assert optimizer.describe()["constraints"] == {"rule": {"function": "quiet"}}
    for step in range(8):
        again = dp.Optimizer.load(tmp_path / "hall")
        setting = again.ask(context=NIGHT if step % 2 else DAY)
        assert step % 2 == 0 or setting["fans"] <= 2
        again.tell(setting, float(setting["fans"]))
    constraint_functions._REGISTERED.clear()
    with pytest.raises(dp.DriftpeakError, match=r"must name a registered function.*'quiet'"):
        dp.Optimizer.load(tmp_path / "hall")


def test_functions_of_a_file_on_the_command_line_and_in_the_service(tmp_path, run):
    rules = tmp_path / "rules.py"
    rules.write_text("def few(setting):\n    return setting['fans'] <= 2\n")
    store, space = str(tmp_path / "hall.jsonl"), json.dumps(dp.live.space_to_data(HALL.space))
    new = ["create", store, "hall", "--space", space, "--maximize"]
    given = ["--constraints", '{"few": {"function": "few"}}']
    assert refused(run("live", *new, *given), "must name a registered function")
    assert run("live", "--functions", rules, *new, *given)[0] == 0
    code, out, _ = run("live", "--functions", rules, "ask", store)
    assert code == 0
    assert json.loads(out)["parameters"]["fans"] <= 2
    assert refused(run("live", "--functions", tmp_path / "no.py", "ask", store), "existing Python")
    rules.write_text("1 / 0\n")
    assert refused(run("live", "--functions", rules, "ask", store), "ZeroDivisionError")
    with serving(tmp_path / "studies") as served:
        client = dp.Client(served.url)
        options = {"maximize": True, "constraints": {"few": {"function": "few"}}}
        study = client.create("hall", dp.live.space_to_data(HALL.space), **options)
        assert study.ask(fixed={"heat": 0.25})["fans"] <= 2
        assert study.ask(fixed={"heat": 0.25})["heat"] == 0.25
        with pytest.raises(dp.InfeasibleError, match="common solution with the fixed values"):
            study.ask(fixed={"fans": 3})
