"""A program in any language: the commands of the page about serving, and a client in JavaScript."""

import json
import os
import re
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
from served import serving

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "serve.md"
BLOCK = re.compile(r"^```(sh|json)\n(.*?)^```", re.MULTILINE | re.DOTALL)
ADDRESS = "http://127.0.0.1:8765"
JAVASCRIPT = """
const url = process.argv[2] + "/api/studies";
async function post(path, body) {
  const headers = { "Content-Type": "application/json" };
  const answer = await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) });
  const content = await answer.json();
  if (!answer.ok) throw new Error(content.detail);
  return content;
}
const space = { box: { speed: { type: "float", low: 0, high: 10 } } };
const policy = { "drifting-gp": { capacity: 64 } };
await post("", { name: "mill", maximize: true, space, policy });
for (let step = 0; step < 40; step++) {
  const { suggestions: [{ id, parameters }] } = await post("/mill/ask", {});
  await post("/mill/tell", { suggestion: id, reward: -((parameters.speed - 6) ** 2) });
}
const best = await (await fetch(url + "/mill/best")).json();
let refusal = "";
try {
  await post("/mill/ask", { fixed: { speeed: 1 } });
} catch (error) { refusal = error.message; }
console.log(JSON.stringify({ best, refusal }));
"""


def shape(value):
    """The keys of an answer, without its values."""
    if isinstance(value, dict):
        return {name: shape(one) for name, one in value.items() if name != "policy"}
    return [shape(one) for one in value[:1]] if isinstance(value, list) else None


@pytest.mark.slow
def test_the_commands_of_the_page(tmp_path):
    """Each `curl` command of the page is answered with the fields that the page shows."""
    text = subprocess.run(["curl", "--help", "all"], capture_output=True, text=True).stdout
    if "--json" not in text:
        pytest.skip("curl is older than 7.82")
    blocks = BLOCK.findall(PAGE.read_text().split("\n## From a shell\n")[1].split("\n## ")[0])
    count = 0
    with serving(tmp_path) as served:
        for (kind, command), (_, shown) in pairwise(blocks):
            if kind != "sh" or not command.startswith("curl"):
                continue
            script = f"URL={served.url}/api\n{command}"
            found = subprocess.run(
                ["bash", "-c", script], capture_output=True, text=True, timeout=300
            )
            assert found.returncode == 0, found.stderr
            answer, expected = json.loads(found.stdout), json.loads(shown)
            assert shape(answer) == shape(expected), command
            if "title" in expected:
                assert answer == expected
            count += 1
    assert count >= 8


@pytest.mark.slow
def test_a_client_in_javascript(tmp_path):
    """Forty rounds, the best setting, and the message of an error."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    program = tmp_path / "client.mjs"
    program.write_text(JAVASCRIPT)
    with serving(tmp_path / "studies") as served:
        words = [node, str(program), served.url]
        done = subprocess.run(
            words, capture_output=True, text=True, timeout=500, env=dict(os.environ)
        )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert abs(found["best"]["parameters"]["speed"] - 6) < 0.5
    assert found["best"]["low"] - 1e-3 < found["best"]["mean"] < found["best"]["high"] + 1e-3
    assert "speed" in found["refusal"]
    assert "speeed" in found["refusal"]
