"""What a replay answers: what to follow now, for rewards and costs, in units; and what is saved."""

import dataclasses
import json

import numpy as np
import pytest
from commands import refused

import driftpeak as dp
from driftpeak.live._policy_file import StoredPolicy, read_policy, write_policy
from driftpeak.live._study.policy_data import policy_to_data
from driftpeak.offline.data import RewardTable
from driftpeak.offline.replay import (
    Advice,
    Expected,
    advise,
    arms_over_time,
    chosen_policy,
    follow_figure,
    policy_for_live,
    replay,
)
from driftpeak.offline.replay._recommendation import next_time
from driftpeak.plots import track_figure
from driftpeak.simulation._comparison import Compared, Verdict, verdict
from driftpeak.simulation._plots import regret_figure

HOURS = np.arange(40)
ROOMS = np.stack([20 + 3 * np.sin((HOURS - shift) / 5) for shift in (0, 8, 16)], axis=1)
ROOMS += np.random.default_rng(2).normal(size=ROOMS.shape) * 0.2
NAMES = ("kitchen window", "hall", "lab")
WITH_UNIT = tuple(f"{name} (degrees C)" for name in NAMES)
TIMES = tuple(str(np.datetime64("2026-03-01T00:00") + np.timedelta64(hour, "h")) for hour in HOURS)
TABLE = RewardTable(ROOMS, NAMES, TIMES, "time", unit="degrees C")
POLICIES = ["gp-ucb", "tv-gp-ucb:drift=0.1", "random"]


@pytest.fixture(scope="module")
def runs():
    return replay(TABLE, POLICIES, trials=3, noise_variance=0.1)


@pytest.fixture(scope="module")
def costs():
    """The same table with its sign turned, as costs."""
    table = dataclasses.replace(TABLE, values=-ROOMS)
    return replay(table, POLICIES, trials=3, noise_variance=0.1, minimize=True)


def judged(runs):
    return verdict(runs, independent_trials=False)


@pytest.mark.slow
def test_what_is_expected_next_is_the_posterior_after_the_last_row(runs):
    """TV-GP-UCB's, at one step after the last, by dense solves in NumPy."""
    history = ROOMS[:24]
    gram, mean = np.cov(history.T), history.mean(axis=0)
    mine = runs.sel(policy="tv-gp-ucb").isel(trial=0)
    past, seen = mine["action"].values, mine["reward"].values
    times = np.arange(1, 17)
    covariance = gram[np.ix_(past, past)] * 0.9 ** (np.abs(times[:, None] - times) / 2)
    cross = gram[past] * (0.9 ** ((17 - times) / 2))[:, None]
    solve = np.linalg.solve(covariance + 0.1 * np.eye(16), np.c_[cross, seen - mean[past]])
    variance = gram.diagonal() - np.einsum("ij,ij->j", cross, solve[:, :-1])
    np.testing.assert_allclose(mine["expected_mean"], mean + cross.T @ solve[:, -1], rtol=1e-8)
    np.testing.assert_allclose(mine["expected_deviation"], np.sqrt(variance), rtol=1e-6)
    np.testing.assert_allclose(mine["expected_noise"], np.sqrt(0.1))
    assert runs["expected_mean"].sel(policy="random").isnull().all()


@pytest.mark.slow
def test_padding_is_not_learned_from(monkeypatch):
    """A run whose blocks do not come out even ends with the same belief as in one block."""
    prior = dp.Prior(dp.Grid([0, 1], size=9), dp.SE(0.2), noise_variance=0.25)
    world = dp.MarkovDrift(prior, drift=0.05)
    arguments = {"steps": 5, "trials": 2, "forecast": True, "progress": False}
    whole = dp.simulate({"GP": dp.GPUCB(prior)}, world, **arguments)
    monkeypatch.setattr("driftpeak.simulation._chunking.BLOCK", 3)
    parts = dp.simulate({"GP": dp.GPUCB(prior)}, world, **arguments)
    for name in ("expected_mean", "expected_deviation", "action"):
        np.testing.assert_allclose(parts[name], whole[name], atol=1e-9)


