"""The benchmark `field`: its clock against sums by hand, what it keeps, what it skips."""

import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks import _moving, _paired, _standings, field
from benchmarks._further_functions import FURTHER
from benchmarks._kept import Kept
from benchmarks._moving import Moving
from benchmarks.rivals import RIVALS, plays
from benchmarks.rivals.plays import Meter, Play, equal_evaluations, live, mean_regret
from benchmarks.rivals.process import (
    Process,
    RivalFailedError,
    RivalMissingError,
    interpreter,
)
from scipy import stats
from scipy.integrate import solve_ivp

from driftpeak.environments.functions import FUNCTIONS, time_weighted_regret

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS.parent / "scripts"))
import standings  # noqa: E402

SCHWEFEL = FUNCTIONS["Schwefel"]  # its minimum is known without a search


@pytest.fixture(autouse=True)
def coarse(monkeypatch):
    """The noise from few points, the integral from few cells: what is tested is the protocol."""
    monkeypatch.setattr(_moving, "SAMPLE", 20)
    monkeypatch.setattr(plays, "CELLS", 20)


class Fake:
    """Answers with points along the diagonal; known response times; may fail at a call."""

    def __init__(self, asking=0.0, telling=0.0, fails_at=None):
        self.versions = {"fake": "1"}
        self.asking, self.telling, self.fails_at = asking, telling, fails_at
        self.asked, self.told, self.news, self.closed = [], [], 0, False

    def new(self, dimension, seed, clock):
        self.dimension, self.news = dimension, self.news + 1
        self.asked, self.told = [], []

    def ask(self, time):
        if len(self.asked) == self.fails_at:
            raise RivalFailedError("no more")
        self.asked.append(time)
        return [0.1 * len(self.asked) % 1] * self.dimension, self.asking

    def tell(self, point, reward, time):
        self.told.append((point, reward, time))
        return self.telling

    def close(self):
        self.closed = True


def test_the_clock_charges_thinking_and_evaluating():
    """Asked at 0, 7, 14: 2 s to answer, 4 to evaluate, 1 to be told; a clock of 20 s."""
    fake = Fake(asking=2.0, telling=1.0)
    play = live(fake, Moving(SCHWEFEL, 5), 5, evaluation=4.0, clock=20.0, calls=100)
    np.testing.assert_allclose(np.multiply(fake.asked, 20), [0, 7, 14])
    np.testing.assert_allclose(np.multiply(play.times, 20), [0, 2, 9, 16])
    np.testing.assert_allclose([20 * time for *_, time in fake.told], [6, 13, 20])
    assert play.responses == [2.0, 3.0, 3.0]


def test_the_reward_is_of_the_moment_at_which_it_is_read():
    fake, moving = Fake(asking=2.0), Moving(SCHWEFEL, 5)
    live(fake, moving, 5, evaluation=4.0, clock=20.0, calls=1)
    again = Moving(SCHWEFEL, 5)  # draws the same noise
    assert fake.told[0][1] == again.reward(fake.told[0][0], 6 / 20)


def test_an_answer_after_the_end_is_not_held():
    """Asked at 0 and 12; the second answer would come at 21."""
    fake = Fake(asking=9.0)
    play = live(fake, Moving(SCHWEFEL, 5), 5, evaluation=3.0, clock=20.0, calls=100)
    assert len(fake.asked) == 2
    np.testing.assert_allclose(np.multiply(play.times, 20), [0, 9])


def test_a_quick_optimiser_makes_its_calls_evenly():
    fake = Fake()
    play = live(fake, Moving(SCHWEFEL, 5), 5, evaluation=0.01, clock=20.0, calls=8)
    np.testing.assert_allclose(np.multiply(fake.asked, 20), 2.5 * np.arange(8))
    assert len(play.responses) == 8


def test_a_call_is_charged_the_median_of_the_last_five():
    meter = Meter()
    assert [meter.charge(s) for s in (9.0, 1.0, 1.0, 2.0, 3.0, 50.0)] == [9, 5, 1, 1.5, 2, 2]


