"""Information gains against log-determinants, and widths against values computed by hand."""

from itertools import combinations_with_replacement, product

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, strategies as st

import driftpeak as dp
from driftpeak.gp import forgetting as fg
from driftpeak.policies import widths

POINTS = np.random.default_rng(0).uniform(0, 1, (9, 2))
PRIOR = dp.Prior(dp.Arms(POINTS), 1.5 * dp.SE(0.4), 0.3)
FORMS = ("feature-space", "function-space")


@jax.jit
def finally_(belief, arms, times):
    """The posterior after observations of nothing but zeros, when the last was made."""

    def step(state, observation):
        arm, time = observation
        return belief.update(state, arm, 0.0, time), None

    state = jax.lax.scan(step, belief.init(), (arms, times))[0]
    return belief.posterior(state, times[-1])


def log_determinant(arms, noise=0.3):
    """1/2 log |I + K_A / lambda|, through eigenvalues."""
    gram = PRIOR.gram[np.ix_(arms, arms)]
    return 0.5 * np.log1p(np.linalg.eigvalsh(gram) / noise).sum()


# Information of a set

sets = st.lists(st.integers(0, 8), max_size=8)


@given(arms=sets, more=sets, arm=st.integers(0, 8))
def test_information_is_a_monotone_submodular_log_determinant(arms, more, arm):
    """A gain never falls with more points, and a point's own share never grows.

    Source: B16 (12).
    """

    def gain(chosen):
        return dp.information_gain(PRIOR, chosen)

    np.testing.assert_allclose(gain(arms), log_determinant(np.array(arms, int)), atol=1e-10)
    assert gain(arms) <= gain(arms + more) + 1e-12
    assert gain([*arms, arm]) > gain(arms)
    share_late = gain([*arms, *more, arm]) - gain(arms + more)
    assert share_late <= gain([*arms, arm]) - gain(arms) + 1e-12


def test_information_of_repeated_observations():
    """n times the same point of variance v: 1/2 log(1 + n v / lambda); none: 0."""
    for n in range(5):
        np.testing.assert_allclose(
            dp.information_gain(PRIOR, [4] * n), 0.5 * np.log(1 + n * 1.5 / 0.3), atol=1e-12
        )


@pytest.mark.parametrize(
    "arms",
    [[0, 9], [-1], [0.7], [[0, 1]], ["a"], [True]],
    ids=["9", "-1", "0.7", "2d", "a", "True"],
)
@pytest.mark.usefixtures("without_type_checks")
def test_information_refuses_what_is_no_point_number(arms):
    with pytest.raises(dp.DriftpeakError, match=r"arms must be a list of integers in 0\.\.8; got"):
        dp.information_gain(PRIOR, arms)


# Greedy and maximum gain


def plain_greedy(gram, noise, count):
    """Enumerate every candidate's gain at every step."""
    chosen, gains = [], [0.0]

    def gain(arms):
        return 0.5 * np.linalg.slogdet(np.eye(len(arms)) + gram[np.ix_(arms, arms)] / noise)[1]

    for _ in range(count):
        chosen.append(max(range(len(gram)), key=lambda arm: gain([*chosen, arm])))
        gains.append(gain(chosen))
    return gains


@pytest.mark.parametrize(
    ("kernel", "noise"),
    [(1.5 * dp.SE(0.4), 0.3), (dp.Matern(0.8, 0.3), 0.01), (dp.Linear(0.2), 2.0)],
    ids=["SE", "general Matern", "Linear"],
)
def test_greedy_gain_equals_enumeration(kernel, noise):
    """The point of largest variance is the point of largest gain."""
    prior = dp.Prior(dp.Arms(POINTS), kernel, noise)
    gains = dp.greedy_gain(prior, 14)
    np.testing.assert_allclose(gains, plain_greedy(prior.gram, noise, 14), atol=1e-8)
    upper = dp.greedy_gain(prior, 14, upper=True)
    np.testing.assert_allclose(upper, gains / (1 - np.exp(-1)), rtol=1e-12)
    assert gains.shape == (15,)


