"""M25's orders, information sums and landscape: by hand, by search, and in simulations."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import driftpeak as dp
from driftpeak.theory.bounds import expected_regret, noisy_regret, ui_gp_ucb_regret
from driftpeak.theory.injection import (
    information_sum,
    quiet_window,
    sparq_cost_order,
    sparq_regret_order,
    ui_gp_ucb_regret_order,
    uniform_walk_noise,
    w_sparq_cost_order,
)
from driftpeak.theory.rates import rates
from driftpeak.theory.regimes import landscape, w_sparq_queries
from driftpeak.theory.setting import Setting


def test_orders_by_hand():
    """T = e^2: log T = 2, d = 2: (13) at alpha = 1/4: 2 T^(7/8) 8; (23), delta = e^-3:
    sqrt((3 + 2 log^3 4) T 2 * 8); costs: T^2 2 log^6(T/2), T^2 (4 + T^(1/2))^2.

    Source: M25 Theorem 3.6, (13), (23).
    """
    t = math.e**2
    assert ui_gp_ucb_regret_order(t, exponent=0.25, dimension=2) == pytest.approx(16 * t**0.875)
    found = sparq_regret_order([t, t], dimension=2, delta=math.exp(-3))
    by_hand = math.sqrt((3 + 2 * math.log(4) ** 3) * t * 16)
    np.testing.assert_allclose(found, [by_hand, by_hand])
    cost = sparq_cost_order(t, dimension=2)
    assert cost == pytest.approx(t**2 * 2 * math.log(t / 2) ** 6)
    cost = w_sparq_cost_order(t, exponent=0.5, dimension=2, a=0.25)
    assert cost == pytest.approx(t**2 * (4 + t**0.5) ** 2)


def test_orders_are_the_rates_with_their_logarithms():
    """(13) divided by d is the row of `RATES`; SparQ's grows as sqrt(T) up to logarithms.

    Source: M25 (13).
    """
    setting = Setting(dp.SE(), 3, 10**6, exponent=0.2)
    (row,) = rates("ui-gp-ucb", "exponent", known=True)
    expected = ui_gp_ucb_regret_order(10**6, exponent=0.2, dimension=3) / 3
    assert row.with_logarithms(setting) == pytest.approx(float(expected))
    horizons = np.array([1e100, 1e200])
    slope = np.diff(np.log(sparq_regret_order(horizons))) / np.diff(np.log(horizons))
    assert slope[0] == pytest.approx(0.5, abs=0.01)


def test_larger_windows_cost_more_and_ask_less():
    """Remark 3.12, at T = 10^4 and three values of a.

    Source: M25 Remark 3.12.
    """
    shares = (0.1, 0.2, 0.3)
    costs = [float(w_sparq_cost_order(1e4, exponent=0.5, a=a)) for a in shares]
    asked = [w_sparq_queries(10_000, dimension=1, exponent=0.5, a=a) for a in shares]
    assert costs == sorted(costs)
    assert asked == sorted(asked, reverse=True)
    assert asked[2] < 0.5 * asked[0]


def test_information_sum_by_hand_and_its_limit():
    """n = (2, 0, 1), alpha = 1, sigma^2 = 1/2: 4; 2; 4/3 + 2. Own observations at alpha = 2:
    2 sum 1/(1 + a^2) -> 2 (1 + pi coth pi) / 2.

    Source: M25 (40).
    """
    found = information_sum([2, 0, 1], exponent=1.0, noise_variance=0.5)
    np.testing.assert_allclose(found, [4.0, 2.0, 4 / 3 + 2])
    own = information_sum(np.ones(20_000), exponent=2.0, noise_variance=0.5)
    assert own[-1] == pytest.approx(1 + math.pi / math.tanh(math.pi), abs=2e-4)
    assert (np.diff(own) > 0).all()


@pytest.mark.parametrize("exponent", [1.2, 1.5, 3.0])
def test_the_quiet_window_minimises_the_share(exponent):
    """By a numerical minimum; the length printed in the paper, with alpha/8, is worse.

    Source: M25 Theorem 5.3.
    """
    horizon = 10_000
    found = quiet_window(horizon, exponent=exponent)

    def share(length):
        return length**-exponent + 4 * length / horizon

    best = minimize_scalar(share, bounds=(1, horizon / 2), method="bounded")
    assert found.length == pytest.approx(best.x, rel=1e-3)
    assert found.share == pytest.approx(best.fun, rel=1e-9)
    assert share((exponent / 8 * horizon) ** (1 / (exponent + 1))) > found.share
    assert quiet_window(2, exponent=exponent).length == 1.0


@pytest.mark.parametrize("placement", ["uniform", "bursts", "start"])
def test_half_of_the_windows_have_little_information(placement):
    """S at the ends of at least half of the windows is at most N F(L) / sigma^2, any placement.

    Source: M25 Theorem 5.3, (40).
    """
    horizon, exponent, noise_variance = 2000, 1.5, 0.3
    generator = np.random.default_rng(0)
    counts = np.zeros(horizon)
    if placement == "uniform":
        counts += generator.poisson(0.1, horizon)
    elif placement == "bursts":
        counts[::97] = 12
    else:
        counts[:300] = 2
    length = round(quiet_window(horizon, exponent=exponent).length)
    share = length**-exponent + 4 * length / horizon
    sums = information_sum(counts, exponent=exponent, noise_variance=noise_variance)
    ends = sums[length - 1 :]
    few = ends <= counts.sum() * share / noise_variance
    assert few.sum() >= (horizon - length + 1) // 2


def test_uniform_walks_have_the_noise_of_example_2_1():
    """200,000 walks of 6 steps, sigma^2 = 0.4: within 5 standard errors, and not sigma^2 (1 + a/3).

    Source: M25 Example 2.1.
    """
    generator = np.random.default_rng(0)
    steps = generator.uniform(-0.4, 0.4, (200_000, 6)).cumsum(axis=1)
    noise = math.sqrt(0.4) * generator.normal(size=(200_000, 1))
    for age in (1, 3, 6):
        squares = (steps[:, age - 1] + noise[:, 0]) ** 2
        error = 5 * squares.std() / math.sqrt(len(squares))
        expected = float(uniform_walk_noise(age, noise_variance=0.4))
        assert squares.mean() == pytest.approx(expected, abs=error)
        assert abs(squares.mean() - 0.4 * (1 + age / 3)) > 3 * error
    np.testing.assert_allclose(uniform_walk_noise([0, 3], noise_variance=1.0), [1.0, 2.0])


def test_landscape_by_hand():
    """T = 10^4, alpha = 2: few 10^(8/3), many 10^3.5 log T; alpha = 1/2: few 10^(4/3), many
    10^2 log T; alpha = 1/4: no queries needed.

    Source: M25 Tables 1-2.
    """
    horizon, log = 10_000, math.log(10_000)

    def at(exponent, queries, **options):
        return landscape(horizon, exponent=exponent, queries=queries, **options)

    fast = at(2.0, 400)
    assert fast.regime == "fast"
    assert fast.few == pytest.approx(10 ** (8 / 3))
    assert fast.many == pytest.approx(10**3.5 * log)
    assert fast.lower.value == 10_000
    assert fast.upper.value is None
    between = at(2.0, 10_000)
    assert between.lower.value is None
    assert between.upper.value is None
    assert str(between.lower).endswith("it requires N_T >= 2.913e+04 (here N_T = 1e+04)")
    enough = at(2.0, 30_000, dimension=1)
    assert enough.lower.value == pytest.approx(100)
    assert enough.upper.value == pytest.approx(horizon**0.875 * log**2)
    plane = at(2.0, 1e6, dimension=2, a=0.3)
    assert plane.many == pytest.approx(horizon**0.85 * log**2)
    assert plane.upper.value == pytest.approx(2 * horizon**0.95 * log**3)
    moderate = at(0.5, 10)
    assert (moderate.regime, moderate.upper.value) == ("moderate", None)
    assert moderate.lower.value == pytest.approx(1000)
    assert at(0.5, 100).lower.value == pytest.approx(100)
    assert at(0.5, 100 * log + 1).upper.value == pytest.approx(horizon**0.875 * log**2)
    assert at(1.0, 100).lower.value == pytest.approx(10_000)
    slow = at(0.25, 0)
    assert slow.regime == "slow"
    assert slow.lower.value == pytest.approx(10**2.5)
    assert slow.upper.value == pytest.approx(horizon**0.875 * log**2)
    assert at(0.25, 5).lower.value == pytest.approx(100)
    assert at(0.0, 0).lower.value == pytest.approx(100)


@pytest.mark.parametrize("exponent", [0.1, 0.4, 0.8, 1.0, 1.7, 5.0])
def test_bounds_of_the_landscape_agree(exponent):
    """No lower bound exceeds the upper bound, and the regions are in order from alpha = 1/3 on.

    Source: M25 Tables 1-2.
    """
    for queries in (0.0, 10.0, 1e3, 1e5, 1e7):
        found = landscape(10**5, exponent=exponent, queries=queries)
        if found.lower.value is not None and found.upper.value is not None:
            assert found.lower.value <= found.upper.value
        assert exponent < 1 / 3 or found.few < found.many


def test_unequal_noise_by_hand():
    """v = 3, T = 8, width 2, gain 4: 4 sqrt(16 * 4 * 4) = 64; with v of the injection, (15).

    Source: M25 Remark 2.5, (15).
    """
    common = {"width": 2.0, "gain": 4.0, "horizon": 8}
    assert noisy_regret(**common, largest_noise=3.0).value == pytest.approx(64)
    injected = ui_gp_ucb_regret(**common, exponent=0.5, noise_variance=0.2)
    same = noisy_regret(**common, largest_noise=0.2 * (1 + math.sqrt(7)))
    assert injected.value == pytest.approx(same.value)
    assert noisy_regret(**common, largest_noise=3.0, variance=2.0).value is None
    with pytest.raises(dp.DriftpeakError, match="largest_noise must be"):
        noisy_regret(**common, largest_noise=-1.0)


def test_expected_regret_by_hand_and_by_draws():
    """R = 7, delta = 0.1, T = 5, B = 2: 7 + 20 * 0.1 = 9. A regret that is 7 with probability 0.9
    and 2BT = 20 otherwise has a mean of 8.3.

    Source: IT25 Remark 1.
    """
    found = expected_regret(7.0, delta=0.1, horizon=5, norm_bound=2.0)
    assert found.value == pytest.approx(9.0)
    assert found.number >= 0.9 * 7 + 0.1 * 20
    for name, wrong in (("regret", -1.0), ("delta", 0.0), ("horizon", 0), ("norm_bound", -1.0)):
        valid = {"regret": 7.0, "delta": 0.1, "horizon": 5, "norm_bound": 2.0}
        with pytest.raises(dp.DriftpeakError, match=f"{name} must"):
            expected_regret(**valid | {name: wrong})


@pytest.mark.parametrize("exponent", [0.3, 1.0])
def test_the_width_covers_under_assumption_2(exponent):
    """300 runs of 30 steps under Assumption 2, delta = 0.2: the rate of (14) is delta/2.

    Old rewards are the present function with independent noise of variance s (1 + a^alpha); points
    are UCB's. At the last step, more than 48 runs outside have probability 4e-4 at the rate 0.1.
    Without the term of the noise more than half are outside: the check can fail.

    Source: M25 Lemma 2.3, (14), Assumption 2.
    """
    noise_variance, delta, steps = 0.02, 0.2, 30
    prior = dp.Prior(dp.Grid([0, 1], size=25), dp.SE(0.3), noise_variance)
    generator = np.random.default_rng(0)
    phi = np.asarray(prior.features.matrix)
    outside = without_noise = 0
    for _ in range(300):
        theta = generator.normal(size=phi.shape[1])
        function = phi @ theta / np.linalg.norm(theta)
        ages = np.arange(steps - 1.0, -1, -1)
        true_noise = noise_variance * (1 + ages**exponent)
        arms: list[int] = []
        rewards: list[float] = []
        for step in range(steps + 1):
            noise = noise_variance * (1 + np.arange(step - 1.0, -1, -1) ** exponent)
            noisy = prior.gram[np.ix_(arms, arms)] + np.diag(noise) if step else np.zeros((0, 0))
            cross = prior.gram[:, np.array(arms, int)]
            mean = cross @ np.linalg.solve(noisy, np.array(rewards))
            explained = (cross * np.linalg.solve(noisy, cross.T).T).sum(axis=1)
            deviation = np.sqrt(np.maximum(prior.variance - explained, 0))
            if step < steps:
                arms.append(int((mean + 2 * deviation).argmax()))
                new = math.sqrt(true_noise[step]) * generator.normal()
                rewards.append(function[arms[-1]] + new)
        gain = 0.5 * (np.linalg.slogdet(noisy)[1] - np.log(noise).sum())
        error = np.abs(function - mean)
        width = 1 + math.sqrt(2 * (math.log(2 / delta) + gain))
        outside += bool((error > width * deviation + 1e-9).any())
        without_noise += bool((error > deviation + 1e-9).any())
    assert outside <= 48
    assert without_noise > 150


def test_bad_input():
    for wrong in ([2.0], [math.nan], [math.inf]):
        for order in (
            lambda h: ui_gp_ucb_regret_order(h, exponent=0.1),
            sparq_regret_order,
            sparq_cost_order,
            lambda h: w_sparq_cost_order(h, exponent=0.5),
        ):
            with pytest.raises(dp.DriftpeakError, match="horizons must be finite and at least 3"):
                order(wrong)
    with pytest.raises(dp.DriftpeakError, match=r"a must lie in \(0, 1/3\)"):
        w_sparq_cost_order(10.0, exponent=0.5, a=0.4)
    for queries in ([-1], [], [math.nan]):
        with pytest.raises(dp.DriftpeakError, match="queries must be one or more numbers"):
            information_sum(queries, exponent=1.0, noise_variance=1.0)
    with pytest.raises(dp.DriftpeakError, match="ages must be finite"):
        uniform_walk_noise([-1.0], noise_variance=1.0)
    with pytest.raises(dp.DriftpeakError, match="exponent must be"):
        quiet_window(10, exponent=0.0)
    common = {"horizon": 100, "exponent": 0.5, "queries": 10.0}
    for name, wrong in (("horizon", 2), ("exponent", -1.0), ("queries", -1.0), ("dimension", 0)):
        with pytest.raises(dp.DriftpeakError, match=f"{name} must be"):
            landscape(**common | {name: wrong})
