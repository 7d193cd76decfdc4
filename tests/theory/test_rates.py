"""Exponent tables against the papers' printed tables and their derivations; M25's regimes."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

import driftpeak as dp
from driftpeak.theory.gains import gain_rate
from driftpeak.theory.rates import RATES, applicable, rates
from driftpeak.theory.regimes import (
    regime,
    side_queries_needed,
    sparq_queries,
    w_sparq_queries,
)
from driftpeak.theory.schedules import elimination_period
from driftpeak.theory.setting import Setting
from driftpeak.theory.side_queries import side_query_windows

smooth = st.floats(0.51, 30.0)
dimensions = st.integers(1, 6)


def exponents(policy, setting):
    """Of T and of V_T or P_T in the leading term."""
    measure = "rkhs_variation" if policy.endswith("gp-ucb") else "variation"
    row, _ = applicable(policy, setting, measure)
    a, b = row.terms[0]
    return a.at(setting), b.at(setting)


@given(nu=smooth, d=dimensions)
def test_it25_table_1_and_2_follow_from_the_gain(nu, d):
    """gamma_T = T^g, g = d/(2 nu + d): 3/4 + 7g/8 and 2/3 + g/3, as IT25 section 1 says; R-PERP
    balances V H with T H^((g - 1)/2): H = (T/V)^(2/(3 - g)), regret T^(2/(3-g)) V^((1-g)/(3-g)).

    Source: IT25 Tables 1-2; H23 rates.
    """
    g = d / (2 * nu + d)
    known = Setting(dp.Matern(nu), d, 10**4, variation=100.0, rkhs_variation=100.0)
    unknown = Setting(dp.Matern(nu), d, 10**4)
    for policy in ("r-gp-ucb", "sw-gp-ucb", "w-gp-ucb"):
        assert exponents(policy, known) == pytest.approx((3 / 4 + 7 * g / 8, 1 / 4))
        assert exponents(policy, unknown) == pytest.approx((3 / 4 + 7 * g / 8, 1))
    best = (2 / (3 - g), (1 - g) / (3 - g))
    for policy in ("r-perp", "opkb", "any"):
        assert exponents(policy, known) == pytest.approx(best)
    assert exponents("r-perp", unknown) == pytest.approx((best[0], 1))
    for setting in (known, unknown):
        assert exponents("ada-opkb", setting) == pytest.approx((2 / 3 + g / 3, 1 / 3))


@pytest.mark.parametrize(
    ("kernel", "d", "static"), [(dp.SE(), 2, 1 / 2), (dp.Matern(1.5), 1, 5 / 8)]
)
def test_opkb_without_restarts(kernel, d, static):
    """V_T T + sqrt(gamma_T T): for Matern-3/2 on a line gamma_T = T^(1/4); without variation the
    regret of a static function, sqrt(gamma_T T log T). Restarts at every H steps give H23's rate
    again: V_T H + T sqrt(gamma_H / H) at the best H.

    Source: IT25 (125); H23 Theorem 4.6.
    """
    [row] = rates("opkb", "variation", known=False)
    horizon = 10**6
    some, none = (Setting(kernel, d, horizon, variation=v) for v in (20.0, 0.0))
    np.testing.assert_allclose(row.order(some).number, 20 * horizon)
    np.testing.assert_allclose(row.order(none).number, horizon**static)
    log_power = (d + 1) / 2 if static == 1 / 2 else 3 / 8
    expected = horizon**static * math.log(horizon) ** (log_power + 1 / 2)
    np.testing.assert_allclose(row.with_logarithms(none), expected)
    assert row.order(Setting(dp.Matern(0.5), d, horizon, variation=1.0)).value is None
    lengths = np.geomspace(1, horizon, 4001)
    restarted = (20 * lengths + horizon * lengths ** (static - 1)).min()
    [known] = [
        one for one in rates("opkb", "variation", known=True) if one.order(some).value is not None
    ]
    ratio = restarted / known.order(some).number
    assert 1 < ratio < 2.01


@given(d=dimensions)
def test_se_rows_of_it25(d):
    """Table 1: 3/4, 1/4; 2/3, 1/3. The exponents do not depend on d.

    Source: IT25 Table 1.
    """
    setting = Setting(dp.SE(), d, 10**5, variation=50.0, rkhs_variation=50.0)
    for policy in ("r-gp-ucb", "sw-gp-ucb", "w-gp-ucb"):
        assert exponents(policy, setting) == (3 / 4, 1 / 4)
    for policy in ("r-perp", "opkb", "ada-opkb", "any"):
        assert exponents(policy, setting) == (2 / 3, 1 / 3)


@given(nu=st.floats(2.01, 30.0), d=dimensions)
def test_b16_corollary_4_1(nu, d):
    """c = d(d+1)/(2 nu + d(d+1)): T^((1+c)/2), epsilon^((1-c)/(2(4-c))) and (1-c)/(2(3-c)).

    Source: B16 Corollary 4.1.
    """
    c = d * (d + 1) / (2 * nu + d * (d + 1))
    setting = Setting(dp.Matern(nu), d, 1000, drift=0.01)
    for policy, k in (("r-gp-ucb", 4), ("tv-gp-ucb", 3)):
        (row,) = rates(policy, "drift", known=True)
        static, drifting = row.terms
        assert static[0].at(setting) == pytest.approx((1 + c) / 2)
        assert drifting[0].at(setting) == 1
        assert drifting[1].at(setting) == pytest.approx((1 - c) / (2 * (k - c)))
        order = row.order(setting).number
        assert order == pytest.approx(
            max(1000 ** ((1 + c) / 2), 1000 * 0.01 ** ((1 - c) / (2 * (k - c))))
        )


def test_b16_se_exponents():
    """Source: B16 Corollary 4.1."""
    for policy, exponent in (("r-gp-ucb", 1 / 8), ("tv-gp-ucb", 1 / 6)):
        (row,) = rates(policy, "drift", known=True)
        assert row.terms[1][1].at(Setting(dp.SE(), 3, 100, drift=0.1)) == exponent


def test_matern_tends_to_se():
    """Every exponent at nu = 99.9 is within 0.05 of that for SE, and nearer than at nu = 9.9."""
    settings = [
        Setting(kernel, 2, 100, variation=1.0, drift=0.1, exponent=1.0)
        for kernel in (dp.Matern(9.9), dp.Matern(99.9), dp.SE())
    ]
    for row in RATES:
        for exponent in (e for term in row.terms for e in term):
            near, nearer, limit = (exponent.at(setting) for setting in settings)
            assert nearer == pytest.approx(limit, abs=0.05)
            assert abs(nearer - limit) <= abs(near - limit)


def test_m25_rates():
    """Table 1: (3 alpha + 1)/2 above, (alpha + 1)/2 below for alpha < 1, then 1; SparQ 1/2;
    W-SparQ (3 a + 1)/2 = 7/8 at a = 1/4.

    Source: M25 Proposition 2.2, Proposition 2.6, (13), (17)-(18), Tables 1-2.
    """
    for alpha, upper, lower in ((0.0, 0.5, 0.5), (0.2, 0.8, 0.6), (1.0, 2.0, 1.0), (3.0, 5.0, 1.0)):
        setting = Setting(dp.SE(), 2, 100, exponent=alpha)
        for policy, power in (("ui-gp-ucb", upper), ("any", lower), ("sparq", 0.5)):
            row, order = applicable(policy, setting, "exponent")
            assert row.growth(setting) == pytest.approx(power)
            assert order.value == pytest.approx(100**power)
    row, order = applicable("w-sparq", Setting(dp.SE(), 1, 100, exponent=0.5), "exponent")
    assert order.value == pytest.approx(100 ** (7 / 8))


FAILING = {
    "nu": (Setting(dp.Matern(0.5), 1, 100), "r-gp-ucb", "rkhs_variation", "nu > 0.5"),
    "B16": (Setting(dp.Matern(1.5), 1, 100, drift=0.1), "tv-gp-ucb", "drift", "nu > 2"),
    "B16 lower": (Setting(dp.Matern(2.5), 1, 100, drift=0.1), "any", "drift", "nu > 4"),
    "static": (
        Setting(dp.SE(), 1, 100, rkhs_variation=0.0), "w-gp-ucb", "rkhs_variation", "P_T > 0",
    ),
    "alpha": (Setting(dp.SE(), 1, 100, exponent=0.0), "w-sparq", "exponent", "alpha > 0"),
    "window": (
        Setting(dp.SE(), 1, 100, exponent=1.0, window=0.5), "w-sparq", "exponent", "0 < a < 1/3",
    ),
    "M25 kernel": (
        Setting(dp.Matern(2.5), 1, 100, exponent=1.0), "ui-gp-ucb", "exponent", "kernel SE",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("setting", "policy", "measure", "condition"), FAILING.values(), ids=FAILING
)
def test_outside_its_conditions_a_theorem_gives_no_number(setting, policy, measure, condition):
    _, order = applicable(policy, setting, measure)
    assert order.value is None
    assert condition in [failed.statement for failed in order.failed]


@pytest.mark.parametrize(
    ("kernel", "threshold"),
    [
        (dp.SE(), lambda t, d: t**-0.5 * math.log(t) ** ((d + 2) / 3)),
        (dp.Matern(1.5), lambda t, d: t ** (-1.5 / (3 + d)) * math.log(t) ** ((1.5 + d) / (3 + d))),
    ],
    ids=["SE", "Matern"],
)
def test_it25_theorem_5_needs_enough_variation(kernel, threshold):
    horizon, dimension = 5000, 2
    least = threshold(horizon, dimension)
    for factor, holds in ((0.99, False), (1.01, True)):
        setting = Setting(kernel, dimension, horizon, variation=factor * least)
        order = applicable("r-perp", setting, "variation")[1]
        assert (order.value is not None) == holds
    assert "V_T >= " in str(applicable("r-perp", Setting(kernel, 2, 5000, 1e-9), "variation")[1])


def test_it25_threshold_as_printed_lets_the_period_exceed_the_horizon():
    """At V_T = T^(-1/2) log^((d+2)/3) T Theorem 5 sets H = T log^((d+2)/9) T > T: H <= T needs
    log^((d+2)/2). The period is clipped."""
    horizon, dimension = 5000, 1
    least = horizon**-0.5 * math.log(horizon)
    wanted = (horizon / least) ** (2 / 3) * math.log(horizon)
    assert wanted / horizon == pytest.approx(math.log(horizon) ** (1 / 3))
    options = {"horizon": horizon, "dimension": dimension}
    assert elimination_period(dp.SE(), variation=least, **options) == horizon
    enough = horizon**-0.5 * math.log(horizon) ** 1.5
    assert elimination_period(dp.SE(), variation=1.01 * enough, **options) < horizon


@given(
    nu=st.floats(0.6, 10.0),
    d=st.integers(1, 3),
    horizon=st.integers(100, 10**6),
    variation=st.floats(0.01, 1e4),
)
def test_no_guarantee_is_below_the_lower_bound(nu, d, horizon, variation):
    """IT25 Theorem 1 holds for every policy, so every upper rate lies above it.

    Source: IT25 Theorem 1.
    """
    setting = Setting(dp.Matern(nu), d, horizon, variation, rkhs_variation=variation)
    lower = applicable("any", setting, "variation")[1]
    for policy in ("r-gp-ucb", "sw-gp-ucb", "w-gp-ucb", "opkb", "r-perp", "ada-opkb"):
        measure = "rkhs_variation" if policy.endswith("gp-ucb") else "variation"
        upper = applicable(policy, setting, measure)[1]
        if lower.value is not None and upper.value is not None:
            assert upper.value >= lower.value * (1 - 1e-9)


@given(
    nu=st.floats(0.6, 10.0),
    d=st.integers(1, 4),
    policy=st.sampled_from(["r-gp-ucb", "sw-gp-ucb", "ada-opkb", "r-perp"]),
)
def test_the_limit_is_where_the_rate_reaches_the_horizon(nu, d, policy):
    """Logarithms included; below a change of 1 the other terms may be larger."""
    measure = "rkhs_variation" if policy.endswith("gp-ucb") else "variation"
    setting = Setting(dp.Matern(nu), d, 10_000)
    row, _ = applicable(policy, setting, measure)
    limit = row.limit(setting)
    if row.growth(setting) < 1 and limit >= 1:
        at_limit = Setting(dp.Matern(nu), d, 10_000, **{measure: limit})
        assert row.with_logarithms(at_limit) == pytest.approx(10_000)
        assert row.with_logarithms(setting) <= 10_000 * (1 + 1e-9)


def test_logarithms_are_those_of_the_theorems():
    """SE, d = 2: gamma = log^3 T. R-PERP: V_T H, H from IT25 Theorem 5; ZS21: gamma^(7/8)."""
    horizon, log = 10_000, math.log(10_000)
    for kernel in (dp.SE(), dp.Matern(2.5)):
        setting = Setting(kernel, 2, horizon, variation=50.0, rkhs_variation=50.0)
        row, _ = applicable("r-perp", setting, "variation")
        period = elimination_period(kernel, horizon=horizon, dimension=2, variation=50.0)
        assert row.with_logarithms(setting) == pytest.approx(50.0 * period, abs=50.0)
        gain = gain_rate(kernel, count=horizon, dimension=2).number
        row, _ = applicable("sw-gp-ucb", setting, "rkhs_variation")
        expected = gain ** (7 / 8) * horizon ** (3 / 4) * 50.0 ** (1 / 4)
        assert row.with_logarithms(setting) == pytest.approx(expected)
        row, _ = applicable("ada-opkb", setting, "variation")
        expected = (gain * log * 50.0) ** (1 / 3) * horizon ** (2 / 3)
        assert row.with_logarithms(setting) == pytest.approx(expected)


def test_the_rkhs_norm_bounds_the_supremum_norm_and_not_the_reverse():
    told = Setting(dp.SE(), 1, 1000, rkhs_variation=7.0)
    assert told.known("variation") == 7.0
    assert Setting(dp.SE(), 1, 1000, variation=7.0).known("rkhs_variation") is None
    with pytest.raises(dp.DriftpeakError, match=r"rkhs_variation must be .* at least 8"):
        Setting(dp.SE(), 1, 1000, variation=8.0, rkhs_variation=7.0)


def test_written():
    setting = Setting(dp.SE(), 2, 5000, variation=8.0, drift=1e-12)
    assert applicable("r-perp", setting, "variation")[0].written(setting) == "T^0.667 V_T^0.333"
    assert applicable("tv-gp-ucb", setting, "drift")[0].written(setting) == "T^0.5"
    assert str(rates("r-perp", "variation", known=True)[0].terms[0][0]) == "(2 nu + d)/(3 nu + d)"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": dp.Periodic()}, "SE, Matern or Linear.*got Periodic"),
        ({"horizon": 2}, "horizon must be an integer of at least 3"),
        ({"dimension": 0}, "dimension must be an integer of at least 1"),
        ({"dimension": 100_000}, "dimension must be at most 100; got 100000"),
        (
            {"horizon": 10**21},
            "horizon must be .* at most 1,000,000,000,000,000,000",
        ),
        ({"variation": -1.0}, "variation must be a finite number of at least 0"),
        ({"drift": 1.1}, r"drift must lie in \[0, 1\]"),
        ({"exponent": math.nan}, "exponent must be a finite number"),
    ],
)
def test_setting_refuses(options, message):
    with pytest.raises(dp.DriftpeakError, match=message):
        Setting(**{"kernel": dp.SE(), "dimension": 1, "horizon": 100, **options})


def test_a_rate_asks_for_what_it_depends_on():
    with pytest.raises(dp.DriftpeakError, match="drift must be given: this rate depends on it"):
        rates("tv-gp-ucb", "drift", known=True)[0].order(Setting(dp.SE(), 1, 100))
    assert applicable("tv-gp-ucb", Setting(dp.SE(), 1, 100), "drift") is None


# Regimes and side queries


def test_regimes():
    """Source: M25 Table 1."""
    named = {
        0.0: "slow",
        0.33: "slow",
        1 / 3: "moderate",
        0.99: "moderate",
        1.0: "fast",
        4.0: "fast",
    }
    assert {alpha: regime(alpha) for alpha in named} == named


def window_starts(horizon, **given):
    return tuple(int(t) for t in np.flatnonzero(side_query_windows(horizon, **given)) + 1)


@given(horizon=st.integers(1, 3000), exponent=st.floats(0.05, 5.0), a=st.floats(0.01, 0.333))
def test_window_starts_satisfy_32_and_end_at_the_horizon(horizon, exponent, a):
    """Source: M25 (32)."""
    starts = window_starts(horizon, exponent=exponent, a=a)
    assert starts[0] == 1
    assert starts[-1] <= horizon
    lengths = np.diff(starts)
    powers = np.array(starts, float) ** (a / exponent)
    assert (powers[:-1] < lengths).all()
    assert (lengths <= powers[:-1] + 1).all()
    assert starts[-1] + math.floor(powers[-1]) + 1 > horizon


def test_window_starts_by_hand():
    """a / alpha = 1/2: 1, +2, 3 (+2), 5 (+3), 8 (+3), 11 (+4), 15 (+4), 19."""
    assert window_starts(20, exponent=0.5) == (1, 3, 5, 8, 11, 15, 19)
    assert window_starts(1, exponent=0.5) == (1,)
    assert window_starts(10**4, exponent=1e-4) == (1, 3)  # 3^2500 is no float


def test_side_queries_by_hand():
    """d = 2: ceil(log^2 t) = 1, 1, 2, 2, 3, 4, 4, 5 for t = 1..8; windows above at 1, 3, 5, 8."""
    assert sparq_queries(8, dimension=2) == 22
    assert w_sparq_queries(8, dimension=2, exponent=0.5) == 1 + 2 + 3 + 5
    assert sparq_queries(8, dimension=2, rate=1e-9) == 8


@pytest.mark.parametrize("dimension", [1, 3, 14, 20])
def test_side_queries_do_not_overflow(dimension):
    """Against whole numbers of Python's own; beyond 100,000 steps, against the sum in full."""
    exact = sum(math.ceil(math.log(t) ** dimension) or 1 for t in range(1, 10_001))
    assert sparq_queries(10_000, dimension=dimension) == pytest.approx(exact, rel=1e-12)
    times = np.arange(1.0, 300_001)
    full = np.maximum(np.ceil(np.log(times) ** dimension), 1).sum()
    assert sparq_queries(300_000, dimension=dimension) == pytest.approx(full, rel=1e-3)
    starts = np.flatnonzero(side_query_windows(300_000, exponent=0.5)) + 1.0
    full = np.maximum(np.ceil(np.log(starts) ** dimension), 1).sum()
    found = w_sparq_queries(300_000, dimension=dimension, exponent=0.5)
    assert found == pytest.approx(full, rel=1e-2)