def test_a_call_may_be_charged_its_own_time():
    """Asked at 0, 7 and 16: the second answer takes 4 s, which the median passes over in part."""

    class Stalling(Fake):
        def ask(self, time):
            point, spent = super().ask(time)
            return point, spent + 2.0 * (len(self.asked) == 2)

    moving = Moving(SCHWEFEL, 5)
    own, fake = Stalling(asking=2.0, telling=1.0), Stalling(asking=2.0, telling=1.0)
    live(own, moving, 5, evaluation=4.0, clock=20.0, calls=100, charged=1)
    np.testing.assert_allclose(np.multiply(own.asked, 20), [0, 7, 16])
    live(fake, moving, 5, evaluation=4.0, clock=20.0, calls=100)
    np.testing.assert_allclose(np.multiply(fake.asked, 20), [0, 7, 15])  # the median of 2 and 4
    (name,) = [name for name, _ in field.planned({"FIELD_EVALUATIONS": "", "FIELD_SECONDS": "1",
                                                  "FIELD_CHARGED": "1"}).contests()]  # fmt: skip
    assert name == "1 s, at most 60 calls in 600 s, charged the median of 1"


def test_equal_evaluations_are_at_equal_times():
    fake = Fake(asking=100.0)
    play = equal_evaluations(fake, Moving(SCHWEFEL, 5), 5, evaluations=4, clock=600.0)
    assert play.times == fake.asked == [0.0, 0.25, 0.5, 0.75]
    assert [time for *_, time in fake.told] == fake.asked


@pytest.mark.parametrize("evaluation", [None, 1.0])
def test_after_a_failure_the_last_point_is_held(evaluation):
    fake, moving = Fake(fails_at=2), Moving(SCHWEFEL, 5)
    if evaluation is None:
        play = equal_evaluations(fake, moving, 5, evaluations=10, clock=20.0)
    else:
        play = live(fake, moving, 5, evaluation, clock=20.0, calls=10)
    assert play.failed == "no more"
    assert play.points[-1] == [0.2] * 3
    assert mean_regret(moving, play) > 0
    assert equal_evaluations(Fake(fails_at=0), moving, 5, 3, 20.0).times == [0.0]


def test_the_regret_is_that_of_the_library():
    """With times on the edges of cells, of which there is one for each."""
    moving = Moving(SCHWEFEL, 5)
    times = np.arange(20) / 20
    points = np.random.default_rng(0).uniform(size=(20, 3))
    ours = mean_regret(moving, Play(list(times), points.tolist()))
    theirs = time_weighted_regret(SCHWEFEL, times, moving.points(points), between=1)
    assert ours == pytest.approx(theirs, rel=1e-4)  # the least value is interpolated


def test_of_two_points_at_once_the_later_is_held():
    moving = Moving(SCHWEFEL, 5)
    twice = Play([0.0, 0.0], [[0.9] * 3, [0.2] * 3])
    assert mean_regret(moving, twice) == mean_regret(moving, Play([0.0], [[0.2] * 3]))


PLAN = field.Plan(
    functions=("Schwefel", "Ackley", "Rastrigin"),
    rivals=("driftpeak", "stay"),
    seeds=2,
    evaluations=(5,),
    seconds=(10.0,),
    clock=60.0,
    calls=4,
)


def fakes(made):
    def make(name):
        made.append(Fake(asking={"random": 0.0, "driftpeak": 1.0, "stay": 2.0}[name]))
        return made[-1]

    return make


