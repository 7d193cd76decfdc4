"""The inverse of a triangular matrix, against NumPy's."""

import jax
import numpy as np
import pytest

from driftpeak._core.numerics.triangular import LARGEST_BLOCK, inverse_of_lower


def lower_of(size, seed=0, noise=0.1):
    """The factor of a covariance of `size` points on a line."""
    points = np.random.default_rng(seed).uniform(size=size)
    covariance = np.exp(-((points[:, None] - points) ** 2))
    return np.linalg.cholesky(covariance + noise * np.eye(size))


@pytest.mark.parametrize("size", [1, 2, 63, LARGEST_BLOCK, 65, 128, 192, 257])
def test_inverse_is_numpys(size):
    lower = lower_of(size)
    with jax.enable_x64(True):
        inverse = np.asarray(inverse_of_lower(jax.numpy.asarray(lower)))
    np.testing.assert_allclose(inverse, np.linalg.inv(lower), atol=1e-12)
    assert np.all(np.triu(inverse, 1) == 0)


def test_inverses_of_a_batch():
    lowers = np.stack([lower_of(130, seed) for seed in range(3)])
    with jax.enable_x64(True):
        inverses = jax.vmap(inverse_of_lower)(jax.numpy.asarray(lowers))
    np.testing.assert_allclose(inverses, np.linalg.inv(lowers), atol=1e-12)


def test_inverse_is_as_accurate_as_lapacks_with_little_noise():
    """With a condition number of 1.5e5, for which the other residual is 1e-10 (LAPACK's, too)."""
    lower = lower_of(256, noise=1e-8)
    with jax.enable_x64(True):
        inverse = np.asarray(inverse_of_lower(jax.numpy.asarray(lower)))
        solved = jax.scipy.linalg.solve_triangular(lower, np.eye(256), lower=True)
    assert np.abs(lower @ inverse - np.eye(256)).max() < 1e-14
    np.testing.assert_allclose(inverse, solved, atol=1e-14 * np.abs(solved).max())
