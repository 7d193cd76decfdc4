"""The service and its client: what a local optimiser would do, over HTTP."""

import json
import subprocess
import sys
import threading
import time
import warnings
from contextlib import closing
from datetime import UTC, datetime

import numpy as np
import pytest
from served import BOX, SMALL, cheap, serving

import driftpeak as dp
from driftpeak._core.errors import StorageError
from driftpeak.service import _studies as keeping
from driftpeak.service._limits import Limits
from driftpeak.service._warning_capture import hear

PATIENCE = 60
ROUTES = (
    "ask", "tell", "cancel", "pending", "forget", "reset", "best", "belief", "chances", "peaks",
    "diagnostics", "side-queries", "answer", "history", "predictions", "events",
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("studies")


@pytest.fixture(scope="module")
def served(folder):
    with serving(folder) as found:
        yield found


@pytest.fixture(scope="module")
def client(served):
    return dp.Client(served.url)


@pytest.fixture
def study(client, request):
    """A new one, of one parameter and few observations in memory."""
    name = request.node.name.replace("[", "-").replace("]", "")
    return client.create(name, BOX, maximize=True, policy=SMALL)


def local(**options):
    space = dp.Box(x=dp.Float(0, 1))
    return dp.Optimizer(space, maximize=True, policy=dp.DriftingGP(capacity=32), **options)


def reward(setting):
    return -((setting["x"] - 0.3) ** 2)


@pytest.mark.slow
def test_the_same_as_a_local_optimiser(study):
    """Every method gives what an optimiser without any service gives."""
    own = local()
    for _ in range(10):
        here, there = own.ask(), study.ask()
        assert dict(there) == dict(here)
        assert (there.id, there.time, there.hold) == (here.id, here.time, here.hold)
        own.tell(here, reward(here))
        study.tell(there, reward(here))
    pair, two = own.ask(count=2), study.ask(count=2)
    assert [dict(one) for one in two] == [dict(one) for one in pair]
    study.cancel(two[0])
    own.cancel(pair[0])
    assert [one.id for one in study.pending()] == [one.id for one in own.pending()]
    study.tell({"x": 0.5}, np.float64(-0.04), 11, noise=0.1)
    own.tell({"x": 0.5}, -0.04, 11, noise=0.1)
    study.tell(two[1], -0.2, actual={"x": 0.75})
    own.tell(pair[1], -0.2, actual={"x": 0.75})
    assert [
        (one.id, one.parameters, one.reward, one.time, one.expected, one.noise)
        for one in study.history()
    ] == [
        (one.id, one.parameters, one.reward, one.time, one.expected, one.noise)
        for one in own.history()
    ]
    points = [{"x": 0.0}, {"x": 0.25}, {"x": 1}]
    for time_ in (None, 30):
        best, known = study.best(time_), own.best(time_)
        assert (dict(best), best.mean, best.deviation, best.time) == (
            dict(known),
            known.mean,
            known.deviation,
            known.time,
        )
        np.testing.assert_array_equal(study.belief(points, time_), own.belief(points, time_))
        for level in (0.5, 0.9999999999999999):
            np.testing.assert_array_equal(
                study.interval(points, time_, level=level),
                own.interval(points, time_, level=level),
            )
    assert best.interval == tuple(end[0] for end in own.interval([dict(known)], 30))
    found = own.peaks([1, 6, 11])
    assert [(dict(one), one.mean, one.time) for one in study.peaks(1, 11, 3)] == [
        (dict(one), one.mean, one.time) for one in found
    ]
    told = study.diagnostics()
    assert told["told"] == 12
    assert told["drift"] == own.diagnostics().drift
    assert study.calibration()["count"] == own.calibration().count
    assert study.calibration()["coverage"]["0.95"] == own.calibration().coverage[0.95]
    assert study.violations() == {}
    study.forget()
    own.forget()
    assert study.diagnostics()["held"] == own.diagnostics().held == 0
    study.reset()
    assert study.history() == []
    assert study.ask().id == 13


@pytest.mark.slow
def test_the_band_of_a_peak_holds_what_is_nearly_as_good(study):
    for place in np.linspace(0, 1, 9):
        study.tell({"x": float(place)}, reward({"x": place}), noise=0.01)
    (peak,) = study.peaks(count=1)
    low, high = peak.band["x"]
    assert low <= peak["x"] <= high
    mean, _ = study.belief([{"x": low}, {"x": high}, {"x": max(low - 0.1, 0)}], peak.time)
    assert min(mean[:2]) >= peak.mean - peak.deviation
    assert mean[2] < peak.mean - peak.deviation


@pytest.mark.slow
def test_a_study_of_arms_with_a_context_and_dates(client):
    space = dp.Arms(3, names=["a", "b", "c"]).context(load=dp.Float(0, 1))
    study = client.create("shop", space, maximize=False, policy=dp.DriftingGP(capacity=32))
    when = datetime(2026, 3, 1, 8, tzinfo=UTC)
    one = study.ask(when, context={"load": 0.5})
    assert one.time == when
    assert one.context == {"load": 0.5}
    study.tell(one, 3)
    study.tell({"arm": "b"}, 2.0, np.datetime64("2026-03-02T08:00").item().replace(tzinfo=UTC),
               context={"load": 0.25})  # fmt: skip
    best = study.best(datetime(2026, 3, 3, tzinfo=UTC), context={"load": 0.25})
    assert best["arm"] in "abc"
    assert best.context == {"load": 0.25}
    assert [told.time.day for told in study.history()] == [1, 2]
    assert study.describe()["latest"] == "2026-03-02T08:00:00+00:00"
    with pytest.raises(dp.DriftpeakError, match="context must be given"):
        study.ask(when)


@pytest.mark.slow
def test_limits_that_are_measured(client):
    limits = {"heat": {"at_most": 1.0}}
    study = client.create("hot", BOX, maximize=True, policy=SMALL, constraints=limits)
    for place in (0.1, 0.5, 0.9):
        study.tell({"x": place}, place, constraints={"heat": 2 * place})
    one = study.ask()
    assert set(one.chances) == {"heat"}
    assert one.feasible in (True, False)
    pending = study.pending()[0]
    assert (pending.chances, pending.feasible) == (one.chances, one.feasible)
    chances = study.chances([{"x": 0.1}, {"x": 0.9}])["heat"]
    assert chances[0] > chances[1]
    assert study.violations()["heat"]["violated"] == 1
    assert study.history()[0].constraints == {"heat": 0.2}


@pytest.mark.slow
def test_rewards_of_0_and_1(client, served):
    policy = {"drifting-gp": {"capacity": 32, "likelihood": "bernoulli"}}
    study = client.create("clicks", {"arms": 2}, maximize=True, policy=policy)
    for _ in range(6):
        study.tell(study.ask(), True)
    study.tell({"arm": "0"}, 0.5, trials=10)
    code, _, found = served.get("/api/studies/clicks/predictions")
    assert code == 200
    assert found["likelihood"] == "bernoulli"
    assert found["rewards"][-1]["trials"] == 10
    told = [one["expected"] for one in found["rewards"] if one["expected"]]
    assert told
    for one in told:
        assert 0 <= one["low"] <= one["mean"] <= one["high"] <= 1
    with pytest.raises(dp.DriftpeakError, match="0 or 1"):
        study.tell({"arm": "0"}, 7)


@pytest.mark.slow
def test_side_queries(client):
    space = dp.Arms(4)
    gram = [[1.0 if i == j else 0.5 for i in range(4)] for j in range(4)]
    prior = dp.Prior(space, dp.kernels.Table(gram), noise_variance=0.1)
    policy = dp.WSparQ(prior, exponent=0.5, rate=0.1)
    study = client.create("expert", space, maximize=True, policy=policy)
    own = dp.Optimizer(space, maximize=True, policy=policy)
    for _ in range(6):
        queries = study.side_queries()
        assert queries == own.side_queries()
        for one in (study, own):
            one.answer(queries, [0.5] * len(queries))
        suggested = study.ask()
        assert dict(suggested) == dict(own.ask())
        study.tell(suggested, 1.0)
        own.tell(suggested.id, 1.0)
    with pytest.raises(dp.DriftpeakError, match="answers must be as many as the"):
        study.answer([{"arm": "0"}], [])


def test_what_is_refused_is_refused_in_the_librarys_words(study):
    own = local()
    wrong = [
        lambda one: one.tell({"x": 2}, 1.0),
        lambda one: one.tell({"y": 0.5}, 1.0),
        lambda one: one.tell(77, 1.0),
        lambda one: one.cancel(77),
        lambda one: one.best(),
        lambda one: one.ask(context={"load": 1}),
        lambda one: one.tell({"x": 0.5}, 1.0, noise=-1.0),
        lambda one: one.tell({"x": 0.5}, 1.0, trials=5),
        lambda one: one.side_queries(),
    ]
    for act in wrong:
        with pytest.raises(dp.DriftpeakError) as expected:
            act(own)
        with pytest.raises(dp.DriftpeakError) as found:
            act(study)
        assert str(found.value) == str(expected.value)
        assert type(found.value) is type(expected.value)
    assert study.history() == []


def test_unknown_studies_and_others_of_the_same_name(client, served, study):
    with pytest.raises(dp.DriftpeakError, match="there is no study 'nowhere' here"):
        client.study("nowhere").ask()
    code, headers, found = served.get("/api/studies/nowhere")
    assert (code, headers["content-type"]) == (404, "application/problem+json")
    assert found == {
        "type": "urn:driftpeak:problem:unknown-study",
        "title": "The storage holds no study of this name",
        "status": 404,
        "detail": "there is no study 'nowhere' here",
        "code": "unknown-study",
    }
    again = client.create(study.name, BOX, maximize=True, policy=SMALL)
    assert again.describe() == study.describe()
    with pytest.raises(dp.DriftpeakError, match="has another maximize"):
        client.create(study.name, BOX, maximize=False, policy=SMALL)
    new = {"name": study.name, "space": BOX, "maximize": True}
    assert served.post("/api/studies", new)[0] == 409
    assert served.post("/api/studies", new | {"policy": SMALL})[0] == 200


def test_the_list(client, study):
    study.tell({"x": 0.5}, 1.0, 3)
    study.ask(4)
    (found,) = [one for one in client.studies() if one["name"] == study.name]
    assert found == {
        "name": study.name,
        "policy": "drifting-gp",
        "told": 1,
        "pending": 1,
        "latest": 4,
        "problem": None,
    }


def test_one_damaged_study_leaves_the_others_in_the_list(folder, client, study):
    path = folder / "damaged.jsonl"
    path.write_bytes(
        (folder / f"{study.name}.jsonl").read_bytes().replace(b"maximize", b"minimize")
    )
    found = {one["name"]: one for one in client.studies()}
    path.unlink()
    assert "is corrupt" in found["damaged"]["problem"]
    assert found[study.name]["told"] == 0


def test_history_comes_in_pages(served, study):
    for number in range(5):
        study.tell({"x": number / 4}, float(number))
    path = f"/api/studies/{study.name}/history"
    first = served.get(f"{path}?limit=2")[2]
    assert [one["number"] for one in first["rewards"]] == [1, 2]
    assert (first["next"], first["told"]) == (2, 5)
    last = served.get(f"{path}?after=4&limit=2")[2]
    assert [one["reward"] for one in last["rewards"]] == [4.0]
    assert last["next"] is None
    assert served.get(f"{path}?after=5")[2]["rewards"] == []
    study.reset()
    study.tell({"x": 0.5}, 9.0)
    after = served.get(f"{path}?after=5")[2]  # a reader goes on where it was
    assert [(one["number"], one["reward"]) for one in after["rewards"]] == [(6, 9.0)]
    assert after["told"] == 1


def test_forgetting_asks_for_the_name(served, study):
    study.tell({"x": 0.5}, 1.0)
    for path in ("forget", "reset"):
        code, _, found = served.post(f"/api/studies/{study.name}/{path}", {"confirm": "yes"})
        assert code == 422
        assert study.name in found["detail"]
        assert served.post(f"/api/studies/{study.name}/{path}", {})[0] == 422
    assert len(study.history()) == 1
    study.forget(before=0)
    assert study.diagnostics()["held"] == 1


def contents(folder):
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}


