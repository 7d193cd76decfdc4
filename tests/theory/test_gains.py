"""Closed forms of the information gain: by hand, and against gains that are measured."""

import math

import numpy as np
import pytest

import driftpeak as dp
from driftpeak.theory.bound import Bound, Condition
from driftpeak.theory.gains import (
    best_block,
    drifting_gain,
    eigendecay,
    exponential_gain,
    gain_rate,
    linear_gain,
    polynomial_gain,
    projection_gain,
    spectral_tail,
)

LINE = dp.Grid([0, 1], size=60)
PRIORS = {
    "SE": dp.Prior(LINE, dp.SE(0.2), 0.05),
    "Matern": dp.Prior(LINE, dp.Matern(1.5, 0.3), 0.5),
    "plane": dp.Prior(dp.Grid([0, 1], [0, 1], size=9), dp.Matern(2.5, 0.4), 0.01),
}


@pytest.mark.usefixtures("without_type_checks")
def test_rates_by_hand():
    """n = e^4, where log n = 4: SE d = 2: 64; linear d = 3: 12; Matern nu = 3/2, d = 1: e 4^(3/4),
    Srinivas c = 2/5: e^(8/5) 4.

    Source: ZS21 section II; IT25 section 2; D22 Remark 5.
    """
    n = round(math.exp(4))
    log = math.log(n)

    def rate(kernel, **options):
        return gain_rate(kernel, count=n, **options).value

    assert rate(dp.SE(), dimension=2) == pytest.approx(log**3)
    assert rate(2.0 * dp.Linear(), dimension=3) == pytest.approx(3 * log)
    assert rate(dp.Matern(1.5), dimension=1) == pytest.approx(n**0.25 * log**0.75)
    assert rate(dp.Matern(1.5), dimension=1, of="srinivas") == pytest.approx(n**0.4 * log)
    failed = gain_rate(dp.Matern(1.0), count=n, dimension=1, of="srinivas")
    assert failed.value is None
    assert str(failed).endswith("does not apply here: it requires nu > 1 (here nu = 1)")
    with pytest.raises(dp.DriftpeakError, match="of must be one of vakili, srinivas"):
        gain_rate(dp.SE(), count=3, dimension=1, of="x")


@pytest.mark.parametrize(("nu", "dimension"), [(1.5, 1), (2.5, 1), (0.75, 1)])
def test_the_matern_rate_is_how_measured_gains_grow(nu, dimension):
    """From 100 to 1,600 observations the measured gain grows with the power of the rate, to 0.1."""
    prior = dp.Prior(dp.Grid([0, 1], size=800), dp.Matern(nu, 0.1), 1.0)
    gains = dp.greedy_gain(prior, 1600)
    measured = math.log(gains[1600] / gains[100]) / math.log(16)
    rates = [gain_rate(prior.kernel, count=n, dimension=1).number for n in (100, 1600)]
    assert measured == pytest.approx(math.log(rates[1] / rates[0]) / math.log(16), abs=0.12)


def test_spectral_tail_is_what_the_best_features_leave_out():
    """Source: D22 Assumption 1."""
    prior = PRIORS["SE"]
    tail = spectral_tail(prior)
    values, vectors = np.linalg.eigh(prior.gram)
    for kept in (0, 1, 5, 60):
        best = vectors[:, 60 - kept :] * np.sqrt(np.maximum(values[60 - kept :], 0))
        left = (prior.gram - best @ best.T).diagonal().max()
        assert tail[kept] == pytest.approx(left, abs=1e-12)
    assert len(tail) == 61


def test_projection_by_hand():
    """lambda = 1/2, T = 8, tail (1, 0.1, 0): N = 0: 8; N = 1: 1/2 log 17 + 0.8; N = 2: log 9.

    At discount 1/2 the worth is 4/3: N = 0: 4/3; N = 1: 1/2 log(1 + 8/3) + 2/15; N = 2: log(7/3).
    """
    tail = [1.0, 0.1, 0.0]
    found = projection_gain(tail, noise_variance=0.5, count=8)
    assert found.value == pytest.approx(min(8.0, 0.5 * math.log(17) + 0.8, math.log(9)))
    discounted = projection_gain(tail, noise_variance=0.5, discount=0.5)
    by_hand = min(4 / 3, 0.5 * math.log(11 / 3) + 2 / 15, math.log(7 / 3))
    assert discounted.value == pytest.approx(by_hand)
    single = projection_gain(tail, noise_variance=0.5, discount=0.25, weighting="single")
    assert single.value == pytest.approx(by_hand)  # both total worths are 4/3
    finite = projection_gain(tail, noise_variance=0.5, discount=0.5, count=3)
    assert finite.value < discounted.value
    assert (found.source, discounted.source) == ("D22 Theorem 6", "D22 Theorem 7")


@pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS)
@pytest.mark.parametrize("count", [1, 20, 300])
def test_projection_bounds_measured_gains(prior, count):
    """Greedy and random choices, weighted and not, never gain more than the closed form.

    Source: D22 Theorems 6-7, Lemmas 24-25.
    """
    tail = spectral_tail(prior)
    noise = prior.noise_variance
    ages = np.arange(count)
    bound = projection_gain(tail, noise_variance=noise, count=count).number
    assert dp.greedy_gain(prior, count)[-1] <= bound
    for discount in (0.5, 0.9, 0.99):
        for weighting, power in (("single", 1), ("double", 2)):
            found = projection_gain(
                tail, noise_variance=noise, discount=discount, weighting=weighting
            ).number
            assert dp.greedy_gain(prior, count, weights=discount ** (power * ages))[-1] <= found
            arms = np.random.default_rng(0).integers(len(prior), size=count)
            worth = discount ** (power * ages[::-1])
            assert dp.information_gain(prior, arms, weights=worth) <= found


def test_the_line_after_corollary_8_has_single_and_double_exchanged():
    """As printed, the single-weighted gain would be bounded by 1/(1 - gamma^2): it is not."""
    prior = dp.Prior(dp.Arms([[0.0], [100.0]]), dp.SE(1.0), 1.0)
    tail = spectral_tail(prior)
    single = dp.greedy_gain(prior, 200, weights=0.9 ** np.arange(200))[-1]
    assert single > projection_gain(tail, noise_variance=1.0, discount=0.9).number
    right = projection_gain(tail, noise_variance=1.0, discount=0.9, weighting="single").number
    assert single <= right


def eigenvalues(prior):
    """Of the kernel's integral operator for the uniform measure on the points, and the bound of
    its eigenfunctions: K = n sum_m c_m phi_m phi_m' / n with phi_m = sqrt(n) v_m."""
    values, vectors = np.linalg.eigh(prior.gram)
    n = len(prior)
    return np.maximum(values[::-1], 0) / n, float(np.sqrt(n) * np.abs(vectors).max())


def test_polynomial_decay_bounds_measured_gains():
    """Source: D22 Corollary 8."""
    prior = dp.Prior(dp.Grid([0, 1], size=100), dp.Matern(1.5, 0.2), 0.1)
    spectrum, psi = eigenvalues(prior)
    decay = 4.0  # (2 nu + d)/d
    scale = float((spectrum * np.arange(1, 101) ** decay).max())
    for discount in (0.8, 0.95, 0.99):
        bound = polynomial_gain(
            scale=scale, decay=decay, bound=psi, discount=discount, noise_variance=0.1
        ).number
        assert dp.greedy_gain(prior, 400, weights=discount ** (2 * np.arange(400)))[-1] <= bound


def test_exponential_decay_bounds_measured_gains():
    """Source: D22 Corollary 8."""
    prior = dp.Prior(dp.Grid([0, 1], size=100), dp.SE(0.2), 0.1)
    spectrum, psi = eigenvalues(prior)
    decay = 1.0
    # from about the 20th on the eigenvalues are rounding errors; the true ones fall ever faster
    scale = float((spectrum * np.exp(decay * np.arange(1, 101)))[:20].max())
    for discount in (0.8, 0.95, 0.99):
        bound = exponential_gain(
            scale=scale, decay=decay, bound=psi, discount=discount, noise_variance=0.1
        ).number
        assert dp.greedy_gain(prior, 400, weights=discount ** (2 * np.arange(400)))[-1] <= bound
        single = exponential_gain(
            scale=scale, decay=decay, bound=psi, discount=discount, noise_variance=0.1,
            weighting="single",
        )  # fmt: skip
        gain = dp.greedy_gain(prior, 400, weights=discount ** (1.0 * np.arange(400)))[-1]
        assert bound < single.number
        assert gain <= single.number


