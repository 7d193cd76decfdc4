"""The OpenAPI document alone is enough to create a study, ask, tell and read; deleting studies."""

import http.client
import json
from urllib.parse import quote, urlencode, urljoin, urlsplit

import jsonschema_rs
import pytest
from served import BOX, SMALL, serving

import driftpeak as dp
from driftpeak._core.errors import StudyNotFoundError

pytestmark = pytest.mark.usefixtures("without_type_checks")


class FromDocument:
    """A client that knows only the document; each request and answer must match its schema."""

    def __init__(self, url):
        self.document = self._send("GET", urljoin(url, "/api/openapi.json"))[1]
        self.base = urljoin(url, self.document["servers"][0]["url"])

    @staticmethod
    def _send(method, url, body=None):
        parts = urlsplit(url)
        connection = http.client.HTTPConnection(parts.netloc, timeout=120)
        try:
            data = None if body is None else json.dumps(body)
            path = parts.path + (f"?{parts.query}" if parts.query else "")
            connection.request(method, path, data, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    def check(self, schema, value):
        whole = schema | {"components": self.document["components"]}
        jsonschema_rs.validator_for(whole).validate(value)

    def call(self, operation, body=None, **given):
        ((path, method, route),) = [
            (path, method, route)
            for path, methods in self.document["paths"].items()
            for method, route in methods.items()
            if route["operationId"] == operation
        ]
        query = {}
        for parameter in route.get("parameters", ()):
            name, value = parameter["name"], given.pop(parameter["name"], None)
            assert value is not None or not parameter.get("required")
            if value is not None:
                self.check(parameter["schema"], value)
                if parameter["in"] == "path":
                    path = path.replace(f"{{{name}}}", quote(value))
                else:
                    query[name] = value
        assert not given
        if body is not None:
            self.check(route["requestBody"]["content"]["application/json"]["schema"], body)
        url = urljoin(self.base, path) + (f"?{urlencode(query)}" if query else "")
        status, answer = self._send(method.upper(), url, body)
        (content,) = route["responses"][str(status)]["content"].values()
        self.check(content["schema"], answer)
        return status, answer


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("data") / "new") as found:
        yield found


@pytest.fixture(scope="module")
def client(served):
    return FromDocument(served.url)


SPACES = [
    dp.Box(
        rate=dp.Float(1e-3, 1, log=True, max_step=2, max_rate=1.1),
        layers=dp.Integer(1, 9, step=2),
        kind=dp.Categorical("a", "b", "c", ordered=True),
        fast=dp.Boolean(),
        heat=dp.Float(0, 90, step=0.5, when={"kind": ["a", "b"]}),
    ),
    dp.Box(x=dp.Float(0, 1)).context(load=dp.Float(0, 1), day=dp.Categorical("Mo", "Tu")),
    dp.Arms(3),
    dp.Arms([[0, 0], [1, 2]], names=["near", "far"]),
    dp.Grid((0, 1), (0, 5), size=[5, 2]),
]


@pytest.mark.parametrize("space", SPACES, ids=lambda space: type(space).__name__)
def test_spaces_match_their_schema(client, space):
    client.check({"$ref": "#/components/schemas/Space"}, dp.live.space_to_data(space))


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ("Space", {"box": {"x": {"type": "flaot", "low": 0, "high": 1}}}),
        ("Space", {"box": {"x": {"type": "float", "low": 0}}}),
        ("Space", {"boxes": {}}),
        ("Policy", {"drifting-gb": {}}),
        ("Policy", {"tv-gp-ucb": {"drift": 0.1}}),  # without its prior
        ("Constraints", {"heat": {"at_most": "hot"}}),
    ],
)
def test_misspelt_data_do_not_match(client, schema, value):
    with pytest.raises(jsonschema_rs.ValidationError):
        client.check({"$ref": f"#/components/schemas/{schema}"}, value)


