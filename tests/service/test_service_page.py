"""The page on serving: its curl commands print what it says, and its Python runs."""

import json
import re
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
from served import serving

import driftpeak as dp
from driftpeak.service._limits import MIB, Limits
from driftpeak.service._server import IDLE

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "serve.md"
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE.read_text(), re.M | re.S)
CALLS = [
    (text, json.loads(answer))
    for (kind, text), (following, answer) in pairwise(BLOCKS)
    if (kind, following) == ("sh", "json")
]


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("studies")) as served:
        yield served.url


def alike(found, shown):
    """The same names, texts and kinds; numbers may differ from machine to machine."""
    if isinstance(shown, dict):
        assert list(found) == list(shown)
        for name, one in shown.items():
            alike(found[name], one)
    elif isinstance(shown, list):
        assert len(found) == len(shown)
        for pair in zip(found, shown, strict=True):
            alike(*pair)
    elif isinstance(shown, float):
        assert isinstance(found, float | int)
    else:
        assert found == shown


@pytest.mark.slow
def test_curl(url):
    """From top to bottom, as a reader would."""
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    assert len(CALLS) == 10
    for text, shown in CALLS:
        command = ["bash", "-c", text]
        done = subprocess.run(command, env={"URL": f"{url}/api"}, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, ""), text
        alike(json.loads(done.stdout), shown)


def test_python(url, capsys):
    blocks = [text for kind, text in BLOCKS if kind == "python"]
    assert len(blocks) == 1
    exec(blocks[0].replace("http://127.0.0.1:8765", url), {})
    best, count = map(float, capsys.readouterr().out.split())
    assert 100 <= best <= 250
    assert count == 8


def test_every_route_is_named(url):
    """And no other."""
    page = PAGE.read_text()
    document = dp.Client(url).call("GET", "openapi.json")
    for path in document["paths"]:
        word = path.rpartition("/")[2]
        assert word in ("studies", "{name}") or word in page, word


def test_the_limits_are_those_of_the_service():
    text, limits = PAGE.read_text(), Limits()
    for words in (
        f"{limits.headers:g} s without complete headers",
        f"{limits.upload:g} s without the whole body",
        f"{limits.download:g} s in which an answer is not read",
        f"{IDLE} s without a further request",
        f"at most {limits.connections:,}, and fewer",
        f"the size of a request ({limits.body // MIB} MiB)",
    ):
        assert words in text
