"""`driftpeak live`: what another language sees."""

import io
import json

import pytest
from commands import EXIT_CODES, refused
from PIL import Image

SPACE = {
    "box": {
        "speed": {"type": "float", "low": 0, "high": 10},
        "kind": {"type": "categorical", "choices": ["a", "b"]},
    }
}


@pytest.fixture
def live(run, tmp_path):
    """Run `driftpeak live COMMAND STORE ...` and read what it printed."""

    def live(command, *words):
        code, out, err = run("live", command, f"sqlite:///{tmp_path}/studies", *words)
        assert (code, err) == (0, "")
        return json.loads(out)

    return live


@pytest.fixture
def created(live, tmp_path):
    path = tmp_path / "space.json"
    path.write_text(json.dumps(SPACE))
    assert live("create", "kiln", "--space", path, "--maximize") == {"name": "kiln", "told": 0}
    return live


@pytest.mark.slow
def test_a_study_from_the_command_line(created, tmp_path):
    for step in range(1, 9):
        one = created("ask", "kiln")
        assert (one["id"], one["time"]) == (step, step)
        value = -((one["parameters"]["speed"] - 4) ** 2) - (one["parameters"]["kind"] == "a")
        told = created("tell", "kiln", "--id", one["id"], "--reward", value)
        assert told == {"told": step, "pending": 0}
    assert created("create", "kiln", "--space", json.dumps(SPACE), "--maximize")["told"] == 8
    pair = created("ask", "--count", 2)
    assert [one["id"] for one in pair] == [9, 10]
    setting = {"speed": 4, "kind": "b"}
    words = ("--parameters", json.dumps(setting), "--reward", "-0.5", "--time", 9, "--key", "a")
    for _ in range(2):  # a program that was killed just after it had told
        assert created("tell", *words) == {"told": 9, "pending": 2}
    best = created("best", "--time", 12)
    assert set(best) == {"time", "parameters", "mean", "deviation"}
    assert best["parameters"]["kind"] == "b"
    assert abs(best["parameters"]["speed"] - 4) < 3
    shown = created("show")
    assert shown["space"] == {"box": {"speed": SPACE["box"]["speed"] | {"log": False},
                                      "kind": SPACE["box"]["kind"]}}  # fmt: skip
    assert shown["maximize"] is True
    assert [one["id"] for one in shown["pending"]] == [9, 10]
    assert shown["diagnostics"]["told"] == 9
    paths = created("plot", "--output", tmp_path / "pictures")
    for path in paths:
        with Image.open(path) as image:
            assert image.size[0] > 500
    assert len(paths) == 3


def test_dates_and_arms(live, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO('{"arms": 3, "names": ["x", "y", "z"]}'))
    live("create", "shop", "--space", "-", "--minimize")
    one = live("ask", "--time", "2026-03-01T08:00")
    assert one["time"] == "2026-03-01T08:00:00"
    assert one["parameters"]["arm"] in "xyz"
    live("tell", "--id", 1, "--reward", 2, "--time", "2026-03-01T08:30")
    assert live("show")["latest"] == "2026-03-01T08:30:00"


def test_mistakes(run, created, tmp_path):
    store = f"sqlite:///{tmp_path}/studies"
    space, tell = ("--space", json.dumps(SPACE)), ("live", "tell", store, "kiln")
    refused(
        run("live", "create", store, "pump", *space), "one of --maximize and --minimize is required"
    )
    refused(run("live", "create", store, "kiln", *space, "--minimize"), "another maximize")
    refused(run("live", "create", store, "p", "--space", "{", "--maximize"), "--space must be JSON")
    refused(
        run("live", "create", store, "p", "--space", "{}", "--maximize"), "a space must be written"
    )
    refused(run("live", "create", store, "p", "--space", "no", "--maximize"), "cannot read the sp")
    refused(run("live", "ask", store, "klin"), "no study 'klin'.*Did you mean 'kiln'")
    refused(run("live", "ask", tmp_path / "none"), "no study in journal.*live create")
    refused(run("live", "ask", "mysql://x", "kiln"), "storage must be")
    refused(run("live", "ask", store, "kiln", "--time", "soon"), "--time must be a number")
    refused(run("live", "ask", store, "kiln", "--count", "0"), "count must be")
    refused(run("live", "best", store, "kiln"), "no observations yet")
    refused(run("live", "plot", store, "kiln", "--output", tmp_path), "no observations")
    refused(run(*tell, "--reward", "1"), "one of --id .* and --parameters")
    refused(run(*tell, "--id", "1"), "give --reward")
    refused(run(*tell, "--id", "1", "--reward", "1"), "there is no suggestion 1")
    refused(run(*tell, "--id", "1", "--reward", "nan"), "reward must be a finite number")
    refused(run(*tell, "--parameters", "[1]", "--reward", "1"), "must be a JSON object")
    refused(run(*tell, "--parameters", '{"sped": 1}', "--reward", "1"), "Did you mean 'speed'")


