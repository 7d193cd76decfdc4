"""The commands as a user meets them: what they print and write, and what they say to mistakes."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from commands import refused
from PIL import Image

import driftpeak as dp
from driftpeak.simulation._chunk_runner import ChunkRunner

HEADER = "time,north,east,south\n"
ROWS = [
    f"2024-01-{day:02d},{np.sin(day):.3f},{np.cos(day):.3f},{day % 7:d}\n" for day in range(1, 31)
]


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text(HEADER + "".join(ROWS))
    return path


@pytest.mark.slow
def test_replay_writes_everything(run, data, tmp_path):
    output = tmp_path / "results"
    code, out, err = run("replay", data, "--output", output, "--policy", "tv-gp-ucb:drift=0.1",
                         "--policy", "random", "--policy", "auto", "--trials", "3")  # fmt: skip
    assert code == 0, err
    assert "significant" in out.splitlines()[0]
    assert out.splitlines()[1].startswith("recommended: ")
    assert "tv-gp-ucb" in out
    assert sorted(path.name for path in output.iterdir()) == [
        "beliefs.png", "follow.png", "regret.png", "results.nc", "summary.json", "track.png",
    ]  # fmt: skip
    summary = json.loads((output / "summary.json").read_text())
    assert set(summary["policies"]) == {"tv-gp-ucb", "random", "auto"}
    with xr.open_dataset(output / "results.nc", engine="h5netcdf") as runs:
        sizes = {"policy": 3, "trial": 3, "step": 12, "arm": 3, "member_weight_of": 1}
        assert dict(runs.sizes) == sizes
        assert runs["believed_drift"].sel(policy="auto").notnull().all()
        for name, row in summary["policies"].items():
            regret = runs["regret"].sel(policy=name)
            np.testing.assert_allclose(row["mean_regret"], regret.mean())
            np.testing.assert_allclose(row["cumulative_regret"], regret.sum("step").mean())
            assert (row["stderr"] > 0) == (float(regret.std()) > 0)
            assert row["seconds"] > 0
        assert str(runs["label"].values[0]) == "2024-01-19"
    for picture in ("beliefs.png", "follow.png", "regret.png", "track.png"):
        with Image.open(output / picture) as image:
            assert min(image.size) > 300
            assert len(set(image.convert("L").resize((64, 64)).tobytes())) > 10  # not blank


def test_replay_as_json_prints_json_alone(run, data):
    code, out, _ = run("replay", data, "--json", "--policy", "gp-ucb")
    assert code == 0
    summary = json.loads(out)
    assert summary["best"] == "gp-ucb"
    assert summary["settings"]["train_rows"] == 18
    assert summary["settings"]["width"] == "scaled-log:c1=0.8,c2=0.4"


@pytest.mark.slow
def test_side_queries_are_printed_where_there_are_any(run, data):
    _, out, _ = run("replay", data, "--policy", "sparq", "--policy", "gp-ucb", "--trials", "2")
    assert "side queries" in out
    assert "a step)" in out
    _, out, _ = run("replay", data, "--policy", "gp-ucb")
    assert "side queries" not in out


@pytest.mark.slow
def test_replay_learns_what_is_not_given(run, data):
    words = ("--fit", "--policy", "tv-gp-ucb", "--policy", "sw-gp-ucb:acquisition=ucb",
             "--policy", "r-gp-ucb:period=5")  # fmt: skip
    code, out, err = run("replay", data, "--json", *words)
    assert code == 0, err
    settings = json.loads(out)["settings"]
    fitted = settings["fitted"]
    assert set(fitted) == {"noise_variance", "drift", "window"}  # the period is given
    assert settings["noise_variance"] == fitted["noise_variance"]["value"]
    assert settings["policies"][0] == f"tv-gp-ucb:drift={fitted['drift']['value']:.6g}"
    window = f"window={fitted['window']['value']:.0f}"
    assert settings["policies"][1:] == [f"sw-gp-ucb:acquisition=ucb,{window}", "r-gp-ucb:period=5"]
    for name in fitted:
        assert re.search(rf"^{name} .*: by (restricted likelihood|cross-validation)", err, re.M)
    code, out, _ = run("replay", data, "--json", "--noise-variance", "0.2", *words)
    assert set(json.loads(out)["settings"]["fitted"]) == {"drift", "window"}
    assert refused(run("replay", data, "--fit", "--policy", "sw-gp-ucb", "--train", "0.2"),
                   "at least 12 rows for 3 folds")  # fmt: skip


@pytest.mark.slow
def test_replay_without_policies_plays_nine(run, data):
    code, out, _ = run("replay", data, "--json", "--trials", "2")
    assert code == 0
    assert set(json.loads(out)["policies"]) == {
        "auto", "random", "timetable", "best-of-history", "gp-ucb", "r-gp-ucb", "sw-gp-ucb",
        "tv-gp-ucb", "w-gp-ucb",
    }  # fmt: skip


@pytest.mark.parametrize("environment", ["markov", "abrupt", "slow"])
def test_compare(run, environment, tmp_path):
    words = ("--environment", environment, "--size", "20", "--steps", "30", "--trials", "2")
    code, out, err = run("compare", *words, "--policy", "random", "--policy", "gp-ucb", "--json",
                         "--output", tmp_path / "out")  # fmt: skip
    assert code == 0, err
    assert json.loads(out) == json.loads((tmp_path / "out" / "summary.json").read_text())
    assert (tmp_path / "out" / "regret.png").exists()


@pytest.mark.slow
def test_compare_keeps_summaries_in_a_folder_and_goes_on_from_it(run, tmp_path, monkeypatch):
    words = ["compare", "--size", "20", "--steps", "30", "--trials", "3", "--policy", "random",
             "--policy", "gp-ucb", "--json"]  # fmt: skip
    brief = [*words, "--keep", "summaries", "--folder", tmp_path / "run"]
    code, out, err = run(*brief, "--output", tmp_path / "out")
    assert code == 0, err
    assert (tmp_path / "out" / "regret.png").exists()
    kept = dp.read_runs(tmp_path / "run")
    assert kept.attrs["keep"] == "summaries"
    summaries = [json.loads(out), json.loads(run(*words)[1])]
    for name, row in summaries[0]["policies"].items():
        same = summaries[1]["policies"][name]
        for figure in ("cumulative_regret", "on_best", "stderr"):
            assert row[figure] == pytest.approx(same[figure], rel=1e-9)
    with monkeypatch.context() as patch:
        patch.setattr(ChunkRunner, "play", None)  # nothing is left to play
        assert json.loads(run(*brief)[1])["policies"] == summaries[0]["policies"]
        assert refused(run(*words, "--folder", tmp_path / "run"), "keep: summaries there")
    assert refused(run(*words, "--keep", "nothing"), "keep must be one of everything, summaries")

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(ChunkRunner, "play", stop)
    assert refused(
        run(*words, "--folder", tmp_path / "new"), "interrupted: 0 of 1 chunks are stored in .*new"
    )


@pytest.mark.slow
def test_demo_shows_who_follows_the_peak_and_what_to_type_next(run, tmp_path):
    code, out, err = run("demo", "--trials", "2", "--output", tmp_path / "demo")
    assert code == 0, err
    for policy in ("auto (estimates the", "GP-UCB (static)", "TV-GP-UCB (knows the"):
        assert policy in out
    for picture in ("peak.png", "regret.png"):
        assert (tmp_path / "demo" / picture).stat().st_size > 10_000
    assert "driftpeak replay YOUR.csv" in err.splitlines()[-1]
    assert run("demo", "--trials", "2", "--output", tmp_path / "demo")[0] == 0  # again
    (tmp_path / "demo" / "other.txt").write_text("")
    assert refused(run("demo", "--output", tmp_path / "demo"), "other.txt")
    assert run("demo", "--trials", "2", "--output", tmp_path / "demo", "--overwrite")[0] == 0


@pytest.mark.slow
def test_output_of_another_kind_is_not_touched(run, data, tmp_path):
    precious = tmp_path / "mine"
    precious.mkdir()
    (precious / "thesis.tex").write_text("years of work")
    words = ("replay", data, "--policy", "random", "--output", precious)
    assert refused(run(*words), "mine must be empty or contain results", "overwrite")
    assert (precious / "thesis.tex").read_text() == "years of work"
    assert run(*words, "--overwrite")[0] == 0
    assert not (precious / "thesis.tex").exists()
    assert run(*words)[0] == 0  # results of the same command may be replaced
    (precious / "notes.txt").write_text("on these results")
    assert refused(run(*words), "must be empty or .* 'notes.txt'", "overwrite")
    assert (precious / "notes.txt").read_text() == "on these results"
    assert refused(run("compare", "--output", precious), "results of `driftpeak compare` only; got")
    assert refused(
        run("replay", data, "--output", data), "data.csv must be a directory; got a file"
    )


@pytest.mark.parametrize(
    ("folder", "output", "how"),
    [
        ("both", "both", "is"),
        ("both/run", "both", "contains"),
        ("both", "both/out", "is inside"),
        ("both/../both/run", "./both", "contains"),
        ("link/run", "both", "contains"),
        ("both", "link", "is"),
    ],
)
def test_results_do_not_take_the_place_of_kept_chunks(
    run, tmp_path, monkeypatch, folder, output, how
):
    """Before anything is played or made, also with --overwrite."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ChunkRunner, "play", None)
    (tmp_path / "link").symlink_to("both")
    words = ("compare", "--folder", folder, "--output", output)
    message = f"inside {Path(folder)}, nor contain it; got {Path(output)}, which {how} it"
    assert refused(run(*words), message)
    assert refused(run(*words, "--overwrite"), message)
    assert [path.name for path in tmp_path.iterdir()] == ["link"]