@pytest.mark.parametrize("seed", range(6))
def test_the_maximum_lies_between_greedy_and_its_guarantee(seed):
    """Over all multisets of up to 5 of 6 points, by enumeration (461 of them).

    Source: B16 (13); ZS21 (3); IT25 section 6.
    """
    random = np.random.default_rng(seed)
    points = random.uniform(0, 1, (6, 2))
    prior = dp.Prior(
        dp.Arms(points), dp.Matern(1.5, 10 ** random.uniform(-1, 0)), 10 ** random.uniform(-2, 0)
    )
    lower, upper = (dp.greedy_gain(prior, 5, upper=upper) for upper in (False, True))
    for count in range(1, 6):
        best = max(
            dp.information_gain(prior, arms)
            for arms in combinations_with_replacement(range(6), count)
        )
        assert lower[count] - 1e-9 <= best <= upper[count]


@pytest.mark.parametrize("count", [0, -2])
def test_greedy_gain_refuses(count):
    with pytest.raises(dp.DriftpeakError, match=f"count must be an integer .* 1; got {count}"):
        dp.greedy_gain(PRIOR, count)


# Gains of observations that fade


def test_information_under_drift_and_worth_are_log_determinants():
    """1/2 log |I + R (K o D) R| with D_ij = (1 - e)^(|i - j| / 2), R^2 = worth / lambda.

    Source: B16 (14); D22 (5).
    """
    arms, worth = np.array([0, 3, 3, 7]), np.array([0.2, 0.5, 0.9, 1.0])
    gram, noise = PRIOR.gram[np.ix_(arms, arms)], PRIOR.noise_variance
    ages = np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
    inflated = gram * 0.7 ** (ages / 2) + np.diag(noise / worth)
    expected = 0.5 * (np.linalg.slogdet(inflated)[1] - np.log(noise / worth).sum())
    found = dp.information_gain(PRIOR, arms, drift=0.3, weights=worth)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def ordered_greedy(prior, count, **options):
    """Enumerate every candidate at every time (drift) or age (worth), in turn."""
    chosen, gains = [], [0.0]
    for step in range(count):
        given = {key: value[: step + 1] if key == "weights" else value
                 for key, value in options.items()}  # fmt: skip
        tried = [dp.information_gain(prior, [*chosen, arm], **given) for arm in range(len(prior))]
        chosen.append(int(np.argmax(tried)))
        gains.append(max(tried))
    return gains


FADING = {
    "drift": {"drift": 0.2},
    "independent": {"drift": 1.0},
    "double-weighted": {"weights": 0.8 ** (2 * np.arange(80.0))},
    "injection": {"weights": 1 / (1 + np.arange(80.0) ** 1.5)},
}


