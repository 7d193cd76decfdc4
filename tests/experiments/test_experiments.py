"""Experiments: claims, jobs, resuming, output folders, the command. Sizes are tiny."""

import csv
import json
import os
import subprocess
import sys
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import tiny_experiment
import xarray as xr
from scipy import stats
from tiny_experiment import RECORDED, TINY, tiny_setup

import driftpeak as dp
from driftpeak._core.numerics.compiler import soon
from driftpeak.cli import app
from driftpeak.cli.printing import print_claims
from driftpeak.environments import RecordedRewards
from driftpeak.experiments.claims import Claim, lower
from driftpeak.experiments.experiment import Case, Experiment, Setup, recorded as recorded_extra
from driftpeak.experiments.figures import regret_and_order, regret_panels
from driftpeak.experiments.papers import mauduit2025, mauduit2025_tuning
from driftpeak.experiments.papers.bogunovic2016_sensors import days_of_traffic
from driftpeak.experiments.papers.mauduit2025_maps import iberia
from driftpeak.experiments.recorded_figures import error_map, tracks
from driftpeak.experiments.running import registry, runner
from driftpeak.experiments.running.reproduce import MARKER, redraw, reproduce
from driftpeak.experiments.running.runner import RunSize
from driftpeak.offline.data import DATA_SETS, data_path, read_monthly


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    monkeypatch.setitem(registry.EXPERIMENTS, "tiny", TINY)


def collected(size: RunSize, **options) -> dict[str, xr.Dataset]:
    found = {}
    runner.run([TINY], size, lambda _e, results, _s: found.update(results), **options)
    return found


def assert_same(one: dict[str, xr.Dataset], other: dict[str, xr.Dataset]) -> None:
    assert list(one) == list(other)
    for case in one:
        xr.testing.assert_identical(
            one[case].drop_vars("seconds"), other[case].drop_vars("seconds")
        )


@pytest.mark.slow
def test_the_parts_of_a_run_are_the_run():
    """Chunks of 3 trials give what `simulate` gives at once, but for rounding."""
    found = collected(RunSize(trials=7))
    setup = tiny_setup(0.01)
    whole = dp.simulate(setup.policies, setup.environment, steps=12, trials=7)
    for name in ("action", "reward", "regret", "trial"):
        np.testing.assert_allclose(found["slow"][name], whole[name], atol=1e-9)


@pytest.mark.slow
def test_an_executor_changes_nothing():
    with ThreadPoolExecutor(2) as pool:
        assert_same(collected(RunSize(trials=7)), collected(RunSize(trials=7), executor=pool))


@pytest.mark.parametrize(
    ("id", "program"),
    [
        pytest.param("tiny", [tiny_experiment.__file__], marks=pytest.mark.slow),
        pytest.param("b16-fig2d", ["-m", "driftpeak"], marks=pytest.mark.long),
    ],
)
def test_worker_processes_change_nothing(tmp_path, id, program):
    """`--workers 1`, all in one process, and `--workers 2` give the same to the last bit."""
    found = []
    for workers in ("1", "2"):
        output = tmp_path / workers
        words = ["reproduce", id, "--trials", "2", "--workers", workers, "--json"]
        subprocess.run(
            [sys.executable, *program, *words, "--output", output],
            check=True,
            capture_output=True,
        )
        found.append(runner.read_results(output / f"{id}.nc")[0])
    assert_same(*found)


@pytest.mark.slow
def test_worker_processes_keep_what_they_compile(tmp_path):
    """And so compile for one another, and for the next call."""
    subprocess.run(
        [sys.executable, tiny_experiment.__file__, "reproduce", "tiny", "--trials", "1"],
        check=True,
        capture_output=True,
        env=os.environ | {"DRIFTPEAK_CACHE": str(tmp_path)},
    )
    assert list(tmp_path.glob("programs/*/jit_play-*-cache"))


