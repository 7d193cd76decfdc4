"""D22's lemmas on weighted regression, against explicit features and simulated choices."""

import math

import dense
import numpy as np
import pytest

import driftpeak as dp
from driftpeak.gp.features import quadrature_fourier, quadrature_fourier_bound
from driftpeak.policies import widths
from driftpeak.theory.budget_bounds import wgp_ucb_regret
from driftpeak.theory.weighted import (
    deviation_error,
    error_deviation,
    feature_degree,
    memory_length,
    recent_deviations,
    sum_of_deviations,
    surrogate,
    weighted_regret,
)

GRID = dp.Grid([0, 1], size=25)
DISCOUNTS = (0.5, 0.9, 0.99)


def prior_with(noise_variance, kernel=None):
    return dp.Prior(GRID, dp.SE(0.3) if kernel is None else kernel, noise_variance)


def deviations(gram, noise_variance, arms, worth):
    """(3) at every point, by two linear solves."""
    among = gram[np.ix_(arms, arms)] + noise_variance * np.diag(1 / worth)
    explained = (gram[arms] * np.linalg.solve(among, gram[arms])).sum(axis=0)
    return np.sqrt(np.maximum(gram.diagonal() - explained, 0))


def played(prior, discount, steps, seed=0):
    """Points that uncertainty alone would choose, the first few at random."""
    generator = np.random.default_rng(seed)
    arms: list[int] = []
    for step in range(steps):
        if step % 7 == 0:
            arms.append(int(generator.integers(0, len(prior))))
            continue
        worth = discount ** np.arange(len(arms) - 1.0, -1, -1)
        arms.append(
            int(deviations(prior.gram, prior.noise_variance, np.array(arms), worth).argmax())
        )
    return np.array(arms)


@pytest.mark.parametrize("noise_variance", [0.01, 1.0])
@pytest.mark.parametrize("discount", DISCOUNTS)
def test_error_deviation_is_theorem_2_s_in_feature_space(discount, noise_variance):
    """lambda phi' V^-1 V~ V^-1 phi with explicit features, and never above (3) (Lemma 13).

    Source: D22 Theorem 2, Lemma 13.
    """
    prior = prior_with(noise_variance, dp.Matern(1.5, 0.3))
    arms = np.random.default_rng(1).integers(0, 25, 12)
    ages = np.arange(11.0, -1, -1)
    phi = np.linalg.cholesky(prior.gram + 1e-13 * np.eye(25))
    seen = phi[arms]
    v = seen.T @ np.diag(discount**ages) @ seen + noise_variance * np.eye(25)
    v2 = seen.T @ np.diag(discount ** (2 * ages)) @ seen + noise_variance * np.eye(25)
    half = np.linalg.solve(v, phi.T)
    expected = np.sqrt(noise_variance * (half * (v2 @ half)).sum(axis=0))
    found = error_deviation(prior, arms, discount**ages)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
    believed = deviations(prior.gram, noise_variance, arms, discount**ages)
    assert (found <= believed + 1e-12).all()
    assert (found < believed - 1e-6).any()


def test_error_deviation_is_the_error_of_the_weighted_predictor():
    """4,000 functions and noises of the prior: the mean square error within 5 standard errors."""
    prior = prior_with(0.2)
    arms = np.array([3, 3, 20, 11, 12])
    worth = 0.7 ** np.arange(4.0, -1, -1)
    generator = np.random.default_rng(2)
    functions = (
        generator.normal(size=(4000, 25)) @ np.linalg.cholesky(prior.gram + 1e-12 * np.eye(25)).T
    )
    rewards = functions[:, arms] + math.sqrt(0.2) * generator.normal(size=(4000, 5))
    among = prior.gram[np.ix_(arms, arms)] + 0.2 * np.diag(1 / worth)
    errors = functions - rewards @ np.linalg.solve(among, prior.gram[arms])
    measured = (errors**2).mean(axis=0)
    expected = error_deviation(prior, arms, worth) ** 2
    assert (np.abs(measured - expected) < 5 * expected * math.sqrt(2 / 4000)).all()


