"""AgainstQueries against dense NumPy and random rivals, and the error of a policy that meets it."""

import dense
import numpy as np
import pytest

import driftpeak as dp

POINTS = np.random.default_rng(4).uniform(0, 1, (25, 2))
PRIOR = dp.Prior(dp.Arms(POINTS), dp.SE(0.3), noise_variance=0.1, mean=0.2)
QUERIES = np.random.default_rng(1).integers(25, size=40)
WORLD = dp.AgainstQueries(PRIOR, queries=QUERIES, point=7, norm=1.5)


def estimates(values, order):
    """The posterior mean and deviation at all points, without noise on the values."""
    rewards = values[np.arange(len(order)), order]
    times = np.arange(1.0, len(order) + 1)
    mean, variance, _ = dense.posterior(
        PRIOR.gram, 0.1, PRIOR.mean, "keep", None, order, rewards, times, times[-1]
    )
    return mean, np.sqrt(variance)


def test_every_function_has_the_norm_and_the_error_is_that_of_the_estimate():
    """By dense linear algebra.

    Source: IT25 Figure 1.
    """
    values = dp.true_functions(WORLD, steps=40)[0]
    centred = values - 0.2
    squares = np.einsum("ti,ij,tj->t", centred, np.linalg.pinv(PRIOR.gram, rcond=1e-13), centred)
    np.testing.assert_allclose(np.sqrt(squares), 1.5, rtol=1e-3)
    mean, _ = estimates(values, QUERIES)
    np.testing.assert_allclose(values.mean(axis=0)[7] - mean[7], WORLD.error, rtol=1e-9)


def test_no_other_functions_of_the_norm_have_a_larger_error():
    """300 random sequences, half of them close to the worst; the bound holds for all of them.

    Source: IT25 section 5.1.
    """
    generator = np.random.default_rng(2)
    root = np.linalg.cholesky(PRIOR.gram + 1e-10 * np.eye(25))
    worst = dp.true_functions(WORLD, steps=40)[0] - 0.2
    coordinates = np.linalg.solve(root, worst.T).T
    for number in range(300):
        other = generator.normal(size=(40, 25)) + (number % 2) * 20 * coordinates
        other *= 1.5 / np.linalg.norm(other, axis=1, keepdims=True)
        values = 0.2 + other @ root.T
        mean, _ = estimates(values, QUERIES)
        assert values.mean(axis=0)[7] - mean[7] <= WORLD.error * (1 + 1e-6)


def test_by_default_the_point_has_the_largest_error_in_deviations():
    errors = [dp.AgainstQueries(PRIOR, queries=QUERIES, point=point).error for point in range(25)]
    _, deviation = estimates(np.zeros((40, 25)), QUERIES)
    world = dp.AgainstQueries(PRIOR, queries=QUERIES)
    assert world.point == np.argmax(errors / deviation)
    assert world.error == errors[world.point]


def test_after_the_last_query_the_functions_repeat():
    values = dp.true_functions(WORLD, steps=90)[0]
    np.testing.assert_array_equal(values[:40], values[40:80])
    np.testing.assert_array_equal(values[:10], values[80:])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"queries": []}, "queries must have at least one index; got none"),
        ({"queries": [[0, 1]]}, r"queries must be a list of integers .*got \[\[0, 1\]\]"),
        ({"queries": [[0], [1, 2]]}, r"queries must be .*got \[\[0\], \[1, 2\]\]"),
        ({"queries": ["a", "b"]}, "queries must be .*got .'a', 'b'"),
        ({"queries": [0, 25]}, r"queries must be a list of integers in 0..24; got \[0, 25\]"),
        ({"queries": [-1, 3]}, r"queries must be a list .*got \[-1, 3\]"),
        ({"queries": [0.0, 3.0]}, r"queries must be a list .*got \[0.0, 3.0\]"),
        ({"queries": [0], "point": 25}, "point must be .* at most 24; got 25"),
        ({"queries": [0], "point": -1}, "point must be .*at least 0.*; got -1"),
        ({"queries": [0], "norm": 0.0}, "norm must be .*above 0; got 0"),
    ],
)
def test_bad_input(options, message, without_type_checks):
    with pytest.raises(dp.DriftpeakError, match=message):
        dp.AgainstQueries(PRIOR, **options)