@pytest.mark.slow
def test_advice_names_the_arm_of_highest_expectation_and_the_second(runs):
    verdict_here = Verdict("tv-gp-ucb", {"random": Compared(1.0, 0.1, 0.001)}, 4)
    advice = advise(runs, verdict_here)
    means = runs["expected_mean"].sel(policy="tv-gp-ucb").values[0]
    first, second, _ = np.argsort(-means)
    assert (advice.arms[0].arm, advice.second.arm) == (NAMES[first], NAMES[second])
    assert advice.when == "2026-03-02 16:00"
    text = advice.in_words()
    assert text.startswith(f"recommended: {NAMES[first]} (expected {means[first]:.1f}"[:-1])
    assert text.endswith("degrees C)")
    assert f"; second: {NAMES[second]}, " in text
    data = advice.as_data()
    assert data["mean"] == means[first]
    assert json.loads(json.dumps(data))["second"]["arm"] == NAMES[second]


def test_costs_are_rewards_with_the_sign_turned(runs, costs):
    np.testing.assert_array_equal(costs["action"], runs["action"])
    np.testing.assert_allclose(costs["regret"], runs["regret"], atol=1e-12)
    assert (costs["regret"] >= 0).all()
    np.testing.assert_allclose(costs["expected_mean"], -runs["expected_mean"])
    np.testing.assert_array_equal(costs["rewards"], -ROOMS[24:])
    taken = np.take_along_axis(costs["rewards"].values, costs["action"].values[0].T, axis=1).T
    np.testing.assert_array_equal(costs["reward"].values[0], taken)
    low, high = advise(costs, judged(costs)), advise(runs, judged(runs))
    assert [one.arm for one in low.arms] == [one.arm for one in high.arms]
    assert low.arms[0].mean < low.arms[-1].mean
    assert "tracked the minimum" in Verdict("a", {"b": Compared(1, 0.1, 0.01)}, 9).in_words(
        peak="minimum"
    )


def test_pictures_of_costs_show_the_lowest(costs):
    panel = track_figure(costs).axes[0]
    np.testing.assert_array_equal(panel.lines[0].get_ydata(), (-ROOMS[24:]).min(axis=1))
    assert "lowest cost" in panel.texts[0].get_text()
    figure = follow_figure(costs, "gp-ucb", advise(costs, judged(costs)))
    assert figure.axes[0].get_xlabel() == "expected cost (degrees C)"
    marks = figure.axes[1].lines[1]
    names = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    heights = dict(zip(names, figure.axes[0].get_yticks(), strict=True))
    best = [heights[NAMES[arm]] for arm in (-ROOMS[24:]).argmin(axis=1)]
    np.testing.assert_array_equal(marks.get_ydata(), best)


def test_a_policy_told_bounds_knows_them_with_costs_too():
    """The bounds are around the prior mean, which is turned as well."""
    table = dataclasses.replace(TABLE, values=-ROOMS)
    texts = ["rexp3:reward_bound=0.1"]
    with pytest.warns(dp.DriftpeakWarning, match="rewards are outside") as caught:
        runs = replay(table, texts, trials=1, noise_variance=0.1, minimize=True)
    (said,) = [str(one.message) for one in caught]
    assert "reward_bound=0.1 beyond the smallest and largest prior mean" in said
    means = -ROOMS[:24].mean(axis=0)  # of costs
    taken = runs["reward"].values
    outside = ((taken < means.min() - 0.1) | (taken > means.max() + 0.1)).sum()
    assert f"{outside} of 16 rewards" in said


def test_units_are_on_axes_and_those_of_the_table(runs):
    assert list(runs["arm"].values) == list(NAMES)
    assert runs["regret"].attrs["units"] == runs.attrs["unit"] == "degrees C"
    figure = regret_figure(runs, independent_trials=False)
    assert figure.axes[0].get_ylabel() == "average regret, $R_t / t$ (degrees C)"
    assert np.issubdtype(np.asarray(figure.axes[0].lines[0].get_xdata()).dtype, np.datetime64)
    track = track_figure(runs)
    assert track.get_supylabel() == "reward (degrees C)"
    assert "degrees C" in track.axes[0].get_title(loc="left")


