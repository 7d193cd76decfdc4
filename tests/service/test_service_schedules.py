"""Studies with a schedule, over HTTP: create, ask, tell a table, reopen, and invalid schedules."""

from datetime import datetime

import pandas as pd
import pytest
from served import SMALL, serving

import driftpeak as dp

SPACE = {
    "box": {
        "heat": {"type": "float", "low": 0, "high": 1},
        "fans": {"type": "integer", "low": 1, "high": 6},
    }
}
HALVES = [{"heat": 0.3, "fans": 2}, {"heat": 0.6, "fans": 4}]
MORNING, NOON = datetime(2026, 3, 2, 6), datetime(2026, 3, 2, 13)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("studies")) as found:
        yield found


@pytest.mark.slow
def test_a_study_with_a_schedule_and_a_table(tmp_path):
    past = pd.DataFrame(
        {
            "time": pd.date_range("2026-02-20", periods=3, freq="D"),
            "heat": [0.1, 0.2, 0.3],
            "fans": [1, 2, 3],
            "reward": [1.0, 2.0, 3.0],
        }
    )
    with serving(tmp_path) as served:
        client = dp.Client(served.url)
        kiln = client.create(
            "kiln", SPACE, maximize=True, policy=SMALL, schedule=dp.Schedule(HALVES)
        )
        assert kiln.tell_table(past) == 3
        assert dict(kiln.ask(MORNING)) == HALVES[0]
        assert dict(kiln.ask(NOON, fixed={"fans": 6}))["fans"] == 6
        with pytest.raises(dp.DriftpeakError, match="row 1: parameter 'heat' must lie in"):
            kiln.tell_table([{"heat": 2.0, "fans": 1, "reward": 1.0, "time": NOON}])
        assert len(kiln.history()) == 3
    with serving(tmp_path) as served:
        client = dp.Client(served.url)
        kiln = client.create("kiln", SPACE, maximize=True, policy=SMALL, schedule=HALVES)
        assert dict(kiln.pending()[0]) == HALVES[0]
        assert len(kiln.history()) == 3
        assert kiln.describe()["options"]["schedule"] == {"settings": HALVES, "period": "1 day"}
        with pytest.raises(dp.StudyMismatchError, match="has another schedule"):
            client.create("kiln", SPACE, maximize=True, policy=SMALL)


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        (3, "schedule must be an object or a list"),
        ([], "settings of a schedule must be 1 to 10,000; got 0"),
        ({}, 'schedule must be a list of settings or {"settings": [...], "period": "1 day"}'),
        ({"settings": [1]}, "settings of a schedule must be mappings"),
        ({"settings": HALVES, "periods": 3}, "'periods'. Did you mean 'period'?"),
        ({"settings": HALVES, "period": "a day"}, 'a text such as "30 s"'),
        ({"settings": HALVES, "period": -1}, "period must be a finite number above 0; got -1"),
        ([HALVES[0], {"heat": 2, "fans": 1}], "number 2: parameter 'heat' must lie in [0, 1]"),
        ([{"heat": 0.5}], "number 1: parameter 'fans' is missing"),
        ([{"heat": 0.5, "fans": 1, "x": 1}], "must be among heat, fans; got 'x'"),
    ],
)
def test_an_invalid_schedule_creates_nothing(served, schedule, message):
    body = {"name": "bad", "space": SPACE, "maximize": True, "policy": SMALL}
    status, _, answer = served.post("/api/studies", body | {"schedule": schedule})
    assert status == 422
    assert message in answer["detail"]
    assert served.get("/api/studies/bad")[0] == 404


def test_dates_are_needed_for_a_day(served):
    client = dp.Client(served.url)
    kiln = client.create("kiln", SPACE, maximize=True, policy=SMALL, schedule=HALVES)
    with pytest.raises(dp.DriftpeakError, match="times must be dates, as the period of the sched"):
        kiln.ask()


def test_objects_of_the_library_and_unknown_options(served):
    """Constraints may be objects, with bounds that depend on the context, or data."""
    client = dp.Client(served.url)
    space = dp.Box(heat=dp.Float(0, 1)).context(night=dp.Boolean())
    most = dp.ByContext("night", {True: 0.4, False: 1.0})
    rules = {"heat": dp.Limit(at_most=most), "sum": dp.WeightedSum({"heat": 1}, at_most=most)}
    found = client.create(
        "hall", space, maximize=True, policy=SMALL, constraints=rules | {"noise": {"at_most": 3}}
    ).describe()
    assert found["options"]["constraints"]["heat"]["at_most"] == {
        "context": "night",
        "values": {"true": 0.4, "false": 1.0},
    }
    assert set(found["options"]["constraints"]) == {"heat", "sum", "noise"}
    with pytest.raises(dp.DriftpeakError, match=r"has name, space, .* Did you mean 'schedule'\?"):
        client.create("other", space, maximize=True, schedul=HALVES)
    with pytest.raises(dp.DriftpeakError, match="function"):
        client.create("f", space, maximize=True, constraints={"pairs": lambda setting: True})
