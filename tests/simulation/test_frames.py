"""Results as data frames: what an optimiser was told, what a run recorded, a table for a paper."""

import math
from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import stats

import driftpeak as dp
from driftpeak.simulation import verdict
from driftpeak.simulation._samples import half_interval
from driftpeak.simulation._table import RegretTable

BOX = dp.Box(
    {
        "speed": dp.Float(0, 10),
        "stages": dp.Integer(1, 6),
        "kind": dp.Categorical("b", "a"),
        "time": dp.Float(0, 1),
        "odd": dp.Categorical(True, 1, "x"),
    }
)
SETTING = {"speed": 4, "stages": 2, "kind": "a", "time": 0.5, "odd": 1}


def test_an_empty_history_has_all_columns():
    frame = dp.Optimizer(BOX, maximize=True).to_dataframe()
    assert len(frame) == 0
    assert list(frame.columns) == [
        "suggestion", "status", "time", "speed", "stages", "kind", "parameter_time", "odd",
        "reward", "expected", "expected_deviation",
    ]  # fmt: skip


def test_a_history_row_by_row():
    optimizer = dp.Optimizer(BOX, maximize=False)
    first = optimizer.ask()
    second = optimizer.ask()
    optimizer.tell(second, 2.5)
    optimizer.tell(SETTING, -1.0, time=7)
    frame = optimizer.to_dataframe()
    assert frame["suggestion"].tolist() == [2, pd.NA, 1]
    assert frame["status"].tolist() == ["told", "told", "pending"]
    assert frame["time"].tolist() == [second.time, 7, first.time]
    assert frame["reward"].tolist()[:2] == [2.5, -1.0]
    assert math.isnan(frame["reward"][2])
    assert frame["expected"].isna().all()  # nothing is foretold of the first rewards
    told = frame.iloc[1]
    assert {name: told[name] for name in ("speed", "stages", "kind", "odd")} == {
        "speed": 4.0, "stages": 2, "kind": "a", "odd": 1,
    }  # fmt: skip
    assert told["parameter_time"] == 0.5
    assert [frame[name][2] for name in ("speed", "stages", "kind")] == [
        first["speed"], first["stages"], first["kind"],
    ]  # fmt: skip
    assert frame.dtypes.astype(str).to_dict() == {
        "suggestion": "Int64", "status": "category", "time": "int64", "speed": "float64",
        "stages": "int64", "kind": "category", "parameter_time": "float64", "odd": "object",
        "reward": "float64", "expected": "float64", "expected_deviation": "float64",
    }  # fmt: skip
    assert frame["kind"].cat.categories.tolist() == ["b", "a"]  # in the order of the choices
    assert not frame["kind"].cat.ordered


def test_a_parameter_that_is_called_as_two_columns():
    box = dp.Box(reward=dp.Float(0, 1), parameter_reward=dp.Float(2, 3))
    optimizer = dp.Optimizer(box, maximize=True)
    optimizer.tell({"reward": 0.25, "parameter_reward": 2.5}, 9.0)
    (row,) = optimizer.to_dataframe().to_dict("records")
    assert row["reward"] == 9.0
    assert (row["parameter_reward"], row["parameter_parameter_reward"]) == (2.5, 0.25)


@pytest.mark.parametrize("zone", [None, UTC])
def test_dates_are_dates(zone):
    optimizer = dp.Optimizer(dp.Arms(3, names=["x", "y", "z"]), maximize=True)
    start = datetime(2026, 3, 1, 8, tzinfo=zone)
    for hours in (0, 30):
        optimizer.tell({"arm": "y"}, hours, time=start + timedelta(hours=hours))
    optimizer.ask(datetime(9998, 1, 1, tzinfo=zone))  # no nanoseconds reach so far
    frame = optimizer.to_dataframe()
    assert str(frame["time"].dtype) == ("datetime64[us]" if zone is None else "datetime64[us, UTC]")
    assert frame["time"][1].to_pydatetime() == start + timedelta(hours=30)
    assert frame["time"][2].year == 9998
    assert frame["arm"].cat.categories.tolist() == ["x", "y", "z"]
    assert frame["arm"].tolist()[:2] == ["y", "y"]


def test_other_times_are_floats_and_grids_have_coordinates():
    optimizer = dp.Optimizer(dp.Grid([0, 1], [0, 5], size=[3, 2]), maximize=True)
    optimizer.tell({"x1": 0.5, "x2": 5}, 1.0, time=0.25)
    frame = optimizer.to_dataframe()
    assert frame[["time", "x1", "x2", "reward"]].to_numpy().tolist() == [[0.25, 0.5, 5.0, 1.0]]
    assert set(frame[["time", "x1", "x2"]].dtypes) == {np.dtype("float64")}


