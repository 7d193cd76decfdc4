"""M25's sparse posteriors: by enumeration, against dense normal distributions, and its limits."""

import itertools
import math

import numpy as np
import pytest

import driftpeak as dp
from driftpeak.theory.sparse import (
    SparseSize,
    mean_shift,
    nystrom_residual,
    posterior_divergence,
    sparse_size,
    variance_change,
)

PRIOR = dp.Prior(dp.Grid([0, 1], size=12), dp.Matern(1.5, 0.2), 0.05, mean=0.3)
SEEN = [0, 3, 3, 7, 10, 3, 11, 1]


def normal_divergence(mean, covariance, other_mean, other_covariance):
    """KL of two normal distributions, written out."""
    precision = np.linalg.inv(other_covariance)
    shift = other_mean - mean
    logs = np.linalg.slogdet(other_covariance)[1] - np.linalg.slogdet(covariance)[1]
    trace = np.trace(precision @ covariance)
    return 0.5 * (trace + shift @ precision @ shift - len(mean) + logs)


def exact_posterior(arms, rewards):
    """Mean and covariance of all points of `PRIOR` after these observations."""
    cross = PRIOR.gram[arms]
    noisy = PRIOR.gram[np.ix_(arms, arms)] + PRIOR.noise_variance * np.eye(len(arms))
    mean = PRIOR.mean + cross.T @ np.linalg.solve(noisy, rewards - PRIOR.mean[arms])
    return mean, PRIOR.gram - cross.T @ np.linalg.solve(noisy, cross)


def variational_posterior(arms, points, rewards):
    """Titsias' posterior: sufficient statistics of all outputs at the inducing points."""
    gram, noise = PRIOR.gram, PRIOR.noise_variance
    among = gram[np.ix_(points, points)]
    cross = gram[np.ix_(points, arms)]
    precision = np.linalg.inv(among + cross @ cross.T / noise)
    every = gram[:, points]
    mean = PRIOR.mean + every @ precision @ cross @ (rewards - PRIOR.mean[arms]) / noise
    covariance = gram - every @ (np.linalg.inv(among) - precision) @ every.T
    return mean, covariance


def drawn(generator, arms):
    values = np.linalg.cholesky(PRIOR.gram) @ generator.normal(size=len(PRIOR))
    noise = math.sqrt(PRIOR.noise_variance) * generator.normal(size=len(arms))
    return PRIOR.mean[arms] + values[arms] + noise


def test_residual_by_hand():
    """Two points of correlation rho: one kept leaves 1 - rho^2 at the other, none leaves 2.

    Source: M25 Definition 3.7.
    """
    prior = dp.Prior(dp.Arms(2), dp.kernels.Table([[1.0, 0.6], [0.6, 1.0]]), 0.1)
    assert nystrom_residual(prior, [0, 1], [0]) == pytest.approx(0.64)
    assert nystrom_residual(prior, [0, 1], []) == pytest.approx(2.0)
    assert nystrom_residual(prior, [0, 1, 1, 0], [0]) == pytest.approx(1.28)
    assert nystrom_residual(prior, [0, 0, 1], [0, 1, 2]) == pytest.approx(0.0, abs=1e-12)


def test_residual_does_not_increase_with_points_in_both_sets():
    """Lemma 3.8, on 50 random sets; in half of the cases or more it decreases.

    Source: M25 Lemma 3.8, (33).
    """
    generator = np.random.default_rng(0)
    changes = []
    for _ in range(50):
        seen = generator.integers(0, 12, 6).tolist()
        kept = [0, 1]
        more = generator.integers(0, 12, 3).tolist()
        before = nystrom_residual(PRIOR, seen, kept)
        after = nystrom_residual(PRIOR, seen + more, [*kept, 6, 7, 8])
        changes.append(after - before)
    assert max(changes) < 1e-10
    assert np.mean(np.array(changes) < -1e-3) > 0.5