@pytest.mark.parametrize("unit", ["x" * 41, "a\nb"])
def test_a_unit_is_a_short_text_on_one_line(unit):
    with pytest.raises(dp.DriftpeakError, match=r"unit must be .* at most 40 characters on one li"):
        replay(TABLE, POLICIES, unit=unit)


def expectations(*numbers, **more):
    arms = tuple(Expected(name, *pair) for name, pair in zip("abcdefgh", numbers, strict=False))
    given = {"policy": "p", "why": "", "when": "", "noise": 1.0, "unit": "", "minimize": False}
    return Advice(arms=arms, **(given | more))


def test_ties_are_said():
    assert expectations((2.0, 0.5), (1.0, 0.5)).in_words() == (
        "recommended: a (expected 2.00 +- 0.50; second: b, 1.00 +- 0.50)"
    )
    two = expectations((2.0, 0.5), (2.0 - 1e-12, 0.5), (1.0, 0.5), unit="m")
    assert two.in_words() == (
        "recommended: a and b (forecasts are equal, 2.00 +- 0.50 m; second: c, 1.00 +- 0.50 m)"
    )
    assert two.as_data()["equal_arms"] == ["b"]
    every = expectations((0.0, 0.0), (0.0, 0.0), (0.0, 0.0))
    assert every.in_words() == "recommended: any arm (all 3 forecasts are equal, 0 +- 0)"
    assert every.as_data()["second"] is None
    many = expectations(*[(1.0, 0.1)] * 7, (0.5, 0.1))
    assert "a, b, c, d and 3 more (forecasts are equal" in many.in_words()
    close = expectations((20.001, 0.5), (20.002, 0.5), minimize=True)
    assert close.in_words() == (
        "recommended: a (expected 20.001 +- 0.500; second: b, 20.002 +- 0.500)"
    )


def test_constant_rewards_are_a_tie_and_nobody_can_learn_from_them():
    flat = RewardTable(np.full((20, 2), 3.0), ("a", "b"), None, None)
    runs = replay(flat, ["gp-ucb"], noise_variance=1.0, trials=1)
    assert advise(runs, judged(runs)).in_words() == (
        "recommended: any arm (all 2 forecasts are equal, 3 +- 0)"
    )
    with pytest.raises(dp.DriftpeakError, match="auto, timetable needs training rows that vary"):
        replay(flat, ["gp-ucb", "auto", "timetable"], noise_variance=1.0)
    with pytest.raises(dp.DriftpeakError, match="noise_variance is required if"):
        replay(flat, ["gp-ucb"])


def test_one_arm_is_no_choice(without_type_checks):
    one = RewardTable(ROOMS[:, :1], ("hall",), None, None)
    with pytest.raises(dp.DriftpeakError, match=r"at least 2 arms.*got only 'hall'"):
        replay(one, ["gp-ucb"])
    with pytest.raises(dp.DriftpeakError, match="minimize must be True or False; got 'yes'"):
        replay(TABLE, ["gp-ucb"], minimize="yes")


def test_a_policy_that_expects_nothing_is_said_and_another_asked(runs):
    random_best = Verdict("random", {"gp-ucb": Compared(1.0, 0.1, 0.001)}, 4)
    advice = advise(runs, random_best)
    assert advice.policy == "gp-ucb"
    assert advice.why == "random makes no predictions; gp-ucb is the next best policy that does"
    only = runs.sel(policy=["random"])
    assert advise(only, judged(only)) is None
    assert len(follow_figure(only, "random").axes) == 1


def test_auto_goes_on_where_it_is_undecided():
    alike, worse = Compared(0.1, 0.1, 0.4), Compared(0.9, 0.1, 0.001)
    assert chosen_policy(Verdict("a", {"b": worse}, 9))[0] == "a"
    assert chosen_policy(Verdict("a", {"b": alike}, 9))[0] == "a"
    assert chosen_policy(Verdict("a", {"b": alike, "auto": alike}, 9))[0] == "auto"
    assert chosen_policy(Verdict("a", {"b": alike, "auto": worse}, 9))[0] == "a"
    assert chosen_policy(Verdict("auto", {}, 9)) == ("auto", "the only policy")