def test_looking_changes_nothing(folder, served, study):
    for step in range(6):
        study.tell({"x": step / 5}, 1.0)
    study.ask()
    whole = f"/api/studies/{study.name}"
    before = contents(folder)
    for path in ("", "/best", "/best?time=9", "/peaks", "/predictions", "/diagnostics", "/pending",
                 "/history"):  # fmt: skip
        assert served.get(whole + path)[0] == 200
    assert served.post(f"{whole}/belief", {"points": [{"x": 0.1}]})[0] == 200
    for path in ("/side-queries", "/nothing", "/best?time=x", "/best?context=[]"):
        assert served.get(whole + path)[0] in (404, 422)
    assert served.get("/api/studies/nowhere/best")[0] == 404
    assert served.get("/api/studies")[0] == 200
    assert contents(folder) == before


def test_another_process_at_the_same_study(folder, study):
    """An optimiser at the same journal sees the service's rewards, and the service sees its own."""
    own = dp.Optimizer.load(folder / f"{study.name}.jsonl")
    study.tell({"x": 0.25}, 1.0)
    own.tell({"x": 0.75}, 2.0)
    assert [one.reward for one in study.history()] == [1.0, 2.0]
    assert [one.reward for one in own.history()] == [1.0, 2.0]
    assert study.diagnostics()["told"] == 2


