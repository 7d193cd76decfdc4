"""A folder of finished results over HTTP: its files of known kinds, read only, and nothing else."""

import json
from urllib.request import urlopen

import pytest
from served import serving

SUMMARY = {"command": "replay", "driftpeak_version": "0.1.0", "policies": {}}
REPORT = "<!doctype html><title>x</title><script>document.title = 'ran'</script>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("some") / "results"
    found.mkdir()
    (found / "summary.json").write_text(json.dumps(SUMMARY))
    (found / "report.html").write_text(REPORT)
    (found / "regret.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (found / "results.nc").write_text("large")
    (found / "deeper").mkdir()
    (found / "deeper" / "other.json").write_text("{}")
    (found.parent / "secret.json").write_text('{"secret": 1}')
    (found / "link.json").symlink_to(found.parent / "secret.json")
    return found


@pytest.fixture(scope="module")
def served(folder):
    with serving(folder) as found:
        yield found


def test_the_summary_and_the_names_of_what_can_be_seen(served):
    status, _, found = served.get("/api/results")
    assert status == 200
    assert found == {"summary": SUMMARY, "files": ["regret.png", "report.html", "summary.json"]}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("summary.json", "application/json"),
        ("report.html", "text/html; charset=utf-8"),
        ("regret.png", "image/png"),
    ],
)
def test_files_are_sent_as_what_they_are_and_run_nothing(served, folder, name, kind):
    with urlopen(f"{served.url}/api/results/{name}") as answer:
        headers, content = answer.headers, answer.read()
    assert headers["content-type"] == kind
    assert content == (folder / name).read_bytes()
    assert len(headers.get_all("content-security-policy")) == 1
    policy = headers["content-security-policy"].split("; ")
    assert "sandbox" in policy
    assert "default-src 'none'" in policy
    assert not any(one.startswith("script-src") for one in policy)
    assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "name",
    [
        "results.nc",
        "link.json",
        "deeper",
        "deeper/other.json",
        "deeper%2Fother.json",
        "../secret.json",
        "..%2Fsecret.json",
        "%2e%2e%2fsecret.json",
        "..",
        ".json",
        "summary.json%00.png",
    ],
)
def test_nothing_else_is_sent(served, name):
    status, _, found = served.get(f"/api/results/{name}")
    assert status in (404, 422)
    assert "secret" not in json.dumps(found).replace(name, "").replace("secret.json", "")


def test_a_folder_without_results(tmp_path):
    (tmp_path / "picture.png").write_bytes(b"mine")
    with serving(tmp_path) as served:
        assert served.get("/api/results")[2] == {"summary": None, "files": []}
        (tmp_path / "summary.json").write_text('{"mine": true}')
        assert served.get("/api/results")[2] == {"summary": None, "files": []}
        assert served.get("/api/results/picture.png")[0] == 404
        (tmp_path / "summary.json").write_text("{")
        status, _, problem = served.get("/api/results")
        assert (status, problem["code"]) == (422, "invalid-data")


def test_a_database_has_none(tmp_path):
    with serving(f"sqlite:///{tmp_path}/studies.db") as served:
        assert served.get("/api/results")[2] == {"summary": None, "files": []}
        assert served.get("/api/results/summary.json")[0] == 404


def test_results_ask_for_the_token_too(folder):
    with serving(folder, token="0123456789abcdef") as served:
        assert served.get("/api/results")[0] == 401
        assert served.get("/api/results/summary.json")[0] == 401
        bearer = {"Authorization": "Bearer 0123456789abcdef"}
        assert served.get("/api/results/summary.json", **bearer)[0] == 200