@pytest.mark.parametrize("options", FADING.values(), ids=FADING)
@pytest.mark.parametrize(
    ("count", "kernel"), [(80, dp.SE(5.0)), (12, dp.Matern(0.8, 0.3))], ids=["feature", "function"]
)
def test_greedy_gain_that_fades_equals_enumeration(options, count, kernel):
    """Also over more observations than are folded at once, and through features (rank 1 of 9)."""
    points = np.linspace(0, 1, 9) * (1e-6 if count == 80 else 1)
    prior = dp.Prior(dp.Arms(points), kernel, 0.05)
    assert (prior.features_within(len(prior) // 8) is not None) == (count == 80)
    options = {key: v[:count] if key == "weights" else v for key, v in options.items()}
    gains = dp.greedy_gain(prior, count, **options)
    np.testing.assert_allclose(gains, ordered_greedy(prior, count, **options), atol=1e-6)


def test_greedy_gain_over_many_blocks_in_function_space():
    """200 observations of 30 rough arms, against the log-determinant of what a dense run picks."""
    points = np.random.default_rng(1).uniform(size=30)
    prior = dp.Prior(dp.Arms(points), dp.Matern(0.5, 0.2), 0.1)
    for options in ({}, {"drift": 0.05}, {"weights": 0.97 ** np.arange(200.0)}):
        worth, kept = options.get("weights", np.ones(200)), 1 - options.get("drift", 0.0)
        covariance, arms = prior.gram.copy(), []
        for u in worth:  # the posterior covariance itself, faded back to the prior at each step
            covariance = kept * covariance + (1 - kept) * prior.gram
            arms.append(int(np.argmax(covariance.diagonal())))
            column = covariance[:, arms[-1]]
            covariance = covariance - np.outer(column, column) / (column[arms[-1]] + 0.1 / u)
        np.testing.assert_allclose(
            dp.greedy_gain(prior, 200, **options)[-1],
            dp.information_gain(prior, arms, **options),
            rtol=1e-9,
        )


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("options", FADING.values(), ids=FADING)
def test_the_fading_maximum_lies_between_greedy_and_twice_it(options, seed):
    """Over all sequences of 4 of 5 points, by enumeration (625 of them).

    Source: B16 (15); D22 (5).
    """
    random = np.random.default_rng(seed)
    kernel = dp.Matern(1.5, 10 ** random.uniform(-1, 0))
    prior = dp.Prior(dp.Arms(random.uniform(0, 1, (5, 2))), kernel, 10 ** random.uniform(-2, 0))
    options = {key: v[:4] if key == "weights" else v for key, v in options.items()}
    best = max(dp.information_gain(prior, arms, **options) for arms in product(range(5), repeat=4))
    lower, upper = (dp.greedy_gain(prior, 4, upper=upper, **options)[-1] for upper in (False, True))
    assert lower <= best + 1e-12
    assert upper == pytest.approx(2 * lower)
    assert best <= upper


def test_fading_gains_in_order():
    """More forgetting of old observations, less gain; more drift, more to learn."""
    ages = np.arange(40.0)
    plain = dp.greedy_gain(PRIOR, 40)
    single = dp.greedy_gain(PRIOR, 40, weights=0.9**ages)
    double = dp.greedy_gain(PRIOR, 40, weights=0.9 ** (2 * ages))
    drifting = dp.greedy_gain(PRIOR, 40, drift=0.1)
    assert (double[2:] < single[2:]).all()
    assert (single[2:] < plain[2:]).all()
    assert (plain[2:] < drifting[2:]).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"drift": 1.5}, r"drift must lie in \[0, 1\]; got 1.5"),
        ({"weights": [1, 1]}, r"weights must be 3 numbers in \(0, 1\]"),
        ({"weights": [1, 1, 0]}, r"weights must be 3 numbers in \(0, 1\]"),
        ({"weights": [0.5, 1, 1]}, "weights must not increase with age"),
        ({"weights": [1, 1, 0.5], "drift": 0.1}, "at most one of drift and weights"),
    ],
)
def test_greedy_gain_refuses_what_cannot_fade(options, message):
    with pytest.raises(dp.DriftpeakError, match=message):
        dp.greedy_gain(PRIOR, 3, **options)


# What beliefs report


@pytest.mark.parametrize("form", FORMS)
def test_realised_information_of_a_belief(form):
    """Keep: 1/2 log |I + K_A / lambda| of all points chosen; a window or block: of those in it."""
    arms = np.random.default_rng(1).integers(0, 9, 13)
    times = np.arange(1.0, 14)
    for rule, kept in ((fg.Keep(), arms), (fg.Window(5), arms[-5:]), (fg.Restart(9.0), arms[9:])):
        posterior = finally_(dp.make_belief(PRIOR, rule, times, form=form), arms, times)
        np.testing.assert_allclose(posterior.information, log_determinant(kept), atol=1e-8)
        assert posterior.observations == len(kept)


@given(discount=st.floats(0.1, 1), seed=st.integers(0, 1000))
def test_single_weighted_information_bounds_the_double_weighted(discount, seed):
    """What `Confidence` relies on for WGP-UCB (D22 (5)), and that the belief reports it.

    With u = discount^age, the belief's is 1/2 log |I + K o sqrt(u u') / lambda|, the
    double-weighted 1/2 log |I + K o (u u') / lambda|.

    Source: D22 (5).
    """
    arms = np.random.default_rng(seed).integers(0, 9, 10)
    times = np.arange(1.0, 11)
    u = discount ** (10 - times)
    gram = PRIOR.gram[np.ix_(arms, arms)]
    single, double = (
        0.5 * np.linalg.slogdet(np.eye(10) + np.outer(w, w) * gram / 0.3)[1] for w in (u**0.5, u)
    )
    belief = dp.make_belief(PRIOR, fg.Discount(discount), times, form="feature-space")
    reported = finally_(belief, arms, times).information
    np.testing.assert_allclose(reported, single, atol=1e-8)
    assert double <= reported + 1e-8


# Widths


def posterior(information=0.0, observations=0):
    """What a width may look at."""
    return dp.Posterior(
        jnp.zeros(3), jnp.ones(3), jnp.asarray(float(information)), jnp.asarray(observations)
    )


