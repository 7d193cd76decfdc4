"""The planner's advice, and `driftpeak plan` as a user meets it."""

import json
import math
import re
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import driftpeak as dp
from driftpeak.cli import app
from driftpeak.cli.plan_report import summary
from driftpeak.theory.planner import fill_in, plan
from driftpeak.theory.rates import Setting
from driftpeak.theory.schedules import elimination_period, markov_restart_period

NAMES = {
    "gp-ucb", "r-gp-ucb", "sw-gp-ucb", "tv-gp-ucb", "w-gp-ucb", "ui-gp-ucb", "r-perp", "opkb",
    "ada-opkb", "sparq", "w-sparq",
}  # fmt: skip


def se(**known):
    return Setting(dp.SE(), **{"dimension": 1, "horizon": 10_000, **known})


RECOMMENDED = {
    "variation": (se(variation=20.0), 0, "r-perp", "without knowing V_T"),
    "rough": (
        Setting(dp.Matern(1.5), 2, 10_000, variation=20.0), 0, "r-perp", "IT25 Theorem 1",
    ),
    "too rough": (Setting(dp.Matern(0.5), 1, 100, variation=2.0), 0, "tv-gp-ucb", "No theorem"),
    "below the threshold": (
        Setting(dp.SE(), 1, 10_000, variation=0.05), 0, "opkb", "slowest",
    ),
    "nothing changes": (se(variation=0.0), 0, "gp-ucb", "does not change"),
    "unknown": (se(), 0, "ada-opkb", "does not have to know"),
    "too much variation": (se(variation=1e5), 0, "tv-gp-ucb", "No theorem"),
    "drift": (se(drift=0.01, variation=20.0), 0, "tv-gp-ucb", "linear in T"),
    "drift, rough": (Setting(dp.Matern(1.5), 1, 100, drift=0.1), 0, "tv-gp-ucb", "nu > 2"),
    "slow injection": (se(exponent=0.2), 0, "ui-gp-ucb", "without any side query"),
    "moderate": (se(exponent=0.5), 0, "ui-gp-ucb", "takes [0-9,]+ side queries"),
    "moderate, paid": (se(exponent=0.5), 30_000, "w-sparq", "bring regret down"),
    "fast, rich": (se(exponent=2.0), 10**6, "sparq", "bring regret down"),
    "fast, poor": (se(exponent=2.0), 100, "ui-gp-ucb", "no more than about 464"),
    "alpha unknown": (se(), 10**6, "sparq", "Whatever alpha is"),
    "injection, Matern": (
        Setting(dp.Matern(2.5), 1, 10_000, exponent=2.0), 10**6, "ui-gp-ucb", "the SE kernel",
    ),
    "injection hopeless, variation known": (
        se(exponent=2.0, variation=20.0), 0, "r-perp", "fast change",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("setting", "allowed", "name", "reason"), RECOMMENDED.values(), ids=RECOMMENDED
)
def test_recommendation(setting, allowed, name, reason):
    found = plan(setting, side_queries=allowed)
    assert found.recommended == name
    assert re.search(reason, found.reason), found.reason


@given(
    nu=st.sampled_from([0.3, 0.5, 0.8, 1.5, 2.5, 10.0, math.inf]),
    dimension=st.integers(1, 5),
    horizon=st.sampled_from([3, 10, 500, 10_000]),
    variation=st.none() | st.sampled_from([0.0, 1e-9, 0.3, 50.0, 1e9]),
    drift=st.none() | st.sampled_from([0.0, 1e-6, 0.1, 1.0]),
    exponent=st.none() | st.sampled_from([0.0, 0.2, 0.5, 1.0, 4.0]),
    side_queries=st.sampled_from([0, 100, 10**9]),
)
def test_every_plan_is_whole(nu, dimension, horizon, variation, drift, exponent, side_queries):
    """All policies, no number where a condition fails, side queries within what is allowed."""
    kernel = dp.SE() if math.isinf(nu) else dp.Matern(nu)
    setting = Setting(kernel, dimension, horizon, variation, drift, exponent)
    found = plan(setting, side_queries=side_queries)
    assert {row.policy for row in found.policies} == NAMES
    assert found.recommended in NAMES
    assert found.reason.endswith(".")
    for row in found.policies:
        failed = row.order is None or row.order.value is None
        assert failed == (row.rate == "")
        assert not (failed and (row.sublinear or row.parameters or row.side_queries))
        assert row.sublinear or row.remark
        assert all(math.isfinite(value) for value in row.parameters.values())
        if row.policy == found.recommended and row.sublinear and row.measure == "exponent":
            assert row.side_queries <= side_queries
    json.dumps(summary(found), allow_nan=False)


def test_parameters_are_those_of_the_schedules():
    setting = Setting(dp.Matern(2.5), 2, 5000, variation=8.0, drift=0.02, exponent=0.7)
    found = {(row.policy, row.measure): row for row in plan(setting).policies}
    period = elimination_period(setting.kernel, horizon=5000, dimension=2, variation=8.0)
    assert found["r-perp", "variation"].parameters == {"period": period}
    assert found["opkb", "variation"].parameters == {"period": period}
    restart = markov_restart_period(setting.kernel, drift=0.02, horizon=5000, dimension=2)
    assert found["r-gp-ucb", "drift"].parameters == {"period": restart}
    assert found["tv-gp-ucb", "drift"].parameters == {"drift": 0.02}
    assert found["ada-opkb", "variation"].needs == ("T",)
    assert found["r-perp", "variation"].needs == ("T", "V_T")
    assert found["ui-gp-ucb", "exponent"].parameters == {}  # M25 treats SE alone


def test_fill_in_keeps_what_is_given():
    values = np.random.default_rng(0).normal(size=(40, 3))
    assert fill_in(values, 7, 2.0, 0.5) == (7, 2.0, 0.5, ())
    horizon, variation, drift, notes = fill_in(values, None, None, None)
    steps = np.abs(np.diff(values, axis=0)).max(axis=1).sum()
    assert variation == pytest.approx(steps / math.sqrt(values.var(axis=0).mean()))
    assert (horizon, len(notes)) == (40, 3)
    assert 0 < drift <= 1
    slow = fill_in(np.cumsum(values, axis=0), 40, 1.0, None)[3]
    assert "likely overestimated from 40 rows" in slow[-1]
    longer = fill_in(values, 79, None, 0.5)[1]
    assert longer == pytest.approx(2 * variation)


# The command


@pytest.fixture
def run(monkeypatch, capsys, without_type_checks):
    """Run the command line in this process: (exit code, standard output, standard error)."""

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["driftpeak", "plan", *map(str, words)])
        monkeypatch.setenv("COLUMNS", "200")
        code = 0
        try:
            app.main()
        except SystemExit as exit:
            code = exit.code or 0
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.fixture
def data(tmp_path):
    values = dp.true_functions(
        dp.MarkovDrift(dp.Prior(dp.Grid([0, 1], size=5), dp.SE(0.3), 0.1), drift=0.2),
        steps=300, seed=0,
    )[0]  # fmt: skip
    path = tmp_path / "data.csv"
    rows = "\n".join(",".join(f"{v:.5f}" for v in row) for row in values)
    path.write_text("a,b,c,d,e\n" + rows + "\n")
    return path


