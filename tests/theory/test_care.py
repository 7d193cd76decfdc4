"""The statements of the page "Where the papers need care", each by enumeration or a closed form."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import driftpeak as dp
from driftpeak.policies import widths
from driftpeak.theory.rates import applicable, rates
from driftpeak.theory.schedules import markov_restart_period
from driftpeak.theory.setting import Setting
from driftpeak.theory.side_queries import side_query_budget, side_query_windows

NOISE = 0.1


def gram(a, b, lengthscale=0.2):
    return np.exp(-((np.subtract.outer(a, b) / lengthscale) ** 2) / 2)


def posterior(points, noise, at):
    """Mean weights and covariance at `at`, given observations with these noise variances."""
    rows = gram(at, points)
    weights = np.linalg.solve(gram(points, points) + np.diag(noise), rows.T).T
    return weights, gram(at, at) - weights @ rows.T


# M25 Theorems 3.3 and 3.10: answers alone


def test_equal_points_have_no_residual_but_a_large_divergence():
    """M25 (19) at 400 equal points and their one distinct point: tr(K - U) = 0. The divergence of
    the two posteriors is r - 1 - log(r)/2, r = (1 + 400/s)/(1 + 1/s); (25) permits no more than
    eta = 0, that is equal deviations."""
    many = np.zeros(400)
    residual = gram(many, many) - gram(many, np.zeros(1)) @ gram(np.zeros(1), many)
    assert abs(np.trace(residual)) < 1e-12
    _, all_outputs = posterior(many, np.full(400, NOISE), np.zeros(1))
    _, answer = posterior(np.zeros(1), [NOISE], np.zeros(1))
    ratio = float(answer[0, 0] / all_outputs[0, 0])
    assert ratio == pytest.approx((1 + 400 / NOISE) / (1 + 1 / NOISE))
    _, precise = posterior(np.zeros(1), [NOISE / 400], np.zeros(1))  # an answer as precise as all
    assert precise[0, 0] == pytest.approx(all_outputs[0, 0])
    generator = np.random.default_rng(0)
    value = generator.normal(size=100_000)
    first = value + math.sqrt(NOISE) * generator.normal(size=value.shape)
    rest = value + math.sqrt(NOISE / 399) * generator.normal(size=value.shape)
    before = first / (1 + NOISE)
    after = (first + 399 * rest) / (400 + NOISE)
    v = float(all_outputs[0, 0])
    divergences = 0.5 * (ratio - 1 - math.log(ratio) + (before - after) ** 2 / v)
    # the standard error of the mean is 0.3 % of it
    assert divergences.mean() == pytest.approx(ratio - 1 - math.log(ratio) / 2, rel=0.02)
    assert divergences.mean() > 300


@given(seed=st.integers(0, 10**6), count=st.integers(1, 12))
def test_the_variance_is_at_least_that_of_observations_at_the_point(seed, count):
    """For k <= 1 with k(x, x) = 1: at least 1 / (1 + sum of precisions), whatever the points."""
    generator = np.random.default_rng(seed)
    noise = 10 ** generator.uniform(-2, 1, count)
    points = generator.uniform(0, 0.5, count)
    _, covariance = posterior(points, noise, np.array([0.25]))
    least = 1 / (1 + (1 / noise).sum())
    assert covariance[0, 0] >= least * (1 - 1e-9)
    _, there = posterior(np.full(count, 0.25), noise, np.array([0.25]))
    assert there[0, 0] == pytest.approx(least, rel=1e-6)


def test_no_answers_satisfy_25_up_to_ten_thousand_steps():
    """Both sides of (25), summed: any answers, any points of the grid, eta <= 1/5.

    Source: M25 Theorem 3.3.
    """
    steps = 10_000
    prior = dp.Prior(dp.Grid([0, 1], size=41), dp.SE(0.2), noise_variance=NOISE)
    gain = dp.greedy_gain(prior, steps, upper=True)[steps]
    answers = np.sqrt(NOISE / (NOISE + side_query_budget(steps))).sum()
    virtual = math.sqrt(2 * steps * gain / math.log1p(1 / NOISE))
    assert answers > 1.15 * math.sqrt(1 + math.sqrt(3 / 5)) * virtual


@pytest.mark.parametrize("queries", [1, 9, 100])
def test_random_signs_cost_every_policy_a_share_of_the_noise(queries):
    """f = s g h, s a random sign, |h| <= 1: the best decision after Q evaluations, at any points,
    has the regret 2 g Phi(-g |h(x)| / sigma), |h(x)| the norm of the Q values.

    Source: M25 Theorem 3.3.
    """
    gap = math.sqrt(NOISE / queries) / 2
    generator = np.random.default_rng(queries)
    shapes = [np.ones(queries), *generator.uniform(-1, 1, (20, queries))]
    for heights in shapes:
        signal = gap * math.sqrt((heights**2).sum() / NOISE)
        regret = 2 * gap * 0.5 * math.erfc(signal / math.sqrt(2))
        assert regret >= math.sqrt(NOISE / queries) / 4
    assert math.erfc(0.5 / math.sqrt(2)) / 2 == pytest.approx(0.3085, abs=1e-4)


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0])
def test_sum_of_deviations_of_w_sparq(alpha):
    """The least sum of deviations over W-SparQ's windows grows by at least its exponent,
    1 - a max(1 - alpha, 0) / (2 alpha), less the logarithms of Q_t, and beyond (34) for alpha > 1/2
    at a = 1/4.

    Source: M25 Theorem 3.10.
    """
    steps = 2**20
    starts = np.flatnonzero(side_query_windows(steps, exponent=alpha))
    window = np.searchsorted(starts, np.arange(steps), side="right") - 1
    ages = np.arange(steps) - starts[window]
    recent = np.cumsum(1 / (1 + np.arange(ages.max() + 1.0) ** alpha))
    precision = (side_query_budget(steps)[starts[window]] + recent[ages]) / NOISE
    sums = np.cumsum(1 / np.sqrt(1 + precision))
    slope = math.log2(sums[-1] / sums[2**17 - 1]) / 3
    expected = 1 - max(1 - alpha, 0) / (8 * alpha)
    logarithms = math.log(20 / 17) / (2 * 3 * math.log(2))
    assert expected - logarithms - 0.01 < slope < expected + 0.03
    assert (expected > (3 / 4 + 1) / 2) == (alpha > 1 / 2)


# IT25 Lemma 8


def deviations(weights, values):
    """S - ES of every permutation, S = sum of w_m f_psi(m)(x_m)."""
    count = len(weights)
    every = np.array(list(itertools.permutations(range(count))))
    sums = (weights * values[np.arange(count), every]).sum(axis=1)
    return every, sums - weights @ values.mean(axis=1)


@st.composite
def permuted(draw):
    """Weights in decreasing order of size, and values within +-1."""
    generator = np.random.default_rng(draw(st.integers(0, 10**6)))
    count = draw(st.integers(2, 5))
    weights = generator.normal(size=count)
    values = generator.uniform(-1, 1, (count, count))
    if draw(st.booleans()):
        values = np.sign(values)
    return weights[np.argsort(-abs(weights))], values


def test_values_are_not_permuted():
    """Two functions at two points: the values are (1, 1) in one order and (0, 0) in the other, so
    they are not a permutation of fixed numbers, which IT25 Lemma 7 is about."""
    values = np.array([[1, 0], [0, 1]])  # f_1 = (1, 0), f_2 = (0, 1): values[m, s] = f_s(x_m)
    found = {tuple(sorted(values[[0, 1], order])) for order in ([0, 1], [1, 0])}
    assert found == {(0, 0), (1, 1)}


@settings(max_examples=40)
@given(permuted())
def test_each_revealed_place_moves_the_mean_within_four_times_its_weight(case):
    """First proof: by enumeration of all prefixes of the permutation."""
    weights, values = case
    every, found = deviations(weights, values)
    for known in range(len(weights)):
        prefixes = {tuple(row) for row in every[:, :known]}
        for prefix in prefixes:
            same = (every[:, :known] == prefix).all(axis=1)
            nexts = set(every[same, known])
            means = [found[same & (every[:, known] == s)].mean() for s in nexts]
            assert max(means) - min(means) <= 4 * abs(weights[known]) + 1e-9


@settings(max_examples=40)
@given(permuted())
def test_exchangeable_pair(case):
    """Second proof: for a random transposition with repetition, E[S - S'] = (2/n)(S - ES) and
    v = (n/4) E[(S - S')^2] <= 4 |w|^2 at every permutation."""
    weights, values = case
    count = len(weights)
    every, found = deviations(weights, values)
    index = {tuple(row): i for i, row in enumerate(every)}
    for row, own in zip(every, found, strict=True):
        steps = []
        for i, j in itertools.product(range(count), repeat=2):
            other = row.copy()
            other[[i, j]] = row[[j, i]]
            steps.append(own - found[index[tuple(other)]])
        assert np.mean(steps) == pytest.approx(2 / count * own, abs=1e-9)
        assert count / 4 * np.mean(np.square(steps)) <= 4 * (weights**2).sum() + 1e-9


@settings(max_examples=100)
@given(permuted())
def test_tail_with_the_proved_constant(case):
    """The tail of every enumerated case is below 2 exp(-d^2 / (8 |w|^2)).

    Source: IT25 Lemma 8, Theorem 4.
    """
    weights, values = case
    _, found = deviations(weights, values)
    sizes = np.sort(abs(found))[::-1]
    tail = np.arange(1, len(sizes) + 1) / len(sizes)
    scale = widths.PROVED_CONSTANT * np.linalg.norm(weights)
    assert (tail <= 2 * np.exp(-((sizes / scale) ** 2)) + 1e-9).all()


def test_two_points_need_a_constant_of_1_7():
    """w = (1, 1): S is 2 or -2. The tail 1 at 2 = sqrt(2) |w| needs C >= sqrt(2 / log 2)."""
    _, found = deviations(np.ones(2), np.array([[1.0, -1.0], [-1.0, 1.0]]))
    assert sorted(found) == [-2, 2]
    assert math.sqrt(2 / math.log(2)) == pytest.approx(1.699, abs=1e-3)
    assert math.sqrt(8) == widths.PROVED_CONSTANT


# constants and orders


def test_it25_22():
    """(20) to (22): (2 (4 c l)^(2/3) (T/V)^(2/3))^(-1/2) has the constant 2^(-7/6)."""
    c, logarithm, ratio = 0.7, 3.1, 250.0
    line_20 = (2 * (4 * c * logarithm) ** (2 / 3) * ratio ** (2 / 3)) ** -0.5
    rest = (c * logarithm * ratio) ** (-1 / 3)
    assert line_20 == pytest.approx(2 ** (-7 / 6) * rest)
    assert line_20 < 2 ** (-5 / 6) * rest


@pytest.mark.parametrize("alpha", [1.1, 1.5, 3.0])
def test_m25_shortest_information(alpha):
    """F(L) = L^-alpha + 4 L / T is least at (alpha T / 4)^(1 / (alpha + 1)), on a fine grid. The
    order T^(-alpha / (alpha + 1)) of F there, and hence Theorem 5.3, does not change.

    Source: M25 Theorem 5.3.
    """
    horizon = 10_000
    lengths = np.linspace(1, horizon / 2, 2_000_000)
    best = lengths[np.argmin(lengths**-alpha + 4 * lengths / horizon)]
    assert best == pytest.approx((alpha * horizon / 4) ** (1 / (alpha + 1)), rel=1e-3)
    printed = (alpha * horizon / 8) ** (1 / (alpha + 1))
    assert printed < 0.9 * best
    if alpha == 1.5:
        assert (round(best, 1), round(printed, 1)) == (26.9, 20.4)


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0])
def test_m25_cumulative_variance(alpha):
    """The sum over ages of 1 + age^alpha is T^(alpha + 1) / (alpha + 1) to leading order."""
    horizon = 10**6
    total = (1 + np.arange(horizon, dtype=float) ** alpha).sum()
    share = total / horizon ** (alpha + 1)
    assert share == pytest.approx(1 / (alpha + 1) + horizon**-alpha, rel=1e-4)
    assert abs(share - 1) > 0.3


def test_m25_example_2_1():
    """Uniform steps within +-b have variance b^2 / 3: with b = sigma^2 the variance at age a is
    sigma^2 + sigma^4 a / 3, with b = sigma the printed sigma^2 (1 + a / 3). 1 % is 6 errors.

    Source: M25 Example 2.1.
    """
    generator = np.random.default_rng(0)
    variance, age = 0.25, 6
    noise = math.sqrt(variance) * generator.normal(size=400_000)
    for bound, expected in (
        (variance, variance + variance**2 * age / 3),
        (math.sqrt(variance), variance * (1 + age / 3)),
    ):
        steps = generator.uniform(-bound, bound, (400_000, age)).sum(axis=1)
        assert (noise + steps).var() == pytest.approx(expected, rel=0.015)


@given(alpha=st.floats(0, 0.33))
def test_m25_table_1_and_17(alpha):
    """The table's Omega(sqrt(T)) is implied by (17), which driftpeak has, for every alpha < 1/3.

    Source: M25 Table 1.
    """
    setting = Setting(dp.SE(), 1, 10_000, exponent=alpha)
    row, order = applicable("any", setting, "exponent")
    assert row.growth(setting) == pytest.approx((alpha + 1) / 2)
    assert order.number >= math.sqrt(10_000) * (1 - 1e-12)
    (upper,) = rates("ui-gp-ucb", "exponent", known=True)
    assert upper.growth(setting) >= row.growth(setting)


@pytest.mark.slow
def test_m25_36_cells():
    """The bump h on the line, by the rectangle rule, with zeta the radius of half height: halfway
    between two centres that are zeta apart, both bumps exceed half their height; 2 zeta apart, no
    point has both above it."""
    frequencies = (np.arange(4000) + 0.5) / 4000
    spectrum = np.exp(-1 / (1 - frequencies**2))

    def bump(x):
        return np.cos(2 * np.pi * np.multiply.outer(x, frequencies)) @ spectrum / spectrum.sum()

    line = np.linspace(0, 2, 2001)
    below = bump(line) <= 0.5
    zeta = line[below.argmax()]
    assert below[line >= zeta].all()
    assert bump(np.array([zeta / 2]))[0] > 0.7
    points = np.linspace(-2, 4, 6001)
    for distance, overlap in ((zeta, True), (2 * zeta + 0.002, False)):
        both = (bump(points) > 0.5) & (bump(points - distance) > 0.5)
        assert both.any() == overlap


def test_b16_block_length():
    """With equal constants N falls as nu rises. The minimiser of T sqrt(N^c / N) + T N^(3/2)
    sqrt(epsilon) is ((1 - c)^2 / (9 epsilon))^(1 / (4 - c)): it rises with nu while epsilon is
    large and falls for small epsilon.

    Source: B16 Corollary 4.1.
    """
    periods = [
        markov_restart_period(dp.Matern(nu), drift=0.01, horizon=1000, dimension=2)
        for nu in (2.5, 3.5, 10.0, 50.0)
    ]
    assert periods == [92, 89, 82, 78]
    assert markov_restart_period(dp.SE(), drift=0.01, horizon=1000, dimension=2) == 38
    smooth, rough = 0.0, 6 / 11  # c for SE, and for nu = 2.5 in two dimensions

    def best(c, epsilon):
        lengths = np.geomspace(0.1, 1e5, 400_001)
        cost = np.sqrt(lengths ** (c - 1)) + lengths**1.5 * math.sqrt(epsilon)
        found = lengths[np.argmin(cost)]
        exact = ((1 - c) ** 2 / (9 * epsilon)) ** (1 / (4 - c))
        assert found == pytest.approx(exact, rel=1e-4)
        return exact

    assert best(smooth, 0.01) > best(rough, 0.01)
    assert best(smooth, 1e-12) < best(rough, 1e-12)


def test_b16_gain_of_the_se_kernel_exceeds_every_multiple_of_log_n():
    """N/m observations at each of m points have the gain log det(I + N K / (m sigma^2)) / 2, which
    grows by m/2 per unit of log N. So gamma_N is not O(log N), as it is for the linear kernel."""
    points = np.linspace(0, 1, 12)
    spectrum = np.linalg.eigvalsh(gram(points, points, 0.05))
    assert spectrum.min() > 1e-3

    def gain(count):
        return 0.5 * np.log1p(count * spectrum / (12 * NOISE)).sum()

    slope = (gain(1e12) - gain(1e9)) / math.log(1e3)
    assert slope == pytest.approx(12 / 2, rel=1e-3)
    prior = dp.Prior(dp.Grid([0, 1], size=41), dp.SE(0.2), noise_variance=NOISE)
    counts = np.array([30, 300, 3000])
    gains = dp.greedy_gain(prior, 3000)[counts]
    assert (np.diff(gains / np.log(counts)) > 0.1).all()  # faster than log N
    assert (np.diff(gains / np.log(counts) ** 2) < 0).all()  # and no faster than log^2 N