def assert_width(width, expected, step=1, **known):
    np.testing.assert_allclose(width(step, posterior(**known)), expected, rtol=1e-12)
    traced = jax.jit(lambda step, known: width(step, known))(step, posterior(**known))
    np.testing.assert_allclose(traced, expected, rtol=1e-12)


def test_scaled_log():
    """sqrt(c1 log(c2 t)): 0.8 log(4 x 25) = 0.8 x 4.605170 = 3.684136, root 1.919410.

    With c2 = 0.4 the logarithm is negative at t = 1 and 2 (0.4, 0.8): the width is then 0, not nan.
    At t = 3: 0.2 log 1.2 = 0.0364643, root 0.190956.

    Source: B16 section 5.
    """
    np.testing.assert_allclose(widths.ScaledLog()(25, posterior()), 1.919410, atol=1e-6)
    assert_width(widths.ScaledLog(), np.sqrt(0.8 * np.log(100)), step=25)
    traffic = widths.ScaledLog(0.2, 0.4)
    assert_width(traffic, 0.0, step=1)
    assert_width(traffic, 0.0, step=2)
    np.testing.assert_allclose(traffic(3, posterior()), 0.190956, atol=1e-6)
    assert_width(widths.ScaledLog(0.0, 4.0), 0.0, step=100)


def test_constant():
    assert_width(widths.Constant(2.5), 2.5, step=7, information=3.0)
    assert_width(widths.Constant(0), 0.0)


def test_finite_domain():
    """Srinivas et al. Theorem 1, n = 100, t = 3, delta = 0.05.

    2 log(100 pi^2 9 / (6 x 0.05)) = 2 log 29608.81 = 20.591618, root 4.537799.

    Source: B16 footnote 1.
    """
    width = widths.FiniteDomain(100, delta=0.05)
    np.testing.assert_allclose(width(3, posterior()), 4.537799, atol=1e-5)
    assert_width(width, np.sqrt(2 * np.log(100 * np.pi**2 * 9 / 0.3)), step=3)


@pytest.mark.parametrize("horizon", [None, 200])
def test_bayesian_widths_are_b16_16_and_19(horizon):
    """As printed in the paper, with its r, d, a, b, delta, and T, or t in its place.

    (16) beta_T = 2 log(2 pi^2 T^2 / (3 delta))
                  + 2 d log(r d b T^2 sqrt(log(2 d a pi^2 T^2 / (3 delta))))
    (19) beta_T = 2 log(pi^2 T^2 / (2 delta))
                  + 2 d log(r d b T^2 sqrt(log(d a pi^2 T^2 / (2 delta))))

    Source: B16 (16), (19).
    """
    d, r, a, b, delta = 2, 3.0, 1.7, 0.6, 0.05
    constants = {"extent": r, "a": a, "b": b, "delta": delta, "horizon": horizon}
    for step in (1, 40, 200):
        t = step if horizon is None else horizon
        beta_16 = 2 * np.log(2 * np.pi**2 * t**2 / (3 * delta)) + 2 * d * np.log(
            r * d * b * t**2 * np.sqrt(np.log(2 * d * a * np.pi**2 * t**2 / (3 * delta)))
        )
        beta_19 = 2 * np.log(np.pi**2 * t**2 / (2 * delta)) + 2 * d * np.log(
            r * d * b * t**2 * np.sqrt(np.log(d * a * np.pi**2 * t**2 / (2 * delta)))
        )
        resetting = widths.Bayesian(d, resetting=True, **constants)
        drifting = widths.Bayesian(d, resetting=False, **constants)
        assert_width(resetting, np.sqrt(beta_16), step=step)
        assert_width(drifting, np.sqrt(beta_19), step=step)


def test_bayesian_width_by_hand():
    """(19) at d = r = a = b = 1, delta = 0.1, t = 10.

    pi^2 100 / 0.2 = 4934.802, log 8.504068; root of it 2.916174; x 100 = 291.6174, log 5.675442;
    beta = 2 x 8.504068 + 2 x 5.675442 = 28.359021, root 5.325319.

    Source: B16 (19).
    """
    width = widths.Bayesian(1, resetting=False, a=1.0, b=1.0)
    np.testing.assert_allclose(width(10, posterior()), 5.325319, atol=1e-5)


def test_bayesian_width_where_the_bound_is_trivial():
    """Tiny constants make logarithms negative: a finite width all the same."""
    width = widths.Bayesian(2, resetting=False, extent=1e-9, a=1e-9, b=1e-9, delta=0.999)
    found = width(1, posterior())
    np.testing.assert_allclose(found, np.sqrt(2 * np.log(np.pi**2 / 2 / 0.999)), rtol=1e-12)


