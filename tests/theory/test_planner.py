"""The planner's advice, and `driftpeak plan` as a user meets it."""

import importlib.util
import json
import math
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import driftpeak as dp
from driftpeak.cli import app
from driftpeak.cli.plan_report import print_plan, shown, summary
from driftpeak.theory.measured import measured
from driftpeak.theory.planner import fill_in, plan
from driftpeak.theory.recommendation import NEGLIGIBLE
from driftpeak.theory.schedules import elimination_period, markov_restart_period, window_length
from driftpeak.theory.setting import Setting

NAMES = {
    "auto", "gp-ucb", "r-gp-ucb", "sw-gp-ucb", "tv-gp-ucb", "w-gp-ucb", "ui-gp-ucb", "r-perp",
    "opkb", "ada-opkb", "sparq", "w-sparq",
}  # fmt: skip


def se(**known):
    return Setting(dp.SE(), **{"dimension": 1, "horizon": 10_000, **known})


RECOMMENDED = {
    "variation": (se(variation=20.0), 0, "auto", "No theorem promises regret below T"),
    "guarantee": (se(variation=0.5), 0, "auto", "The best guarantee here is that of r-perp"),
    "like random": (se(variation=0.5), 0, "auto", "r-perp[^;]*; [^;]*like random choice"),
    "too rough": (Setting(dp.Matern(0.5), 1, 100, variation=2.0), 0, "auto", "No theorem"),
    "below the threshold": (se(variation=0.05), 0, "auto", "that of opkb"),
    "nothing changes": (se(variation=0.0), 0, "gp-ucb", "does not change.*auto"),
    "hardly": (se(variation=1e-300), 0, "gp-ucb", "at most 2 V_T T = 2e-296"),
    "hardly drifts": (
        Setting(dp.SE(), 1, 200, drift=1e-8), 0, "gp-ucb", "still 1 - 1e-06, so .* nothing",
    ),
    "unknown": (se(), 0, "auto", "that of ada-opkb, .* V_T = .* 0.6"),
    "drift": (se(drift=0.01, variation=20.0), 0, "tv-gp-ucb", "linear in T.*auto"),
    "drift, rough": (Setting(dp.Matern(1.5), 1, 100, drift=0.1), 0, "tv-gp-ucb", "nu > 2"),
    "independent steps": (se(drift=1.0), 0, None, "Nothing can be learned.*highest prior mean"),
    "nearly so": (se(drift=0.99995), 0, None, "correlation 0.0071 with the last"),
    "not quite": (se(drift=0.999), 0, "tv-gp-ucb", "exact Bayesian filter"),
    "independent steps, queries": (se(drift=1.0, exponent=0.5), 10**6, "sparq", "its rate, T"),
    "drift, nu too small for the lower bound": (
        Setting(dp.Matern(2.5), 1, 1000, drift=0.1), 0, "tv-gp-ucb", "requires nu > 4",
    ),
    "slow injection": (
        Setting(dp.SE(), 1, 10**8, exponent=0.05), 0, "ui-gp-ucb", "without any side query",
    ),
    "moderate": (se(exponent=0.5), 0, "auto", "takes [0-9,]+ side queries"),
    "moderate, paid": (se(exponent=0.5), 10**6, "sparq", "Caveat.*answers alone.*not take part"),
    "fast, poor": (se(exponent=2.0), 100, "auto", "no more than about 464"),
    "alpha unknown": (se(), 10**6, "sparq", "Whatever alpha is"),
    "injection, Matern": (
        Setting(dp.Matern(2.5), 1, 10_000, exponent=2.0), 10**6, "auto", "the SE kernel",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("setting", "allowed", "name", "reason"), RECOMMENDED.values(), ids=RECOMMENDED
)
def test_recommendation(setting, allowed, name, reason):
    found = plan(setting, side_queries=allowed)
    assert found.recommended == name
    assert re.search(reason, found.reason), found.reason


def test_caveats():
    """Rates whose proof needs more than the theorem says have a caveat, and no others."""
    found = plan(se(exponent=0.5, variation=0.5, rkhs_variation=0.6), side_queries=10**6)
    caveats = {row.policy: row.caveat for row in found.policies if row.caveat}
    assert set(caveats) == {"sparq", "w-sparq", "r-perp"}
    assert caveats["sparq"] == caveats["w-sparq"]
    assert "answers alone" in caveats["sparq"]
    assert 'constant="proved"' in caveats["r-perp"]
    rows = {row["policy"]: row["caveat"] for row in summary(found)["policies"] if row["caveat"]}
    assert rows == caveats


def test_caveats_are_printed_next_to_the_rate(capsys):
    print_plan(plan(se(exponent=0.5, variation=0.5), side_queries=10**6))
    text = " ".join(capsys.readouterr().out.split())
    assert re.search(r"sparq T\^0.5 \[2\], takes", text)
    assert '[1] proved for the width with constant="proved"' in text
    assert "[2] the proof needs a posterior with the outputs at all points" in text


@given(
    nu=st.sampled_from([0.3, 0.5, 0.8, 1.5, 2.5, 10.0, math.inf]),
    dimension=st.sampled_from([1, 2, 5, 20, 100]),
    horizon=st.sampled_from([3, 10, 500, 10_000, 3 * 10**9, 10**18]),
    variation=st.none() | st.sampled_from([0.0, 1e-300, 1e-9, 0.3, 50.0, 1e9]),
    rkhs=st.none() | st.sampled_from([1e9, 1e12]),
    drift=st.none() | st.sampled_from([0.0, 1e-6, 0.1, 1.0]),
    exponent=st.none() | st.sampled_from([0.0, 0.2, 0.5, 1.0, 4.0]),
    side_queries=st.sampled_from([0, 100, 10**9]),
)
def test_every_plan_is_whole(
    nu, dimension, horizon, variation, rkhs, drift, exponent, side_queries
):
    """All policies, no number where a condition fails, side queries within what is allowed."""
    kernel = dp.SE() if math.isinf(nu) else dp.Matern(nu)
    setting = Setting(kernel, dimension, horizon, variation, drift, exponent, rkhs_variation=rkhs)
    found = plan(setting, side_queries=side_queries)
    assert {row.policy for row in found.policies} == NAMES
    assert found.recommended in NAMES or (found.recommended is None and drift == 1)
    assert found.reason.endswith((".", ".)"))
    assert "auto" in found.reason or found.recommended == "auto"
    played = [row.measured for row in found.policies if row.policy == found.recommended]
    assert not any(one is not None and one.like_random for one in played)
    for row in found.policies:
        failed = row.order is None or row.order.value is None
        assert failed == (row.rate == "")
        assert not (failed and (row.sublinear or row.parameters or row.side_queries))
        assert row.sublinear or row.remark
        for name, value in row.parameters.items():
            assert math.isfinite(value)
            assert math.isclose(float(shown(value)), value, rel_tol=1e-3)
            assert name != "discount" or 0 < float(shown(value)) < 1
        if row.sublinear:
            assert row.with_logarithms < horizon
            assert row.with_logarithms >= row.order.number
        if row.policy == found.recommended and row.sublinear and row.measure == "exponent":
            assert row.side_queries <= side_queries
    json.dumps(summary(found), allow_nan=False)


@pytest.mark.slow
@settings(max_examples=2000, deadline=None)
@given(
    nu=st.sampled_from([0.8, 2.5, 5.0, math.inf]),
    dimension=st.integers(1, 6),
    horizon=st.integers(10, 10**7),
    variation=st.none() | st.floats(1e-3, 1e4),
    rkhs=st.none() | st.floats(1e4, 1e6),
    drift=st.none() | st.floats(1e-6, 1.0),
    exponent=st.none() | st.floats(0.0, 4.0),
    side_queries=st.sampled_from([0, 1000, 10**6, 10**12]),
)
def test_no_recommendation_violates_a_lower_bound_beside_it(
    nu, dimension, horizon, variation, rkhs, drift, exponent, side_queries
):
    kernel = dp.SE() if math.isinf(nu) else dp.Matern(nu)
    setting = Setting(kernel, dimension, horizon, variation, drift, exponent, rkhs_variation=rkhs)
    made = plan(setting, side_queries=side_queries)
    for advice in made.policies:
        if advice.policy != made.recommended or not advice.sublinear:
            continue
        if advice.side_queries:
            bounds = [made.lower_with_side_queries]
        elif advice.rate in made.reason:
            bounds = [*made.lower.values()]
        else:
            bounds = []
        for bound in bounds:
            if bound is not None and bound.value is not None:
                assert advice.order.number >= bound.value * (1 - 1e-9)


def test_a_guarantee_below_a_lower_bound_is_not_recommended():
    """At alpha = 0 the guarantee is T^0.5, but V_T = 1 allows functions with larger regret."""
    both = Setting(dp.SE(), 1, 5504, variation=1.0, exponent=0.0)
    assert plan(both).recommended == "auto"
    assert "below the lower bound for the other measure" in plan(both).reason
    assert plan(Setting(dp.SE(), 1, 5504, exponent=0.0)).recommended == "ui-gp-ucb"


def test_lower_bounds_say_for_which_policies_they_hold(run):
    code, out, _ = run("--exponent", 2, "--horizon", 10_000, "--side-queries", 300_000)
    out = " ".join(out.split())
    assert code == 0
    assert "for every policy without side queries (M25 Proposition 2.6)" in out
    assert "Lower bound with side queries: regret of order 100 (M25 Table 2)" in out
    assert "Recommended: sparq" in out
    code, out, _ = run("--exponent", 2, "--horizon", 10_000)
    assert "with side queries" not in out


def test_parameters_are_those_of_the_schedules():
    setting = Setting(
        dp.Matern(2.5), 2, 5000, variation=8.0, drift=0.02, exponent=0.7, rkhs_variation=30.0
    )
    found = {(row.policy, row.measure): row for row in plan(setting).policies}
    period = elimination_period(setting.kernel, horizon=5000, dimension=2, variation=8.0)
    assert found["r-perp", "variation"].parameters == {"period": period}
    assert found["opkb", "variation"].parameters == {"period": period}
    restart = markov_restart_period(setting.kernel, drift=0.02, horizon=5000, dimension=2)
    assert found["r-gp-ucb", "drift"].parameters == {"period": restart}
    assert found["tv-gp-ucb", "drift"].parameters == {"drift": 0.02}
    told = Setting(dp.SE(), 2, 5000, rkhs_variation=3.0)
    window = window_length(dp.SE(), horizon=5000, dimension=2, variation=3.0)
    row = next(one for one in plan(told).policies if one.policy == "sw-gp-ucb")
    assert row.parameters == {"window": window}
    assert found["ada-opkb", "variation"].needs == ("T",)
    assert found["r-perp", "variation"].needs == ("T", "V_T")
    assert found["ui-gp-ucb", "exponent"].parameters == {}  # M25 treats SE alone


@pytest.mark.slow
def test_fill_in_keeps_what_is_given():
    values = np.random.default_rng(0).normal(size=(40, 3))
    assert fill_in(values, 7, 2.0, 0.5) == (7, 2.0, 0.5, ())
    horizon, variation, drift, notes = fill_in(values, None, None, None)
    steps = np.abs(np.diff(values, axis=0)).max(axis=1).sum()
    assert variation == pytest.approx(steps / math.sqrt(values.var(axis=0).mean()))
    assert (horizon, len(notes)) in ((40, 3), (40, 4))
    assert 0 < drift <= 1
    slow = fill_in(np.cumsum(values, axis=0), 40, 1.0, None)[3]
    assert "consistent with noise and no drift" in slow[0]
    assert "The plan uses the upper end of the interval" in slow[1]
    longer = fill_in(values, 79, None, 0.5)[1]
    assert longer == pytest.approx(2 * variation)


# The command


@pytest.fixture
def run(monkeypatch, capsys, without_type_checks):
    """Run the command line in this process: (exit code, standard output, standard error)."""

    def run(*words, columns=200):
        monkeypatch.setattr(sys, "argv", ["driftpeak", "plan", *map(str, words)])
        monkeypatch.setenv("COLUMNS", str(columns))
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
    assert "Recommended: auto." in out
    assert "V_T does not bound P_T" in out


def test_it_fits_80_columns_and_cuts_no_number(run, monkeypatch):
    words = ["--horizon", 10**18, "--rkhs-variation", 1e6, "--dimension", 2, "--exponent", 0.5]
    code, out, err = run(*words, columns=80)
    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    assert "…" not in out
    found = re.search(r"discount=(\S+)", out)
    setting = Setting(dp.SE(), 2, 10**18, rkhs_variation=1e6)
    row = next(one for one in plan(setting).policies if one.policy == "w-gp-ucb")
    assert 1 - float(found[1]) == pytest.approx(1 - row.parameters["discount"], rel=1e-3)


def test_counts_and_limits_that_once_broke(run):
    """Once: a negative count, an overflow, no memory, a traceback, T^0.5 called linear."""
    out = run("--horizon", 10_000, "--dimension", 20, "--variation", 3)[1]
    assert "Recommended: auto" in out
    assert "-" not in re.sub(r"[a-z]-|--|\^-", "", out)
    assert run("--horizon", 100, "--dimension", 100_000)[2].startswith("driftpeak: dimension must")
    assert run("--horizon", 10**21)[2].startswith(
        "driftpeak: horizon must be an integer of at least 3 and at most"
    )
    assert "sparq" in run("--horizon", 3_000_000_000)[1]
    out = run("--horizon", 200, "--drift", 1e-8)[1]
    assert "linear in T later: T epsilon^0.167" in " ".join(out.split())
    assert "only while V_T <" not in run("--horizon", 200, "--variation", 1e-300)[1]


def test_b16s_lower_bound_is_cited_where_it_holds(run):
    words = ("--horizon", 1000, "--drift", 0.01)
    assert "Theorem 4.1" in run(*words)[1]
    assert "Theorem 4.1" not in run(*words, "--kernel", "matern", "--nu", 2.5)[1]


def test_no_policy_is_recommended_where_nothing_can_be_learned(run):
    out = " ".join(run("--horizon", 500, "--drift", 1)[1].split())
    assert "Recommended: no learning policy. Nothing can be learned: at drift 1 the function" in out
    found = json.loads(run("--horizon", 500, "--drift", 1, "--json")[1])
    assert found["recommended"] is None
    assert found["reason"].startswith("Nothing can be learned")


def test_learning_gains_at_most_the_correlation():
    """A policy that knows the last function, in 20,000 draws of five arms: the bound holds."""
    generator, mean = np.random.default_rng(0), np.array([0.0, 0.1, 0.3, -0.2, 0.2])
    last, fresh = generator.standard_normal((2, 20_000, 5))
    for correlation in (NEGLIGIBLE, 0.5):
        following = mean + correlation * last + (1 - correlation**2) ** 0.5 * fresh
        best = (mean + correlation * last).argmax(axis=1)
        paired = following[np.arange(20_000), best] - following[:, mean.argmax()]
        gained = paired.mean() - 4 * paired.std() / 20_000**0.5
        assert gained <= correlation * last.max(axis=1).mean()


def test_remarks_name_no_option_of_the_command_line(run):
    """The library speaks of V_T; the options are in `driftpeak plan --help`."""
    texts = [json.dumps(summary(plan(case))) for case, *_ in RECOMMENDED.values()]
    assert not any("--" in text for text in texts)
    assert "needs epsilon" in " ".join(run("--horizon", 500)[1].split())
    text = run("--help")[1]
    assert all(f"{symbol}" in text for symbol in ("V_T", "P_T", "Epsilon", "Alpha"))


def test_measured_facts_are_those_of_the_page():
    """`python scripts/measured.py` renews them."""
    root = Path(__file__).parents[2]
    spec = importlib.util.spec_from_file_location("measured_page", root / "scripts" / "measured.py")
    page = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(page)
    assert page.FILE.read_text() == page.table((root / "docs" / "tournament-cases.md").read_text())
    assert measured()["r-perp"].like_random
    assert not measured()["auto"].like_random


NUMBERS = st.one_of(
    st.sampled_from(["0", "-1", "1", "nan", "inf", "1e-300", "1e300", "x", "", "0.3", "1e21"]),
    st.floats().map(repr),
    st.integers(-5, 10**22).map(str),
)


@pytest.mark.slow
@settings(
    max_examples=60, deadline=5000, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    options=st.dictionaries(
        st.sampled_from(
            ["--horizon", "--dimension", "--variation", "--rkhs-variation", "--drift",
             "--exponent", "--side-queries", "--nu"]
        ),
        NUMBERS,
    ),
    kernel=st.sampled_from(["se", "matern", "linear"]),
    horizon=st.sampled_from(["50", "100000", "3000000000"]),
)  # fmt: skip
def test_any_words_are_answered_or_refused(run, options, kernel, horizon):
    """No traceback, no hang: an answer, or one complaint and exit code 2."""
    options = {"--horizon": horizon, **options}
    words = [word for pair in options.items() for word in pair]
    code, out, err = run(*words, "--kernel", kernel)
    assert code in (0, 2)
    assert (code == 0) == out.rstrip().endswith((".", ".)"))
    assert "Traceback" not in err
    if code == 0:
        assert "discount=1 " not in out


def test_json_is_json_only(run, data):
    code, out, err = run("--data", data, "--json", "--kernel", "matern", "--nu", 2.5)
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["recommended"] == "tv-gp-ucb"
    assert found["settings"]["horizon"] == 300
    assert 0.05 < found["settings"]["drift"] < 0.6
    assert len(found["notes"]) in (3, 4)
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
        ([], "give --horizon T, or --data FILE"),
        (["--horizon", 2], "horizon must be an integer of at least 3; got 2"),
        (["--horizon", 100, "--variation", -1], "variation must be .* at least 0; got -1.0"),
        (["--horizon", 100, "--variation", "nan"], "variation must be a finite number"),
        (["--horizon", 100, "--drift", 2], r"drift must lie in \[0, 1\]; got 2.0"),
        (["--horizon", 100, "--exponent", -1], "exponent must be .* at least 0"),
        (["--horizon", 100, "--side-queries", -1], "side_queries must be .* at least 0"),
        (["--horizon", 100, "--dimension", 0], "dimension must be an integer of at least 1"),
        (["--horizon", 100, "--kernel", "mattern"], "got 'mattern'. Did you mean 'matern'"),
        (["--horizon", 100, "--kernel", "matern", "--nu", 0], "nu must be .* above 0; got 0.0"),
    ],
)
def test_mistakes_are_one_line_and_exit_2(run, words, message):
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert re.search(message, err), err