def test_arms_over_time_count_shares_and_runs(runs):
    actions = np.array([0, 0, 0, 2, 2, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0])
    made = runs.sel(policy=["gp-ucb"]).copy(deep=True)
    made["action"][0] = actions
    found = arms_over_time(made, "gp-ucb")
    assert found["share"] == {"kitchen window": 9 / 16, "hall": 5 / 16, "lab": 2 / 16}
    assert found["changes"] == 4
    assert [(one["arm"], one["steps"]) for one in found["longest_runs"]] == [
        ("hall", 5), ("kitchen window", 5), ("kitchen window", 3), ("lab", 2), ("kitchen window", 1)
    ]  # fmt: skip
    assert found["longest_runs"][0]["begins"] == TIMES[30]
    assert found["longest_runs"][0]["ends"] == TIMES[34]
    counted = arms_over_time(made.drop_vars("label"), "gp-ucb")["longest_runs"][0]
    assert (counted["begins"], counted["ends"]) == (7, 11)


@pytest.mark.parametrize(
    ("cells", "following"),
    [
        (["2026-01-30", "2026-01-31"], "2026-02-01"),
        (["2026-01-01T23:00", "2026-01-01T23:30"], "2026-01-02 00:00"),
        (["2010-10", "2010-11", "2010-12"], "2011-01"),
        (["2026-03-01T08:00:00Z", "2026-03-01T09:00:00Z"], "2026-03-01 10:00"),
        (["2026-01-01", "2026-01-02", "2026-01-09"], "step 4"),
        (["5", "6.5"], "time 8"),
        (["5", "6", "9"], "step 4"),
        (["monday", "tuesday"], "step 3"),
    ],
)
def test_the_next_step_has_a_date_if_dates_advance_evenly(runs, cells, following):
    made = runs.isel(step=slice(len(cells))).assign_coords(label=("step", cells))
    assert next_time(made) == following


@pytest.mark.parametrize("costly", [False, True])
def test_a_saved_policy_begins_a_live_study(tmp_path, runs, costs, costly):
    """It is the policy that a user would make by hand from all rows, told the truth's sign."""
    table = dataclasses.replace(TABLE, values=-ROOMS) if costly else TABLE
    stored = policy_for_live(table, costs if costly else runs, "tv-gp-ucb")
    path = tmp_path / "policy.json"
    write_policy(path, stored)
    again = read_policy(path)
    assert policy_to_data(again.policy) == policy_to_data(stored.policy)
    assert (again.maximize, again.name) == (not costly, "tv-gp-ucb")
    assert again.space.names == NAMES
    prior = dp.Prior(dp.Arms(3, NAMES), dp.kernels.Table(np.cov(ROOMS.T)), 0.1, ROOMS.mean(axis=0))
    width = dp.widths.ScaledLog(0.8, 0.4)
    by_hand = dp.Optimizer(
        dp.Arms(3, NAMES), maximize=True, policy=dp.TVGPUCB(prior, drift=0.1, width=width)
    )
    study = again.optimizer()
    for reward in (19.0, 22.5, 21.0):
        asked, expected = study.ask(), by_hand.ask()
        assert dict(asked) == dict(expected)
        study.tell(asked, -reward if costly else reward)
        by_hand.tell(expected, reward)
    sign = -1 if costly else 1
    np.testing.assert_allclose(sign * study.best().mean, by_hand.best().mean)
    write_policy(path, stored)  # an earlier one may be replaced
    with pytest.raises(dp.DriftpeakError, match=r"name must be one of gp-ucb.*; got 'auto'"):
        policy_for_live(TABLE, runs, "auto")