def test_messages_after_each_change(folder, study):
    """Of the service itself, and of others at the same journal."""
    with closing(study.events()) as stream:
        assert next(stream)["events"] == 0
        study.tell({"x": 0.25}, 1.0, 3)
        found = next(stream)
        assert (found["told"], found["pending"], found["latest"]) == (1, 0, 3)
        dp.Optimizer.load(folder / f"{study.name}.jsonl").tell({"x": 0.5}, 1.0)
        assert next(stream)["told"] == 2


@pytest.mark.slow
def test_a_slow_study_blocks_nobody_else(client, monkeypatch):
    """While one is being computed with, all that needs no engine, and other studies, answer."""
    study, other = cheap(client, "slow"), cheap(client, "quick")
    other.ask()
    begun, go_on = threading.Event(), threading.Event()
    ask = dp.Optimizer.ask

    def slow(self, *args, **named):
        if self.name == study.name:
            begun.set()
            assert go_on.wait(PATIENCE)
        return ask(self, *args, **named)

    monkeypatch.setattr(dp.Optimizer, "ask", slow)
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(study.ask())) for _ in range(80)]
    for one in threads:
        one.start()
    try:
        assert begun.wait(PATIENCE)
        other.tell(other.ask(), 1.0)
        assert study.pending() == []
        assert study.describe()["told"] == 0
        assert {one["name"] for one in client.studies()} >= {study.name, "quick"}
        assert not answers
    finally:
        go_on.set()
        for one in threads:
            one.join(PATIENCE)
    assert sorted(one.id for one in answers) == list(range(1, 81))