def test_a_run_that_is_stopped_goes_on_to_equal_figures(tmp_path, monkeypatch):
    monkeypatch.setattr("os.getloadavg", lambda: (0.5, 0.5, 0.5))
    whole = field.play_all(PLAN, Kept(None), fakes([]))
    file = tmp_path / "played.jsonl"
    made = []
    field.play_all(PLAN, Kept(file), fakes(made))
    assert len(made) == 3
    assert all(fake.closed for fake in made)
    text = file.read_text()
    lines = text.splitlines(keepends=True)
    assert len(lines) == 3 * 2 * 3 * 2  # rivals, contests, functions, seeds
    file.write_text("".join(lines[:17]) + lines[17][:30])  # stopped while it wrote
    made = []
    assert field.play_all(PLAN, Kept(file), fakes(made)) == whole
    assert file.read_text() == text
    assert sum(fake.news for fake in made) == 36 - 17 + len(made) * 2  # two warm-ups each
    made = []
    assert field.play_all(PLAN, Kept(file), fakes(made)) == whole
    assert not made


def test_a_rival_that_fails_is_begun_anew():
    """Its process may have ended: the next play has a new one, which is warmed up again."""
    made = []

    def make(name):
        made.append(Fake(fails_at=2 if name == "stay" else None))
        return made[-1]

    plan = replace(PLAN, functions=("Schwefel",), rivals=("stay",), evaluations=())
    figures = field.play_all(plan, Kept(None), make)
    assert figures["stay: plays that failed"] == "2, the first: no more"
    reference, *stays = made
    assert reference.news == 1 + 2  # a warm-up and two seeds
    assert [fake.news for fake in stays] == [2, 2]  # a warm-up and a seed each
    assert all(fake.closed for fake in made)
    assert "random: plays that failed" not in figures


@pytest.mark.slow
@pytest.mark.parametrize("name", RIVALS)
def test_a_rival_climbs(name):
    """Its point, its reward's sign and its time arrive: told the opposite, it goes elsewhere.

    Rivals that are elsewhere are found by `FIELD_ENVIRONMENTS`.
    """
    if name in ("stay", "random"):
        pytest.skip("it heeds no rewards")
    try:
        process = Process(name)
    except RivalMissingError as missing:
        pytest.skip(str(missing))

    def mean_distance(sign):
        process.new(1, 3, 60.0)
        distances = []
        for time in map(float, np.arange(28) / 28):
            (x,), _ = process.ask(time)
            assert 0 <= x <= 1
            process.tell([x], sign * -10 * (x - 0.85) ** 2, time)
            distances.append(abs(x - 0.85))
        return np.mean(distances[20:])  # W-DBO's first 15 are random

    try:
        assert mean_distance(1) < 0.2 < 0.4 < mean_distance(-1)
    finally:
        process.close()


def test_the_figures_are_paired_ratios():
    figures = field.play_all(PLAN, Kept(None), fakes([]))
    contest = "5 evaluations"
    assert figures[f"{contest}: stay"] == "1.00 (no interval)"  # the fakes' points are equal
    assert figures[f"{contest}: driftpeak / stay"] == "1.00 (no interval)"
    assert f"{contest}, unseen: stay" in figures  # Rastrigin
    assert f"{contest}, minimum not in the middle: driftpeak / stay" in figures  # Schwefel
    assert f"{contest}, minimum moves: stay" not in figures  # of none of the three
    assert figures["stay: response up to call 5 (ms)"] == 2000.0
    assert figures["random: versions"] == "fake 1"


def test_a_ratio_and_its_interval():
    """The functions are the units: each one's mean over seeds counts once."""
    generator = np.random.default_rng(3)
    logarithms = generator.normal(-0.4, 0.5, size=(10, 3))
    middle, low, high = _paired.ratio(np.exp(logarithms), np.ones((10, 3)))
    means = logarithms.mean(axis=1)
    assert np.log(middle) == pytest.approx(logarithms.mean())
    own, reach = means.mean(), stats.t.ppf(0.975, 9) * stats.sem(means)
    assert np.log([low, high]) == pytest.approx([own - reach, own + reach], abs=0.15 * reach)
    repeated = _paired.ratio(np.exp(np.repeat(means[:, None], 50, axis=1)), np.ones((10, 50)))
    assert repeated == pytest.approx((middle, low, high))