@pytest.mark.slow
def test_names_that_begin_alike_are_two_directories(run, tmp_path):
    words = ("compare", "--size", "20", "--steps", "5", "--trials", "2", "--policy", "random")
    code, _, err = run(*words, "--folder", tmp_path / "run", "--output", tmp_path / "run-results")
    assert code == 0, err
    assert dp.read_runs(tmp_path / "run").sizes["trial"] == 2
    assert (tmp_path / "run-results" / "results.nc").exists()


def test_what_was_put_into_the_output_while_policies_played_stays(run, tmp_path, monkeypatch):
    """What is looked at before playing may have changed when there is something to write."""
    output, real = tmp_path / "out", ChunkRunner.play

    def meanwhile(*arguments):
        output.mkdir(exist_ok=True)
        (output / "thesis.tex").write_text("years of work")
        return real(*arguments)

    monkeypatch.setattr(ChunkRunner, "play", meanwhile)
    words = ("compare", "--size", "20", "--steps", "5", "--trials", "2", "--policy", "random")
    code, _, err = run(*words, "--output", output)
    assert code == 2
    assert "out must be empty or contain results" in err
    assert (output / "thesis.tex").read_text() == "years of work"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    (output / "thesis.tex").unlink()
    monkeypatch.setattr(ChunkRunner, "play", real)
    assert run(*words, "--output", output)[0] == 0
    (output / "results.nc").unlink()
    (output / "results.nc").mkdir()
    assert refused(run(*words, "--output", output), "must be empty or .* 'results.nc'")


