"""Optimal designs against an interior-point method, closed forms and H23's lemmas."""

import cvxpy as cp
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import driftpeak as dp
from driftpeak.gp.feature_matrix import RowMajor
from driftpeak.gp.optimal_design import greedy_start, maximise

SHAPES = st.sampled_from([(2, 1), (9, 12), (40, 6)])  # few: each is compiled once
REGULARISERS = st.sampled_from([1e-3, 0.02, 0.5])


def random_features(seed, points, rank):
    """Rows of length at most one, as features of a kernel with k(x, x) <= 1 are."""
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(points, rank))
    return (
        rows / np.linalg.norm(rows, axis=1, keepdims=True) * generator.uniform(0.3, 1, (points, 1))
    )


def matrix_of(features, weights, s):
    return (features.T * weights) @ features + s * np.eye(features.shape[1])


def leverage(features, weights, s):
    inverse = np.linalg.inv(matrix_of(features, weights, s))
    return np.einsum("ij,jk,ik->i", features, inverse, features)


def interior_point(features, s, cost):
    """The same maximum by cvxpy (Clarabel), an independent implementation."""
    weights = cp.Variable(len(features), nonneg=True)
    information = features.T @ cp.diag(weights) @ features + s * np.eye(features.shape[1])
    objective = cp.log_det(information) - cost @ weights
    return cp.Problem(cp.Maximize(objective), [cp.sum(weights) == 1]).solve(solver="CLARABEL")


SINGULAR = random_features(0, 20, 6) * np.logspace(0, 30, 6)  # no inverse, however it is rounded


@pytest.mark.parametrize("seed", range(8))
def test_objectives_agree_with_an_interior_point_method(seed):
    generator = np.random.default_rng(seed)
    s, beta = [1e-3, 0.02][seed % 2], 40.0
    features = random_features(seed, 30, 6)
    gaps = generator.uniform(0, 1, 30)
    gaps -= gaps.min()
    design = dp.optimal_design(features, s)
    assert design.objective == pytest.approx(interior_point(features, s, np.zeros(30)), abs=1e-5)
    balanced = dp.balance(features, s, gaps, beta)
    assert balanced.objective == pytest.approx(interior_point(features, s, gaps * 20), abs=1e-5)


@pytest.mark.slow
@settings(max_examples=150)
@given(seed=st.integers(0, 10**6), shape=SHAPES, s=REGULARISERS)
def test_optimal_design_keeps_lemma_4_3(seed, shape, s):
    """h <= tr(I - s S^-1) + gap <= log det S / s^p + gap, and the certificate is the true gap.

    Source: H23 optimal design, Lemma 4.3.
    """
    rank = shape[1]
    features = random_features(seed, *shape)
    design = dp.optimal_design(features, s, tolerance=1e-4)
    assert design.weights.min() >= 0
    assert design.weights.sum() == pytest.approx(1, abs=1e-9)
    h = leverage(features, design.weights, s)
    information = matrix_of(features, design.weights, s)
    dimension = rank - s * np.trace(np.linalg.inv(information))
    gain = np.linalg.slogdet(information)[1] - rank * np.log(s)
    assert design.objective == pytest.approx(np.linalg.slogdet(information)[1], abs=1e-8)
    assert design.gap == pytest.approx(h.max() - design.weights @ h, abs=1e-6)
    assert h.max() <= dimension + 1e-4 + 1e-6
    assert dimension <= gain + 1e-9


@settings(max_examples=150)
@given(
    seed=st.integers(0, 10**6),
    shape=SHAPES,
    s=REGULARISERS,
    beta=st.sampled_from([1.0, 30.0, 1000.0]),
    alpha=st.sampled_from([0.05, 1.0]),
    mixture=st.sampled_from([0.2, 0.5]),
)
def test_strategies_keep_lemma_4_4(seed, shape, s, beta, alpha, mixture):
    r"""For Q = (1 - q) P* + q pi(A), with g the duality gap and gamma the gain (H23 Lemma 4.4).

    Optimality of P* gives h_P*(x) <= beta/2 D(x) + d + g, d = tr(I - s S^-1) <= gamma, and at a
    point of zero gap P* D <= 2 (d + g) / beta. Since S(Q) >= (1 - q) S(P*) and >= q S(pi(A)):

    - sum Q D <= (1 - q) 2 (gamma + g) / beta + q 2 alpha gamma / beta;
    - h_Q(x) <= (beta/2 D(x) + gamma + g) / (1 - q) everywhere, and <= (gamma + g) / q on A.

    Source: H23 OP, Lemma 4.4.
    """
    points, rank = shape
    features = random_features(seed, points, rank)
    gaps = np.random.default_rng(seed + 1).exponential(0.3, points)
    gaps -= gaps.min()
    tolerance = 1e-3
    everywhere = dp.optimal_design(features, s, tolerance=tolerance)
    gain = everywhere.objective + everywhere.gap - rank * np.log(s)
    good = gaps <= 2 * alpha * gain / beta
    balanced = dp.balance(features, s, gaps, beta, tolerance=tolerance)
    explored = dp.optimal_design(features, s, arms=np.flatnonzero(good), tolerance=tolerance)
    assert (explored.weights[~good] == 0).all()
    mixed = (1 - mixture) * balanced.weights + mixture * explored.weights
    bound = 2 * ((1 - mixture) * (gain + tolerance) + mixture * alpha * gain) / beta
    assert mixed @ gaps <= bound + 1e-9
    h = leverage(features, mixed, s)
    assert (h <= (beta / 2 * gaps + gain + tolerance) / (1 - mixture) + 1e-6).all()
    assert (h[good] <= (gain + tolerance) / mixture + 1e-6).all()