def test_igp():
    """B + R sqrt(2 (gain + 1 + log 1/delta)): 2 + 0.5 sqrt(2 (3 + 1 + 2.302585)) = 3.775198."""
    width = widths.IGP(2.0, 0.5, 0.1)
    np.testing.assert_allclose(width(9, posterior(information=3.0)), 3.775198, atol=1e-5)
    assert_width(width, 2 + 0.5 * np.sqrt(2 * (4 + np.log(10))), information=3.0)


def test_confidence():
    """B + R / sqrt(lambda) sqrt(2 gain + 2 log 1/delta) (ZS21 Lemma 1), R = 0.3, lambda = 0.04.

    1 + 0.3 / 0.2 sqrt(2 x 1.5 + 2 log 20 = 8.991465) = 1 + 1.5 x 2.998577 = 5.497866.

    Source: ZS21 Lemma 1; D22 Theorem 2.
    """
    width = widths.Confidence(1.0, 0.3, 0.05, noise_variance=0.04)
    np.testing.assert_allclose(width(1, posterior(information=1.5)), 5.497866, atol=1e-5)
    assert_width(width, 1 + 1.5 * np.sqrt(3 + 2 * np.log(20)), information=1.5)


def test_sliding_confidence():
    """The same with 2 log(T / delta), T = 500 (ZS21 Lemma 2).

    1 + 1.5 sqrt(3 + 2 log 10000 = 21.420681) = 1 + 1.5 x 4.628248 = 7.942372.

    Source: ZS21 Lemma 2.
    """
    width = widths.SlidingConfidence(1.0, 0.3, 0.05, noise_variance=0.04, horizon=500)
    np.testing.assert_allclose(width(1, posterior(information=1.5)), 7.942372, atol=1e-5)
    assert_width(width, 1 + 1.5 * np.sqrt(3 + 2 * np.log(10_000)), information=1.5)


@pytest.mark.parametrize("form", FORMS)
def test_heteroscedastic_width_is_m25_12(form):
    """B + sqrt(2 log(2 |S + K|^(1/2) / (delta |S|^(1/2)))) with injected noise, by determinants.

    Source: M25 (12).
    """
    arms = np.array([0, 4, 4, 8, 2, 7])
    times = np.array([1.0, 2.0, 2.5, 5.0, 9.0, 9.5])
    belief = dp.make_belief(PRIOR, fg.Injection(0.7), times, form=form)
    known = finally_(belief, arms, times)
    noise = np.diag(0.3 * (1 + (9.5 - times) ** 0.7))
    gram = PRIOR.gram[np.ix_(arms, arms)]
    ratio = np.sqrt(np.linalg.det(noise + gram) / np.linalg.det(noise))
    expected = 1.5 + np.sqrt(2 * np.log(2 * ratio / 0.05))
    width = widths.Heteroscedastic(1.5, 0.05)
    np.testing.assert_allclose(width(6, known), expected, rtol=1e-8)


def test_elimination():
    """IT25 (8) for n = 100, T = 400, H = 16, delta = 0.1, lambda = 0.25, B = 2, C = 0.5, rho = 0.3.

    Q = ceil(400/16) (1 + log2 log2 16) = 25 x 3 = 75; L = log(4 x 100 x 75 / 0.1) = 12.611538;
    sqrt(L / lambda) = 7.102545; 2 (0.5 x 7.102545 + 1) + 0.3 sqrt(2) 7.102545 = 12.115900.
    With T = 401 a 26th interval begins: Q = 78.

    Source: IT25 (8).
    """
    given = {"period": 16, "noise_variance": 0.25, "norm_bound": 2.0, "noise_scale": 0.3}
    width = widths.Elimination(100, horizon=400, constant=0.5, delta=0.1, **given)
    np.testing.assert_allclose(width(1, posterior()), 12.115900, atol=1e-5)
    for horizon, batches in ((400, 75), (401, 78)):
        width = widths.Elimination(100, horizon=horizon, constant=0.5, delta=0.1, **given)
        log = np.log(4 * 100 * batches / 0.1)
        expected = 2 * (0.5 / 0.5 * np.sqrt(log) + 1) + 0.3 / 0.5 * np.sqrt(2 * log)
        assert_width(width, expected, step=17, information=3.0)


