"""Any words on the command line: an answer or one line of refusal, in time, and no file left."""

import gzip
import json
import os
import random
import signal
from pathlib import Path

import pytest
from commands import EXIT_CODES

from driftpeak.offline.data._reading import decoding as contents

LONG = "9" * 5000
NUMBERS = ["-1", "1e30", str(10**30), LONG, "99999999999999999", "nan", "inf", "-inf", "1e308"]
NUMBERS += ["abc", "", str(2**63), str(2**64), "0x10", "1_0.5", "--", "\udcff", "١e", "1" + " " * 9]
TEXTS = ["", "x" * 5000, "\udcff", "a\nb", "{", "[]", "null", "../..", "a:b=c", ":", "=", ","]
SPACES = [
    *["{}", "[]", "5", "{", '{"box": 5}', '{"box": {}}', '{"box": {"x": 5}}', '{"arms": []}'],
    *['{"box": {"x": {"type": []}}}', '{"box": {"x": {"type": "float", "low": 0}}}', '{"grid": 5}'],
    *['{"arms": 5, "names": 5}', '{"arms": 2, "names": [[], {}, 3]}', '{"arms": 100000000000000}'],
    *[
        '{"arms": [[0], [1, 2]]}',
        '{"arms": [["a"], [1]]}',
        '{"grid": [[0, 1]], "size": 1000000000}',
    ],
    *['{"grid": [[0, 1], [0, 1]], "size": [5]}', '{"grid": [[1, 0]], "size": 5}', '{"arms": NaN}'],
    *[
        '{"grid": [[0, [1]]], "size": 5}',
        '{"box": {"x": {"type": "float", "low": NaN, "high": 1}}}',
    ],
    *['{"box": {"x": {"type": "float", "low": -1e308, "high": 1e308}}}', '{"arms": true}'],
    *['{"box": {"x": {"type": "integer", "low": 0, "high": 1' + "0" * 400 + "}}}"],
    *['{"box": {"x": {"type": "integer", "low": 0, "high": 1' + "0" * 5000 + "}}}"],
    *['{"box": {"x": {"type": "categorical", "choices": [NaN, 1]}}}'],
    *['{"box": {"x": {"type": "categorical", "choices": ["\\ud800", "b"]}}}'],
    *['{"box": {"\\u0000": {"type": "float", "low": 0, "high": 1}}}'],
    *['{"box": ' * 100_000, '{"box": ' + "[" * 100_000 + "]" * 100_000 + "}"],
]
POLICY = ["tv-gp-ucb:drift=", "sw-gp-ucb:window=", "r-gp-ucb:period=", "auto:switching="]
POLICY += ["w-gp-ucb:discount=", "ui-gp-ucb:exponent=", "opkb:preset="]


def commands(folder, generator):
    """One command line, wrong somewhere."""
    number, text = generator.choice(NUMBERS), generator.choice(TEXTS)
    odd = generator.choice([number, text])
    store = str(folder / "kept.jsonl")
    small = ["--policy", "random", "--steps", "3", "--trials", "1", "--size", "5"]
    option = generator.choice
    return generator.choice(
        [
            ["live", "create", "new", "p", "--maximize", "--space", option(SPACES)],
            ["live", "create", "new", "p", "--maximize", "--space", option([odd, *files(folder)])],
            ["live", "create", "new", "p", "--maximize", "--space", '{"arms": 2}',
             option(["--capacity", "--seed"]), number],
            ["live", option(["ask", "best"]), store, "--time", odd],
            ["live", "ask", store, "--count", number],
            ["live", "tell", store, "--id", "1", "--reward", number + "x"],
            ["live", "tell", store, "--id", number, "--reward", "1"],
            ["live", "tell", store, "--parameters", option(["{}", "[", '{"arm": []}',
             '{"arm": 1e9}', "[" * 100_000, '{"arm": ' + "9" * 5000 + "}", odd]), "--reward", "1"],
            ["live", "cancel", store, option(["--id", "--all="]), number],
            ["live", "forget", store, "--before", odd],
            ["compare", *small, option(["--dimension", "--size", "--steps", "--trials", "--seed",
             "--nu", "--drift", "--lengthscale", "--noise-variance"]), number],
            ["compare", *small, "--policy", option(POLICY) + odd],
            ["compare", *small, option(["--policy", "--width", "--kernel", "--environment"]), text],
            ["plan", "--horizon", "100", option(["--horizon", "--dimension", "--variation",
             "--drift", "--nu", "--exponent", "--side-queries"]), number],
            ["plan", "--data", option(files(folder))],
            ["replay", option([*files(folder), odd]), "--policy", "random"],
            ["replay", str(folder / "data.csv"), "--policy", "random",
             option(["--train", "--trials", "--noise-variance", "--mean", "--missing"]),
             odd or "-"],
            ["reproduce", option(["b16-fig2a", odd or "-"]),
             option(["--trials", "--workers", "--seed"]), option(["1e30", LONG, "-5", "x", "nan"])],
            [option(["data", "live", "demo", "plan", ""]), odd, odd],
        ]
    )  # fmt: skip