def test_corollary_8_by_hand():
    """gamma^2 = 1/2, W = 2, lambda = 2, k = 1: log(1 + 1) = l. Polynomial, C = 9 l, beta = 2:
    x = (9 l / l)^(1/2) = 3, bound 4 l. Exponential, C_1 = e^2, C_2 = 1: x = 2, bound 3 l.

    Source: D22 Corollary 8.
    """
    log2 = math.log(2)
    common = {"discount": math.sqrt(0.5), "noise_variance": 2.0}
    assert polynomial_gain(scale=9 * log2, decay=2.0, **common).value == pytest.approx(4 * log2)
    assert exponential_gain(scale=math.e**2, decay=1.0, **common).value == pytest.approx(3 * log2)
    # single: at gamma = 1/2 the worth 1/(1 - gamma) is 2, as 1/(1 - gamma^2) was above
    single = {"discount": 0.5, "noise_variance": 2.0, "weighting": "single"}
    assert polynomial_gain(scale=9 * log2, decay=2.0, **single).value == pytest.approx(4 * log2)
    assert exponential_gain(scale=math.e**2, decay=1.0, **single).value == pytest.approx(3 * log2)


def test_corollary_8_says_when_it_does_not_apply():
    common = {"discount": 0.5, "noise_variance": 1.0}
    slow = polynomial_gain(scale=1.0, decay=1.5, **common)
    assert (slow.value, slow.failed[0].value) == (None, "beta_p = 1.5")
    tiny = exponential_gain(scale=1e-6, decay=1.0, **common)
    assert tiny.value is None
    assert tiny.failed[0].statement == "log W + C_beta >= 0"


@pytest.mark.parametrize("dimension", [1, 3])
def test_linear_gain_bounds_and_is_reached(dimension):
    """With the d unit vectors, T/d observations of each: the bound is attained.

    Source: D22 Theorem 6.
    """
    prior = dp.Prior(dp.Arms(np.eye(dimension + 1)[:, :dimension]), dp.Linear(), 0.3)
    bound = linear_gain(count=60, dimension=dimension, noise_variance=0.3).number
    assert dp.greedy_gain(prior, 60)[-1] == pytest.approx(bound)
    random = np.random.default_rng(0).normal(size=(50, dimension))
    ball = random / np.maximum(np.linalg.norm(random, axis=1, keepdims=True), 1)
    inside = dp.Prior(dp.Arms(ball), dp.Linear(), 0.3)
    assert dp.greedy_gain(inside, 60)[-1] <= bound + 1e-9


@pytest.mark.parametrize("prior", [PRIORS["SE"], PRIORS["plane"]], ids=["SE", "plane"])
@pytest.mark.parametrize("drift", [0.0, 0.001, 0.03, 1.0])
def test_drifting_gain_bounds_measured_gains(prior, drift):
    """Source: B16 (46)."""
    horizon = 120
    static = dp.greedy_gain(prior, horizon, upper=True)
    measured = dp.greedy_gain(prior, horizon, drift=drift)[-1]
    for block in (1, 4, 20, 120):
        bound = drifting_gain(
            static[block], block=block, drift=drift, horizon=horizon,
            noise_variance=prior.noise_variance,
        )  # fmt: skip
        assert measured <= bound.number


def test_b16_46_as_printed_is_not_a_bound():
    """sigma^2 = 10^-6, epsilon = 0.01, N = 2, T = 200, one point: printed 741, true gain 923.

    Source: B16 (46).
    """
    prior = dp.Prior(dp.Arms([[0.0], [1e-9]]), dp.SE(1.0), 1e-6)
    true = dp.information_gain(prior, np.zeros(200, int), drift=0.01)
    block = 0.5 * math.log(1 + 2e6)  # both observations at one point
    printed = (200 / 2 + 1) * (block + 2**3 * 0.01)
    assert printed < true
    bound = drifting_gain(block, block=2, drift=0.01, horizon=200, noise_variance=1e-6)
    assert bound.number > true


def test_drifting_gain_conditions():
    failed = drifting_gain(1.0, block=30, drift=0.1, horizon=20, noise_variance=1.0, variance=4.0)
    assert failed.value is None
    assert [c.statement for c in failed.failed] == ["k(x, x) <= 1", "N in 1..T"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tail": []}, "one or more numbers of at least 0"),
        ({"tail": [-1.0]}, "one or more numbers of at least 0"),
        ({}, "at least one of count and discount"),
        ({"count": 3, "weighting": "triple"}, "weighting must be one of single, double"),
        ({"discount": 1.0}, r"discount must lie in \(0, 1\); got 1.0"),
    ],
)
@pytest.mark.usefixtures("without_type_checks")
def test_projection_refuses(options, message):
    with pytest.raises(dp.DriftpeakError, match=message):
        projection_gain(options.pop("tail", [1.0]), noise_variance=1.0, **options)