@pytest.mark.parametrize("kept", [[0, 1, 4], [2], [0, 1, 2, 3, 4, 5, 6]])
def test_divergence_is_that_of_the_normal_distributions(kept):
    """Source: M25 (19)."""
    generator = np.random.default_rng(1)
    arms = np.array(SEEN)
    rewards = drawn(generator, arms)
    whole = exact_posterior(arms, rewards)
    sparse = exact_posterior(arms[kept], rewards[kept])
    found = posterior_divergence(PRIOR, SEEN, kept, rewards)
    assert found == pytest.approx(normal_divergence(*sparse, *whole), rel=1e-7)
    points = np.unique(arms[kept])
    variational = variational_posterior(arms, points, rewards)
    found = posterior_divergence(PRIOR, SEEN, kept, rewards, outputs="all")
    assert found == pytest.approx(normal_divergence(*variational, *whole), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("outputs", ["kept", "all"])
def test_expected_divergence_is_the_mean_over_draws(outputs):
    """1,000 draws of the outputs; the mean within 5 standard errors."""
    generator = np.random.default_rng(2)
    arms, kept = np.array(SEEN), [0, 1, 4]
    found = [
        posterior_divergence(PRIOR, SEEN, kept, drawn(generator, arms), outputs=outputs)
        for _ in range(1000)
    ]
    error = np.std(found) / math.sqrt(len(found))
    expected = posterior_divergence(PRIOR, SEEN, kept, outputs=outputs)
    assert np.mean(found) == pytest.approx(expected, abs=5 * error)


def test_all_kept_leaves_no_divergence():
    every = list(range(len(SEEN)))
    rewards = np.arange(8.0)
    for outputs in ("kept", "all"):
        assert posterior_divergence(PRIOR, SEEN, every, rewards, outputs=outputs) < 1e-10


def test_the_trace_bounds_the_variational_divergence_alone():
    """100 repeats of one arm, one kept: the trace is 0, and Algorithm 1's posterior is far away.

    Source: M25 Proposition 3.2, (19).
    """
    seen, kept = [5] * 100, [0]
    assert nystrom_residual(PRIOR, seen, kept) < 1e-10
    assert posterior_divergence(PRIOR, seen, kept, outputs="all") < 1e-10
    # A = a 11' with a = 1 - 1/(1 + s), s = 0.05: eigenvalue 99 a, KL = 99 a/s - log(1 + 99 a/s)/2
    ratio = 99 * (1 - 1 / 1.05) / 0.05
    by_hand = ratio - 0.5 * math.log1p(ratio)
    assert posterior_divergence(PRIOR, seen, kept) == pytest.approx(by_hand)
    for found in ([0, 3], [1, 4, 6]):
        trace = nystrom_residual(PRIOR, SEEN, found) / PRIOR.noise_variance
        expected = posterior_divergence(PRIOR, SEEN, found, outputs="all")
        assert trace / 2 <= expected <= trace


def expected_residual(prior, arms, queries):
    """E tr(K - U) of a DPP, over all subsets with their probabilities."""
    gram = prior.gram[np.ix_(arms, arms)]
    subsets = list(itertools.combinations(range(len(arms)), queries))
    worth = np.array([np.linalg.det(gram[np.ix_(z, z)]) for z in subsets])
    residuals = [nystrom_residual(prior, arms, list(z)) for z in subsets]
    return (worth / worth.sum()) @ residuals


def test_the_size_is_enough_for_a_dpp_by_enumeration():
    """At eight divergences; two kept observations fewer are not enough for the first term.

    Source: M25 Proposition 3.2, (19).
    """
    prior, arms = dp.Prior(dp.Grid([0, 1], size=12), dp.SE(0.3), 0.05), [0, 1, 3, 6, 7, 10, 11]
    sizes = []
    for eta in (300.0, 60.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.01):
        size = sparse_size(prior, arms, divergence=eta)
        allowed = eta * prior.noise_variance
        found = expected_residual(prior, arms, size.queries)
        assert found + 2 * size.accuracy * 7 <= allowed * (1 + 1e-9)
        if size.queries >= 2:
            assert expected_residual(prior, arms, size.queries - 2) > allowed / 2
        sizes.append(size.queries)
    assert sizes == sorted(sizes)
    assert sizes[0] == 0
    assert len(set(sizes)) >= 4
    accuracy = sparse_size(prior, arms, divergence=0.1).accuracy
    assert accuracy == pytest.approx(0.1 * 0.05 / (4 * 7))


def test_the_number_of_queries_grows_slowly_for_se():
    """SE, 400 and 40,000 observations of 200 points: the number grows by less than 1.5.

    Source: M25 Proposition 3.2.
    """
    prior = dp.Prior(dp.Grid([0, 1], size=200), dp.SE(0.2), 0.05)
    once = sparse_size(prior, list(range(200)) * 2, divergence=0.1).queries
    often = sparse_size(prior, list(range(200)) * 10, divergence=0.1).queries
    finer = sparse_size(prior, list(range(200)) * 2, divergence=0.001).queries
    assert 5 < once <= often < 1.3 * once
    assert once < finer < 1.5 * once
    assert sparse_size(prior, [], divergence=0.1) == SparseSize(0, 1.0)


def test_close_posteriors_have_close_moments():
    """Proposition 3.4 on 2,000 pairs of normal distributions; the factor 3 is needed near 1/5.

    Source: M25 Proposition 3.4.
    """
    generator = np.random.default_rng(3)
    tight = 0.0
    for _ in range(2000):
        ratio, shift = math.exp(generator.uniform(-0.8, 0.8)), generator.uniform(0, 0.5)
        divergence = 0.5 * (ratio - 1 - math.log(ratio) + shift**2)
        if 2 * divergence > 0.2:
            assert mean_shift(divergence).value is None
            continue
        assert shift <= mean_shift(divergence).number
        change = variance_change(divergence).number
        assert abs(1 - ratio) <= change
        assert shift <= math.sqrt(ratio) * mean_shift(divergence).number / math.sqrt(1 - change)
        tight = max(tight, abs(1 - ratio) / change)
    assert tight > 0.9
    assert mean_shift(0.02).value == pytest.approx(0.2)
    assert variance_change(0.06).value == pytest.approx(0.6)
    assert str(variance_change(0.5)).endswith("it requires 2 KL <= 1/5 (here 2 KL = 1)")


def test_bad_input():
    for kept in ([0, 0], [8], [-1], [0.5], [[0]], [[0], [1, 2]]):
        with pytest.raises(dp.DriftpeakError, match="kept must be a list of integers in"):
            nystrom_residual(PRIOR, SEEN, kept)
    with pytest.raises(dp.DriftpeakError, match="arms must be a list of integers in"):
        nystrom_residual(PRIOR, [12], [0])
    with pytest.raises(dp.DriftpeakError, match="rewards must be 8 numbers"):
        posterior_divergence(PRIOR, SEEN, [0], [1.0])
    with pytest.raises(dp.DriftpeakError, match="outputs must be"):
        posterior_divergence(PRIOR, SEEN, [0], outputs="some")
    with pytest.raises(dp.DriftpeakError, match="divergence must be"):
        sparse_size(PRIOR, SEEN, divergence=0.0)
    with pytest.raises(dp.DriftpeakError, match="divergence must be"):
        mean_shift(-1.0)
