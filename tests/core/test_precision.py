"""Beliefs keep their digits where the noise is small, against extended precision.

The yardstick is the error that a fresh Cholesky factorisation in double precision makes of the
same observations, the worst of twenty orders: ten times that is what a belief may be off by, or ten
times the rounding of a number of the prior's size where that is more. (The error of one order is
luck: it differs between processors by a factor of ten and more.)
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from dense import inflation, temporal_correlation
from hypothesis import example, given, settings, strategies as st
from scipy.linalg import solve_triangular

import driftpeak as dp
from driftpeak._core.errors import DriftpeakError
from driftpeak._core.numerics.precision import check_digits
from driftpeak.gp import forgetting as fg
from driftpeak.gp.dynamics import MarkovMotion, Matern32
from driftpeak.gp.feature_matrix import quadratic_forms, squared_sums
from driftpeak.inference.beliefs import Sliding
from driftpeak.inference.beliefs.weights import condense, weight_posterior
from driftpeak.inference.imm import InteractingMultipleModel
from driftpeak.policies.belief_policy import BeliefPlayer, BeliefPolicy
from driftpeak.policies.player import Prediction

LONG = np.longdouble
needs_extended_precision = pytest.mark.skipif(
    np.finfo(LONG).eps > 1e-18, reason="NumPy's long double is no longer than a double here"
)
LINE = dp.Grid([0, 1], size=40)
KERNELS = {"se": dp.SE(0.2), "matern": dp.Matern(2.5, 0.2)}
FEATURES = {
    name: dp.features.pivoted_cholesky(kernel, LINE, tolerance=1e-16)
    for name, kernel in KERNELS.items()
}
ORDERS = 20
ROUNDING = 8 * np.finfo(float).eps


def cholesky(matrix):
    """Row by row, in the matrix's own precision: LAPACK has none beyond double."""
    left, lower = matrix.copy(), np.zeros_like(matrix)
    for j in range(len(left)):
        lower[j:, j] = left[j:, j] / np.sqrt(left[j, j])
        left[j + 1 :, j + 1 :] -= np.multiply.outer(lower[j + 1 :, j], lower[j + 1 :, j])
    return lower


def forward(lower, right):
    solved = right.copy()
    for i in range(len(lower)):
        solved[i] /= lower[i, i]
        solved[i + 1 :] -= np.multiply.outer(lower[i + 1 :, i], solved[i])
    return solved


def regression(gram, arms, residuals, noise, among, cross, precision):
    """Posterior mean and variance; `among` and `cross` are correlations in time."""
    covariance = gram[np.ix_(arms, arms)].astype(precision) * among.astype(precision)
    covariance += np.diag(noise.astype(precision))
    right = np.column_stack([gram[arms] * cross[:, None], residuals]).astype(precision)
    if precision is LONG:
        right[:, :-1] = gram[arms].astype(LONG) * cross.astype(LONG)[:, None]
        solved = forward(cholesky(covariance), right)
    else:
        solved = solve_triangular(np.linalg.cholesky(covariance), right, lower=True)
    return (
        solved[:, -1] @ solved[:, :-1],
        gram.diagonal().astype(precision) - (solved[:, :-1] ** 2).sum(axis=0),
    )


class Yardstick:
    """The largest errors so far, of beliefs and of fresh factorisations."""

    def __init__(self):
        self.found, self.fresh = np.zeros(2), np.zeros(2)

    def compare(self, mean, variance, gram, arms, residuals, noise, among, cross):
        exact = regression(gram, arms, residuals, noise, among, cross, LONG)
        scale = np.array([max(1.0, np.abs(residuals).max()), 1.0]) * gram.diagonal().max()
        self.fresh = np.maximum(self.fresh, ROUNDING * scale)
        told, shuffle = np.arange(len(arms)), np.random.default_rng(0).permutation
        for order in (told, told[::-1], *(shuffle(told) for _ in range(ORDERS - 2))):
            one = regression(
                gram, arms[order], residuals[order], noise[order],
                among[order, :][:, order], cross[order], np.float64,
            )  # fmt: skip
            self.fresh = np.maximum(self.fresh, _largest(one, exact))
        self.found = np.maximum(self.found, _largest((mean, variance), exact))

    def check(self, what=""):
        assert (self.found <= 10 * self.fresh).all(), (what, self.found / self.fresh)


