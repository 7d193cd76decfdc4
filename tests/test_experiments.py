"""Experiments: claims, jobs, resuming, output folders, the command. Sizes are tiny."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import driftpeak as dp
from driftpeak import cli
from driftpeak.experiments import rates, registry, runner
from driftpeak.experiments.claims import Claim, Column, Comparison, interval, judge, lower
from driftpeak.experiments.experiment import Case, Experiment, Setup
from driftpeak.experiments.figures import regret_panels
from driftpeak.experiments.reproduce import MARKER, redraw, reproduce
from driftpeak.experiments.runner import Plan


def tiny_setup(drift: float) -> Setup:
    prior = dp.Prior(dp.Grid([0, 1], size=8), dp.SE(0.3), noise_variance=0.01)
    policies = {"random": dp.UniformRandom(prior), "TV": dp.TVGPUCB(prior, drift=drift)}
    return Setup(dp.MarkovDrift(prior, drift=drift), policies, 12, {"drift": drift})


CASES = ("slow", "fast")
TINY = Experiment(
    "tiny",
    "A tiny experiment",
    "nowhere",
    tuple(
        Case(name, partial(tiny_setup, drift), trials=30, chunk=3)
        for name, drift in zip(CASES, (0.01, 0.1), strict=True)
    ),
    (
        Claim("TV beats random", tuple(lower((c, "TV"), (c, "random")) for c in CASES)),
        Claim("random beats TV", (lower(("slow", "random"), ("slow", "TV")),), check=True),
    ),
    regret_panels,
)


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    monkeypatch.setitem(registry.EXPERIMENTS, "tiny", TINY)


def results_of(regrets: dict[str, np.ndarray], independent: int = 1) -> dict[str, xr.Dataset]:
    values = np.stack(list(regrets.values()))
    runs = xr.Dataset(
        {"regret": (("policy", "trial", "step"), values)},
        coords={"policy": list(regrets)},
        attrs={"independent_trials": independent},
    )
    return {"case": runs}


def test_interval_of_a_mean_covers_as_often_as_stated():
    """Normal samples of 8: the 95 % interval misses zero in about 5 % of 400 sets.

    More than 9 % would happen with probability 3e-4 if the rate were 5 %.
    """
    generator = np.random.default_rng(1)
    missed = 0
    for _ in range(400):
        low, high = interval(generator.normal(size=(8, 1)), lambda s: s[..., 0].mean(axis=-1))
        missed += low > 0 or high < 0
    assert 0.02 < missed / 400 < 0.09


def test_interval_agrees_with_student_for_many_samples():
    samples = np.random.default_rng(2).normal(size=(200, 1))
    low, high = interval(samples, lambda s: s[..., 0].mean(axis=-1))
    error = samples.std(ddof=1) / np.sqrt(200)
    np.testing.assert_allclose([low, high], samples.mean() + np.array([-1, 1]) * 1.972 * error,
                               atol=0.1 * error)  # fmt: skip


def test_verdicts():
    generator = np.random.default_rng(3)
    world = generator.normal(size=(20, 1)) * 10  # shared by both: only pairing sees the difference
    low, high = world + np.zeros(6), world + 0.5 + 0.1 * generator.normal(size=(20, 6))
    results = results_of({"low": low, "high": high, "same": low[::-1]})
    wins = Claim("", (lower(("case", "low"), ("case", "high")),))
    loses = Claim("", (lower(("case", "high"), ("case", "low")),))
    even = Claim("", (lower(("case", "low"), ("case", "same")),))
    assert judge(wins, results).verdict == "holds"
    assert judge(loses, results).verdict == "does not hold"
    assert judge(even, results).verdict == "undecided"
    both = Claim("", wins.comparisons + loses.comparisons)
    assert judge(both, results).verdict == "does not hold"
    unsure = Claim("", wins.comparisons + even.comparisons)
    assert judge(unsure, results).verdict == "undecided"
    few = {"case": results["case"].isel(trial=slice(4))}
    few["case"].attrs = results["case"].attrs
    assert judge(wins, few).verdict == "undecided"


def test_columns_take_the_steps_they_name():
    results = results_of({"a": np.arange(20.0).reshape(2, 10)})
    np.testing.assert_allclose(Column("case", "a", first=3, last=5).samples(results), [3, 13])


def test_one_history_is_compared_by_blocks_of_steps():
    results = results_of({"a": np.arange(16.0).reshape(1, 16)}, independent=0)
    np.testing.assert_allclose(Column("case", "a").samples(results), [1.5, 5.5, 9.5, 13.5])


def test_samples_that_cannot_be_paired_are_refused():
    results = results_of({"a": np.zeros((3, 4))}) | {
        "other": results_of({"a": np.zeros((2, 4))})["case"]
    }
    with pytest.raises(dp.DriftpeakError, match="cannot be paired"):
        judge(Claim("", (Comparison("x", (Column("case", "a"), Column("other", "a"))),)), results)


def test_slopes_of_power_laws():
    """R_T = T^0.7 in every trial: the fit is exact, and so is what the claims make of it."""
    results = {
        case: results_of({"ADA-OPKB": np.full((6, 1), horizon**0.7)})["case"]
        for case, (horizon, _) in rates.BY_HORIZON.items()
    }
    [bounded] = [c for c in rates.EXPERIMENTS[0].claims if c.text.startswith("ADA-OPKB grows")]
    [sublinear] = [c for c in rates.EXPERIMENTS[0].claims if c.text.startswith("ADA-OPKB is")]
    np.testing.assert_allclose(judge(bounded, results).measured[0].estimate, 2 / 3 - 0.7)
    np.testing.assert_allclose(judge(sublinear, results).measured[0].estimate, 0.3)


def collected(plan: Plan, **options) -> dict[str, xr.Dataset]:
    found = {}
    runner.run([TINY], plan, lambda _e, results, _s: found.update(results), **options)
    return found


def assert_same(one: dict[str, xr.Dataset], other: dict[str, xr.Dataset]) -> None:
    assert list(one) == list(other)
    for case in one:
        xr.testing.assert_identical(
            one[case].drop_vars("seconds"), other[case].drop_vars("seconds")
        )


def test_the_parts_of_a_run_are_the_run():
    """Chunks of 3 trials give what `simulate` gives at once, but for rounding."""
    found = collected(Plan(trials=7))
    setup = tiny_setup(0.01)
    whole = dp.simulate(setup.policies, setup.environment, steps=12, trials=7)
    for name in ("action", "reward", "regret", "trial"):
        np.testing.assert_allclose(found["slow"][name], whole[name], atol=1e-9)


def test_an_executor_changes_nothing():
    with ThreadPoolExecutor(2) as pool:
        assert_same(collected(Plan(trials=7)), collected(Plan(trials=7), executor=pool))


@pytest.mark.slow
def test_worker_processes_change_nothing(tmp_path):
    """`--workers 1`, all in one process, and `--workers 2` give the same to the last bit."""
    found = []
    for workers in ("1", "2"):
        output = tmp_path / workers
        words = ["reproduce", "b16-fig2a", "--trials", "2", "--workers", workers, "--json"]
        subprocess.run(
            [sys.executable, "-m", "driftpeak", *words, "--output", output],
            check=True,
            capture_output=True,
        )
        found.append(runner.read_results(output / "b16-fig2a.nc")[0])
    assert_same(*found)


def test_an_interrupted_run_goes_on(tmp_path, monkeypatch):
    played = []

    def play(job):
        if len(played) == 3:
            raise KeyboardInterrupt
        played.append(job)
        return timed(job)

    timed = runner.timed_play
    monkeypatch.setattr(runner, "timed_play", play)
    with pytest.raises(KeyboardInterrupt):
        reproduce([TINY], Plan(trials=6), output=tmp_path)
    assert not (tmp_path / "summary.json").exists()
    assert len(list((tmp_path / "unfinished").iterdir())) == 3
    assert (tmp_path / "tiny.nc").exists() is False
    played.clear()
    resumed = []
    monkeypatch.setattr(runner, "timed_play", lambda job: resumed.append(job) or timed(job))
    reproduce([TINY], Plan(trials=6), output=tmp_path)
    assert len(resumed) == 1
    results, _ = runner.read_results(tmp_path / "tiny.nc")
    whole = collected(Plan(trials=6))
    for case in whole:
        np.testing.assert_array_equal(results[case]["regret"], whole[case]["regret"])
    assert not (tmp_path / "unfinished").exists()


def test_a_broken_part_is_played_again(tmp_path):
    plan = Plan(trials=3)
    job = plan.jobs(TINY)[0]
    (tmp_path / job.key).write_bytes(b"not a NetCDF file")
    assert_same(collected(plan), collected(plan, chunks=tmp_path))


def test_output_and_redrawing(tmp_path):
    summary = reproduce([TINY], Plan(quick=True, seed=4), output=tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"tiny.nc", "tiny.png", "summary.json", "report.html", MARKER}
    results, attributes = runner.read_results(tmp_path / "tiny.nc")
    assert results["slow"].sizes == {"policy": 2, "trial": 3, "step": 12}  # a tenth of 30
    assert attributes["seed"] == 4
    assert json.loads(results["fast"].attrs["settings"]) == {"drift": 0.1}
    assert json.loads((tmp_path / "summary.json").read_text()) == json.loads(json.dumps(summary))
    page = (tmp_path / "report.html").read_text()
    assert "TV beats random" in page
    assert "data:image/png;base64," in page
    (tmp_path / "report.html").unlink()
    assert json.loads(json.dumps(redraw(tmp_path))) == json.loads(
        (tmp_path / "summary.json").read_text()
    )
    assert (tmp_path / "report.html").read_text() == page


def test_another_runs_folder_is_refused(tmp_path):
    reproduce([TINY], Plan(trials=2), output=tmp_path)
    with pytest.raises(dp.DriftpeakError, match="--overwrite"):
        reproduce([TINY], Plan(trials=3), output=tmp_path)
    (tmp_path / MARKER).unlink()
    with pytest.raises(dp.DriftpeakError, match="--overwrite"):
        reproduce([TINY], Plan(trials=2), output=tmp_path)
    reproduce([TINY], Plan(trials=3), output=tmp_path, overwrite=True)
    assert runner.read_results(tmp_path / "tiny.nc")[0]["slow"].sizes["trial"] == 3


def test_a_full_disk_leaves_nothing_half_written(tmp_path, monkeypatch):
    def full(self, path, **options):
        Path(path).write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(xr.Dataset, "to_netcdf", full)
    with pytest.raises(dp.DriftpeakError, match="No space left"):
        reproduce([TINY], Plan(trials=2), output=tmp_path)
    assert {path.name for path in tmp_path.rglob("*")} == {MARKER, "unfinished"}


def test_missing_data_says_what_to_do(tmp_path, monkeypatch):
    case = Case("lab", partial(tiny_setup, 0.1), trials=1, data="lab.csv")
    experiment = Experiment("real", "", "", (case,), (), regret_panels)
    for data in (None, tmp_path):
        with pytest.raises(dp.DriftpeakError, match=r"real needs lab\.csv.*--data DIR"):
            reproduce([experiment], Plan(data=data))


def test_the_registry_is_sound():
    """Ids are unique, claims name cases that exist, and titles are there."""
    papers = [e for paper in registry.PAPERS for e in paper.EXPERIMENTS]
    assert len({e.id for e in papers}) == len(papers)
    for experiment in papers:
        names = [case.name for case in experiment.cases]
        assert len(set(names)) == len(names)
        assert experiment.title
        columns = [c for claim in experiment.claims for x in claim.comparisons for c in x.columns]
        assert {column.case for column in columns} <= set(names)


@pytest.mark.parametrize("id", ["b16-fig2a", "b16-fig2c", "b16-fig2d", "d22-fig1a", "d22-fig1b"])
def test_experiments_name_the_policies_they_compare(id):
    [experiment] = registry.find([id])
    policies = {case.name: set(case.build().policies) for case in experiment.cases}
    for claim in experiment.claims:
        for comparison in claim.comparisons:
            for column in comparison.columns:
                assert column.policy in policies[column.case]


@pytest.fixture
def command(monkeypatch, capsys, without_type_checks):
    """Run `driftpeak reproduce ...` in this process; returns exit code, output, error output."""

    def invoke(*arguments: object):
        monkeypatch.setattr(sys, "argv", ["driftpeak", "reproduce", *map(str, arguments)])
        code = 0
        try:
            cli.main()
        except SystemExit as end:
            code = end.code or 0
        return code, *capsys.readouterr()

    return invoke


def test_command(tmp_path, command):
    assert "b16-fig2a" in command("--list")[1]
    arguments = ("--trials", 2, "--workers", 1, "--output", tmp_path / "out", "--json")
    code, output, errors = command("tiny", *arguments)
    assert code == 0, errors
    assert json.loads(output)["experiments"]["tiny"]["cases"]["slow"]["trials"] == 2
    assert "TV beats random" in command("--from", tmp_path / "out")[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["b16-fig2e"], "Did you mean 'b16-fig2"),
        ([], "name an experiment"),
        (["tiny", "--trials", "0"], "trials must"),
        (["tiny", "--workers", "0"], "workers must"),
        (["tiny", "--quick", "--trials", "3"], "either --trials or --quick"),
        (["tiny", "--overwrite"], "--output"),
        (["--from", "nowhere"], "holds no results"),
        (["tiny", "--from", "nowhere"], "nothing else"),
    ],
)
def test_mistakes(arguments, message, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    code, _, errors = command(*arguments)
    assert code == 2
    assert message in errors