def test_error_deviation_without_forgetting_is_the_posterior_s():
    """Source: D22 Remark 2."""
    prior = prior_with(0.1)
    arms = np.array([1, 5, 5, 17])
    times = np.arange(1.0, 5)
    variance = dense.posterior(
        prior.gram, 0.1, np.zeros(25), "keep", None, arms, np.zeros(4), times, 4.0
    )[1]
    np.testing.assert_allclose(error_deviation(prior, arms, np.ones(4)), np.sqrt(variance))
    np.testing.assert_allclose(error_deviation(prior, [], []), 1.0)
    with pytest.raises(dp.DriftpeakError, match="weights must be 2 positive numbers"):
        error_deviation(prior, [1, 2], [0.5, 0.0])
    with pytest.raises(dp.DriftpeakError, match=r"arms must be a list of integers in 0\.\.24"):
        error_deviation(prior, [25], [1.0])


def test_theorem_2_covers():
    """f of norm B that stays, normal noise: beyond beta sigma~ in at most delta of 400 runs, at
    one step; with delta = 0.2 one-sided, 400 runs exceed 0.2 + 3.1 standard errors in 1 of 1000.

    Source: D22 Theorem 2.
    """
    prior, noise, norm = prior_with(0.5), 0.5, 1.0
    generator = np.random.default_rng(3)
    arms = generator.integers(0, 25, 30)
    ages = np.arange(29.0, -1, -1)
    worth = 0.9**ages
    among = prior.gram[np.ix_(arms, arms)]
    weights = np.linalg.solve(among + noise * np.diag(1 / worth), prior.gram[arms])
    error = error_deviation(prior, arms, worth)
    gain = dp.information_gain(prior, arms, weights=worth**2)
    width = norm + math.sqrt(2 * math.log(1 / 0.2) + 2 * gain)  # R^2 = lambda
    shape = prior.gram[:, 8] / math.sqrt(prior.gram[8, 8])
    rewards = shape[arms] + math.sqrt(noise) * generator.normal(size=(400, 30))
    beyond = (np.abs(rewards @ weights - shape) > width * error + 1e-12).any(axis=1)
    assert beyond.mean() <= 0.2 + 3.1 * math.sqrt(0.16 / 400)


def test_lemma_10_does_not_hold_at_all_steps_together():
    """One point, k = 1, f = 0, discount 1/2, R = lambda = 1. The bound of |S_t| does not grow, and
    a sum whose noise is renewed exceeds every number in time: at delta = 0.1 each of 20 runs does
    within 20,000 steps, though at far fewer than a tenth of them, as the lemma says of each.

    Source: D22 Lemma 10, (7).
    """
    discount, steps = 0.5, 20_000
    noise = np.random.default_rng(4).normal(size=(20, steps))
    total, squares = np.zeros(20), 0.0
    exceeded = np.zeros(20)
    for step in range(steps):
        total = discount * total + noise[:, step]
        squares = discount**2 * squares + 1
        bound = math.sqrt(2 * math.log(10) + math.log1p(squares))
        exceeded += np.abs(total) / math.sqrt(squares + 1) > bound
    assert (exceeded > 0).all()
    assert (exceeded / steps < 0.1).all()


@pytest.mark.parametrize("noise_variance", [0.01, 1.0])
@pytest.mark.parametrize("discount", DISCOUNTS)
@pytest.mark.parametrize("degree", [3, 6, 12])
def test_lemma_15_bounds_the_change_of_deviations(degree, discount, noise_variance):
    """Source: D22 Lemma 15."""
    prior = prior_with(noise_variance)
    features = quadrature_fourier(0.3, GRID, degree=degree)
    arms = played(prior, discount, 40)
    worth = discount ** np.arange(39.0, -1, -1)
    found = np.abs(
        deviations(prior.gram, noise_variance, arms, worth)
        - deviations(features.matrix @ features.matrix.T, noise_variance, arms, worth)
    ).max()
    bound = deviation_error(
        feature_error=features.error, total_weight=float(worth.sum()), noise_variance=noise_variance
    )
    assert found <= bound.number