@pytest.mark.slow
def test_nothing_half_written_is_left(run, data, tmp_path, monkeypatch):
    def fail(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("driftpeak.simulation._plots.regret_figure", fail)
    words = ("replay", data, "--policy", "random", "--output", tmp_path / "results")
    code, _, err = run(*words)
    assert code == dp.StorageError.exit_code
    assert "cannot be written: No space left on device" in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.csv"]


def write(tmp_path, text):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "fragments"),
    [
        (HEADER + "1,2,3\n" + "".join(ROWS), [r"line 2\b", "4", "3"]),
        (HEADER + ROWS[0] + "2024-01-02,warm,1,2\n", ["line 3", "north", "warm"]),
        (
            HEADER + ROWS[0] + "2024-01-02,,1,2\n" + ROWS[2],
            ["line 3", "north", "--missing interpolate"],
        ),
        ("time,a\n1,2\n2,3\n", ["at least 2|two"]),
        ("time,a,b\n1,2,3\n", ["at least 2|two"]),
        ("time,a,a\n1,2,3\n2,3,4\n", ["'a'|\"a\""]),
        ("", ["empty"]),
    ],
)
def test_bad_tables_are_refused_in_one_line(run, tmp_path, text, fragments):
    path = write(tmp_path, text)
    output = tmp_path / "results"
    assert refused(run("replay", path, "--output", output), "bad.csv", *fragments)
    assert not output.exists()