def test_many_slow_studies_block_no_other(client, monkeypatch):
    """More of them than are computed with at once: what takes long leaves the room to others."""
    slow_ones = [cheap(client, f"slow{number}") for number in range(keeping.AT_ONCE + 2)]
    names, other = {one.name for one in slow_ones}, cheap(client, "quick")
    other.ask()
    begun, go_on = threading.Semaphore(0), threading.Event()
    ask = dp.Optimizer.ask

    def slow(self, *args, **named):
        if self.name in names:
            begun.release()
            assert go_on.wait(PATIENCE)
        return ask(self, *args, **named)

    monkeypatch.setattr(dp.Optimizer, "ask", slow)
    threads = [threading.Thread(target=one.ask) for one in slow_ones]
    for one in threads:
        one.start()
    try:
        for _ in threads:
            assert begun.acquire(timeout=PATIENCE)
        other.tell(other.ask(), 1.0)
    finally:
        go_on.set()
        for one in threads:
            one.join(PATIENCE)


def test_studies_are_closed_for_want_of_room(tmp_path):
    """One of three fits: each is closed when another is used, and goes on where it was."""
    with serving(tmp_path, limits=Limits(memory=2**20 + 1)) as served:
        client = dp.Client(served.url)
        made = [cheap(client, f"s{n}") for n in range(3)]
        for step in (1, 2):
            for one in made:
                one.tell(one.ask(), 1.0)
                assert one.diagnostics()["told"] == step
        ready = [one for one in served.app.studies._opened.values() if one.optimizer is not None]
        assert [one.name for one in ready] == ["s2"]
        assert keeping.size_of(ready[0].optimizer) > 50


def test_too_many_wait_for_one_study(tmp_path, monkeypatch):
    with serving(tmp_path, limits=Limits(waiting=0)) as served:
        client = dp.Client(served.url, retries=0)
        study = cheap(client, "s")
        with pytest.raises(StorageError, match="requests wait for study 's'"):
            study.ask()


def test_warnings_reach_the_client(study, monkeypatch):
    """A damaged snapshot, say, or a reward that is too late: told where it is of use."""
    monkeypatch.setattr(warnings, "showwarning", lambda *_, **__: None)
    tell = dp.Optimizer.tell

    def loud(self, *args, **named):
        tell(self, *args, **named)
        warnings.warn("rather late", dp.DriftpeakWarning, stacklevel=2)

    monkeypatch.setattr(dp.Optimizer, "tell", loud)
    with warnings.catch_warnings():
        hear()
        with pytest.warns(dp.DriftpeakWarning, match="rather late") as found:
            study.tell({"x": 0.5}, 1.0)
    assert len(study.history()) == 1
    assert found