def test_fewer_than_five_functions_have_no_interval():
    found = _standings.Ratio(*_paired.ratio([[2.0], [8.0], [4.0], [4.0]], np.ones((4, 1))))
    assert (found.middle, found.low, found.high) == (pytest.approx(4), 0, np.inf)
    assert str(found) == "4.00 (no interval)"


@pytest.mark.slow
@pytest.mark.parametrize("functions", [10, 6])
@pytest.mark.parametrize(("seeds", "between", "within"), [(1, 0.4, 0.3), (10, 0.4, 0.6)])
def test_intervals_cover_the_ratio(functions, seeds, between, within):
    """Of log-normal ratios: in 95 % of 400 draws, or fewer by 1.5 points and chance (3 sd).

    At a coverage of 93.5 % the false-alarm rate is 0.2 %.
    """
    found = covered(_paired.ratio, functions, seeds, between, within)
    assert found > LEAST - 3 * (LEAST * (1 - LEAST) / DRAWS) ** 0.5


def test_plain_percentiles_do_not():
    """Of six functions with one seed they contain the ratio in about 85 % of the draws."""

    def plain(regrets, others):
        logarithms = np.log(regrets / others)
        chosen = np.random.default_rng(0).integers(6, size=(2_000, 6))
        ends = np.quantile(logarithms[chosen].mean(axis=(1, 2)), [0.025, 0.975])
        return logarithms.mean(), *np.exp(ends)

    assert covered(plain, 6, 1, 0.4, 0.3) < LEAST - 3 * (LEAST * (1 - LEAST) / DRAWS) ** 0.5


DRAWS, LEAST = 400, 0.935


def covered(ratio, functions, seeds, between, within):
    """Return the share of draws whose interval contains the true ratio, 1."""
    generator, count = np.random.default_rng(functions), 0
    for _ in range(DRAWS):
        logarithms = between * generator.normal(size=(functions, 1))
        logarithms = logarithms + within * generator.normal(size=(functions, seeds))
        _, low, high = ratio(np.exp(logarithms), np.ones((functions, seeds)))
        count += low <= 1 <= high
    return count / DRAWS