def files(folder):
    names = ("pipe", "bomb.csv", "huge.csv", "wild.csv", "noise.csv", "none.csv", ".")
    return [*(str(folder / name) for name in names), "/dev/zero"]


@pytest.fixture
def folder(tmp_path, monkeypatch, run):
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setattr(contents, "MOST_BYTES", 200_000)
    (tmp_path / "bomb.csv").write_bytes(gzip.compress(b"0" * 2_000_000))
    (tmp_path / "huge.csv").write_text("a,b\n" + "1,2\n" * 100_000)
    (tmp_path / "wild.csv").write_text("a,b\n" + "1e300,-1e300\n" * 20)
    (tmp_path / "noise.csv").write_bytes(random.Random(0).randbytes(2000))
    (tmp_path / "data.csv").write_text("a,b\n" + "1,2\n2,1\n0,3\n" * 8)
    monkeypatch.chdir(tmp_path)
    space = ["--space", json.dumps({"arms": 2}), "--maximize"]
    assert run("live", "create", tmp_path / "kept.jsonl", "p", *space)[0] == 0
    return tmp_path


def stop(*_):
    raise TimeoutError("a command hangs")


def try_all(run, folder, cases, seed):
    """How many were refused."""
    generator, wrong, refused = random.Random(seed), [], 0
    signal.signal(signal.SIGALRM, stop)
    before = sorted(folder.rglob("*"))
    for case in range(cases):
        words = commands(folder, generator)
        shown = [word if len(word) < 80 else word[:60] + "..." for word in words]
        signal.alarm(100)
        try:
            code, _, err = run(*words)
        except BaseException as error:
            wrong.append((case, shown, f"{type(error).__name__}: {error}"[:200]))
            continue
        finally:
            signal.alarm(0)
        refused += code in EXIT_CODES
        if code not in (0, 1, *EXIT_CODES) or "Traceback" in err:
            wrong.append((case, shown, code, err[:200]))
        after = sorted(folder.rglob("*"))
        if code in EXIT_CODES and after != before:
            wrong.append((case, shown, "left", set(map(Path, after)) - set(before)))
        before = after
    assert not wrong, "\n".join(map(str, wrong))
    return refused


def test_no_words_bring_a_traceback(run, folder):
    assert try_all(run, folder, 25, seed=0) > 12


@pytest.mark.slow
def test_no_words_bring_a_traceback_at_length(run, folder):
    assert try_all(run, folder, 390, seed=1) > 250


@pytest.mark.parametrize(
    ("words", "fragment"),
    [
        (["compare", "--dimension", "99999999"], "at most 10,000"),
        (["compare", "--nu", "nan"], "nu must be"),
        (["reproduce", "b16-fig2a", "--trials", str(10**30)], "--trials"),
        (["replay", "pipe"], "is a pipe or a device"),
        (["replay", "/dev/zero"], "is a pipe or a device"),
        (["replay", "bomb.csv"], "an unpacked file must have at most"),
        (["replay", "huge.csv"], "an unpacked file must have at most"),
        (["plan", "--data", "wild.csv"], "beyond 1e100"),
        (
            ["live", "create", "new", "p", "--maximize", "--space", "/dev/zero"],
            "is a pipe or a device",
        ),
        (["live", "create", "new", "p", "--maximize", "--space", SPACES[-1]], "nested too deeply"),
        (
            ["live", "create", "new", "p", "--maximize", "--space", '{"arms": 3, "names": 5}'],
            "names",
        ),
    ],
)
def test_what_is_too_large_is_refused(run, folder, words, fragment):
    code, out, err = run(*words)
    assert (code in EXIT_CODES, out) == (True, "")
    assert fragment in err
    assert not (folder / "new").exists()