def test_the_table_names_every_policy_and_ends_in_words(run):
    code, out, err = run("--horizon", 5000, "--variation", 8, "--dimension", 2)
    assert (code, err) == (0, "")
    assert {line.split()[0] for line in out.splitlines() if line} >= NAMES
    assert "T^0.667 V_T^0.333" in out
    assert "period=1272" in out
    assert "Take r-perp." in out


def test_json_is_json_only(run, data):
    code, out, err = run("--data", data, "--json", "--kernel", "matern", "--nu", 2.5)
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["recommended"] == "tv-gp-ucb"
    assert found["settings"]["horizon"] == 300
    assert 0.05 < found["settings"]["drift"] < 0.6
    assert len(found["notes"]) == 3
    assert {row["policy"] for row in found["policies"]} == NAMES
    assert found["lower_bounds"]["drift"]["failed"] == ["nu > 4 (here nu = 2.5)"]
    assert found["lower_bounds"]["drift"]["order"] is None


def test_data_fill_in_only_what_is_missing(run, data):
    code, out, err = run("--data", data, "--horizon", 1000, "--drift", 0.01)
    assert code == 0
    assert err.count("\n") == 1
    assert err.startswith("Variation")
    assert "drift=0.01" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "give --horizon T, the number of steps, or --data FILE"),
        (["--horizon", 2], "horizon must be an integer of at least 3; got 2"),
        (["--horizon", 100, "--variation", -1], "variation must be .* at least 0; got -1.0"),
        (["--horizon", 100, "--variation", "nan"], "variation must be a finite number"),
        (["--horizon", 100, "--drift", 2], r"drift must lie in \[0, 1\]; got 2.0"),
        (["--horizon", 100, "--exponent", -1], "exponent must be .* at least 0"),
        (["--horizon", 100, "--side-queries", -1], "side_queries must be .* at least 0"),
        (["--horizon", 100, "--dimension", 0], "dimension must be an integer of at least 1"),
        (["--horizon", 100, "--kernel", "mattern"], "got 'mattern'. Did you mean 'matern'"),
        (["--horizon", 100, "--kernel", "matern", "--nu", 0], "nu must be .* above 0; got 0.0"),
        (["--data", "nowhere.csv"], "nowhere.csv: there is no such file"),
    ],
)
def test_mistakes_are_one_line_and_exit_2(run, words, message):
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert re.search(message, err), err


def test_data_that_do_not_vary_are_refused(run, tmp_path):
    path = tmp_path / "flat.csv"
    path.write_text("a,b\n" + "1,2\n" * 10)
    code, _, err = run("--data", path)
    assert code == 2
    assert "do not vary" in err