def test_a_rival_that_is_missing_is_skipped_with_a_word(tmp_path, monkeypatch, capsys):
    (tmp_path / "absent_rival.py").write_text("import no_such_package\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setitem(RIVALS, "absent", "absent_rival")
    plan = field.Plan(("Schwefel",), ("absent", "stay"), 1, (3,), (), 60.0, 4)
    figures = field.play_all(plan, Kept(None), Process)
    assert "no_such_package is not installed" in figures["absent: skipped"]
    assert "absent skipped: no_such_package is not installed" in capsys.readouterr().err
    assert "3 evaluations: stay" in figures
    with pytest.raises(RivalMissingError, match="interpreter /nowhere/python is missing"):
        Process("stay", {"FIELD_PYTHON_STAY": "/nowhere/python"})


def test_a_rival_in_its_process(tmp_path, monkeypatch):
    """What it prints is no answer, and an error is told."""
    (tmp_path / "loud_rival.py").write_text(
        "import os\n"
        "PACKAGES = ()\n"
        "class Rival:\n"
        "    def __init__(self, dimension, seed, clock): print('hello')\n"
        "    def ask(self, time):\n"
        "        print('asked')\n"
        "        return [time] if time < 0.5 else os._exit(3)\n"
        "    def tell(self, point, reward, time): raise ValueError('too much')\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setitem(RIVALS, "loud", "loud_rival")
    process = Process("loud", {})
    try:
        process.new(1, 0, 600.0)
        point, seconds = process.ask(0.25)
        assert point == [0.25]
        assert 0 <= seconds < 10
        with pytest.raises(RivalFailedError, match="ValueError: too much"):
            process.tell(point, 1.0, 0.25)
        with pytest.raises(RivalFailedError, match="ended"):
            process.ask(0.5)
        with pytest.raises(RivalFailedError, match="ended"):
            process.ask(0.25)
    finally:
        process.close()


def test_interpreters(tmp_path):
    own = tmp_path / "wdbo" / "bin" / "python"
    own.parent.mkdir(parents=True)
    own.touch()
    folder = {"FIELD_ENVIRONMENTS": str(tmp_path)}
    assert interpreter("wdbo", folder) == str(own)
    assert interpreter("wdbo", {**folder, "FIELD_PYTHON_WDBO": "/a/python"}) == "/a/python"
    assert interpreter("ax", folder) == interpreter("ax", {})


def test_plans():
    assert field.planned({}) == field.PLANS["reduced"]
    assert field.planned({"FIELD_CLOCK": "60"}).clock == 60
    chosen = {"FIELD_SET": "whole", "FIELD_SECONDS": "", "FIELD_RIVALS": "wdbo,ax"}
    plan = field.planned(chosen)
    assert plan.seconds == ()
    assert plan.rivals == ("wdbo", "ax")
    assert plan.functions == tuple(FUNCTIONS)
    assert set(_standings.UNSEEN) < set(FUNCTIONS)
    assert not set(_standings.UNSEEN) & set(field.PLANS["reduced"].functions)
    further = field.planned({"FIELD_SET": "further"})
    assert further.functions == tuple(FURTHER)
    assert [words for words, _ in further.contests()] == ["200 evaluations"]


@pytest.mark.parametrize("name", [name for name, f in FURTHER.items() if f.stays_at is not None])
def test_minima_of_further_functions_that_stay(name):
    """At the stated place, no random point is lower, at any time."""
    function, random = FURTHER[name], np.random.default_rng(0)
    points = random.uniform(function.low, function.high, (2000, function.dimension))
    for time in (0, 0.3, 1):
        value, place = function.minimum(time)
        assert value <= function(points, time).min()
        near = np.clip(place + random.normal(0, 1e-3, points.shape), function.low, function.high)
        assert value <= function(near, time).min()


@pytest.mark.parametrize(("gain", "integral", "tau"), [(2.0, 1.0, 0.5), (0.5, 3.0, 2.0)])
def test_the_controller_against_an_integrated_step(gain, integral, tau):
    def rates(_, state):
        output, sum_of_errors, _ = state
        error = 1 - output
        input_ = gain * error + sum_of_errors
        return [(input_ - output) / tau, integral * error, error**2 + 0.1 * (input_ - 1) ** 2]

    cost = solve_ivp(rates, (0, 400), [0, 0, 0], rtol=1e-9, atol=1e-12).y[2, -1]
    point = [(np.log10(gain) + 1) / 2, (np.log10(integral) + 1.5) / 2.5]
    (found,) = FURTHER["Controller"](np.array([point]), np.log(tau / 0.5) / np.log(6))
    np.testing.assert_allclose(np.exp(found), cost, rtol=1e-6)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"FIELD_SET": "all"}, "set must be one of whole, reduced, further; got 'all'"),
        ({"FIELD_FUNCTIONS": "Shekel,Sphere"}, "function must be one of .*; got 'Sphere'"),
        ({"FIELD_RIVALS": "driftpeek"}, "rival must be one of driftpeak, wdbo.*; got 'driftpeek'"),
        ({"FIELD_SEEDS": "two"}, "FIELD_SEEDS must be numbers above 0; got 'two'"),
        ({"FIELD_EVALUATIONS": "50,0"}, "FIELD_EVALUATIONS must be numbers above 0; got '50,0'"),
        ({"FIELD_SECONDS": "1,nan"}, "FIELD_SECONDS must be numbers above 0; got '1,nan'"),
        ({"FIELD_CLOCK": "inf"}, "FIELD_CLOCK must be numbers above 0; got 'inf'"),
        ({"FIELD_CHARGED": "0"}, "FIELD_CHARGED must be numbers above 0; got '0'"),
        ({"FIELD_CALLS": "2.5"}, "FIELD_CALLS must be numbers above 0; got '2.5'"),
    ],
)
def test_names_of_nothing(settings, message):
    with pytest.raises(SystemExit, match=message):
        field.planned(settings)