def test_data_that_cannot_be_read_have_an_exit_code_of_their_own(run, tmp_path):
    code, out, err = run("--data", tmp_path / "nowhere.csv")
    assert (code, out) == (dp.DataError.exit_code, "")
    assert err.count("\n") == 1
    assert "nowhere.csv: there is no such file" in err


def test_data_that_do_not_vary_are_refused(run, tmp_path):
    path = tmp_path / "flat.csv"
    path.write_text("a,b\n" + "1,2\n" * 10)
    code, _, err = run("--data", path)
    assert code == 2
    assert "values must vary" in err


def test_a_plan_for_a_linear_kernel(run):
    """Rates with the power of d, parameters from the gain, and no row proved for other kernels."""
    setting = Setting(dp.Linear(), 4, 10**6, variation=0.01, rkhs_variation=0.01)
    advice = plan(setting)
    by_name = {row.policy: row for row in advice.policies if row.measure != "drift"}
    assert by_name["opkb"].rate == "d^0.333 T^0.667 V_T^0.333"
    assert by_name["opkb"].parameters == {
        "period": elimination_period(dp.Linear(), horizon=10**6, dimension=4, variation=0.01)
    }
    assert by_name["sw-gp-ucb"].parameters["window"] > 1000
    assert by_name["r-perp"].remark.endswith("(here linear)")
    assert by_name["r-perp"].parameters == {}
    assert advice.lower["variation"].value is None
    assert advice.recommended == "auto"
    assert plan(Setting(dp.Linear(), 4, 1000, drift=0.01)).recommended == "tv-gp-ucb"
    assert (
        plan(Setting(dp.Linear(), 4, 1000, exponent=0.5), side_queries=10**6).recommended == "auto"
    )
    code, out, _ = run("--kernel", "linear", "--horizon", 1000, "--variation", 1, "--json")
    assert code == 0
    assert json.loads(out)["settings"]["kernel"] == "linear"
    _, _, err = run("--kernel", "cubic", "--horizon", 1000)
    assert "kernel must be one of se, matern, linear; got 'cubic'" in err
    with pytest.raises(dp.DriftpeakError, match="kernel must be SE, Matern or Linear"):
        Setting(dp.Periodic(), 1, 100)