def _largest(found, exact):
    return [float(np.abs(np.asarray(x, LONG) - y).max()) for x, y in zip(found, exact, strict=True)]


@jax.jit
def follow(belief, arms, rewards, times):
    """The posterior at the time of every observation, just after it."""

    def step(state, observation):
        arm, reward, time = observation
        state = belief.update(state, arm, reward, time)
        posterior = belief.posterior(state, time)
        return state, (posterior.mean, posterior.variance)

    return jax.lax.scan(step, belief.init(), (arms, rewards, times))[1]


def observations(features, noise_variance, steps, seed):
    """Of a function of the prior, its rewards noisy, at points that need not be spread out."""
    random = np.random.default_rng(seed)
    values = features.matrix @ random.normal(size=features.rank)
    arms = random.integers(0, random.integers(2, 41), steps)
    return arms, values[arms] + np.sqrt(noise_variance) * random.normal(size=steps)


def compare(yardstick, posterior, gram, rule, parameter, noise_variance, arms, rewards, step):
    """Of the posterior after so many steps."""
    times = np.arange(1.0, step + 1)
    h = inflation(rule, parameter, times, times[-1])
    alive = np.flatnonzero(np.isfinite(h) & (h < 1e30))
    at = times[alive]
    yardstick.compare(
        *(moment[step - 1] for moment in posterior), gram, arms[alive], rewards[alive],
        noise_variance * h[alive],
        temporal_correlation(rule, parameter, at[:, None], at[None, :]),
        temporal_correlation(rule, parameter, at, times[-1]),
    )  # fmt: skip


RULES = {
    "keep": (fg.Keep(), None),
    "restart": (fg.Restart(25.0), 25.0),
    "drift": (fg.Drift(0.01), 0.01),
    "discount": (fg.Discount(0.9), 0.9),
    "injection": (fg.Injection(1.0), 1.0),
    "weights": (fg.Weights(np.arange(1.0, 61)), np.arange(1.0, 61)),
    **{f"window {w}": (fg.Window(w), w) for w in (1, 5, 10, 20, 40)},
}
STEPS = 60


@pytest.mark.slow
@needs_extended_precision
@settings(max_examples=6)
@given(
    kernel=st.sampled_from(sorted(KERNELS)),
    rule=st.sampled_from(sorted(RULES)),
    exponent=st.floats(-10, 0),
    seed=st.integers(0, 2**32 - 1),
)
@example(kernel="se", rule="window 10", exponent=-10.0, seed=0)
@example(kernel="se", rule="window 20", exponent=-8.0, seed=1)
@example(kernel="matern", rule="window 40", exponent=-10.0, seed=2)
@example(kernel="matern", rule="discount", exponent=-10.0, seed=3)
@example(kernel="se", rule="injection", exponent=-10.0, seed=4)
@example(kernel="matern", rule="weights", exponent=-9.0, seed=5)
@example(kernel="matern", rule="drift", exponent=-10.0, seed=6)
@example(kernel="se", rule="keep", exponent=-10.0, seed=7)
def test_every_belief_is_as_exact_as_a_fresh_factorisation(kernel, rule, exponent, seed):
    """In feature space and function space, noise variances from 1 to 1e-10 of the signal's."""
    noise_variance = 10.0**exponent
    prior = dp.Prior(LINE, KERNELS[kernel], noise_variance)
    forgetting, parameter = RULES[rule]
    arms, rewards = observations(FEATURES[kernel], noise_variance, STEPS, seed)
    for options in ({"features": FEATURES[kernel]}, {"form": "function-space"}):
        belief = dp.make_belief(prior, forgetting, STEPS, **options)
        posterior = follow(belief, arms, rewards, np.arange(1.0, STEPS + 1))
        yardstick = Yardstick()
        for step in (1, 4, 9, 18, 35, 59, 60):
            compare(
                yardstick, posterior, prior.gram, rule.split()[0], parameter,
                noise_variance, arms, rewards, step,
            )  # fmt: skip
        yardstick.check((options, yardstick.found, yardstick.fresh))


def motions():
    return MarkovMotion((0.0, 0.01, 0.25)), Matern32((0.03,))


def time_correlation(member, lag):
    if member < 3:
        return (1 - (0.0, 0.01, 0.25)[member]) ** (np.abs(lag) / 2)
    moved = 0.03 * np.abs(lag)
    return (1 + moved) * np.exp(-moved)