def test_elimination_with_the_proved_constant():
    given = {"horizon": 400, "period": 16, "noise_variance": 0.25, "norm_bound": 2.0}
    proved = widths.Elimination(100, constant="proved", **given)
    assert proved.value == widths.Elimination(100, constant=np.sqrt(8), **given).value
    root = np.sqrt(np.log(4 * 100 * 75 / 0.1) / 0.25)
    np.testing.assert_allclose(proved.value, 2 * (np.sqrt(8) * root + 1) + np.sqrt(2) * root)


def test_fixed_design():
    """B + rho sqrt(2 log(2 n b / delta) / lambda), n = 100, b = 4, delta = 0.1, lambda = 0.25."""
    given = {"noise_variance": 0.25, "norm_bound": 2.0, "noise_scale": 0.3}
    width = widths.FixedDesign(100, batches=4, delta=0.1, **given)
    assert_width(width, 2 + 0.3 * np.sqrt(2 * np.log(8000) / 0.25), step=17, information=3.0)


def test_a_tabulated_gain_is_looked_up_by_the_observations_in_memory():
    """Instead of the realised information, which is 9 nats here."""
    gain = dp.TabulatedGain([0.0, 1.0, 1.6, 2.0])
    width = widths.IGP(0.0, 1.0, 0.5, gain)
    for count, value in enumerate([0.0, 1.0, 1.6, 2.0]):
        expected = np.sqrt(2 * (value + 1 + np.log(2)))
        assert_width(width, expected, information=9.0, observations=count)


# Refusals

DELTA = r"delta must lie in \(0, 1\); got "
REFUSED = {
    "delta 0": (lambda: widths.IGP(delta=0.0), DELTA + "0"),
    "delta 1": (lambda: widths.Heteroscedastic(delta=1.0), DELTA + "1"),
    "delta 1.5": (lambda: widths.FiniteDomain(5, delta=1.5), DELTA + "1.5"),
    "delta < 0": (lambda: widths.Bayesian(2, resetting=True, a=1, b=1, delta=-0.1), DELTA + "-0.1"),
    "delta nan": (lambda: widths.Confidence(delta=np.nan, noise_variance=1.0), DELTA + "nan"),
    "norm bound": (
        lambda: widths.IGP(-1.0),
        "norm_bound must be a finite number of at least 0; got -1",
    ),
    "M25's norm bound": (
        lambda: widths.Heteroscedastic(-0.5),
        "norm_bound must be a finite number of at least 0; got -0.5",
    ),
    "noise scale": (
        lambda: widths.Confidence(1.0, -0.1, noise_variance=1.0),
        "noise_scale must be a finite number of at least 0; got -0.1",
    ),
    "noise variance": (
        lambda: widths.Confidence(noise_variance=0.0),
        "noise_variance must be a finite number above 0; got 0",
    ),
    "horizon": (
        lambda: widths.SlidingConfidence(noise_variance=1.0, horizon=0),
        "horizon must be an integer of at least 1; got 0",
    ),
    "Bayesian horizon": (
        lambda: widths.Bayesian(2, resetting=True, a=1, b=1, horizon=0),
        "horizon must be an integer of at least 1; got 0",
    ),
    "dimension": (
        lambda: widths.Bayesian(0, resetting=True, a=1, b=1),
        "dimension must be an integer of at least 1; got 0",
    ),
    "extent": (
        lambda: widths.Bayesian(1, resetting=True, a=1, b=1, extent=0.0),
        "extent must be a finite number above 0; got 0",
    ),
    "a": (lambda: widths.Bayesian(1, resetting=True, a=-1.0, b=1), "a must be .* above 0; got -1"),
    "b": (lambda: widths.Bayesian(1, resetting=True, a=1, b=0.0), "b must be .* above 0; got 0"),
    "c1": (lambda: widths.ScaledLog(-0.1), "c1 must be a finite number of at least 0; got -0.1"),
    "c2": (lambda: widths.ScaledLog(0.8, 0.0), "c2 must be a finite number above 0; got 0"),
    "width": (lambda: widths.Constant(-1.0), "width must be .* at least 0; got -1"),
    "points": (lambda: widths.FiniteDomain(1), "points must be an integer of at least 2; got 1"),
    "period": (
        lambda: widths.Elimination(5, horizon=10, period=11, noise_variance=1.0),
        r"period must lie in \[2, 10\], up to the horizon; got 11",
    ),
    "period 1": (
        lambda: widths.Elimination(5, horizon=10, period=1, noise_variance=1.0),
        "period must be an integer of at least 2; got 1",
    ),
    "IT25's delta": (
        lambda: widths.Elimination(5, horizon=9, period=3, noise_variance=1.0, delta=0.0),
        DELTA + "0",
    ),
    "IT25's constant": (
        lambda: widths.Elimination(5, horizon=9, period=3, noise_variance=1.0, constant=-1.0),
        "constant must be a finite number of at least 0; got -1",
    ),
    "IT25's constant in words": (
        lambda: widths.Elimination(5, horizon=9, period=3, noise_variance=1.0, constant="proven"),
        "constant must be a number of at least 0 or \"proved\"; got 'proven'",
    ),
    "decreasing gains": (
        lambda: dp.TabulatedGain([0.0, 2.0, 1.0]),
        "values must start at 0 or above and must not decrease",
    ),
    "negative gain": (
        lambda: dp.TabulatedGain([-0.1, 0.0]),
        "values must start at 0 or above and must not decrease",
    ),
    "no gains": (lambda: dp.TabulatedGain([]), "values must start at 0 or above"),
    "nan gain": (lambda: dp.TabulatedGain([0.0, np.nan]), r"values must .*index \[1\]"),
}


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.usefixtures("without_type_checks")
def test_refusals_name_the_culprit_and_what_is_accepted(case):
    make, message = REFUSED[case]
    with pytest.raises(dp.DriftpeakError, match=message):
        make()


