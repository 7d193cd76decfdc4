"""Who may ask a service, from where, how often and how much; and what never leaves a folder."""

import json
import logging
import socket
import sys

import pytest
from hypothesis import given, settings, strategies as st
from served import BOX, SMALL, serving

import driftpeak as dp
from driftpeak._core.errors import DriftpeakError, error_classes
from driftpeak.service import _middleware
from driftpeak.service._limits import Limits
from driftpeak.service._middleware import Rates, host_of
from driftpeak.service._problems import ProblemError
from driftpeak.service._server import is_loopback, serve as run_server
from driftpeak.service._study_directory import open_place
from driftpeak.service._tokens import read_token

TOKEN = "a-token-of-24-characters"
NEW = {"name": "kiln", "space": BOX, "maximize": True, "policy": SMALL}
LIMITS = Limits(body=10_000, studies=3, capacity=64, points=100, streams=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Beside it lies what must never be touched."""
    outer = tmp_path_factory.mktemp("outer")
    (outer / "secret.jsonl").write_text("secret")
    (outer / "studies").mkdir()
    return outer / "studies"


@pytest.fixture(scope="module")
def served(folder):
    with serving(folder, limits=LIMITS) as found:
        dp.Client(found.url).create("kiln", BOX, maximize=True, policy=SMALL)
        yield found


@pytest.fixture(scope="module")
def closed(folder):
    """One that asks for a token."""
    with serving(folder, token=TOKEN, hosts=None) as found:
        yield found


def refused(answer, status, code):
    """It is a problem as documented; its words."""
    found, headers, content = answer
    assert (found, headers["content-type"]) == (status, "application/problem+json")
    kind = f"urn:driftpeak:problem:{code}" if code in error_classes() else "about:blank"
    assert (content["status"], content["code"], content["type"]) == (status, code, kind)
    assert set(content) == {"type", "title", "status", "detail", "code"}
    return content["detail"]


BAD = [
    "",
    "Bearer",
    f"Bearer {TOKEN}x",
    f"Bearer {TOKEN[:-1]}",
    f"Basic {TOKEN}",
    TOKEN,
    "Bearer é",
]


@pytest.mark.parametrize("given", [None, *BAD])
def test_nothing_without_the_token(closed, given, caplog):
    headers = {} if given is None else {"Authorization": given.encode()}
    with caplog.at_level(logging.DEBUG):
        for method, path in (
            ("GET", "/api/studies"),
            ("GET", "/api/openapi.json"),
            ("GET", "/api/studies/kiln/events"),
            ("GET", "/api"),
            ("POST", "/api/studies/kiln/reset"),
        ):
            answer = closed.send(method, path, headers=headers)
            assert answer[1]["www-authenticate"] == "Bearer"
            words = refused(answer, 401, "token-needed")
            assert TOKEN not in words + json.dumps(answer[1])
    assert TOKEN not in caplog.text
    assert closed.get("/")[0] == 200  # it holds no data


def test_with_the_token(closed):
    assert closed.get("/api/studies", Authorization=f"Bearer {TOKEN}")[0] == 200
    assert closed.get("/api/studies", authorization=f"bearer  {TOKEN} ")[0] == 200
    client = dp.Client(closed.url, token=TOKEN)
    assert client.studies() == client.call("GET", "studies")["studies"]
    assert TOKEN not in repr(client) + repr(client.study("kiln")) + repr(vars(client.study("kiln")))
    with pytest.raises(DriftpeakError, match="needs the service's token") as found:
        dp.Client(closed.url, token=TOKEN + "x").studies()
    assert TOKEN not in str(found.value)


def test_two_tokens_are_none(closed):
    with socket.create_connection(("127.0.0.1", closed.port)) as one:
        line = f"Authorization: Bearer {TOKEN}\r\n"
        one.sendall(f"GET /api/studies HTTP/1.1\r\nHost: x\r\n{line}{line}\r\n".encode())
        assert b"401" in one.recv(4_096).partition(b"\r\n")[0]


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.",
        "10.0.0.1",
        "",
        "[::1].evil.example",
        "[::1]evil.example:80",
        "localhost:evil.example",
        "localhost:80.evil.example",
        "localhost:80:80",
        "me@localhost",
        "localhost\xa0",
        "localhost:\xb2",
    ],
)
def test_another_host_is_refused(served, host):
    for path in ("/", "/api/studies"):
        refused(served.get(path, Host=host.encode("latin-1")), 403, "unknown-host")


KNOWN = ("localhost", "127.0.0.1", "[::1]", "kiln.example.org")
DIGITS = st.text("0123456789", max_size=6)


@given(st.sampled_from(KNOWN), DIGITS, st.booleans())
def test_hosts_with_a_port_are_known(host, port, upper):
    host = host.upper() if upper else host
    assert host_of(host) == host.lower()
    assert host_of(f"{host}:{port}") == host.lower()


def changed(host, place, text, length):
    """A known host of which a part is replaced."""
    place = min(place, len(host))
    return host[:place] + text + host[place + length :]


LATIN = st.characters(max_codepoint=255)
TEXTS = st.text(LATIN, max_size=20) | st.text("localhst:127.0[]%@ \t", max_size=20)
CHANGED = st.builds(
    changed,
    st.builds("{}:{}".format, st.sampled_from(KNOWN), DIGITS),
    st.integers(0, 24),
    TEXTS,
    st.integers(0, 5),
)


@pytest.mark.slow
@settings(max_examples=2_000)
@given(TEXTS | CHANGED)
def test_no_other_text_is_a_known_host(text):
    """What is accepted is a known name, and after it at most a colon and digits."""
    if host_of(text) in KNOWN:
        name = host_of(text)
        assert text[: len(name)].lower() == name
        rest = text[len(name) :]
        assert rest == "" or rest[0] == ":"
        assert set(rest[1:]) <= set("0123456789")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:80", "127.0.0.1:1", "[::1]:8765"])
def test_the_hosts_of_this_machine(served, host):
    assert served.get("/api/studies", Host=host)[0] == 200


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "https://127.0.0.1.evil.example", "http://127.0.0.1:1"],
)
def test_another_page_is_refused(served, origin):
    path = "/api/studies/kiln/reset"
    for method, headers in (
        ("POST", {"Origin": origin}),
        ("POST", {"Sec-Fetch-Site": "cross-site"}),
        ("GET", {"Origin": origin}),
    ):
        answer = served.send(method, path, {"confirm": "kiln"}, headers)
        refused(answer, 403, "another-origin")
        assert not [name for name in answer[1] if name.lower().startswith("access-control")]


def test_the_own_page_may_ask(served):
    own = {"Origin": f"http://127.0.0.1:{served.port}", "Sec-Fetch-Site": "same-origin"}
    assert served.get("/api/studies", **own)[0] == 200


def test_forms_are_no_json(served):
    """What a page can send without asking first."""
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        answer = served.send(
            "POST", "/api/studies/kiln/ask", headers={"Content-Type": kind}, data=b"{}"
        )
        refused(answer, 415, "no-json")


def test_preflights_are_not_answered(served):
    headers = {"Origin": "http://localhost", "Access-Control-Request-Method": "POST"}
    code, found, _ = served.send("OPTIONS", "/api/studies", headers=headers)
    assert code == 403
    assert not [name for name in found if name.lower().startswith("access-control")]


def test_long_requests(served):
    body = {"suggestion": 1, "reward": 1, "context": {"x": "y" * LIMITS.body}}
    refused(served.post("/api/studies/kiln/tell", body), 413, "too-long")
    chunks = iter([b"{", b" " * LIMITS.body, b"}"])  # without a length
    kind = {"Content-Type": "application/json"}
    answer = served.send("POST", "/api/studies/kiln/tell", headers=kind, data=chunks)
    refused(answer, 413, "too-long")


def test_slow_requests(tmp_path):
    with (
        serving(tmp_path, limits=Limits(upload=0.2)) as served,
        socket.create_connection(("127.0.0.1", served.port)) as one,
    ):
        head = b"POST /api/studies HTTP/1.1\r\nHost: localhost\r\n"
        one.sendall(head + b"Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{")
        one.settimeout(60)
        assert b"408" in one.recv(4_096).partition(b"\r\n")[0]


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'"x"',
        b"{}",
        b"\xff",
        b"[" * 5_000,
        b'{"suggestion": ' + b"9" * 5_000 + b', "reward": 1}',
        b'{"suggestion": 1, "reward": NaN}',
        b'{"suggestion": 1, "reward": Infinity}',
        b'{"suggestion": 1, "reward": 1e999}',
        b'{"suggestion": 1, "reward": "1"}',
        b'{"suggestion": 1, "reward": null}',
        b'{"suggestion": 1.5, "reward": 1}',
        b'{"suggestion": true, "reward": 1}',
        b'{"reward": 1}',
        b'{"suggestion": 1, "setting": {"x": 0.5}, "reward": 1}',
        b'{"setting": {"x": "\\ud800"}, "reward": 1}',
        b'{"setting": {"x": [[[]]]}, "reward": 1}',
        b'{"setting": {"x": 0.5}, "reward": 1, "rewards": 2}',
        b'{"setting": {"x": 0.5}, "reward": 1, "time": "yesterday"}',
        b'{"setting": {"x": 0.5}, "reward": 1, "time": 1e300}',
    ],
)
def test_what_is_no_tell(served, text):
    kind = {"Content-Type": "application/json"}
    code, headers, content = served.send("POST", "/api/studies/kiln/tell", headers=kind, data=text)
    assert code in (400, 422)
    assert headers["content-type"] == "application/problem+json"
    assert content["detail"]
    assert served.get("/api/studies/kiln")[2]["told"] == 0


@pytest.mark.parametrize(
    "name",
    ["../secret", "..", ".", "", "a/b", "a\\b", "a\0b", "-x", ".hidden", "ä", "x" * 101, "a b",
     "a'; DROP TABLE driftpeak_studies; --", "{{7*7}}", "<script>", "kiln\n", "a%2fb"],
)  # fmt: skip
def test_names_that_are_none(served, folder, name):
    """Nothing is made, and nothing outside the folder is read or written."""
    before = sorted(folder.parent.rglob("*"))
    refused(served.post("/api/studies", NEW | {"name": name}), 422, "invalid")
    if name:
        with pytest.raises(DriftpeakError):
            dp.Client(served.url).study(name).describe()
    assert sorted(folder.parent.rglob("*")) == before
    assert (folder.parent / "secret.jsonl").read_text() == "secret"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"policy": {"drifting-gp": {"capacity": 65}}}, "capacity of a served study must be"),
        ({"space": {"arms": 101}}, "number of arms of a served study must be at most 100"),
        ({"space": {"grid": [[0, 1], [0, 1]], "size": 11}}, "must be at most 100; got 121"),
        ({"space": {"grid": [[0, 1]], "size": [10**12]}}, "must be at most 100"),
        ({"horizon": 100_001}, "horizon of a served study must be at most 100,000"),
        ({"policy": {"os.system": {"command": "true"}}}, "known to this version"),
        ({"policy": {"se": {"lengthscale": 1.0}}}, "policy must be a name with arguments"),
        ({"policy": {"yours": "os.system"}}, "user-defined"),
        ({"space": {}}, "a space must be written as"),
        ({"space": {"box": {"x": {"type": "float", "low": 2, "high": 1}}}}, "low must be below"),
    ],
)
def test_studies_that_are_not_begun(served, folder, more, words):
    before = sorted(folder.iterdir())
    assert words in refused(served.post("/api/studies", NEW | {"name": "a"} | more), 422, "refused")
    assert sorted(folder.iterdir()) == before


def test_no_more_studies_than_allowed(served, folder):
    for number in (1, 2, 3):
        answer = served.post("/api/studies", NEW | {"name": f"more{number}"})
        if number < 3:
            assert answer[0] == 201
    assert "the service allows 3 studies" in refused(answer, 403, "too-many-studies")
    assert served.post("/api/studies", NEW)[0] == 200  # is there
    for number in (1, 2):
        (folder / f"more{number}.jsonl").unlink()


def test_no_more_streams_than_allowed(served):
    stream = dp.Client(served.url).study("kiln").events()
    next(stream)
    refused(served.get("/api/studies/kiln/events"), 503, "busy")
    stream.close()


def test_clients_that_ask_too_often(tmp_path):
    with serving(tmp_path, limits=Limits(rate=0.001, burst=3)) as served:
        for _ in range(3):
            assert served.get("/api/studies")[0] == 200
        answer = served.get("/api/studies", **{"X-Forwarded-For": "10.0.0.1"})
        refused(answer, 429, "too-many-requests")
        assert answer[1]["retry-after"] == "1"


def test_rates_are_of_each_client(set_clock):
    now = set_clock(_middleware)
    rates = Rates(2.0, 2)
    for client in ("a", "a", "b", "b"):
        rates.check(client)
    for client in ("a", "b"):
        with pytest.raises(ProblemError, match="at most 2 requests a second"):
            rates.check(client)
    now[0] = 0.6
    rates.check("a")
    with pytest.raises(ProblemError):
        rates.check("a")


def test_paths_and_methods_that_are_none(served):
    for method, path, status in (
        ("GET", "/api/nothing", 404),
        ("GET", "/api", 404),
        ("GET", "/api/studies/kiln/", 404),
        ("GET", "/api/studies/kiln/ask", 405),
        ("PUT", "/api/studies/kiln", 405),
        ("POST", "/api/studies/kiln/history", 405),
    ):
        body = {} if method == "POST" else None
        code, headers, _ = served.send(method, path, body)
        assert (code, headers["content-type"]) == (status, "application/problem+json")


def test_a_token_from_a_file_or_the_environment(tmp_path, monkeypatch):
    path = tmp_path / "token"
    path.write_text(f"{TOKEN}\n")
    assert read_token(path) == TOKEN
    monkeypatch.setenv("DRIFTPEAK_TOKEN", TOKEN + "2")
    assert read_token(path) == TOKEN
    assert read_token(None) == TOKEN + "2"
    monkeypatch.delenv("DRIFTPEAK_TOKEN")
    assert read_token(None) is None
    for text, words in (
        ("short", "16 to 1000 characters; got 5"),
        ("x" * 5_000, "16 to 1000 characters"),
        ("with blanks in between them", "without blanks"),
        ("é" * 20, "ASCII"),
    ):
        path.write_text(text)
        with pytest.raises(DriftpeakError, match=words) as found:
            read_token(path)
        assert text not in str(found.value)
    with pytest.raises(DriftpeakError, match="No such file"):
        read_token(tmp_path / "none")


def test_addresses_of_this_machine():
    assert all(map(is_loopback, ("127.0.0.1", "127.1.2.3", "::1", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "10.0.0.1", "kiln.example", "")))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("serve", "new"), None),
        (("serve", "no/where"), "folder 'no/where' does not exist and cannot be created: No such"),
        (("serve", "."), None),
        (("serve", "mysql://u:secret@h/d"), "storage must be"),
        (("serve", "sqlite://"), "must name a file"),
        (("serve", "sqlite:///no/such/x.db"), "folder 'no/such' does not exist. Create it"),
        (("serve", "sqlite:///x.db", "--port", "0"), None),
        (("serve", ".", "--host", "0.0.0.0"), "a token is required: give --token-file"),
        (
            ("serve", ".", "--allow-host", "a.example"),
            "--allow-host a.example makes the service available to other",
        ),
        (("serve", ".", "--allow-host", "a.example:80", "--token-file", "token"), "without a port"),
        (("serve", ".", "--token-file", "none"), "token file none cannot be read: No such file"),
        (
            ("serve", ".", "--host", "192.0.2.1", "--token-file", "token"),
            "must be an address of this machine; got 192.0.2.1",
        ),
        (("serve", "one.jsonl"), "must be a folder of journals; got the file 'one.jsonl'"),
    ],
)
def test_starts_that_are_refused(run, tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("driftpeak.service._server.Server.run", lambda *_, **__: None)
    monkeypatch.setattr("driftpeak.service._server.hear", lambda: None)
    (tmp_path / "token").write_text(TOKEN)
    (tmp_path / "one.jsonl").write_text("")
    port = () if "--port" in words else ("--port", "0")
    code, out, err = run(*words, *port)
    if said is None:
        assert (code, out) == (0, "")
        assert "serving at http://127.0.0.1:" in err
        return
    assert (code, out) == (2, "")
    assert said in err
    assert "secret" not in err
    assert TOKEN not in err
    assert "Traceback" not in err


def test_a_port_in_use(run, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, _, err = run("serve", tmp_path, "--port", port)
    assert code == 2
    assert f"port {port} of 127.0.0.1 is in use; give another" in err


def test_a_missing_extra_is_named(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.delitem(sys.modules, "driftpeak.service._server")
    code, _, err = run("serve", tmp_path)
    assert code == 2
    assert "needs the package uvicorn. Run pip install 'driftpeak[serve]'" in err


def test_a_folder_is_read_as_it_is(tmp_path):
    """Files that are no journals, or whose names are none, are not served."""
    for name in ("a.jsonl", "b.txt", "a b.jsonl", ".x.jsonl", "a.jsonl.snapshot"):
        (tmp_path / name).write_text("")
    assert open_place(str(tmp_path)).names() == ["a"]
    assert open_place(f"journal:///{tmp_path}").names() == ["a"]


def test_studies_of_a_database_share_connections(tmp_path):
    address = f"sqlite:///{tmp_path}/x.db"
    place = open_place(address)
    assert place.names() == []
    assert list(tmp_path.iterdir()) == []  # looking makes no file
    for name in ("one", "two", "not served: this"):
        dp.Optimizer(dp.Arms(2), maximize=True, storage=address, name=name)
    assert place.names() == ["one", "two"]
    first, second = place.store("one"), place.store("two")
    assert (first.describe()["name"], second.describe()["name"]) == ("one", "two")
    assert first._engine is second._engine


def test_serve_is_called_with_what_the_command_was_given(monkeypatch, tmp_path):
    """The hosts that are known: those of this machine, and those allowed."""
    made = {}

    class Fake:
        def __init__(self, app):
            made["app"] = app

        def run(self, sockets):
            made["port"] = sockets[0].getsockname()[1]

    monkeypatch.setattr("driftpeak.service._server.Server", Fake)
    monkeypatch.setattr("driftpeak.service._server.hear", lambda: None)
    told = []
    for host, allowed, known in (
        ("127.0.0.1", (), {"localhost", "127.0.0.1", "[::1]"}),
        ("127.0.0.1", ("Kiln.example",), {"localhost", "127.0.0.1", "[::1]", "kiln.example"}),
        ("0.0.0.0", (), None),
    ):
        run_server(
            str(tmp_path),
            host=host,
            port=0,
            token=TOKEN,
            allowed=allowed,
            limits=Limits(),
            ready=lambda *where: told.append(where),
        )
        assert made["app"]._hosts == known
        assert told[-1] == (host, made["port"])