@jax.jit
def follow_bank(bank, arms, residuals, noise):
    def step(state, observation):
        arm, residual = observation
        state = bank.update(state, arm, residual[None], noise, 1.0)
        forecast = bank.posterior(state, 0.0)
        return state, (forecast.mean[:, 0], forecast.variance)

    return jax.lax.scan(step, bank.init(), (arms, residuals))[1]


@pytest.mark.slow
@needs_extended_precision
@settings(max_examples=3)
@given(exponent=st.floats(-10, 0), seed=st.integers(0, 2**32 - 1))
@example(exponent=-10.0, seed=0)
def test_every_member_of_the_bank_is_as_exact(exponent, seed):
    noise = 10.0**exponent
    prior = dp.Prior(LINE, KERNELS["matern"], noise)
    arms, residuals = observations(FEATURES["matern"], noise, STEPS, seed)
    bank = InteractingMultipleModel(prior, motions(), FEATURES["matern"])
    means, variances = follow_bank(bank, arms, residuals, noise)
    for member in range(bank.count):
        yardstick = Yardstick()
        for step in (1, 4, 18, 60):
            times = np.arange(1.0, step + 1)
            yardstick.compare(
                means[step - 1, member], variances[step - 1, member], prior.gram,
                arms[:step], residuals[:step], np.full(step, noise),
                time_correlation(member, times[:, None] - times),
                time_correlation(member, times - times[-1]),
            )  # fmt: skip
        yardstick.check((member, yardstick.found, yardstick.fresh))


@needs_extended_precision
@pytest.mark.parametrize(
    "exponent",
    [
        pytest.param(
            exponent, marks=[pytest.mark.slow if exponent in (0, -6) else pytest.mark.long]
        )
        for exponent in (0, -2, -4, -6, -8, -10)
    ],
)
def test_windows_stay_exact_for_ten_thousand_steps(exponent):
    """Windows of 1 to 500, in one program; each looked at twelve times, early, late, between."""
    steps, noise_variance = 10_000, 10.0**exponent
    prior = dp.Prior(LINE, KERNELS["se"], noise_variance)
    arms, rewards = observations(FEATURES["se"], noise_variance, steps, 11 - exponent)
    for length in (1, 2, 7, 8, 9, 16, 25, 60, 150, 500):
        belief = dp.make_belief(prior, fg.Window(length), steps, features=FEATURES["se"])
        posterior = follow(belief, arms, rewards, np.arange(1.0, steps + 1))
        yardstick = Yardstick()
        for step in (3, 77, 600, 9_993, 9_997, 10_000):
            newest = slice(max(0, step - length), step)
            count = len(arms[newest])
            yardstick.compare(
                posterior[0][step - 1], posterior[1][step - 1], prior.gram, arms[newest],
                rewards[newest], np.full(count, noise_variance), np.ones((count, count)),
                np.ones(count),
            )  # fmt: skip
        yardstick.check((length, yardstick.found, yardstick.fresh))


@pytest.mark.parametrize(
    ("noise_variance", "window"),
    [
        pytest.param(1e-8, 10, marks=pytest.mark.slow),
        pytest.param(1e-6, 10, marks=pytest.mark.slow),
        (1e-10, 30),
    ],
)
def test_feature_space_and_function_space_choose_the_same_points(noise_variance, window):
    """SW-GP-UCB at little noise, 200 steps; once 70 % of the actions differed."""
    prior = dp.Prior(dp.Grid([0, 1], size=40), dp.SE(0.2), noise_variance)
    forms = {
        form: dp.SWGPUCB(prior, window=window, form=form)
        for form in ("feature-space", "function-space")
    }
    world = dp.MarkovDrift(prior, drift=0.001)
    runs = dp.simulate(forms, world, steps=200, trials=2, seed=0)
    first, second = runs["action"].to_numpy()
    np.testing.assert_array_equal(first, second)