def test_side_queries_of_endless_runs_are_quick():
    for dimension in (1, 100):
        found = sparq_queries(10**18, dimension=dimension)
        assert found > 10**18
        assert w_sparq_queries(10**18, dimension=dimension, exponent=2.0) < found


def test_w_sparq_asks_as_often_as_theorem_3_10_says():
    """Between 10^4 and 10^6 steps the number of windows grows as T^(1 - a/alpha).

    Source: M25 Theorem 3.10.
    """
    for exponent in (0.5, 1.5):
        counts = [len(window_starts(t, exponent=exponent)) for t in (10**4, 10**6)]
        slope = math.log(counts[1] / counts[0]) / math.log(100)
        assert slope == pytest.approx(1 - 0.25 / exponent, abs=0.03)


def test_side_queries_needed():
    """alpha = 3: T^(3/4); proved for alpha > 1 alone.

    Source: M25 Theorem 5.3, Remark 5.6.
    """
    assert side_queries_needed(10_000, exponent=3.0).value == pytest.approx(1000)
    assert side_queries_needed(100, exponent=1.0).value is None
    for exponent in (1.01, 2.0, 8.0):  # what W-SparQ spends is enough, up to logarithms
        spent = w_sparq_queries(10_000, dimension=1, exponent=exponent)
        assert spent > side_queries_needed(10_000, exponent=exponent).number