TOO_SHORT = "gains of up to {0} observations, .*; got 3. Use greedy_gain.prior, {0}"


@pytest.mark.parametrize(
    ("rule", "needed"),
    [
        (fg.Keep(), 20),
        (fg.Drift(0.1), 20),
        (fg.Window(4), 4),
        (fg.Restart(7.0), 7),
        (fg.Discount(0.1), 20),
        (fg.Injection(1.0), 20),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_gain_table_too_short_for_the_run_is_refused_beforehand(rule, needed):
    """By `prepare`, which counts the observations that can be in memory at once.

    A table that is just long enough passes: it reaches all of `needed`.
    """
    short, enough = (
        widths.Confidence(gain=dp.TabulatedGain(np.arange(float(n))), noise_variance=0.3)
        for n in (4, needed + 1)
    )
    with pytest.raises(dp.DriftpeakError, match=TOO_SHORT.format(needed)):
        dp.BeliefPolicy(PRIOR, rule, width=short).prepare(20)
    assert dp.BeliefPolicy(PRIOR, rule, width=enough).prepare(20).points == 9


# H23's fractional gain


def test_fractional_gain_of_independent_points_is_known():
    """n independent points: the even design, n log(1 + (T / sigma) / n).

    Source: H23 information gain.
    """
    prior = dp.Prior(dp.Arms(6), dp.kernels.Table(np.eye(6)), noise_variance=0.1)
    assert dp.fractional_gain(prior, 50.0) == pytest.approx(6 * np.log(1 + 50 / 6), abs=1e-6)


def test_fractional_gain_is_at_least_twice_the_gain_of_any_set():
    """An empirical distribution of T points is one of the distributions: equal for no better one.

    Against all multisets of 3 of 5 points, and the greedy choice of 40.

    Source: H23 information gain.
    """
    from itertools import combinations_with_replacement

    points = np.random.default_rng(3).uniform(0, 1, (5, 1))
    prior = dp.Prior(dp.Arms(points), dp.SE(0.3), noise_variance=0.2)
    sets = combinations_with_replacement(range(5), 3)
    best = max(dp.information_gain(prior, list(chosen)) for chosen in sets)
    assert dp.fractional_gain(prior, 3 / 0.2) >= 2 * best - 1e-9
    greedy = 2 * dp.greedy_gain(prior, 40)[-1]
    fractional = dp.fractional_gain(prior, 40 / 0.2)
    assert greedy - 1e-9 <= fractional <= 1.05 * greedy


def test_fractional_gain_refuses(without_type_checks):
    prior = dp.Prior(dp.Arms(3), dp.kernels.Table(np.eye(3)), noise_variance=0.1)
    with pytest.raises(dp.DriftpeakError, match="ratio must be a finite number above 0; got 0"):
        dp.fractional_gain(prior, 0)