def test_a_bound_without_a_number_says_why():
    bound = Bound(None, "Theorem", (Condition("a > 1", False, "a = 0"), Condition("b", True, "")))
    assert bound.failed == (bound.conditions[0],)
    with pytest.raises(
        dp.DriftpeakError, match=r"Theorem does not apply here: .*a > 1 \(here a = 0\)"
    ):
        _ = bound.number
    assert str(Bound(2.0, "Theorem")) == "2 (Theorem)"


def test_the_best_block_is_the_best_of_all_and_grows_with_slower_drift():
    """Against a search in NumPy; the printed N^3 epsilon gives a length of order epsilon^(-1/3).

    Source: B16 (21), (88).
    """
    gains, horizon = dp.greedy_gain(PRIORS["SE"], 400, upper=True), 100_000
    blocks = np.arange(1, 401)
    lengths = []
    for drift in (1e-2, 1e-3, 1e-4):
        total = gains[1:] + blocks / 2 * np.log1p(blocks**1.5 * drift / 0.05)
        expected = (horizon / blocks + 1) * total
        length, bound = best_block(gains, drift=drift, horizon=horizon, noise_variance=0.05)
        assert length == 1 + expected.argmin()
        assert bound.value == pytest.approx(expected.min())
        printed = (horizon / blocks + 1) * (gains[1:] + blocks**3 * drift)
        lengths.append((length, 1 + printed.argmin()))
    assert np.log(lengths[0][1] / lengths[2][1]) / np.log(100) == pytest.approx(-1 / 3, abs=0.08)
    assert lengths[0][0] < lengths[1][0] < lengths[2][0]
    still, bound = best_block(gains[:51], drift=0.0, horizon=50, noise_variance=0.05)
    assert (still, bound.value) == (50, pytest.approx(2 * gains[50]))
    for wrong in ([0.0], [0.0, -1.0]):
        with pytest.raises(dp.DriftpeakError, match="gains must be at least 2 numbers"):
            best_block(wrong, drift=0.1, horizon=10, noise_variance=0.1)


@pytest.mark.parametrize("name", PRIORS)
@pytest.mark.parametrize("kind", ["polynomial", "exponential"])
def test_eigendecay_bounds_every_eigenvalue_and_the_gain(name, kind):
    """Every eigenvalue of K/n, with equality once; Corollary 8 is above the measured gain.

    Source: D22 Corollary 8, Assumption 1.
    """
    prior, discount = PRIORS[name], 0.95
    constants = eigendecay(prior, kind=kind)
    scale, decay, bound = constants.scale, constants.decay, constants.bound
    spectrum = np.linalg.eigvalsh(prior.gram)[::-1] / len(prior)
    ranks = np.arange(1, len(prior) + 1)
    law = scale * (ranks**-decay if kind == "polynomial" else np.exp(-decay * ranks))
    kept = spectrum > 1e-10 * spectrum[0]
    assert (spectrum[kept] <= law[kept] * (1 + 1e-9)).all()
    assert (spectrum[kept] / law[kept]).max() == pytest.approx(1)
    # Mercer: k(x, x) = sum c_m phi_m(x)^2 <= psi^2 sum c_m
    assert prior.variance.max() <= bound**2 * spectrum.sum()
    formula = polynomial_gain if kind == "polynomial" else exponential_gain
    found = formula(
        scale=scale, decay=decay, bound=bound, discount=discount,
        noise_variance=prior.noise_variance,
    )  # fmt: skip
    measured = dp.greedy_gain(prior, 200, weights=discount ** (2.0 * np.arange(200)))[-1]
    assert found.value is None or measured < found.value
    assert eigendecay(prior, kind=kind, decay=2.5).decay == 2.5


def test_eigendecay_of_a_matern_kernel_and_bad_input():
    """On a line, beta_p is (2 nu + d)/d = 4 for nu = 3/2, to 10 %; a white kernel has no decay."""
    prior = dp.Prior(dp.Grid([0, 1], size=300), dp.Matern(1.5, 0.3), 0.1)
    assert eigendecay(prior).decay == pytest.approx(4, rel=0.1)
    two = dp.Prior(dp.Arms(2), dp.kernels.Table([[1.0, 0.5], [0.5, 1.0]]), 0.1)
    with pytest.raises(dp.DriftpeakError, match="decay must be given: fewer than 3"):
        eigendecay(two)
    found = eigendecay(two, decay=2.0)  # eigenvalues 3/4, 1/4; eigenvectors of entries 1/sqrt 2
    assert (found.scale, found.decay, found.bound) == pytest.approx((1.0, 2.0, 1.0))
    with pytest.raises(dp.DriftpeakError, match="decay must be"):
        eigendecay(two, decay=0.0)