@pytest.mark.parametrize("noise_variance", [0.05, 1.0])
@pytest.mark.parametrize("discount", DISCOUNTS)
def test_lemmas_16_to_19_bound_sums_of_deviations(discount, noise_variance):
    """Points of largest deviation, which make the sums large; the gain is that of these points.

    Source: D22 Lemmas 16-19.
    """
    prior = prior_with(noise_variance)
    steps, degree = 60, 6
    quadrature = quadrature_fourier(0.3, GRID, degree=degree)
    arms = played(prior, discount, steps)
    before, recent_sums = 0.0, []
    for step in range(steps):
        past = arms[:step]
        worth = discount ** np.arange(step - 1.0, -1, -1)
        now = deviations(prior.gram, noise_variance, past, worth)
        before += now[arms[step]]
        newest = slice(max(step - 10, 0), step)
        recent_sums.append((worth[newest] * now[past[newest]]).sum())
    gains = [
        dp.information_gain(prior, arms[:n], weights=discount ** np.arange(n - 1.0, -1, -1))
        for n in range(1, steps + 1)
    ]
    common = {"discount": discount, "noise_variance": noise_variance}
    for features, error in ((12, quadrature.error), (25, 0.0)):
        bound = sum_of_deviations(
            gain=gains[-1], horizon=steps, features=features, feature_error=error, **common
        )
        assert before <= bound.number
    recent = recent_deviations(gain=max(gains), memory=10, **common)
    assert max(recent_sums) <= recent.number


def test_by_hand():
    """lambda = 1/(e - 1): C = 1. T = 4, gamma = 1/e, p = 2, gain 3: sqrt(4 (6 + 8)).

    With an error of 0.01 at lambda = 1: W = (1 - gamma^4)/(1 - gamma).

    Source: D22 Lemma 17, Lemma 20, Theorem 4.
    """
    noise = 1 / (math.e - 1)
    common = {"gain": 3.0, "horizon": 4, "discount": 1 / math.e, "features": 2}
    exact = sum_of_deviations(**common, noise_variance=noise)
    assert exact.value == pytest.approx(math.sqrt(56))
    worth = (1 - math.exp(-4)) / (1 - math.exp(-1))
    missed = 0.1 * (1 + math.sqrt(worth) / 2)
    assert deviation_error(feature_error=0.01, total_weight=worth, noise_variance=1.0).value == (
        pytest.approx(missed)
    )
    rough = sum_of_deviations(**common, noise_variance=1.0, feature_error=0.01)
    inside = 2 * (3 + 2 * 0.01 * worth / 2) + 8
    assert rough.value == pytest.approx(math.sqrt(4 * inside / math.log(2)) + 4 * missed)
    # W = 1.5 at c = 2, discount 1/2; sqrt(2 * 3 * 1.5 * 4) = 6
    recent = recent_deviations(gain=4.0, memory=2, discount=0.5, noise_variance=3.0)
    assert recent.value == pytest.approx(6)
    # 2 * 3 * 5 + 2/2 * 2 * 0.5 * 7 + 4 * 1 * 0.25 / (2 * 0.5) * 10
    total = weighted_regret(
        width=3.0, deviations=5.0, recent=7.0, memory=2, discount=0.5, variation=0.5,
        norm_bound=1.0, horizon=10, noise_variance=2.0,
    )  # fmt: skip
    assert total.value == pytest.approx(30 + 7 + 10)
    whole = wgp_ucb_regret(
        width=3.0, gain=4.0, discount=0.5, memory=2, features=2, variation=0.5, norm_bound=1.0,
        horizon=10, noise_variance=3.0,
    )  # fmt: skip
    deviation = math.sqrt(10 * (8 + 20 * math.log(2)) / math.log(4 / 3))
    assert whole.value == pytest.approx(6 * deviation + 2 / 3 * 2 * 0.5 * 6 + 20 / 3)


