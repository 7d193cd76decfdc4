"""Errors travel from the library through the service to the client, and keep their class."""

import json
import re
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from served import BOX, PATIENCE, SMALL, cheap, serving

import driftpeak as dp
from driftpeak._core import errors
from driftpeak._core.errors import DriftpeakError, StorageError, error_classes
from driftpeak.service import _problems as problems, client as client_module
from driftpeak.service._client_json import error_of_answer
from driftpeak.service._study_index import StudyIndex

CLASSES = sorted(error_classes().values(), key=lambda one: one.code)
STATUSES = {
    "unknown-study": 404,
    "another-study": 409,
    "storage-corrupt": 500,
    "storage": 503,
    "storage-locked": 503,
}  # all others 422
PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "serve.md"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("studies")) as found:
        yield found


@pytest.fixture(scope="module")
def study(served):
    return cheap(dp.Client(served.url, retries=0), "kiln")


def raising(error):
    def act(*_, **__):
        raise error

    return act


def test_every_class_has_a_code_of_its_own():
    public = [each for name, each in vars(errors).items() if name.endswith("Error")]
    assert set(CLASSES) == set(public)
    assert len(CLASSES) == 12
    assert not {one.code for one in CLASSES} & set(problems.OWN)


@pytest.mark.parametrize("kind", CLASSES, ids=lambda one: one.code)
def test_the_client_raises_what_the_library_raised(served, study, monkeypatch, kind):
    monkeypatch.setattr(dp.Optimizer, "diagnostics", raising(kind("these words")))
    with pytest.raises(DriftpeakError) as found:
        study.diagnostics()
    assert type(found.value) is kind
    assert str(found.value) == "these words"
    status, headers, content = served.get("/api/studies/kiln/diagnostics")
    assert headers["content-type"] == "application/problem+json"
    assert content == {
        "type": f"urn:driftpeak:problem:{kind.code}",
        "title": kind.__doc__.partition(".")[0],
        "status": status,
        "detail": "these words",
        "code": kind.code,
    }
    assert status == STATUSES.get(kind.code, 422)
    assert headers.get("retry-after") == ("1" if kind is errors.StorageLockedError else None)


def test_classes_of_others_count_as_the_nearest_of_the_library(study, monkeypatch):
    class MineError(errors.InfeasibleError):
        code = "mine"

    monkeypatch.setattr(dp.Optimizer, "diagnostics", raising(MineError("no")))
    with pytest.raises(DriftpeakError, match="no") as found:
        study.diagnostics()
    assert type(found.value) is errors.InfeasibleError


def test_an_error_ends_a_stream_of_events(study, monkeypatch):
    with closing(study.events()) as stream:
        next(stream)
        monkeypatch.setattr(StudyIndex, "counts", raising(errors.StorageCorruptError("damaged")))
        with pytest.raises(errors.StorageCorruptError, match="damaged"):
            list(stream)


@pytest.mark.parametrize(
    ("status", "text", "kind"),
    [
        (422, b'{"detail": "x", "code": "of-a-newer-service"}', DriftpeakError),
        (422, b'{"detail": "x"}', DriftpeakError),
        (422, b'{"detail": "x", "code": 7}', DriftpeakError),
        (422, b'{"detail": "x", "code": []}', DriftpeakError),
        (403, b"<html>", DriftpeakError),
        (418, b"[]", DriftpeakError),
        (500, b'{"detail": "x", "code": "mistake"}', StorageError),
        (502, b"<html>", StorageError),
        (503, b'{"detail": "x", "code": "busy"}', StorageError),
    ],
)
def test_answers_of_other_services_and_of_proxies(status, text, kind):
    assert type(error_of_answer(status, text)) is kind


def test_invalid_arguments_of_an_existing_study_are_no_mismatch(served):
    new = {"name": "box", "space": BOX, "maximize": True, "policy": SMALL}
    assert served.post("/api/studies", new)[0] == 201
    for more, status, code in (
        ({}, 200, None),
        ({"maximize": False}, 409, "another-study"),
        ({"seed": 1}, 409, "another-study"),
        ({"policy": {"drifting-gp": {"capacity": 33}}}, 409, "another-study"),
        ({"space": {"arms": 3}}, 409, "another-study"),
        ({"max_travel": -1.0}, 422, "refused"),
        ({"policy": {"drifting-gp": {"capacity": -1}}}, 422, "refused"),
        ({"space": {"box": {"x": {"type": "float", "low": 2, "high": 1}}}}, 422, "refused"),
    ):
        found = served.post("/api/studies", new | more)
        assert (found[0], found[2].get("code")) == (status, code), more


def test_unknown_studies_have_their_class(study):
    with pytest.raises(errors.StudyNotFoundError, match="there is no study 'nowhere'"):
        dp.Client(study._client.url).study("nowhere").pending()


def test_a_folder_that_cannot_be_read_now(served, study, tmp_path, monkeypatch):
    monkeypatch.setattr(served.app.studies.place, "path", tmp_path / "gone")
    with pytest.raises(StorageError, match="cannot be read: No such file") as found:
        study._client.studies()
    assert type(found.value) is StorageError


@pytest.mark.parametrize("path", ["history", "predictions"])
@pytest.mark.parametrize(
    "after", ["1" + 20 * "0", str(2**53 + 1), "1" + 5_000 * "0"], ids=["1e20", "2**53+1", "1e5000"]
)
def test_numbers_of_rewards_beyond_all(served, study, path, after):
    study.tell({"arm": "0"}, 1.0)
    status, _, content = served.get(f"/api/studies/kiln/{path}?after={after}")
    assert (status, content["code"]) == (422, "invalid")
    status, _, content = served.get(f"/api/studies/kiln/{path}?after={2**53}")
    assert (status, content["rewards"]) == (200, [])