@pytest.mark.parametrize(("trials", "quick"), [(1, 1), (5, 2), (25, 2), (30, 5), (200, 5)])
def test_quick_runs_have_two_or_five_trials(trials, quick):
    assert RunSize(quick=True).count(Case("any", tiny_setup, trials)) == quick


LONG = Experiment(
    "long",
    "An experiment of many steps",
    "nowhere",
    (Case("long", partial(tiny_setup, 0.01), 30, chunk=2, quick=partial(tiny_setup, 0.01, steps=4)),
     Case("short", partial(tiny_setup, 0.1), 30, chunk=2)),
    (
        Claim("TV beats random in the long run", (lower(("long", "TV"), ("long", "random")),)),
        Claim("in both", tuple(lower((c, "TV"), (c, "random")) for c in ("long", "short"))),
    ),
    regret_panels,
    programs="tiny",
)  # fmt: skip


@pytest.mark.slow
def test_a_quick_run_of_a_long_case_has_fewer_steps_and_judges_nothing(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setitem(registry.EXPERIMENTS, "long", LONG)
    summary = reproduce([LONG], RunSize(quick=True), output=tmp_path, report=print_claims)
    results, _ = runner.read_results(tmp_path / "long.nc")
    assert results["long"].sizes == {"policy": 2, "trial": 5, "step": 4}
    assert results["short"].sizes["step"] == 12
    alone, both = summary["experiments"]["long"]["claims"]
    (first,) = alone["settings"][0]["comparisons"]
    assert first["verdict"] == "too few trials"
    assert (first["samples"], first["estimate"], first["low"]) == (0, None, None)
    assert [one["samples"] for one in both["settings"][0]["comparisons"]] == [0, 5]
    assert "regret per step: a quick run is too short" in capsys.readouterr().out
    whole: dict[str, xr.Dataset] = {}
    runner.run([LONG], RunSize(trials=2), lambda _e, found, _s: whole.update(found))
    np.testing.assert_array_equal(  # the same worlds and rewards, only fewer of them
        results["long"]["regret"][:, :2], whole["long"]["regret"][..., :4]
    )


def test_workers_of_a_quick_run_play_what_has_the_same_programs(monkeypatch):
    """Most cases first; other runs are spread job by job, and so is one without workers."""
    monkeypatch.setitem(registry.EXPERIMENTS, "long", LONG)
    monkeypatch.setitem(registry.EXPERIMENTS, "recorded", RECORDED)

    def jobs(**size):
        recorded = [runner.Job("recorded", "days", 0, 2, 0, "", "", size.get("quick", False))]
        return recorded + [job for one in (TINY, LONG) for job in RunSize(**size).jobs(one)]

    with ThreadPoolExecutor(1) as pool:
        shares = runner._shares(jobs(quick=True), pool)
        assert [{job.experiment for job in share} for share in shares] == [
            {"tiny", "long"},
            {"recorded"},
        ]
        assert [job for share in shares[:1] for job in share] == jobs(quick=True)[1:]
        assert runner._shares(jobs(trials=4), pool) == [(job,) for job in jobs(trials=4)]
    assert runner._shares(jobs(quick=True), None) == [(job,) for job in jobs(quick=True)]


@pytest.mark.long
def test_all_simulated_figures_in_short(tmp_path):
    """As users run them, with few trials: every one is judged and drawn."""
    words = ["reproduce", "simulated", "--quick", "--output", tmp_path / "figures"]
    subprocess.run([sys.executable, "-m", "driftpeak", *words], check=True)
    for id in registry.GROUPS["simulated"]:
        assert (tmp_path / "figures" / f"{id}.nc").exists()
        assert (tmp_path / "figures" / f"{id}.png").exists()


@pytest.mark.slow
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
        reproduce([TINY], RunSize(trials=6), output=tmp_path)
    assert not (tmp_path / "summary.json").exists()
    assert len(list((tmp_path / "unfinished").iterdir())) == 3
    assert (tmp_path / "tiny.nc").exists() is False
    played.clear()
    resumed = []
    monkeypatch.setattr(runner, "timed_play", lambda job: resumed.append(job) or timed(job))
    reproduce([TINY], RunSize(trials=6), output=tmp_path)
    assert len(resumed) == 1
    results, _ = runner.read_results(tmp_path / "tiny.nc")
    whole = collected(RunSize(trials=6))
    for case in whole:
        np.testing.assert_array_equal(results[case]["regret"], whole[case]["regret"])
    assert not (tmp_path / "unfinished").exists()


@pytest.mark.slow
def test_a_broken_part_is_played_again(tmp_path):
    size = RunSize(trials=3)
    job = size.jobs(TINY)[0]
    (tmp_path / job.key).write_bytes(b"not a NetCDF file")
    assert_same(collected(size), collected(size, chunks=tmp_path))


@pytest.mark.slow
def test_output_and_redrawing(tmp_path):
    summary = reproduce([TINY], RunSize(quick=True, seed=4), output=tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    tables = {"tables.md", "tables.tex", "tables.csv"}
    assert names == {"tiny.nc", "tiny.png", "summary.json", "report.html", MARKER, *tables}
    results, attributes = runner.read_results(tmp_path / "tiny.nc")
    assert results["slow"].sizes == {"policy": 2, "trial": 5, "step": 12}  # of 30
    assert attributes["seed"] == 4
    assert json.loads(results["fast"].attrs["settings"]) == {"drift": 0.1}
    assert json.loads((tmp_path / "summary.json").read_text()) == json.loads(json.dumps(summary))
    found = json.loads((tmp_path / "summary.json").read_text())["experiments"]["tiny"]
    with (tmp_path / "tables.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["case"], row["policy"]) for row in rows] == [
        (case, policy) for case in ("slow", "fast") for policy in ("random", "TV")
    ]
    for row in rows:
        numbers = found["cases"][row["case"]]["policies"][row["policy"]]
        assert float(row["mean_regret"]) == numbers["mean_regret"]
        assert float(row["standard_error"]) == numbers["standard_error"]
    assert "| slow | random | " in (tmp_path / "tables.md").read_text()
    assert r" $\pm$ " in (tmp_path / "tables.tex").read_text()
    page = (tmp_path / "report.html").read_text()
    assert "TV beats random" in page
    assert "data:image/png;base64," in page
    (tmp_path / "report.html").unlink()
    assert json.loads(json.dumps(redraw(tmp_path))) == json.loads(
        (tmp_path / "summary.json").read_text()
    )
    assert (tmp_path / "report.html").read_text() == page


@pytest.mark.parametrize("placing", ["even", "random"])
def test_m25_variation_is_that_of_the_functions(placing):
    """The RKHS norm of a difference d in the span of k(., c_i) is that of its values there,
    d(C)' K_C^-1 d(C); the functions as `true_functions` gives them."""
    prior = dp.Prior(dp.Grid([-50, 50], size=400), mauduit2025.KERNEL, 0.01)
    centres = mauduit2025.centre_points("even", 15, 400)
    if placing == "random":
        centres = np.sort(np.random.default_rng(0).choice(80, 15, replace=False)) * 5
    world = dp.MovingCoefficients(prior, centres=centres)
    functions = dp.true_functions(world, steps=mauduit2025.STEPS)[0][:, centres]
    moves = np.diff(functions, axis=0)
    norms = np.einsum(
        "ti,ti->t", moves, np.linalg.solve(prior.gram[centres][:, centres], moves.T).T
    )
    np.testing.assert_allclose(
        mauduit2025.variation(prior, centres), np.sqrt(norms).sum(), rtol=1e-6
    )


def test_the_least_lead_is_that_over_the_best_of_the_others():
    samples = np.array([[1.0, 5.0, 2.0], [3.0, 1.0, 3.0]])  # means 2, 3, 2.5
    np.testing.assert_allclose(mauduit2025.least_lead(np.stack([samples, -samples])), [0.5, -1.0])


def test_a_bound_is_drawn_beside_the_regret():
    runs = xr.Dataset(
        {"regret": (("policy", "trial", "step"), np.full((1, 3, 9), 2.0))},
        coords={"policy": ["it"], "step": np.arange(1.0, 10)},
        attrs={"independent_trials": 1},
    )
    figure = regret_and_order({"one": runs}, "", order=lambda t: 5 * t**0.5, label="bound")
    [axes] = figure.axes
    drawn = {line.get_label(): line for line in axes.lines if len(line.get_xdata())}
    np.testing.assert_allclose(drawn["bound"].get_ydata(), 5 * np.arange(2.0, 10) ** 0.5)
    np.testing.assert_allclose(drawn["t"].get_ydata(), np.arange(1.0, 10))
    np.testing.assert_allclose(axes.lines[0].get_ydata(), 2 * np.arange(1.0, 10))
    assert axes.get_xscale() == axes.get_yscale() == "log"


def test_m25_likelihood_of_alpha_is_the_density_of_each_reward_given_those_before():
    """Against scipy's densities of normal vectors: p(y_t | before) = p(before, y_t) / p(before),
    where what was seen a steps before has the noise variance lambda (1 + a^alpha)."""
    prior = dp.Prior(dp.Grid([0, 1], size=9), dp.SE(0.3), noise_variance=0.2)
    arms, rewards = np.array([0, 4, 3, 8]), np.array([0.3, -0.4, 0.9, 1.2])
    gram, expected = prior.gram[np.ix_(arms, arms)], 0.0
    for t in (1, 2, 3):
        noise = 0.2 * np.append(1 + np.arange(t, 0, -1.0) ** 1.5, 1.0)
        joint = gram[: t + 1, : t + 1] + np.diag(noise)
        expected += stats.multivariate_normal(cov=joint).logpdf(rewards[: t + 1])
        expected -= stats.multivariate_normal(cov=joint[:t, :t]).logpdf(rewards[:t])
    found = mauduit2025_tuning.injected(prior, [(arms, rewards)], 1.5)
    np.testing.assert_allclose(found - 1.5 * np.log(2 * np.pi), expected)


def test_m25_policies_take_one_width_and_claims_name_what_is_played(monkeypatch):
    """The policies of a case differ in what they believe and whom they ask, and in nothing else."""
    monkeypatch.setattr(mauduit2025, "least_regret", lambda policies, *_: list(policies)[1])
    monkeypatch.setattr(mauduit2025, "most_likely", lambda *_: (0.1, 1.0))
    [experiment] = registry.find(["m25-fig2"])
    setups = {case.name: case.build() for case in experiment.cases}
    for claim in experiment.claims:
        for comparison in (one for every in claim.settings.values() for one in every):
            for column in comparison.columns:
                assert column.policy in setups[column.case].policies
    for name, setup in setups.items():
        players = [getattr(policy, "acting", policy) for policy in setup.policies.values()]
        widths = {str(policy.width) for policy in players}
        assert len(widths) == 1
        assert ("Heteroscedastic" in widths.pop()) == name.startswith("width (12)")


@pytest.mark.slow
def test_another_runs_folder_is_refused(tmp_path):
    reproduce([TINY], RunSize(trials=2), output=tmp_path)
    with pytest.raises(dp.DriftpeakError, match="overwrite"):
        reproduce([TINY], RunSize(trials=3), output=tmp_path)
    (tmp_path / MARKER).unlink()
    with pytest.raises(dp.DriftpeakError, match="overwrite"):
        reproduce([TINY], RunSize(trials=2), output=tmp_path)
    reproduce([TINY], RunSize(trials=3), output=tmp_path, overwrite=True)
    assert runner.read_results(tmp_path / "tiny.nc")[0]["slow"].sizes["trial"] == 3


def test_results_do_not_take_the_place_of_the_data(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "table.csv").write_text("a,b\n")
    for output in (tmp_path, tmp_path / "data", tmp_path / "data" / ".." / "data"):
        with pytest.raises(
            dp.DriftpeakError, match=r"must not contain the data folder .* would delete"
        ):
            reproduce([TINY], RunSize(data=tmp_path / "data"), output=output, overwrite=True)
    assert (tmp_path / "data" / "table.csv").exists()


@pytest.mark.slow
def test_a_full_disk_leaves_nothing_half_written(tmp_path, monkeypatch):
    real = Path.write_bytes

    def full(path, content):
        if MARKER in path.name or not path.is_relative_to(tmp_path):  # such as compiled programs
            return real(path, content)
        real(path, content[: len(content) // 2])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(dp.DriftpeakError, match="No space left"):
        reproduce([TINY], RunSize(trials=2), output=tmp_path)
    assert {path.name for path in tmp_path.rglob("*")} == {MARKER, "unfinished"}


@pytest.fixture
def recorded(monkeypatch, tmp_path):
    """An experiment on recorded data; the data folder is `tmp_path / "folder"`."""
    monkeypatch.setenv("DRIFTPEAK_DATA", str(tmp_path / "folder"))
    monkeypatch.setitem(registry.EXPERIMENTS, "recorded", RECORDED)
    return RECORDED


@pytest.mark.slow
def test_data_are_found_by_name(tmp_path, recorded):
    """In the data folder, or else in the folder given; the record says what was read."""
    for name, data in (("folder", None), ("mine", tmp_path / "mine")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "stocks_dow.csv.gz").write_text(f"date,{name},b\n1,2,3\n2,3,4\n")
        output = tmp_path / f"output-{name}"
        reproduce([recorded], RunSize(data=data), output=output)
        runs = runner.read_results(output / "recorded.nc")[0]["days"]
        assert json.loads(runs.attrs["settings"]) == {"arms": [name, "b"]}


def test_a_worker_without_the_same_data_says_so(tmp_path, recorded):
    """What a worker on another machine meets: the path leads nowhere, or to another file."""
    (tmp_path / "folder").mkdir()
    path = tmp_path / "folder" / "stocks_dow.csv.gz"
    path.write_text("date,a,b\n1,2,3\n2,3,4\n")
    job = RunSize().jobs(recorded)[0]
    runner.play(job)
    path.write_text("date,a,b\n1,2,3\n2,3,5\n")
    with pytest.raises(
        dp.DriftpeakError, match="of the machine where the run was started; got another"
    ):
        runner.play(job)
    other = RunSize().jobs(recorded)[0]
    assert other.key != job.key
    # where the file lies is no part of the key: a run is resumed after its folder was moved
    assert other._replace(data="/elsewhere/stocks_dow.csv.gz").key == other.key
    assert other._replace(data="/elsewhere/stocks.csv.gz").key != other.key
    path.unlink()
    with pytest.raises(dp.DriftpeakError, match=rf"{path} on .* got no file.*at the same path"):
        runner.play(job)


def test_results_of_other_versions_are_refused():
    """A worker that comes late is not asked first; its results say what they were made with."""

    class Elsewhere(Executor):
        def submit(self, function, *arguments):
            result, worker, made_with = function(*arguments)
            future = Future()
            future.set_result((result, worker, made_with | {"jax": "0.1.2"}))
            return future

    with pytest.raises(dp.DriftpeakError, match=r"got jax 0\.1\.2 \(here"):
        collected(RunSize(trials=3), executor=Elsewhere())


def test_missing_data_says_what_to_do(tmp_path, recorded):
    for data in (None, tmp_path):
        where = tmp_path / "folder" if data is None else tmp_path
        with pytest.raises(
            dp.DriftpeakError,
            match=rf"recorded needs the data set stocks\. {where}/stocks_dow\.csv\.gz: there is no "
            r"such file\..*`driftpeak data fetch stocks --from FILE`",
        ):
            reproduce([recorded], RunSize(data=data))


def test_the_registry_is_sound():
    """Ids are unique, claims name cases that exist, and titles are there."""
    papers = [e for paper in registry.PAPERS for e in paper.EXPERIMENTS]
    assert len({e.id for e in papers}) == len(papers)
    for experiment in papers:
        names = [case.name for case in experiment.cases]
        assert len(set(names)) == len(names)
        assert experiment.title
        assert {case.data for case in experiment.cases} <= {"", *DATA_SETS}
        columns = [column for claim in experiment.claims for column in claim.columns]
        assert {case for column in columns for case in column.cases} <= set(names)


@pytest.mark.slow
@pytest.mark.parametrize(
    "id", ["b16-fig1", "b16-fig2a", "b16-fig2c", "b16-fig2d", "d22-fig1a", "d22-fig1b"]
)
def test_experiments_name_the_policies_they_compare(id):
    [experiment] = registry.find([id])
    policies = {case.name: set(case.build().policies) for case in experiment.cases}
    for claim in experiment.claims:
        for column in claim.columns:
            assert all(column.policy in policies[case] for case in column.cases)


MAP = (
    "month,region,lat,lon,anomaly_c\n"
    + "\n".join(
        f"{1975 + month // 12}-{month % 12 + 1:02d},{name},{45 + place},{5 - place},{value:.3f}"
        for month, row in enumerate(np.random.default_rng(8).normal(size=(60, 4)).cumsum(axis=1))
        for place, (name, value) in enumerate(zip("ABCD", row, strict=True))
    )
    + "\n"
)


def map_setup(path: Path) -> Setup:
    table = read_monthly(path)
    prior = dp.Prior(dp.Arms(4), dp.kernels.Table(np.eye(4)), noise_variance=0.1)
    policies = {"TV": dp.TVGPUCB(prior, drift=0.1), "random": dp.UniformRandom(prior)}
    return Setup(RecordedRewards(table.values), policies, 60, {}, recorded_extra(table))


@pytest.mark.slow
def test_maps_and_tracks(tmp_path, monkeypatch):
    """An experiment with several pictures: files, report, and what they show."""
    case = Case("map", map_setup, trials=4, chunk=2, data="europe-anomalies", predictions=True)
    errors = partial(error_map, case="map", unit="squared degrees C")
    further = {"error-map": errors, "tracks": partial(tracks, case="map", ylabel="anomaly")}
    panels = partial(regret_panels, further=("squared_error", "side_queries"))
    experiment = Experiment("maps", "Maps", "nowhere", (case,), (), panels, further=further)
    monkeypatch.setitem(registry.EXPERIMENTS, "maps", experiment)
    (tmp_path / "europe_berkeley_anomalies.csv.gz").write_text(MAP)
    output = tmp_path / "out"
    reproduce([experiment], RunSize(data=tmp_path), output=output)
    for name in ("maps", "maps-error-map", "maps-tracks"):
        assert (output / f"{name}.png").stat().st_size > 10_000
    assert (output / "report.html").read_text().count("data:image/png") == 3
    runs = runner.read_results(output / "maps.nc")[0]["map"]
    assert runs["rewards"].dims == ("step", "point")
    assert runs["label"].values[12] == "1976-01"
    np.testing.assert_array_equal(runs["longitude"], [5, 4, 3, 2])
    np.testing.assert_array_equal(runs["latitude"], [45, 46, 47, 48])
    rewards = runs["rewards"].values
    chosen = rewards[np.arange(60), runs["action"].values[0, 0]]
    np.testing.assert_allclose(runs["regret"].values[0, 0], rewards.max(axis=1) - chosen)
    found = json.loads((output / "summary.json").read_text())["experiments"]["maps"]
    policies = found["cases"]["map"]["policies"]
    assert policies["random"]["squared_error"] is None
    mean = float(runs["point_error"].sel(policy="TV").mean())
    np.testing.assert_allclose(policies["TV"]["squared_error"], mean)
    panel = errors({"map": runs.sel(policy=["TV"])}, "Maps").axes[0]
    drawn = panel.collections[0]
    np.testing.assert_allclose(drawn.get_offsets()[:, 0], [5, 4, 3, 2])
    np.testing.assert_allclose(
        drawn.get_array(), runs["point_error"].sel(policy="TV").mean("trial")
    )


SHARED = Path(__file__).parents[3] / "shared" / "data"


@pytest.mark.slow
@pytest.mark.skipif(not SHARED.exists(), reason="data beside the project")
@pytest.mark.parametrize("id", ["b16-fig3a", "b16-fig3c", "m25-fig4"])
def test_recorded_experiments_name_what_they_compare_and_learn_from_other_rows(id):
    [experiment] = registry.find([id])
    checked = [case for case in experiment.cases if "," not in case.name]
    setups = {c.name: c.build(data_path(c.data, SHARED)) for c in checked}
    for claim in experiment.claims:
        for column in claim.columns:
            for case in set(column.cases) & set(setups):
                assert column.policy in setups[case].policies
    for setup in setups.values():
        assert setup.extra["rewards"].shape[0] == setup.steps
    if id == "b16-fig3c":
        for day, setup in enumerate(setups.values(), start=1):
            assert day not in setup.settings["training days"]
            assert len(setup.settings["training days"]) in (4, 5)
            assert str(setup.extra["label"].values[0]).endswith("06:00:00")
            assert setup.extra["rewards"].shape == (84, 50)


def test_days_of_traffic(tmp_path):
    """84 steps from 6:00, 50 sensors, the same on all days; too few of either are refused."""
    cells = np.arange(7 * 288)[:, None] * 100 + np.arange(52)
    lines = [",".join(map(str, row)) for row in cells.tolist()]
    header = ",".join(f"s{number}" for number in range(52))
    path = tmp_path / "speeds.csv"
    path.write_text("\n".join([header, *lines]) + "\n")
    days = days_of_traffic(path, 84, 0)
    sensors = days[0].values[0] - 72 * 100
    assert len(set(sensors)) == 50
    assert days[0].arms == tuple(f"s{int(sensor)}" for sensor in sensors)
    for number, day in enumerate(days):
        rows = number * 288 + 72 + np.arange(84)
        np.testing.assert_array_equal(day.values, rows[:, None] * 100 + sensors)
    path.write_text("\n".join([header, *lines[:-1]]) + "\n")
    with pytest.raises(dp.DriftpeakError, match=r"7 whole days.* of 50 sensors.* got 6 days of 52"):
        days_of_traffic(path, 84, 0)


def test_the_first_half_of_the_grid_has_no_anomaly_on_average(tmp_path):
    """Absolute temperatures with a season: the anomalies' calendar-month means vanish there."""
    months = np.arange(96)
    values = 15 + 8 * np.sin(np.pi * months / 6)[:, None] + months[:, None] * [0.01, 0.02]
    path = tmp_path / "grid.csv"
    lines = [f"{1981 + m // 12}-{m % 12 + 1:02d},{a},{b}" for m, (a, b) in enumerate(values)]
    path.write_text("\n".join(["month,40.25_-3.25,40.75_-3.25", *lines]) + "\n")
    table = iberia(path)
    np.testing.assert_allclose(table.values[:48].reshape(4, 12, 2).mean(axis=0), 0, atol=1e-12)
    # a trend remains: 48 months later and so many hundredths warmer
    np.testing.assert_allclose(table.values[48:] - table.values[:48], [[0.48, 0.96]] * 48)
    np.testing.assert_array_equal(table.positions, [[-3.25, 40.25], [-3.25, 40.75]])


@pytest.fixture
def command(monkeypatch, capsys, without_type_checks):
    """Run `driftpeak reproduce ...` in this process; returns exit code, output, error output."""

    def invoke(*arguments: object):
        monkeypatch.setattr(sys, "argv", ["driftpeak", "reproduce", *map(str, arguments)])
        code = 0
        try:
            app.main()
        except SystemExit as end:
            code = end.code or 0
        return code, *capsys.readouterr()

    return invoke


@pytest.mark.parametrize(("given", "used"), [(None, "1"), ("3", "3")])
def test_every_process_of_reproduce_computes_with_one_thread(monkeypatch, command, given, used):
    """XLA reads it when it first computes; who sets it knows better."""
    monkeypatch.setenv("NPROC", given or "")
    if given is None:
        monkeypatch.delenv("NPROC")
    assert command("--list")[0] == 0
    assert os.environ["NPROC"] == used


LEVEL = "--xla_backend_optimization_level"
SOON = [f"--{name}={value}".lower() for name, value in soon().items()]


@pytest.mark.parametrize(
    ("words", "given", "used"),
    [
        (["--quick"], "", [f"{LEVEL}=0", *SOON]),
        (["--quick"], "--xla_x=1", ["--xla_x=1", f"{LEVEL}=0", *SOON]),
        (["--quick"], f"{LEVEL}=2", [f"{LEVEL}=2", *SOON]),
        ([], "", []),
    ],
)
def test_quick_runs_compile_soon(monkeypatch, command, words, given, used):
    monkeypatch.setenv("XLA_FLAGS", given)
    assert command("--list", *words)[0] == 0
    assert os.environ["XLA_FLAGS"].split() == used


@pytest.mark.slow
def test_quick_runs_of_m25_and_b16_are_whole_but_short(monkeypatch):
    """The same policies in the same worlds as in the whole run, for fewer steps."""
    monkeypatch.setattr(mauduit2025, "least_regret", lambda policies, *_: list(policies)[1])
    monkeypatch.setattr(mauduit2025, "most_likely", lambda *_: (0.1, 1.0))
    for experiment in registry.find(["m25-fig2", "b16-fig2a", "b16-fig2b"]):
        for case in experiment.cases[-2:]:
            whole, short = case.build(), case.quick()
            assert short.steps < whole.steps
            assert list(short.policies) == list(whole.policies)
            assert str(short.environment) == str(whole.environment)


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
        ([], "ID is required"),
        (["tiny", "--trials", "0"], "trials must"),
        (["tiny", "--workers", "0"], "workers must"),
        (["tiny", "--quick", "--trials", "3"], "--trials and --quick exclude each other"),
        (["tiny", "--overwrite"], "--output"),
        (["--from", "nowhere"], "must hold results"),
        (["tiny", "--from", "nowhere"], "Omit all other options"),
    ],
)
def test_mistakes(arguments, message, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    code, _, errors = command(*arguments)
    assert code == 2
    assert message in errors


def test_all_means_the_papers():
    ids = [experiment.id for experiment in registry.find(["all"])]
    assert {"b16-fig2a", "d22-fig1c", "it25-fig2", "h23-fig2b", "m25-fig3"} <= set(ids)
    assert not {
        experiment.id for source in registry.BEYOND for experiment in source.EXPERIMENTS
    } & set(ids)
    assert [e.id for e in registry.find(["rates", "b16-fig2a"])] == ["b16-fig2a", "rates"]


def test_simulated_means_those_without_data():
    found = registry.find(["simulated"])
    assert {"b16-fig2a", "d22-fig1b", "it25-fig2", "h23-fig2b", "m25-fig2"} <= {e.id for e in found}
    assert not any(case.data for experiment in found for case in experiment.cases)
    recorded = [e for e in registry.find(["all"]) if e not in found]
    assert all(any(case.data for case in experiment.cases) for experiment in recorded)