def test_what_was_foretold_stands_beside_the_reward():
    optimizer = dp.Optimizer(dp.Arms(2), maximize=False, policy=policy_of_two())
    for reward in (1.0, 2.0, 3.0):
        optimizer.tell(optimizer.ask(), reward)
    frame, history = optimizer.to_dataframe(), optimizer.history()
    wanted = [one.expected or (math.nan, math.nan) for one in history]
    np.testing.assert_array_equal(frame[["expected", "expected_deviation"]], wanted)
    assert frame["expected"].notna().any()


def policy_of_two():
    return dp.TVGPUCB(dp.Prior(dp.Arms(2), dp.kernels.Table(np.eye(2)), 0.1), drift=0.1)


# records


def record(regret, foresight=None, **more):
    """A record as `simulate` makes it, with these regrets, shape (policy, trial, step)."""
    regret = np.asarray(regret, float)
    policies, trials, steps = regret.shape
    names = ["first", "second", "third", "fourth"][:policies]
    dims = ("policy", "trial", "step")
    return xr.Dataset(
        {
            "regret": (dims, regret),
            "action": (dims, (np.arange(regret.size) % 2).reshape(regret.shape)),
            "seconds": ("policy", np.arange(policies) + 0.5),
            **more,
        },
        coords={
            "policy": names,
            "foresight": ("policy", foresight or ["none"] * policies),
            "trial": np.arange(trials) + 3,
            "step": np.arange(steps) + 1,
            "time": ("step", np.arange(steps) * 0.5),
        },
    )


REGRET = (
    np.random.default_rng(0).uniform(0, 1, (3, 5, 4)) + np.array([0.0, 2.0, 0.05])[:, None, None]
)


def test_a_record_in_long_form():
    frame = dp.to_dataframe(record(REGRET), ["regret", "action"])
    assert list(frame.columns) == ["policy", "trial", "step", "time", "regret", "action"]
    row = 0
    for policy in range(3):
        for trial in range(5):
            for step in range(4):
                one = frame.iloc[row]
                assert one["policy"] == ("first", "second", "third")[policy]
                assert (one["trial"], one["step"], one["time"]) == (trial + 3, step + 1, step * 0.5)
                assert one["regret"] == REGRET[policy, trial, step]
                row += 1
    assert len(frame) == row
    assert frame["policy"].cat.categories.tolist() == ["first", "second", "third"]
    assert frame["action"].dtype.kind == "i"
    means = frame.groupby("policy", observed=True)["regret"].mean()
    np.testing.assert_allclose(means, REGRET.mean(axis=(1, 2)))


def test_variables_of_fewer_and_of_more_dimensions():
    expected = np.arange(3 * 5 * 2.0).reshape(3, 5, 2)
    runs = record(REGRET, expected_mean=(("policy", "trial", "arm"), expected))
    runs = runs.assign_coords(arm=["north", "south"], label=("step", ["mo", "tu", "we", "th"]))
    each = dp.to_dataframe(runs, ["seconds"])
    assert each.to_dict("list") == {
        "policy": ["first", "second", "third"], "seconds": [0.5, 1.5, 2.5],
    }  # fmt: skip
    arms = dp.to_dataframe(runs, ["expected_mean"])
    assert list(arms.columns) == ["policy", "trial", "arm", "expected_mean"]
    np.testing.assert_array_equal(arms["expected_mean"], expected.ravel())
    played = dp.to_dataframe(runs, ["action", "seconds"])
    assert list(played.columns) == [
        "policy", "trial", "step", "time", "label", "arm", "action", "seconds",
    ]  # fmt: skip
    assert (played["arm"] == np.array(["north", "south"])[played["action"]]).all()
    assert played["label"].tolist()[:5] == ["mo", "tu", "we", "th", "mo"]
    assert played["seconds"].tolist() == [0.5] * 20 + [1.5] * 20 + [2.5] * 20


def test_variables_that_are_not_there_are_refused():
    with pytest.raises(
        dp.DriftpeakError, match=r"variables must be in.*'regert'.*Did you mean 'regret'"
    ):
        dp.to_dataframe(record(REGRET), ["regert"])
    with pytest.raises(dp.DriftpeakError, match="variables must be a list of names"):
        dp.to_dataframe(record(REGRET), [])


# tables


