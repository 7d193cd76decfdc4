"""Regression and designs on features of many points, in pieces, against dense NumPy."""

import jax
import numpy as np
import pytest

import driftpeak as dp
from driftpeak.gp import ridge as module
from driftpeak.gp.feature_matrix import RowMajor
from driftpeak.gp.features import kronecker
from driftpeak.gp.ridge import information, leverages, ridge

SPACE = dp.Grid([0, 1], [0, 1], [2, 3], size=[15, 14, 12])
KERNEL = dp.SE([0.5, 0.9, 0.7])


@pytest.fixture(params=["Kronecker", "written out"])
def features(request):
    product = kronecker(KERNEL, SPACE, tolerance=1e-6).matrix
    return product if request.param == "Kronecker" else RowMajor(np.asarray(product))


@pytest.fixture(params=["at once", "in pieces"])
def way(request, monkeypatch):
    monkeypatch.setattr(module, "MANY", 10_000 if request.param == "at once" else 20)


def some(count, seed=0):
    """How often points were seen, and sums of rewards: of so many points, the others not."""
    random = np.random.default_rng(seed)
    counts, sums = np.zeros(len(SPACE)), np.zeros(len(SPACE))
    seen = random.choice(len(SPACE), count, replace=False)
    counts[seen], sums[seen] = random.integers(1, 4, count), random.normal(size=count)
    return counts, sums


@pytest.mark.parametrize("count", [0, 1, 60, 1500])
def test_ridge_regression_is_that_of_the_normal_equations(features, way, count):
    """Up to 1,500 points, where a piece has 1,024."""
    matrix, (counts, sums) = np.asarray(features.matrix), some(count)
    inverse = np.linalg.inv((matrix.T * counts / 0.3) @ matrix + np.eye(matrix.shape[1]))
    found = jax.jit(ridge)(features, counts, sums, 0.3)
    np.testing.assert_allclose(found.mean, matrix @ inverse @ matrix.T @ sums / 0.3, atol=1e-9)
    np.testing.assert_allclose(found.known, ((matrix @ inverse) * matrix).sum(axis=1), atol=1e-9)
    np.testing.assert_allclose(found.square, ((matrix @ inverse) ** 2).sum(axis=1), atol=1e-9)


@pytest.mark.parametrize("count", [0, 60, 2520])
def test_information_is_the_weighted_sum_of_products(features, way, count):
    matrix, weights = np.asarray(features.matrix), some(count)[1]
    found = jax.jit(information)(features, weights)
    np.testing.assert_allclose(found, (matrix.T * weights) @ matrix, atol=1e-9)
    inverse = np.linalg.inv(found @ found.T + np.eye(len(found)))
    expected = ((matrix @ inverse) * matrix).sum(axis=1)
    np.testing.assert_allclose(jax.jit(leverages)(features, inverse), expected, atol=1e-9)


def test_an_optimal_design_meets_the_theorem_of_kiefer_and_wolfowitz(features, way):
    """No leverage exceeds the mean one by more than the tolerance, all by dense NumPy."""
    regulariser, matrix = 0.05, np.asarray(features.matrix)
    found = dp.optimal_design(features, regulariser, tolerance=1e-3)
    s = (matrix.T * found.weights) @ matrix + regulariser * np.eye(matrix.shape[1])
    leverage = ((matrix @ np.linalg.inv(s)) * matrix).sum(axis=1)
    assert found.weights.sum() == pytest.approx(1, abs=1e-9)
    assert leverage.max() - found.weights @ leverage <= 1e-3 * (1 + 1e-6)
    assert found.objective == pytest.approx(np.linalg.slogdet(s)[1], abs=1e-9)