def kept(regrets):
    """Rows of a contest "c", from regrets by rival and function, a number for each seed."""
    return [
        {
            "key": ["c", function, rival, seed],
            "regret": regret,
            "calls": 30 + seed,
            "responses": {"10": 9.0, "20": 1.0 + seed},
            "longest": 5.0,
            "versions": {rival: "1"},
            "load": 0.5,
        }
        for rival, functions in regrets.items()
        for function, seeds in functions.items()
        for seed, regret in enumerate(seeds)
    ]


def test_standings():
    """By hand: driftpeak has 1/2, 1/4 and 1/8 of `stay`'s regret; who was not played counts not."""
    rows = kept(
        {
            "random": {"Ackley": [8.0], "Powell": [8.0], "Shekel": [8.0], "Rastrigin": [1.0]},
            "driftpeak": {"Ackley": [1.0], "Powell": [2.0], "Shekel": [4.0], "Rastrigin": [1.0]},
            "stay": {"Ackley": [8.0], "Powell": [8.0], "Shekel": [8.0]},
        }
    )
    found = _standings.contest("c", rows, tuple(FUNCTIONS))
    assert found.functions == ("Ackley", "Shekel", "Powell")
    assert [one.rival for one in found.standings] == ["driftpeak", "stay"]
    own, stay = found.standings
    assert own.ours is None
    assert own.regret.middle == pytest.approx(1 / 4)
    assert stay.ours.middle == pytest.approx(1 / 4)
    ours = {some: ratio.middle for some, ratio in stay.ours_on.items()}
    assert ours == pytest.approx(
        {
            "unseen": 1 / 4,  # Powell
            "minimum moves": 8**-0.5,  # Shekel, Powell
            "minimum stays": 1 / 8,  # Ackley
            "minimum not in the middle": 8**-0.5,
        }
    )
    assert stay.regret_on["minimum stays"].middle == pytest.approx(1)
    assert own.regret_on["minimum stays"].middle == pytest.approx(1 / 8)
    assert own.ours_on == {}
    assert own.by_function == {"Ackley": 1 / 8, "Shekel": 1 / 2, "Powell": 1 / 4}
    name, left = stay.left_out
    assert name == "Ackley"
    assert left.middle == pytest.approx(8**-0.5)
    assert (stay.response, stay.longest, stay.calls, stay.load) == (1.0, 5.0, (30, 30), 0.5)
    assert found.versions == {"driftpeak": "1", "random": "1", "stay": "1"}


def test_a_goal_is_reached_with_and_without_a_function():
    good, wide = _standings.Ratio(0.5, 0.4, 0.9), _standings.Ratio(0.5, 0.4, 1.1)
    assert standings.reached(0.5, good, good)
    assert standings.reached(0.5, good, None)
    assert not standings.reached(0.5, good, wide)
    assert not standings.reached(0.5, wide, good)
    assert not standings.reached(0.49, good, good)


@pytest.mark.slow
def test_the_pages_agree_with_the_stored_runs():
    """The pages hold what scripts/standings.py writes, and README's two sentences agree with it."""
    read = [(told, told.read()) for told in standings.CONTESTS]
    more = [(told, told.read()) for told in standings.VARIANTS]
    assert (DOCS / "field-cases.md").read_text() == standings.page([*read, *more])
    for path in (DOCS / "field.md", DOCS.parent / "README.md"):
        text = path.read_text()
        assert standings.with_tables(path.name, text, read) == text

    by = {told.short: found for told, found in read}
    rivals = [one for one in by["50 evaluations"].standings if one.rival != "driftpeak"]
    assert all(one.ours.high < 1 for one in rivals)
    undecided = {
        one.rival
        for one in by["200 evaluations"].standings
        if one.rival != "driftpeak" and one.ours.high >= 1
    }
    assert undecided == {"wdbo", "xopt"}
    readme = re.sub(r"\s+", " ", (DOCS.parent / "README.md").read_text())
    assert "At 50 evaluations, driftpeak has lower regret than each rival." in readme
    assert "the differences from W-DBO and Xopt are not statistically significant" in readme