def test_the_document_names_every_route_and_its_problems(served):
    code, _, found = served.get("/api/openapi.json")
    assert code == 200
    assert set(found["paths"]) == {
        "/api/studies",
        "/api/studies/{name}",
        *(f"/api/studies/{{name}}/{one}" for one in ROUTES),
        "/api/results",
        "/api/results/{name}",
        "/api/fleets",
        *(f"/api/fleets/{{name}}{one}" for one in ("", "/ask", "/tell", "/members/{member}")),
    }
    names = [one["operationId"] for each in found["paths"].values() for one in each.values()]
    assert len(set(names)) == len(names)
    for path, methods in found["paths"].items():
        for method, route in methods.items():
            assert route["summary"]
            assert {"401", "403", "429", "500", "503"} <= set(route["responses"]), (path, method)
            for status, answer in route["responses"].items():
                kinds = set(answer["content"])
                assert kinds == ({"application/problem+json"} if status >= "400" else kinds)
    key = [one["name"] for one in found["paths"]["/api/studies/{name}/tell"]["post"]["parameters"]]
    assert key == ["name", "Idempotency-Key"]
    assert set(found["components"]["schemas"]["Problem"]["required"]) == {
        "title",
        "status",
        "detail",
        "code",
    }


def test_the_page_is_served_with_a_strict_policy(served):
    code, headers, text = served.get("/")
    assert (code, headers["content-type"]) == (200, "text/html; charset=utf-8")
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "//" not in policy
    assert "<title>driftpeak" in text
    assert served.get("/nothing.js")[0] == 404
    assert served.get("/../app.py")[0] == 404
    assert served.get("/%2e%2e/app.py")[0] == 404
    assert served.post("/", {})[0] == 405


def test_json_without_numbers_that_are_none(served, study):
    """What was never predicted is null, as is what cannot be a number."""
    study.tell({"x": 0.5}, 1.0)
    text = json.dumps(served.get(f"/api/studies/{study.name}/diagnostics")[2])
    assert "NaN" not in text
    assert served.get(f"/api/studies/{study.name}/predictions")[2]["calibration"]["count"] == 0


def test_ends_while_a_stream_is_open(tmp_path):
    with serving(tmp_path) as served:
        study = cheap(dp.Client(served.url), "s")
        stream = study.events()
        next(stream)
        started = time.monotonic()
    assert time.monotonic() - started < PATIENCE
    assert list(stream) == []


def test_a_study_that_was_removed_and_begun_again(folder, client, study):
    """What was known of it is known no more."""
    study.tell({"x": 0.5}, 1.0)
    (folder / f"{study.name}.jsonl").unlink()
    with pytest.raises(StorageError, match="no longer exists"):
        dp.Client(client.url, retries=0).study(study.name).describe()
    with pytest.raises(dp.DriftpeakError, match="there is no study"):
        study.describe()
    again = client.create(study.name, BOX, maximize=True, policy=SMALL)
    assert again.history() == []
    again.tell({"x": 0.5}, 2.0)
    assert [one.reward for one in again.history()] == [2.0]


@pytest.mark.usefixtures("without_type_checks")
@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("127.0.0.1:8765", "url must be such as"),
        ("ftp://127.0.0.1", "url must be such as"),
        ("http://", "url must be such as"),
        ("http://127.0.0.1:x", "url must be such as"),
        (7, "url must be a string"),
        ("http://me:secret@127.0.0.1", "must not contain a user or a password"),
    ],
)
def test_addresses_that_are_none(url, words):
    with pytest.raises(dp.DriftpeakError, match=words) as found:
        dp.Client(url)
    assert "secret" not in str(found.value)


def test_a_token_is_not_sent_in_the_clear_without_a_word():
    with pytest.warns(dp.DriftpeakWarning, match="without encryption"):
        dp.Client("http://kiln.example", token="a-token-of-24-characters")
    dp.Client("https://kiln.example", token="a-token-of-24-characters")
    dp.Client("http://localhost:1", token="a-token-of-24-characters")


def test_importing_the_client_loads_next_to_nothing():
    code = "import driftpeak as dp, sys; dp.Client; print({'jax', 'fastapi'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "set()\n", done.stderr