def test_files_that_are_no_policies_are_refused(tmp_path, runs):
    stored = policy_for_live(TABLE, runs, "random")
    path = tmp_path / "policy.json"
    path.write_text('{"my": "thesis"}')
    with pytest.raises(dp.DriftpeakError, match="must be a new file or a stored policy"):
        write_policy(path, stored)
    with pytest.raises(dp.DriftpeakError, match=r"must be a stored policy; .*replay --save"):
        read_policy(path)
    with pytest.raises(dp.DriftpeakError, match="there is no directory"):
        write_policy(tmp_path / "none" / "policy.json", stored)
    with pytest.raises(dp.DriftpeakError, match="cannot be read"):
        read_policy(tmp_path / "none.json")
    path.unlink()
    write_policy(path, stored)
    good = json.loads(path.read_text())
    for change, message in (
        ({"driftpeak_policy": 2}, "of format 1; got format 2"),
        ({"maximize": "yes"}, "maximize must be true or false"),
        ({"horizon": 0}, "horizon must be an integer of at least 1"),
        ({"policy": {"prior": {}}}, "policy.json: "),
        ({"policy": 3}, "policy must be a policy of driftpeak; got 3"),
        ({"space": 3}, "a space must be written as"),
    ):
        path.write_text(json.dumps(good | change))
        with pytest.raises(dp.DriftpeakError, match=message):
            read_policy(path)
    del good["space"]
    path.write_text(json.dumps(good))
    with pytest.raises(dp.DriftpeakError, match="must have space"):
        read_policy(path)
    with pytest.raises(dp.DriftpeakError, match=r"cannot be stored.*user-defined"):
        StoredPolicy.of(Mine(TABLE), dp.Arms(3), maximize=True, name="mine")


class Mine(dp.UniformRandom):
    """Somebody's own."""

    def __init__(self, table):
        super().__init__(dp.Prior(dp.Arms(3), dp.kernels.Table(np.eye(3)), 0.1))


@pytest.mark.slow
def test_from_the_command_line(run, tmp_path):
    data, saved, output = tmp_path / "rooms.csv", tmp_path / "policy.json", tmp_path / "out"
    lines = [",".join(("time", *WITH_UNIT))]
    lines += [",".join((time, *map(str, row))) for time, row in zip(TIMES, -ROOMS, strict=True)]
    data.write_text("\n".join(lines))
    words = ["replay", data, "--policy", "gp-ucb", "--policy", "random", "--trials", "2",
             "--minimize", "--save", saved]  # fmt: skip
    code, out, err = run(*words, "--output", output)
    assert code == 0, err
    verdict_line, advice_line, belief_line = out.splitlines()[:3]
    assert "significant: gp-ucb" in verdict_line
    assert advice_line.startswith("recommended: ")
    assert "degrees C" in advice_line
    assert "at 2026-03-02 16:00, by gp-ucb" in belief_line
    assert "regret in degrees C" in out
    assert sorted(path.name for path in output.glob("*.png")) == [
        "follow.png", "regret.png", "track.png",
    ]  # fmt: skip
    summary = json.loads((output / "summary.json").read_text())
    assert summary["verdict"]["text"] == verdict_line
    assert summary["follow"]["text"] == advice_line
    assert (summary["settings"]["unit"], summary["settings"]["minimize"]) == ("degrees C", True)
    for row in summary["policies"].values():
        np.testing.assert_allclose(sum(row["arms"]["share"].values()), 1)
    store = f"sqlite:///{tmp_path}/studies"
    create = ["live", "create", store, "rooms", "--policy-file", saved]
    code, out, err = run(*create)
    assert (code, json.loads(out)) == (0, {"name": "rooms", "told": 0})
    asked = json.loads(run("live", "ask", store)[1])
    assert asked["time"] == 1
    assert asked["parameters"]["arm"] in NAMES
    assert json.loads(run("live", "show", store)[1])["maximize"] is False
    refused(run(*create, "--minimize"), "--policy-file sets the space, the direction")
    refused(
        run("live", "create", store, "x", "--minimize"), "--space is required, or --policy-file"
    )
    refused(run("live", "create", store, "x", "--policy-file", data), "must be a stored policy")
    refused(run(*words[:-1], data), "rooms.csv must be a new file or a stored policy")