def test_memory_and_degree():
    """gamma^c <= 1/T just; and the least degree whose error is small enough: D22's own at l = 1.

    Source: D22 Lemma 22.
    """
    for discount in DISCOUNTS:
        memory = memory_length(discount=discount, horizon=500)
        assert discount**memory <= 1 / 500
        assert memory == math.ceil(math.log(500) / (1 - discount))
    for lengthscale in (0.1, 1.0):
        degree = feature_degree(gain=10.0, horizon=500, dimension=2, lengthscale=lengthscale)
        errors = [
            quadrature_fourier_bound(lengthscale, [1.0, 1.0], degree=m)
            for m in (degree - 1, degree)
        ]
        assert errors[1] <= 500**-3.0 * 10**-1.5 < errors[0]
        published = math.log(500**3 * 10**1.5) / math.log(4 / math.e)
        # the published degree suffices where l = 1 and is far too small where l = 0.1
        assert (degree <= published) == (lengthscale == 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("discount", [0.8, 0.95])
def test_theorem_4_dominates_simulated_regret(discount):
    """Abrupt switches, B_T and B measured on the functions, beta at delta / T; eight trials.

    Source: D22 Theorem 4.
    """
    noise, steps = 0.5, 150
    prior = dp.Prior(GRID, dp.SE(0.4), noise)
    world = dp.AbruptSwitches(prior, changes=[50, 100], supports=5)
    functions = dp.true_functions(world, times=[1.0, 75.0, 150.0], trials=8, seed=1)
    phi = prior.features.matrix
    weights = np.linalg.lstsq(phi, functions.reshape(-1, 25).T, rcond=None)[0].T.reshape(8, 3, -1)
    norm = float(np.sqrt((weights**2).sum(-1)).max())
    moved = float(np.sqrt((np.diff(weights, axis=1) ** 2).sum(-1)).sum(1).max())
    ages = np.arange(steps)
    double = float(dp.greedy_gain(prior, steps, weights=discount ** (2.0 * ages), upper=True)[-1])
    single = float(dp.greedy_gain(prior, steps, weights=discount ** (1.0 * ages), upper=True)[-1])
    width = norm + math.sqrt(2 * math.log(steps / 0.1) + 2 * double)  # R^2 = lambda
    policy = dp.WGPUCB(prior, discount=discount, width=widths.Constant(width))
    runs = dp.simulate({"W": policy}, world, steps=steps, trials=8, seed=1, progress=False)
    bound = wgp_ucb_regret(
        width=width, gain=single, discount=discount, features=prior.features.rank,
        memory=memory_length(discount=discount, horizon=steps), variation=moved, norm_bound=norm,
        horizon=steps, noise_variance=noise,
    ).number  # fmt: skip
    assert float(runs["regret"].sum("step").max()) < bound


def test_surrogate_is_section_4_s_in_feature_space():
    """phi' V^-1 (sum w phi f_s + lambda w theta) with explicit features and increasing weights.

    Source: D22 Theorem 3.
    """
    prior = prior_with(0.1, dp.Matern(1.5, 0.3))
    generator = np.random.default_rng(4)
    arms = generator.integers(0, 25, 9)
    weights = 0.8 ** -np.arange(9.0)
    phi = np.linalg.cholesky(prior.gram)
    theta, past = generator.normal(size=25), generator.normal(size=9)
    seen = phi[arms]
    v = seen.T @ np.diag(weights) @ seen + 0.1 * weights[-1] * np.eye(25)
    inside = seen.T @ (weights * past) + 0.1 * weights[-1] * theta
    expected = phi @ np.linalg.solve(v, inside)
    worth = weights / weights[-1]
    found = surrogate(prior, arms, worth, past=past, present=phi @ theta)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-9)
    still = surrogate(prior, arms, worth, past=(phi @ theta)[arms], present=phi @ theta)
    np.testing.assert_allclose(still, phi @ theta, atol=1e-12)
    for wrong in ({"past": past[1:]}, {"present": theta[1:]}):
        with pytest.raises(dp.DriftpeakError, match=f"{next(iter(wrong))} must be"):
            surrogate(prior, arms, worth, **{"past": past, "present": theta} | wrong)