@pytest.mark.slow
@pytest.mark.parametrize("likelihood", ["gaussian", "bernoulli", "poisson"])
def test_levels_next_to_one(served, likelihood):
    policy = {"drifting-gp": {"capacity": 32, "likelihood": likelihood}}
    new = {"name": likelihood, "space": {"arms": 2}, "maximize": True, "policy": policy}
    assert served.post("/api/studies", new)[0] == 201
    path = f"/api/studies/{likelihood}"
    assert served.post(f"{path}/tell", {"setting": {"arm": "0"}, "reward": 1.0})[0] == 200
    for level in (1.0, 0.0, -0.5, 1e999):
        status, _, content = served.post(f"{path}/belief", {"level": level})
        assert (status, content["code"]) == (422, "invalid"), level
    for level in (1 - 2**-53, 1e-300):
        status, _, content = served.post(f"{path}/belief", {"level": level})
        assert status == 200, content
        assert all(low <= high for low, high in zip(content["low"], content["high"], strict=True))


def test_the_document_names_all_codes(served):
    schema = served.get("/api/openapi.json")[2]["components"]["schemas"]["Problem"]
    known = {one.code for one in CLASSES} | set(problems.OWN)
    assert set(schema["properties"]["code"]["enum"]) == known
    statuses = {*problems.OWN.values(), *STATUSES.values(), 422}
    assert statuses == set(problems.DESCRIPTIONS)


def test_the_page_names_all_codes():
    rows = re.findall(r"^\| `([a-z-]+)` \| (\d{3}) \| (.*) \|$", PAGE.read_text(), re.M)
    shown = {code: (int(status), words) for code, status, words in rows}
    assert len(shown) == len(rows)
    assert set(shown) == {one.code for one in CLASSES} | set(problems.OWN)
    for one in CLASSES:
        assert shown[one.code] == (STATUSES.get(one.code, 422), f"`{one.__name__}`")
    for code, status in problems.OWN.items():
        assert shown[code][0] == status


# answers of a newer service

NAMED = {"parameters", "context", "chances", "constraints", "violations", "band", "coverage",
         "space", "policy", "options"}  # fmt: skip
"""Fields that hold names of the user's, not of the service's."""


def newer(content, named=False):
    """With one more field in every object of the service's."""
    if isinstance(content, list):
        return [newer(one) for one in content]
    if not isinstance(content, dict):
        return content
    found = {key: newer(one, key in NAMED) for key, one in content.items()}
    return found if named else found | {"of_a_newer_service": {"x": [1]}}


CALLS = {
    "studies": lambda client, _: client.studies(),
    "create": lambda client, _: cheap(client, "kiln"),
    "describe": lambda _, study: study.describe(),
    "ask": lambda _, study: study.ask(),
    "ask-many": lambda _, study: study.ask(count=2),
    "tell": lambda _, study: study.tell({"x": 0.5}, 1.0, constraints={"heat": 0.5}),
    "cancel": lambda _, study: study.cancel(study.ask()),
    "pending": lambda _, study: study.pending(),
    "best": lambda _, study: study.best(),
    "belief": lambda _, study: study.belief([{"x": 0.5}]),
    "interval": lambda _, study: study.interval([{"x": 0.5}]),
    "chances": lambda _, study: study.chances([{"x": 0.5}]),
    "peaks": lambda _, study: study.peaks(count=2),
    "history": lambda _, study: study.history(),
    "diagnostics": lambda _, study: study.diagnostics(),
    "calibration": lambda _, study: study.calibration(),
    "violations": lambda _, study: study.violations(),
    "side-queries": lambda client, _: client.study("expert").side_queries(),
    "answer": lambda client, _: client.study("expert").answer([], []),
    "events": lambda _, study: next(study.events()),
    "forget": lambda _, study: study.forget(before=0),
    "reset": lambda _, study: study.reset(),
}
"""Every route that the client uses."""
CHANGING = {"create", "ask", "ask-many", "tell", "cancel", "answer", "forget", "reset"}
RAW = {"studies", "describe", "diagnostics", "calibration", "violations", "events"}
"""Methods that return what the service sent."""


@pytest.fixture(scope="module")
def limited(served):
    """A study with all that an answer may hold."""
    client = dp.Client(served.url, timeout=PATIENCE)
    limits = {"heat": {"at_most": 1.0}}
    study = client.create("hot", BOX, maximize=True, policy=SMALL, constraints=limits)
    for place in (0.1, 0.5, 0.9):
        study.tell(study.ask(), place, constraints={"heat": place})
    study.ask()
    space = dp.Arms(2)
    prior = dp.Prior(space, dp.kernels.Table(np.eye(2)), noise_variance=0.1)
    policy = dp.WSparQ(prior, exponent=0.5, rate=0.1)
    client.create("expert", space, maximize=True, policy=policy)
    return study


def plainly(found):
    """As texts and numbers."""
    if isinstance(found, list):
        return [plainly(one) for one in found]
    return vars(found) if hasattr(found, "__dict__") else found


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_fields_that_a_newer_service_adds_are_ignored(served, limited, monkeypatch, name):
    client, act, added = dp.Client(served.url, timeout=PATIENCE), CALLS[name], []

    def read(text, _):
        added.append(newer(json.loads(text)))
        return added[-1]

    before = None if name in CHANGING else act(client, limited)
    monkeypatch.setattr(client_module, "from_json", read)
    after = act(client, limited)
    assert added or name == "events"  # whose messages are returned as they are
    if name not in CHANGING | RAW:
        assert str(plainly(after)) == str(plainly(before))