def test_regimes_refuse():
    with pytest.raises(dp.DriftpeakError, match="exponent must be a finite number above 0; got 0"):
        window_starts(10, exponent=0.0)
    with pytest.raises(dp.DriftpeakError, match=r"a must lie in \(0, 1/3\)"):
        window_starts(10, exponent=1.0, a=0.34)
    with pytest.raises(dp.DriftpeakError, match="rate must be a finite number above 0"):
        sparq_queries(10, dimension=1, rate=0.0)


@pytest.mark.parametrize("dimension", [1, 4])
def test_linear_rows_follow_from_the_gain(dimension):
    """gamma = d log T in the theorems: gamma^(7/8) T^(3/4) P^(1/4), and with OPKB
    gamma^(1/3) T^(2/3) V^(1/3) log^(1/3) T; unknown budgets have P in full.

    Source: ZS21 Remark 4; D22 Remark 4; H23 rates.
    """
    horizon, change = 10**5, 30.0
    gain = gain_rate(dp.Linear(), count=horizon, dimension=dimension).number
    log = math.log(horizon)
    known = Setting(2.0 * dp.Linear(), dimension, horizon, change, rkhs_variation=change)
    unknown = Setting(dp.Linear(), dimension, horizon)
    ucb = gain ** (7 / 8) * horizon**0.75
    for policy in ("r-gp-ucb", "sw-gp-ucb", "w-gp-ucb"):
        row, order = applicable(policy, known, "rkhs_variation")
        assert row.with_logarithms(known) == pytest.approx(ucb * change**0.25)
        assert order.value == pytest.approx(ucb * change**0.25 / log ** (7 / 8))
        assert row.written(known) == "d^0.875 T^0.75 P_T^0.25"
        row, order = applicable(policy, unknown, "rkhs_variation")
        assert row.with_logarithms(unknown) == pytest.approx(ucb)
        assert row.with_logarithms(known) == pytest.approx(ucb * change)
    for policy, setting in (("opkb", known), ("ada-opkb", known), ("ada-opkb", unknown)):
        row, order = applicable(policy, setting, "variation")
        moved = change if setting is known else 1.0
        expected = (gain * moved * log) ** (1 / 3) * horizon ** (2 / 3)
        assert row.with_logarithms(setting) == pytest.approx(expected)
        assert order.value is not None
    for policy, measure in (("r-perp", "variation"), ("tv-gp-ucb", "drift"), ("any", "variation")):
        setting = Setting(dp.Linear(), dimension, horizon, change, drift=0.1)
        _, order = applicable(policy, setting, measure)
        assert order.value is None
        assert "linear" in str(order)
    row, _ = applicable("r-gp-ucb", known, "rkhs_variation")
    longer = Setting(dp.Linear(), dimension, 10**9, rkhs_variation=change)
    at_limit = Setting(dp.Linear(), dimension, 10**9, rkhs_variation=row.limit(longer))
    assert row.with_logarithms(at_limit) == pytest.approx(10**9)


def test_restart_interval_of_a_linear_kernel():
    """(T/V)^(2/3) (d log^2 T)^(1/3); with the gain d log T it is equal."""
    common = {"horizon": 10**6, "dimension": 3, "variation": 20.0}
    log = math.log(10**6)
    found = elimination_period(dp.Linear(), **common)
    assert found == math.ceil((10**6 / 20) ** (2 / 3) * (3 * log**2) ** (1 / 3))
    assert found == elimination_period(dp.Linear(), **common, gain=3 * log)


def test_logarithms_of_the_lower_bound():
    """IT25 Theorem 1: log^(d/6) T for SE, none for Matern.

    Source: IT25 Theorem 1.
    """
    setting = Setting(dp.SE(), 3, 10**5, variation=50.0)
    row, order = applicable("any", setting, "variation")
    assert row.with_logarithms(setting) == pytest.approx(order.number * math.log(10**5) ** 0.5)
    rough = Setting(dp.Matern(1.5), 3, 10**5, variation=50.0)
    row, order = applicable("any", rough, "variation")
    assert row.with_logarithms(rough) == pytest.approx(order.number)