@pytest.mark.slow
def test_theorem_3_covers_the_surrogate_of_a_changing_function():
    """400 runs of 25 steps, delta = 0.2, the coefficients renewed at step 13, UCB's own choices.

    At the last step, more than 108 runs outside would have probability 3e-4 at the rate 0.2.
    Without the noise part of the width, more than half are outside: the check can fail.

    Source: D22 Theorem 3.
    """
    prior, discount, delta = prior_with(0.05), 0.85, 0.2
    generator = np.random.default_rng(5)
    phi = np.asarray(prior.features.matrix)
    outside = without_noise = 0
    for _ in range(400):
        thetas = generator.normal(size=(2, phi.shape[1]))
        thetas /= np.linalg.norm(thetas, axis=1)[:, None]
        arms, past, rewards = np.zeros(0, int), np.zeros(0), np.zeros(0)
        for step in range(25):
            function = phi @ thetas[int(step >= 13)]
            worth = discount ** np.arange(len(arms) - 1.0, -1, -1)
            noisy = prior.gram[np.ix_(arms, arms)] + 0.05 * np.diag(1 / worth)
            mean = prior.gram[:, arms] @ np.linalg.solve(noisy, rewards)
            deviation = deviations(prior.gram, 0.05, arms, worth)
            if step == 24:
                break
            arm = int((mean + 2 * deviation).argmax())
            arms, past = np.append(arms, arm), np.append(past, function[arm])
            rewards = np.append(rewards, function[arm] + math.sqrt(0.05) * generator.normal())
        gain = dp.information_gain(prior, arms, weights=worth**2)
        error = np.abs(surrogate(prior, arms, worth, past=past, present=function) - mean)
        width = 1 + math.sqrt(2 * gain + 2 * math.log(1 / delta))
        outside += bool((error > width * deviation + 1e-9).any())
        without_noise += bool((error > deviation + 1e-9).any())
    assert outside <= 108
    assert without_noise > 200


def test_weights_that_decrease_with_time():
    """Theorem 2's deviation in feature space; it exceeds (3) somewhere, so Lemma 13 needs its
    condition, and the posterior deviation is too small for the error of the predictor.

    Source: D22 Theorem 2, Lemma 13.
    """
    prior = prior_with(0.1, dp.Matern(1.5, 0.3))
    arms, worth = np.array([4, 9, 9, 20, 13]), 0.6 ** np.arange(0.0, -5, -1)[::-1]
    phi = np.linalg.cholesky(prior.gram)
    seen = phi[arms]
    v = seen.T @ np.diag(worth) @ seen + 0.1 * np.eye(25)
    v2 = seen.T @ np.diag(worth**2) @ seen + 0.1 * np.eye(25)
    half = np.linalg.solve(v, phi.T)
    expected = np.sqrt(0.1 * (half * (v2 @ half)).sum(axis=0))
    found = error_deviation(prior, arms, worth)
    np.testing.assert_allclose(found, expected, rtol=1e-8)
    assert (found > deviations(prior.gram, 0.1, arms, worth) + 1e-3).any()
    for wrong in ([1.0], np.zeros(5), [[1.0] * 5]):
        with pytest.raises(dp.DriftpeakError, match="weights must be"):
            error_deviation(prior, arms, wrong)
