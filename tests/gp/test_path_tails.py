"""Tails of functions and of second derivatives: against mpmath, draws and known constants."""

import math

import mpmath
import numpy as np
import pytest

import driftpeak as dp
from driftpeak.gp.kernels import Table
from driftpeak.gp.path_tails import curvature_covariance, curvature_tail, function_tail

LAGS = np.array([[0.1, 0.2], [-0.4, 0.03], [0.7, 0.9]])


def matern(*coefficients):
    """A Matern kernel of half-integer nu in closed form: a polynomial in z times exp(-z)."""
    nu = mpmath.mpf(2 * len(coefficients) - 1) / 2

    def of_square(q):
        z = mpmath.sqrt(2 * nu * q)
        return mpmath.polyval(coefficients, z) * mpmath.exp(-z)

    return of_square


KERNELS = {
    "SE": (dp.SE([0.3, 0.7]), lambda q: mpmath.exp(-q / 2)),
    "Matern 5/2": (dp.Matern(2.5, [0.3, 0.7]), matern(mpmath.mpf(1) / 3, 1, 1)),
    "Matern 7/2": (
        dp.Matern(3.5, [0.3, 0.7]),
        matern(mpmath.mpf(1) / 15, mpmath.mpf(2) / 5, 1, 1),
    ),
    "Matern 9/2": (
        dp.Matern(4.5, [0.3, 0.7]),
        matern(mpmath.mpf(1) / 105, mpmath.mpf(2) / 21, mpmath.mpf(3) / 7, 1, 1),
    ),
    "rational": (dp.RationalQuadratic(0.8, [0.3, 0.7]), lambda q: (1 + q / 1.6) ** -0.8),
}


@pytest.mark.parametrize("name", KERNELS)
def test_curvature_covariance_is_the_fourth_derivative(name):
    kernel, of_square = KERNELS[name]

    def value(x, y):
        return of_square(x**2 / mpmath.mpf(0.3) ** 2 + y**2 / mpmath.mpf(0.7) ** 2)

    found = curvature_covariance(2.0 * kernel + dp.Linear(), LAGS)
    with mpmath.workdps(40):
        for row, (x, y) in zip(found, LAGS.tolist(), strict=True):
            orders = ((4, 0), (2, 2), (0, 4))
            expected = [2 * mpmath.diff(value, (x, y), order) for order in orders]
            np.testing.assert_allclose(row, np.array(expected, float), rtol=1e-6, atol=1e-9)


def test_curvature_at_no_lag_by_hand():
    """SE: 3 / l^4 and 1 / (l1 l2)^2; Matern: nu^2 / ((nu - 1) (nu - 2)) times as much."""
    at_zero = np.array([3 / 0.3**4, 1 / (0.3 * 0.7) ** 2, 3 / 0.7**4])
    zero = np.zeros((1, 2))
    np.testing.assert_allclose(curvature_covariance(dp.SE([0.3, 0.7]), zero)[0], at_zero)
    for nu in (2.5, 3.0, 4.0, 9.0):
        factor = nu**2 / ((nu - 1) * (nu - 2))
        found = curvature_covariance(dp.Matern(nu, [0.3, 0.7]), zero)[0]
        np.testing.assert_allclose(found, factor * at_zero)


@pytest.mark.parametrize("nu", [3.0, 4.0])
def test_curvature_is_continuous_in_nu(nu):
    """At integers, where the formula for orders above 0 changes to that for 0 and below."""
    around = [curvature_covariance(dp.Matern(nu + e, [0.3, 0.7]), LAGS) for e in (-1e-6, 0, 1e-6)]
    np.testing.assert_allclose(around[1], (around[0] + around[2]) / 2, rtol=1e-7)


def largest(kernel, curvature, count, size=100):
    """The largest absolute value on a line of `count` draws, from the covariance of the values."""
    line = np.linspace(0, 1, size)
    lags = (line[:, None] - line).reshape(-1, 1)
    if curvature:
        covariance = curvature_covariance(kernel, lags).reshape(size, size)
    else:
        covariance = kernel.rows(dp.Arms(line[:, None]))
    values, vectors = np.linalg.eigh(covariance)
    normal = np.random.default_rng(0).standard_normal((count, size))
    return np.abs(normal @ (vectors * np.sqrt(np.maximum(values, 0))).T).max(axis=1)


@pytest.mark.parametrize(
    ("kernel", "tail", "curvature"),
    [
        (2.0 * dp.SE(0.2), function_tail, False),
        (dp.Matern(0.5, 0.3), function_tail, False),
        (dp.Matern(1.7, 0.3), function_tail, False),
        (dp.Periodic(0.7, 0.6) * dp.SE(0.5), function_tail, False),
        (2.0 * dp.SE(0.2), curvature_tail, True),
        (dp.Matern(3.5, 0.3), curvature_tail, True),
    ],
)
def test_the_tail_is_above_the_frequencies_of_draws(kernel, tail, curvature):
    """4,000 draws at five levels; the bound at 1 % is less than twice their quantile of 99 %.

    Source: B16 (9), (11).
    """
    found = largest(kernel, curvature, 4000)
    constants = tail(kernel, [1.0])
    for level in np.quantile(found, [0.01, 0.5, 0.9, 0.99, 0.999]):
        bound = constants.a * math.exp(-((level / constants.b) ** 2))
        assert (found > level).mean() <= bound
    deviation = constants.b / 2
    assert constants.a > 1
    assert np.quantile(found, 0.99) > 1.5 * deviation
    if not (isinstance(kernel, dp.Matern) and kernel.nu < 1):  # a chain is loose for rough paths
        level = constants.b * math.sqrt(math.log(constants.a / 0.01))
        assert level < 2.5 * np.quantile(found, 0.99)


def test_scales():
    """Units: the reward doubles b; a shorter box has a smaller a; shrinking the axis by 2 scales
    curvature by 4."""
    one, double = function_tail(dp.SE(0.2), [1.0]), function_tail(4.0 * dp.SE(0.2), [1.0])
    assert double.b == pytest.approx(2 * one.b)
    assert double.a == pytest.approx(one.a)
    assert one.b == pytest.approx(2.0)
    assert function_tail(dp.SE(0.2), [0.1]).a < one.a
    small, large = curvature_tail(dp.SE(0.1), [0.5]), curvature_tail(dp.SE(0.2), [1.0])
    assert small.a == pytest.approx(large.a)
    assert small.b == pytest.approx(4 * large.b)


def test_bad_input():
    with pytest.raises(dp.DriftpeakError, match="kernel must be stationary; got Linear"):
        function_tail(dp.Linear(), [1.0])
    with pytest.raises(dp.DriftpeakError, match="kernel must be stationary; got Table"):
        function_tail(Table([[1.0]]), [1.0])
    with pytest.raises(dp.DriftpeakError, match="too rough"):
        function_tail(dp.Matern(0.05), [1.0])
    with pytest.raises(dp.DriftpeakError, match=r"nu must be above 2: .* nu = 1.5"):
        curvature_tail(dp.Matern(1.5), [1.0])
    with pytest.raises(dp.DriftpeakError, match=r"kernel must be SE, .*; got Periodic"):
        curvature_tail(dp.Periodic(), [1.0])
    for tail in (function_tail, curvature_tail):
        with pytest.raises(dp.DriftpeakError, match="extents must be numbers above 0"):
            tail(dp.SE(0.2), [0.0])
        with pytest.raises(dp.DriftpeakError, match="extents must be"):
            tail(dp.SE(0.2), ["a"])