def test_a_table_by_hand():
    """Means over trials, Student's t with 4 degrees of freedom: 2.776445."""
    made = dp.table(record(REGRET, ["none", "none", "none"]))
    frame = made.frame
    each = REGRET.mean(axis=2)  # of a policy and a trial
    means = each.mean(axis=1)
    half = 2.7764451 * each.std(axis=1, ddof=1) / math.sqrt(5)
    order = np.argsort(means)
    assert frame.index.tolist() == [("first", "second", "third")[one] for one in order]
    assert frame["rank"].tolist() == [1, 2, 3]
    np.testing.assert_allclose(frame["mean_regret"], means[order])
    np.testing.assert_allclose(frame["low"], (means - half)[order], rtol=1e-6)
    np.testing.assert_allclose(frame["high"], (means + half)[order], rtol=1e-6)
    assert frame["beside_best"].tolist()[0] == "best"
    assert frame["beside_best"]["second"] == "worse"
    paired = stats.ttest_rel(each[0], each[2]).pvalue
    chances = sorted([paired, stats.ttest_rel(*each[[order[0], 1]]).pvalue])
    least = min(1.0, 2 * chances[0])
    holm = dict(zip(chances, (least, max(least, chances[1])), strict=True))
    assert (frame["beside_best"].iloc[1] == "worse") == (holm[paired] <= 0.05)
    assert (
        made.caption
        == "Mean regret per step over 4 steps; 95 % intervals (Student's t) over 5 trials."
    )


def test_yardsticks_have_no_rank():
    frame = dp.table(record(REGRET, ["all", "none", "none"])).frame
    assert frame["beside_best"]["first"] == "yardstick"
    assert frame["rank"].isna().to_dict() == {"first": True, "second": False, "third": False}
    assert frame["rank"][["third", "second"]].tolist() == [1, 2]


def test_one_history_is_cut_into_blocks():
    """Of 9 steps 3 blocks of 3; all trials are of one history, so their mean is one series."""
    regret = np.random.default_rng(1).uniform(0, 1, (2, 4, 9))
    runs = record(regret, rewards=(("step", "arm"), np.zeros((9, 2))))
    runs["regret"].attrs["units"] = "degrees C"
    made = dp.table(runs)
    blocks = regret.mean(axis=1).reshape(2, 3, 3).mean(axis=2)
    half = 4.3026527 * blocks.std(axis=1, ddof=1) / math.sqrt(3)  # t, 2 degrees of freedom
    frame = made.frame.loc[["first", "second"]]
    np.testing.assert_allclose(frame["high"] - frame["mean_regret"], half, rtol=1e-6)
    assert "in degrees C over 9 steps of one history" in made.caption
    assert "3 blocks of steps" in made.caption
    trials = dp.table(runs, independent_trials=True).frame.loc[["first", "second"]]
    half = 3.1824463 * regret.mean(axis=2).std(axis=1, ddof=1) / 2  # t, 3 degrees of freedom
    np.testing.assert_allclose(trials["high"] - trials["mean_regret"], half, rtol=1e-6)


def test_one_trial_has_no_interval():
    made = dp.table(record(REGRET[:, :1]))
    assert made.frame[["low", "high"]].isna().all(axis=None)
    assert "one trial, without intervals" in made.caption
    assert "| |" in made.to_markdown().replace("  ", " ")
    assert math.isnan(half_interval(REGRET[0, :1], independent_trials=True))


def test_decimals_are_aligned_and_half_widths_follow_the_mean():
    """The smallest half-width, 0.0062, has two digits; all numbers have as many decimals."""
    frame = pd.DataFrame(
        {
            "rank": pd.array([1, 2, None], dtype="Int64"),
            "mean_regret": [0.0791, 0.5, 12.3456],
            "low": [0.0729, 0.4, 12.0],
            "high": [0.0853, 0.6, 12.6912],
            "beside_best": ["best", "worse", "yardstick"],
        },
        index=["a", "b", "c"],
    )
    made = RegretTable(frame, "Regret.")
    assert [line.split(" | ")[2:4] for line in made.to_markdown().splitlines()[2:]] == [
        ["0.0791", "0.0729 to 0.0853"],
        ["0.5000", "0.4000 to 0.6000"],
        ["12.3456", "12.0000 to 12.6912"],
    ]
    short = made.to_markdown(form="plus-minus").splitlines()
    assert short[0] == "| policy | rank | mean regret | compared with the best |"
    assert short[1] == "| --- | ---: | ---: | --- |"
    assert short[2] == "| a | 1 | 0.0791 ± 0.0062 | best |"
    latex = made.to_latex(form="plus-minus")
    assert r"\begin{tabular}{lrrl}" in latex
    assert r"a & 1 & 0.0791 $\pm$ 0.0062 & best \\" in latex


