"""Served fleets: batched asks and tells in JSON and Arrow, and summaries."""

from io import BytesIO

import numpy as np
import pytest
from served import serving

import driftpeak as dp
from driftpeak.service._limits import Limits

PRIOR = dp.Prior(dp.Arms(np.array([0.0, 0.2, 0.5, 1.0])), dp.SE(0.3), noise_variance=0.1)
POLICY = dp.TVGPUCB(PRIOR, drift=0.05)
ARROW = "application/vnd.apache.arrow.stream"


def make(folder, name="shop", members=("a", "b", "c")):
    path = folder / f"{name}.jsonl"
    return dp.Fleet(PRIOR.domain, list(members), policy=POLICY, storage=path, name=name)


@pytest.fixture
def served(tmp_path):
    make(tmp_path)
    with serving(tmp_path, limits=Limits(body=20_000)) as found:
        yield found


def test_asks_and_tells_are_those_of_the_library(served, tmp_path):
    """The service and a fleet in memory choose the same arms; the stored fleet has all rewards."""
    local = dp.Fleet(PRIOR.domain, ["a", "b", "c"], policy=POLICY)
    for step in range(1, 4):
        status, _, found = served.post("/api/fleets/shop/ask", {"time": float(step)})
        expected = local.ask(time=float(step))
        assert status == 200
        assert found["member"] == ["a", "b", "c"]
        assert found["choice"] == expected.choices.tolist()
        rewards = [1.0, -1.0, 0.5]
        status, _, used = served.post(
            "/api/fleets/shop/tell", {"ids": found["id"], "rewards": rewards}
        )
        assert used == {"used": [True] * 3}
        local.tell(expected.ids, rewards)
    stored = dp.Fleet.load(tmp_path / "shop.jsonl")
    for x, y in zip(stored.predict(time=9.0), local.predict(time=9.0), strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("path", ["", "/history"])
def test_a_fleet_is_not_a_study(served, path):
    status, _, found = served.get(f"/api/studies/shop{path}")
    assert status == 404
    assert found["detail"] == "'shop' is a fleet, not a study. Use /api/fleets/shop"


def test_arrow(served):
    pa = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.ipc")

    def stream(table):
        target = BytesIO()
        with pa.ipc.new_stream(target, table.schema) as writer:
            writer.write_table(table)
        return target.getvalue()

    headers = {"Content-Type": ARROW}
    body = stream(pa.table({"member": ["c", "a"], "time": [1.0, 2.0]}))
    status, _, found = served.send("POST", "/api/fleets/shop/ask", None, headers, body)
    assert (status, found["member"], found["time"]) == (200, ["c", "a"], [1.0, 2.0])
    body = stream(pa.table({"id": found["id"], "reward": [1.0, 2.0]}))
    status, _, used = served.send("POST", "/api/fleets/shop/tell", None, headers, body)
    assert (status, used) == (200, {"used": [True, True]})
    status, _, problem = served.send("POST", "/api/fleets/shop/tell", None, headers, b"nothing")
    assert (status, problem["code"]) == (400, "unreadable")


def test_an_ask_may_be_answered_in_arrow(served):
    """In a batch, with the columns of `Suggestions.to_arrow`; its ids are then answered."""
    pa = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.ipc")
    for body, expected in (({}, ["a", "b", "c"]), ({"members": ["c", "a"]}, ["c", "a"])):
        status, headers, content = served.post("/api/fleets/shop/ask", body, Accept=ARROW)
        assert (status, headers["content-type"]) == (200, ARROW)
        table = pa.ipc.open_stream(content).read_all()
        assert table.column_names == ["id", "member", "choice", "time"]
        assert [str(x) for x in table.schema.types] == ["int64", "string", "int64", "double"]
        assert table["member"].to_pylist() == expected
        told = {"ids": table["id"].to_pylist(), "rewards": [1.0] * len(expected)}
        assert served.post("/api/fleets/shop/tell", told)[2] == {"used": [True] * len(expected)}
    status, headers, problem = served.post("/api/fleets/shop/ask", {"members": ["z"]}, Accept=ARROW)
    assert (status, "problem+json" in headers["content-type"]) == (422, True)
    assert "got 'z'" in problem["detail"]


CASES = {
    "unknown fleet": ("/api/fleets/none/ask", {}, 404, "there is no fleet"),
    "study": ("/api/fleets/kiln/ask", {}, 404, "there is no fleet 'kiln'"),
    "unknown member": ("/api/fleets/shop/ask", {"members": ["z"]}, 422, "got 'z'"),
    "unknown id": ("/api/fleets/shop/tell", {"ids": [7], "rewards": [1.0]}, 422, "got 7"),
    "lengths": ("/api/fleets/shop/tell", {"ids": [7, 8], "rewards": [1.0]}, 422, "got 1"),
    "missing reward": ("/api/fleets/shop/tell", {"ids": [7], "rewards": [None]}, 422, "got 7"),
    "text": ("/api/fleets/shop/tell", {"ids": ["7"], "rewards": [1.0]}, 422, "ids.0"),
    "unknown field": ("/api/fleets/shop/ask", {"many": 1}, 422, "many"),
    "too long": ("/api/fleets/shop/tell", {"ids": [1] * 9000, "rewards": []}, 413, "at most"),
}


@pytest.mark.parametrize("case", CASES)
def test_invalid_requests_are_refused(served, case, tmp_path):
    path, body, status, message = CASES[case]
    if case == "study":
        arguments = {"policy": POLICY, "storage": tmp_path / "kiln.jsonl", "name": "kiln"}
        dp.Optimizer(PRIOR.domain, maximize=True, **arguments)
    found = served.post(path, body)
    assert found[0] == status
    assert message in found[2]["detail"]


def test_summaries_and_members(served):
    assert served.get("/api/fleets")[2] == {"fleets": ["shop"]}
    assert served.get("/api/studies")[2] == {"studies": []}
    asked = served.post("/api/fleets/shop/ask", {})[2]
    served.post("/api/fleets/shop/tell", {"ids": asked["id"], "rewards": [0.1, 50.0, None],
                                          "invalid": "skip"})  # fmt: skip
    found = served.get("/api/fleets/shop")[2]
    assert (found["members"], found["observations"], found["policy"]) == (3, 2, "BeliefPolicy")
    assert [one["member"] for one in found["worst"]] == ["b", "a"]
    assert found["fastest"] == []  # the policy estimates no drift
    one = served.get("/api/fleets/shop/members/b")[2]
    assert one["observations"] == 1
    assert max(one["mean"]) > 10
    assert one["names"] == list(PRIOR.domain.names)
    assert served.get("/api/fleets/shop/members/z")[0] == 404