def test_orthogonal_features_are_weighted_equally():
    design = dp.optimal_design(np.eye(7), 0.1)
    np.testing.assert_allclose(design.weights, 1 / 7, atol=1e-3)
    assert design.objective == pytest.approx(7 * np.log(1 / 7 + 0.1), abs=1e-6)


def test_the_balance_of_two_orthogonal_points_is_a_quadratic_equation():
    """max log(p + s) + log(1 - p + s) - c p: derivative 1/(p+s) - 1/(1-p+s) = c, solved for p."""
    s, c = 0.1, 3.0
    design = dp.balance(np.eye(2), s, [1.0, 0.0], 2 * c)
    # c p^2 - (c + 2) p + 1 - c s (1 + s) = 0
    expected = np.roots([c, -(c + 2), 1 - c * s * (1 + s)]).min()
    assert design.weights[0] == pytest.approx(expected, abs=1e-4)


def test_large_gaps_leave_the_best_point_alone():
    gaps = np.array([0.0, 5.0, 5.0, 5.0])
    design = dp.balance(random_features(3, 4, 3), 0.5, gaps, 1e4)
    np.testing.assert_allclose(design.weights, [1, 0, 0, 0], atol=1e-9)


def test_duplicates_and_a_single_point():
    features = np.ones((5, 2)) / 2
    assert dp.optimal_design(features, 0.1).gap <= 1e-6
    assert dp.optimal_design(features[:1], 0.1).weights == 1
    assert dp.optimal_design(features, 0.1, arms=[3]).weights[3] == 1


def test_a_prior_s_features_will_do():
    prior = dp.Prior(dp.Grid([0, 1], size=30), dp.SE(0.2), noise_variance=0.01)
    by_features = dp.optimal_design(prior.features, 0.01)
    by_matrix = dp.optimal_design(prior.features.matrix, 0.01)
    np.testing.assert_array_equal(by_features.weights, by_matrix.weights)


@pytest.mark.slow
def test_any_start_leads_to_the_same_optimum():
    features, everywhere = RowMajor(random_features(0, 20, 4)), jnp.ones(20, bool)
    starts = greedy_start(features, 0.1, everywhere), jnp.full(20, 1 / 20)
    nothing = jnp.zeros(20)
    greedy, even = (maximise(features, 0.1, nothing, everywhere, s, 1e-6) for s in starts)
    np.testing.assert_allclose(even.objective, greedy.objective, atol=1e-6)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda f: dp.optimal_design(f, 0.0), "regulariser must be .*above 0; got 0"),
        (lambda f: dp.optimal_design(f, 0.1, tolerance=-1), "tolerance must be .*above 0; got -1"),
        (lambda f: dp.optimal_design(f, 0.1, arms=[]), "arms must be a non-empty list"),
        (lambda f: dp.optimal_design(f, 0.1, arms=[4]), r"arms must be .* in 0\.\.3; got \[4\]"),
        (lambda f: dp.optimal_design(f[0], 0.1), "features must be a 2-dimensional array"),
        (lambda f: dp.balance(f, 0.1, [0, 1, 2], 1), "gaps must be 4 numbers"),
        (lambda f: dp.balance(f, 0.1, [0, 1, 2, -1], 1), "gaps must be 4 numbers of at least 0"),
        (lambda f: dp.balance(f, 0.1, [0, 1, 2, 3], 0), "beta must be .*above 0; got 0"),
        (lambda f: dp.optimal_design(SINGULAR, 1e-14), "duality gap stays at"),
    ],
)
def test_bad_input(make, message, without_type_checks):
    with pytest.raises(dp.DriftpeakError, match=message):
        make(random_features(0, 4, 2))