@pytest.mark.parametrize(
    ("words", "fragments"),
    [
        (["--policy", "tv-gpucb"], ["unknown policy 'tv-gpucb'", "Did you mean 'tv-gp-ucb'"]),
        (["--policy", "tv-gp-ucb:drift=2"], [r"drift must lie in \[0, 1\]; got 2"]),
        (["--policy", "r-gp-ucb:period=0"], ["period", "at least 1"]),
        (["--policy", "sw-gp-ucb:window=0"], ["window", "at least 1"]),
        (["--policy", "w-gp-ucb:discount=1.1"], [r"discount must lie in \(0, 1\]"]),
        (["--policy", "tv-gp-ucb:dirft=0.1"], ["Did you mean 'drift'"]),
        (["--noise-variance", "-1"], ["noise_variance must be .*above 0; got -1"]),
        (["--train", "2"], [r"train must lie in \(0, 1\); got 2"]),
        (["--mean", "median"], ["mean must be one of per-arm, common, zero; got 'median'"]),
        (["--missing", "ignore"], ["missing", "drop-arm"]),
        (["--width", "log"], ["unknown width 'log'"]),
        (["--time-column", "tme"], ["tme", "Did you mean 'time'"]),
        (["--trials", "0"], ["trials must be an integer of at least 1"]),
        (["--overwrite"], ["--overwrite needs --output"]),
    ],
)
def test_bad_options_are_refused_in_one_line(run, data, words, fragments):
    assert refused(run("replay", data, *words), *fragments)


@pytest.mark.parametrize(
    ("words", "fragments"),
    [
        (["--kernel", "rbf"], ["kernel must be one of se, matern"]),
        (["--environment", "markow"], ["Did you mean 'markov'"]),
        (["--lengthscale", "0"], ["lengthscale must be .*above 0"]),
        (["--drift", "-0.5"], [r"drift must lie in \[0, 1\]; got -0.5"]),
        (["--kernel", "matern", "--nu", "0"], ["nu must be .*above 0"]),
        (["--dimension", "3"], ["at most 10,000 points; got size 100 and dimension 3"]),
    ],
)
def test_bad_comparisons_are_refused_in_one_line(run, words, fragments):
    assert refused(run("compare", *words), *fragments)


def test_a_missing_file_is_named(run, tmp_path):
    assert refused(run("replay", tmp_path / "nowhere.csv"), "nowhere.csv")


@pytest.mark.slow
def test_help_and_unknown_options():
    """In a process of its own: the entry point is installed, mistakes end without a traceback."""
    command = [Path(sys.executable).with_name("driftpeak"), "replay"]
    shown = subprocess.run([*command, "--help"], capture_output=True, text=True)
    assert shown.returncode == 0
    assert "--noise-variance" in shown.stdout
    wrong = subprocess.run([*command, "--polcy", "x"], capture_output=True, text=True)
    assert wrong.returncode == 2
    assert "Traceback" not in wrong.stderr
    assert "--polcy" in wrong.stderr