@pytest.mark.slow
def test_a_client_of_the_document_creates_asks_tells_and_reads(client):
    new = {"name": "kiln", "space": BOX, "maximize": True, "policy": SMALL}
    new["constraints"] = {"heat": {"at_most": 75, "probability": 0.9}}
    assert client.call("create_study", new)[0] == 201
    for _ in range(3):
        (one,) = client.call("ask", {"fixed": {"x": 0.25}}, name="kiln")[1]["suggestions"]
        assert one["parameters"] == {"x": 0.25}
        told = {"suggestion": one["id"], "reward": 1.5, "constraints": {"heat": 60}}
        assert client.call("tell", told, name="kiln")[1]["pending"] == 0
    assert client.call("best", name="kiln")[1]["parameters"]["x"] is not None
    assert len(client.call("history", name="kiln")[1]["rewards"]) == 3
    assert client.call("describe_study", name="kiln")[1]["policy"]["drifting-gp"]["capacity"] == 32
    status, problem = client.call("create_study", new | {"seed": 5})
    assert (status, problem["code"]) == (409, "another-study")


def test_policies_match_their_schema(client):
    prior = dp.Prior(dp.Arms(2), dp.kernels.Table([[1.0, 0.5], [0.5, 1.0]]), noise_variance=0.1)
    for policy in (dp.DriftingGP(), dp.TVGPUCB(prior, drift=0.1), dp.Auto(prior)):
        data = dp.live.write_policy and json.loads(json.dumps(policy_data(policy)))
        client.check({"$ref": "#/components/schemas/Policy"}, data)


def policy_data(policy):
    from driftpeak.live._study.policy_data import policy_to_data

    return policy_to_data(policy)


@pytest.mark.parametrize("kind", ["journal", "sqlite"])
def test_a_study_is_deleted_after_confirmation(tmp_path, kind):
    storage = tmp_path / "studies" if kind == "journal" else f"sqlite:///{tmp_path}/studies.db"
    with serving(storage) as served:
        client = dp.Client(served.url)
        for name in ("kiln", "mill"):
            study = client.create(name, BOX, maximize=True, policy=SMALL)
            study.tell({"x": 0.5}, 1.0)
        status, _, problem = served.send("DELETE", "/api/studies/kiln?confirm=klin")
        assert status == 422
        assert "confirm must be the name of the study" in problem["detail"]
        status, _, problem = served.send("DELETE", "/api/studies/kiln")
        assert (status, problem["detail"]) == (422, "confirm is required")
        assert len(client.study("kiln").history()) == 1
        client.study("kiln").delete()
        assert [one["name"] for one in client.studies()] == ["mill"]
        with pytest.raises(StudyNotFoundError):
            client.study("kiln").ask()
        assert len(client.study("mill").history()) == 1
        again = client.create("kiln", BOX, maximize=True, policy=SMALL)
        assert again.history() == []
    if kind == "journal":
        assert sorted(path.name for path in storage.glob("*.jsonl")) == ["kiln.jsonl", "mill.jsonl"]


@pytest.mark.parametrize(
    ("path", "body", "detail"),
    [
        ("ask", {"count": 0}, "count must be at least 1"),
        (
            "ask",
            {"count": 1.5, "time": []},
            "time must be a number or text; count must be an integer",
        ),
        ("tell", {"suggestion": 1}, "reward is required"),
        ("tell", {"reward": "5"}, "reward must be true or false or a number"),
        (
            "tell",
            {"reward": 1, "rewrad": 2},
            "rewrad is not a field of this request, which has suggestion, setting, reward, time, "
            "actual, noise, trials, constraints, context. Did you mean 'reward'?",
        ),
        ("tell", {"reward": 1, "constraints": {"heat": "x"}}, "constraints.heat must be a number"),
        ("ask", [], "the body must be an object"),
        ("forget", {"confirm": "x" * 101}, "confirm must be text of at most 100 characters"),
    ],
)
def test_messages_about_invalid_requests(served, client, path, body, detail):
    if "mill" not in str(client.call("list_studies")[1]):
        client.call("create_study", {"name": "mill", "space": BOX, "maximize": True})
    status, _, problem = served.post(f"/api/studies/mill/{path}", body)
    assert (status, problem["detail"]) == (422, detail)


def test_messages_about_json_and_dates(served, client):
    client.call("create_study", {"name": "dated", "space": BOX, "maximize": True, "policy": SMALL})
    headers = {"Content-Type": "application/json"}
    status, _, problem = served.send(
        "POST", "/api/studies/dated/ask", headers=headers, data=b'{"a": '
    )
    assert status == 422
    assert problem["detail"] == "the body must be JSON; it cannot be read at character 6"
    served.post("/api/studies/dated/ask", {"time": 3})
    _, _, problem = served.post("/api/studies/dated/ask", {"time": "2026-01-01T00:00"})
    assert "got 2026-01-01 00:00:00" in problem["detail"]