def test_features_of_a_prior_follow_the_noise():
    """They are exact to 1e-10 of the prior variance, and to 1e-6 of the noise variance."""
    ranks = []
    for noise_variance, error in ((1.0, 1e-10), (1e-4, 1e-10), (1e-6, 1e-12), (1e-9, 1e-15)):
        prior = dp.Prior(LINE, dp.SE(0.2), 1.0).with_noise_variance(noise_variance)
        assert prior.features.error <= error * (1 + 1e-9)
        ranks.append(prior.features.rank)
        assert prior.features_within(prior.features.rank - 1) is None
    assert ranks[0] == ranks[1] < ranks[2] < ranks[3]


def test_features_are_shared_only_where_they_are_good_enough():
    prior = dp.Prior(LINE, dp.SE(0.2), 1.0)
    assert prior.with_noise_variance(0.1).features is prior.features
    assert prior.with_noise_variance(1e-8).features.rank > prior.features.rank


def test_condensed_rows_say_the_same():
    random = np.random.default_rng(0)
    rows, targets = random.normal(size=(50, 6)), random.normal(size=50)
    few = condense(jnp.asarray(rows), jnp.asarray(targets))
    assert few[0].shape == (6, 6)
    np.testing.assert_allclose(few[0].T @ few[0], rows.T @ rows, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(few[0].T @ few[1], rows.T @ targets, rtol=1e-12, atol=1e-12)
    learned = weight_posterior(*few)
    precision = np.eye(6) + rows.T @ rows
    np.testing.assert_allclose(learned.covariance, np.linalg.inv(precision), atol=1e-14)
    np.testing.assert_allclose(learned.mean, np.linalg.solve(precision, rows.T @ targets))
    assert learned.information == pytest.approx(0.5 * np.linalg.slogdet(precision)[1])


@pytest.mark.parametrize("points", [50, 2**20])
def test_sums_over_features_do_not_depend_on_the_pieces(points):
    """With 2^20 points the five rows are taken four at a time."""
    random = np.random.default_rng(0)
    features, factor = random.normal(size=(points, 3)), random.normal(size=(5, 3))
    square = random.normal(size=(3, 3))
    found = squared_sums(jnp.asarray(features), jnp.asarray(factor))
    np.testing.assert_allclose(found, ((features @ factor.T) ** 2).sum(axis=1), rtol=1e-12)
    found = quadratic_forms(jnp.asarray(features), jnp.asarray(square))
    np.testing.assert_allclose(found, ((features @ square) * features).sum(axis=1), atol=1e-11)


class Overconfident(BeliefPlayer):
    """Its variances fall below zero by a twentieth of the noise variance."""

    def predict(self, state, time):
        expected = super().predict(state, time)
        variance = expected.variance.at[3].set(-0.05 * expected.noise_variance)
        return Prediction(expected.mean, variance, expected.noise_variance)


class Rash(BeliefPolicy):
    def prepare(self, times):
        player = super().prepare(times)
        return Overconfident(player.belief, player.acquisition)


@pytest.mark.slow
def test_lost_digits_are_told():
    prior = dp.Prior(LINE, dp.SE(0.2), 0.1)
    policy = Rash(prior, fg.Keep())
    with pytest.raises(
        DriftpeakError, match=r"'x' after step 3: .* got -0.05 times the noise variance"
    ):
        dp.simulate({"x": policy}, dp.MarkovDrift(prior, drift=0.1), steps=3)
    with pytest.raises(DriftpeakError, match="posterior variances must not be negative"):
        check_digits("it", np.nan)
    check_digits("it", -0.001)
    check_digits("it", None)


@pytest.mark.slow
def test_noise_below_rounding_is_refused_by_simulate():
    """At 1e-20 of the signal there is nothing to compute with: never a silent wrong answer."""
    prior = dp.Prior(LINE, dp.Matern(1.5, 0.2), 1e-20)
    for form in ("feature-space", "function-space"):
        policy = dp.SWGPUCB(prior, window=30, form=form)
        with pytest.raises(DriftpeakError, match="posterior variances must not be negative"):
            dp.simulate({"sw": policy}, dp.MarkovDrift(prior, drift=0.01), steps=60)


def test_one_program_serves_many_windows():
    """The window's length is a traced number: beliefs of different lengths have one structure."""
    prior = dp.Prior(LINE, dp.SE(0.2), 0.1)
    features = dp.features.pivoted_cholesky(prior.kernel, LINE)
    beliefs = [Sliding(prior, fg.Window(length), features, length) for length in (1, 9, 64)]
    assert len({jax.tree.structure(belief) for belief in beliefs}) == 1