@pytest.mark.slow
def test_cancel_forget_reset_export(run, created, tmp_path, monkeypatch):
    store = f"sqlite:///{tmp_path}/studies"
    monkeypatch.setattr("driftpeak.live._study.study_state.PENDING", 9)
    created("ask", "--count", 9)
    refused(
        run("live", "ask", store),
        "at most 9 suggestions may be pending; got 9 .* live cancel --all",
    )
    assert created("cancel", "--id", 7) == {"cancelled": [7], "pending": 8}
    assert len(created("cancel", "--all")["cancelled"]) == 8
    refused(run("live", "cancel", store), "one of --id of a suggestion and --all is required")
    refused(run("live", "cancel", store, "--id", "7"), "already told or cancelled")
    for step in (1, 2, 3):
        setting = json.dumps({"speed": step, "kind": "a"})
        created("tell", "--parameters", setting, "--reward", step, "--time", step)
    kept = created("export")
    assert [one["reward"] for one in kept] == [1, 2, 3]
    assert kept[0] == {"id": None, "time": 1, "parameters": {"speed": 1.0, "kind": "a"},
                       "reward": 1.0, "expected": None}  # fmt: skip
    assert created("forget", "--before", 3) == {"held": 1, "told": 3}
    assert created("forget") == {"held": 0, "told": 3}
    assert created("reset") == {"told": 0, "pending": 0}
    assert created("export") == []
    assert created("ask")["id"] == 10


def test_all_rewards_are_exported(live, monkeypatch):
    """However many are kept in memory; and a mistake names the option that it was made in."""
    from driftpeak.live._study import study_state as state

    monkeypatch.setattr(state, "HISTORY", 2)
    monkeypatch.setattr("sys.stdin", io.StringIO('{"arms": 3}'))
    live("create", "shop", "--space", "-", "--minimize")
    for reward in range(5):
        live("tell", "--parameters", '{"arm": 1}', "--reward", reward)
    assert [one["reward"] for one in live("export")] == [0, 1, 2, 3, 4]


def test_moves_on_the_command_line(live, run, tmp_path):
    space = {"box": {"x": {"type": "float", "low": 0, "high": 10, "max_step": 1}}}
    begin = ["create", "press", "--space", json.dumps(space), "--maximize"]
    moves = ["--start", '{"x": 3}', "--max-travel", "0.05", "--moving-cost", '{"x": 0.5}']
    live(*begin, *moves)
    assert live("ask")["parameters"] == {"x": 3.0}
    live("tell", "--id", 1, "--reward", 1, "--actual", '{"x": 6}')
    two = live("ask")
    assert abs(two["parameters"]["x"] - 6) <= 0.5
    assert two["hold"] is (two["parameters"]["x"] == 6)
    for words, said in (
        (["tell", "--parameters", '{"x": 1}', "--reward", 1, "--actual", '{"x": 1}'], "--id"),
        (["tell", "--id", 2, "--reward", 1, "--actual", "[1]"], "--actual must be"),
        (["forget", "--before", "yesterday"], "--before must be"),
        ([*begin, "--max-travel", "0,5"], "--max-travel must be JSON"),
        (begin, "has another"),
    ):
        code, _, err = run("live", words[0], f"sqlite:///{tmp_path}/studies", *words[1:])
        assert code in EXIT_CODES
        assert said in err


@pytest.mark.slow
def test_rewards_of_a_kind(live, run, tmp_path):
    """0/1 rewards: a study of them is created, told shares of trials, and drawn."""
    create = ("clicks", "--space", '{"arms": 2}', "--maximize", "--likelihood", "bernoulli")
    live("create", *create)
    for step, (arm, reward, trials) in enumerate(((0, 0.25, 4), (1, 1, 1), (1, 0, 1))):
        words = ("--reward", reward, "--trials", trials, "--time", step)
        live("tell", "--parameters", json.dumps({"arm": arm}), *words)
    best = live("best")
    assert 0 < best["mean"] < 1
    wrong = ("live", "tell", f"sqlite:///{tmp_path}/studies", "--parameters", '{"arm": 0}')
    refused(run(*wrong, "--reward", "0.5", "--time", "3"), "bernoulli", "trials=n")
    refused(run("live", "create", "x.jsonl", "x", *create[1:5], "probit"), "likelihood must be")
    assert live("show")["diagnostics"]["noise"] is None
    assert len(live("plot", "--output", tmp_path / "pictures")) == 3