def test_intervals_of_paired_differences():
    """Student's t over the trials' differences, as scipy computes it."""
    regret = np.random.default_rng(3).uniform(0, 1, (2, 6, 5))
    regret[1] += 0.2
    judged = verdict(record(regret), independent_trials=True)
    ((name, compared),) = judged.others.items()
    assert name == "second"
    each = (regret[1] - regret[0]).mean(axis=1)
    found = stats.ttest_1samp(each, 0).confidence_interval(0.95)
    np.testing.assert_allclose(compared.interval, (found.low, found.high), rtol=1e-9)
    one = verdict(record(regret[:, :1]), independent_trials=True)
    assert np.isnan(one.others["second"].interval).all()


def odd_names():
    regret = np.ones((2, 3, 4))
    regret[1] = 2
    runs = record(regret)
    return dp.table(runs.assign_coords(policy=["tv_gp:a=50%&b|c", r"\x{y}~^$#"]))


def test_markdown():
    head, rule, *rows = odd_names().to_markdown().splitlines()
    assert head == "| policy | rank | mean regret | 95 % interval | compared with the best |"
    assert rule == "| --- | ---: | ---: | ---: | --- |"
    assert rows == [
        r"| tv_gp:a=50%&b\|c | 1 | 1 | 1 to 1 | best |",
        r"| \x{y}~^$# | 2 | 2 | 2 to 2 | worse |",
    ]
    assert str(odd_names()).endswith("over 3 trials.")


def test_latex():
    lines = odd_names().to_latex().splitlines()
    assert lines[0] == r"\begin{table}"
    assert lines[1].startswith(r"\caption{Mean regret per step over 4 steps; 95 \% intervals")
    assert lines[2:6] == [
        r"\begin{tabular}{lrrrl}",
        r"\toprule",
        r"policy & rank & mean regret & 95 \% interval & compared with the best \\",
        r"\midrule",
    ]
    assert lines[6] == r"tv\_gp:a=50\%\&b|c & 1 & 1 & 1 to 1 & best \\"
    assert lines[7].startswith(r"\textbackslash{}x\{y\}\textasciitilde{}\textasciicircum{}\$\# &")
    assert lines[8:] == [r"\bottomrule", r"\end{tabular}", r"\end{table}"]


def test_something_else_is_refused():
    with pytest.raises(dp.DriftpeakError, match="must be a result of simulate or replay"):
        dp.table(xr.Dataset())


@pytest.mark.slow
def test_a_real_run():
    prior = dp.Prior(dp.Arms(2), dp.kernels.Table(np.eye(2)), 0.1)
    runs = dp.simulate(
        {"random": dp.UniformRandom(prior), "always": dp.BestFixedArm(prior)},
        dp.MarkovDrift(prior, drift=0.1), steps=6, trials=3,
    )  # fmt: skip
    frame = dp.to_dataframe(runs)
    assert list(frame.columns) == ["policy", "trial", "step", "time", "action", "reward", "regret"]
    np.testing.assert_array_equal(frame["regret"], runs["regret"].values.ravel())
    assert dp.table(runs).frame["beside_best"].to_dict() == {
        "random": "best", "always": "yardstick",
    }  # fmt: skip


def test_parameters_that_do_not_always_count():
    """Without a value: NaN, NA among integers; orders of choices; None is no category."""
    space = dp.Box(
        heating=dp.Boolean(),
        power=dp.Float(0, 1, when={"heating": True}),
        stages=dp.Integer(1, 3, when={"heating": True}),
        grade=dp.Categorical("low", "high", ordered=True),
        catalyst=dp.Categorical("a", None),
    )
    optimizer = dp.Optimizer(space, maximize=True)
    on = {"heating": True, "power": 0.5, "stages": 2, "grade": "low", "catalyst": "a"}
    optimizer.tell(on, 1.0, time=1)
    optimizer.tell({"heating": False, "grade": "high", "catalyst": None}, 2.0, time=2)
    frame = optimizer.to_dataframe()
    assert frame["power"].tolist()[0] == 0.5
    assert np.isnan(frame["power"][1])
    assert frame["stages"].dtype == "Int64"
    assert frame["stages"].isna().tolist() == [False, True]
    assert frame["grade"].min() == "low"
    assert frame["catalyst"].tolist() == ["a", None]
