"""Derivative processes: against mpmath, and against draws of functions and their differences."""

import math

import mpmath
import numpy as np
import pytest

import driftpeak as dp
from driftpeak.gp.kernels import Table
from driftpeak.gp.sample_paths import derivative_covariance, derivative_tail, largest_derivatives
from driftpeak.policies import widths


def matern(nu, q):
    z = mpmath.sqrt(2 * nu * q)
    return 2 ** (1 - nu) / mpmath.gamma(nu) * z**nu * mpmath.besselk(nu, z)


KERNELS = {
    "SE": (dp.SE([0.3, 0.7]), lambda q: mpmath.exp(-q / 2)),
    "Matern 1.2": (dp.Matern(1.2, [0.3, 0.7]), lambda q: matern(mpmath.mpf("1.2"), q)),
    "Matern 3/2": (dp.Matern(1.5, [0.3, 0.7]), lambda q: matern(mpmath.mpf("1.5"), q)),
    "Matern 2": (dp.Matern(2.0, [0.3, 0.7]), lambda q: matern(mpmath.mpf(2), q)),
    "Matern 5/2": (dp.Matern(2.5, [0.3, 0.7]), lambda q: matern(mpmath.mpf("2.5"), q)),
    "Matern 6.7": (dp.Matern(6.7, [0.3, 0.7]), lambda q: matern(mpmath.mpf("6.7"), q)),
    "rational": (dp.RationalQuadratic(0.8, [0.3, 0.7]), lambda q: (1 + q / 1.6) ** -0.8),
}
LAGS = np.array([[0.1, 0.2], [-0.4, 0.03], [1.0, 2.0], [0.2, 1e-3]])


@pytest.mark.parametrize("name", KERNELS)
def test_covariance_is_the_second_derivative(name):
    kernel, of_square = KERNELS[name]

    def value(x, y):
        return of_square(x**2 / mpmath.mpf(0.3) ** 2 + y**2 / mpmath.mpf(0.7) ** 2)

    found = derivative_covariance(kernel, LAGS)
    with mpmath.workdps(25):
        for row, (x, y) in zip(found, LAGS.tolist(), strict=True):
            expected = [-mpmath.diff(value, (x, y), order) for order in ((2, 0), (0, 2))]
            np.testing.assert_allclose(row, np.array(expected, float), rtol=1e-9, atol=1e-11)


def test_combined_kernels_have_the_second_derivative_of_the_combination():
    kernel = 2.0 * dp.Periodic([0.6, 1.1], [0.9, 2.0]) * dp.SE(0.8) + 0.5 * dp.Matern(2.5, 0.4)

    def value(x, y):
        sines = (mpmath.sin(mpmath.pi * x / mpmath.mpf(0.6)) / mpmath.mpf(0.9)) ** 2
        sines += (mpmath.sin(mpmath.pi * y / mpmath.mpf(1.1)) / 2) ** 2
        square = x**2 + y**2
        smooth = mpmath.exp(-2 * sines - square / mpmath.mpf(0.8) ** 2 / 2)
        return 2 * smooth + matern(mpmath.mpf("2.5"), square / mpmath.mpf(0.4) ** 2) / 2

    found = derivative_covariance(kernel, LAGS)
    with mpmath.workdps(25):
        for row, (x, y) in zip(found, LAGS.tolist(), strict=True):
            expected = [-mpmath.diff(value, (x, y), order) for order in ((2, 0), (0, 2))]
            np.testing.assert_allclose(row, np.array(expected, float), rtol=1e-9, atol=1e-11)
    slopes = derivative_covariance(3.0 * dp.Linear(0.2, 0.5) + kernel, LAGS) - found
    np.testing.assert_allclose(slopes, 3 / 0.25)


def test_variances_by_hand():
    """1/l^2; Matern nu/((nu - 1) l^2); periodic 4 pi^2/(p l)^2."""
    at = np.zeros((1, 1))
    for kernel, expected in (
        (dp.SE(0.2), 25.0),
        (dp.Matern(1.5, 0.5), 12.0),
        (dp.Matern(2.0, 1.0), 2.0),
        (dp.Matern(2.5, 1.0), 5 / 3),
        (dp.Matern(50.0, 1.0), 50 / 49),
        (dp.RationalQuadratic(2.0, 0.5), 4.0),
        (4.0 * dp.Periodic(0.5, 2.0), 16 * math.pi**2),
    ):
        assert derivative_covariance(kernel, at)[0, 0] == pytest.approx(expected, rel=1e-9)


TAILS = {
    "SE": (dp.SE(0.2), [1.0], 200),
    "long": (dp.SE(0.2), [4.0], 400),
    "Matern 5/2": (dp.Matern(2.5, 0.2), [1.0], 200),
    "Matern 3/2": (dp.Matern(1.5, 0.2), [1.0], 200),
    "mixed": (0.5 * dp.Periodic(0.5, 1.0) + 0.3 * dp.Matern(2.5, 0.1) + dp.Linear(), [1.0], 200),
    "plane": (dp.SE([0.3, 0.5]), [1.0, 1.0], 20),
}


@pytest.mark.parametrize("name", TAILS)
def test_the_tail_bounds_difference_quotients_of_drawn_functions(name):
    """1,000 functions drawn from the kernel itself: by the mean value theorem a quotient is a
    derivative somewhere between, so that its largest is below the supremum. At every level the
    share above it less 4 standard errors must not exceed a exp(-(L/b)^2): false alarm 3e-5.

    Source: B16 (10).
    """
    kernel, sides, size = TAILS[name]
    grid = dp.Grid(*([0, side] for side in sides), size=size)
    gram = kernel.rows(grid)
    factor = np.linalg.cholesky(gram + 1e-10 * np.eye(len(gram)))
    draws = np.random.default_rng(5).normal(size=(1000, len(gram))) @ factor.T
    draws = draws.reshape(1000, *[size] * len(sides))
    tail = derivative_tail(kernel, sides)
    sampled = largest_derivatives(kernel, sides, count=1000, size=size, seed=6)
    for j, side in enumerate(sides):
        quotients = np.abs(np.diff(draws, axis=j + 1)) * (size - 1) / side
        largest = np.sort(quotients.reshape(1000, -1).max(axis=1))
        above = 1 - np.arange(1, 1001) / 1000
        error = 4 * np.sqrt(above * (1 - above) / 1000)
        assert (above - error <= tail.a * np.exp(-((largest / tail.b) ** 2))).all()
        # the sampler draws the same law, but for the grid: medians within 6 %
        assert np.median(sampled[:, j]) == pytest.approx(np.median(largest), rel=0.06)


def test_the_bound_is_of_the_right_size():
    """The level that (10) gives 1 % is less than twice the measured 99 % point; and far off at
    a = b = 1, where P(sup |f'| > 3) is above 0.98 for SE with l = 0.2 against exp(-9).

    Source: B16 (10).
    """
    largest = largest_derivatives(dp.SE(0.2), [1.0], count=2000, size=100)[:, 0]
    tail = derivative_tail(dp.SE(0.2), [1.0])
    level = tail.b * math.sqrt(math.log(tail.a / 0.01))
    assert np.quantile(largest, 0.99) < level < 2 * np.quantile(largest, 0.99)
    assert (largest > 3).mean() > 0.98


def test_tails_scale_and_grow():
    """b with the deviation and the inverse lengthscale; a not with scale, but with the domain."""
    a, b = derivative_tail(dp.SE(0.2), [1.0])
    for kernel, sides, factor in ((4.0 * dp.SE(0.2), [1.0], 2.0), (dp.SE(0.6), [3.0], 1 / 3)):
        found = derivative_tail(kernel, sides)
        assert found.a == pytest.approx(a, rel=1e-6)
        assert found.b == pytest.approx(factor * b)
    assert derivative_tail(dp.SE(0.2), [8.0]).a > a > derivative_tail(dp.SE(0.2), [0.1]).a
    # one slope: P = 2 Phi(-L/s); N = 1, m = s sqrt(2 log 2), a = 2
    assert derivative_tail(dp.Linear(), [1.0]) == pytest.approx((2.0, 2.0))
    assert derivative_tail(dp.SE(1.0), [1e-6]) == pytest.approx((2.0, 2.0), rel=1e-4)


GRID = dp.Grid([0, 2], [0, 1], size=5)
REFUSED = {
    "Matern-1/2": (lambda: derivative_tail(dp.Matern(0.5), [1.0]), "nu = 0.5 have no derivative"),
    "Matern-1": (lambda: derivative_tail(dp.Matern(1.0), [1.0]), "nu = 1 have no derivative"),
    "nearly": (lambda: derivative_tail(dp.Matern(1.02), [1.0]), "Matern is too rough"),
    "table": (lambda: derivative_covariance(Table(np.eye(2)), [[0.0]]), "Table has no derivative"),
    "times linear": (
        lambda: derivative_covariance(dp.SE() * dp.Linear(), [[0.0]]),
        "Linear has no derivative process",
    ),
    "side": (lambda: derivative_tail(dp.SE(), [0.0]), "extents must be numbers above 0"),
    "many": (
        lambda: largest_derivatives(dp.SE(), [1.0] * 3, count=1),
        r"at most 5,000 points; got 100, which makes 100\^3",
    ),
    "no coordinates": (
        lambda: widths.Bayesian.of(dp.Prior(dp.Arms(3), Table(np.eye(3)), 1.0), resetting=True),
        "arms without, use widths.FiniteDomain",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name):
    call, message = REFUSED[name]
    with pytest.raises(dp.DriftpeakError, match=message):
        call()


def test_a_policy_refuses_constants_that_its_prior_contradicts():
    """b >= sqrt(2) s = sqrt(2)/0.2 and a >= 1, in the right dimension and a domain large enough."""
    prior = dp.Prior(GRID, dp.SE(0.2), 0.1)
    drifting = widths.Bayesian.of(prior, resetting=False, horizon=10)
    a, b = derivative_tail(dp.SE(0.2), [2.0, 1.0])
    assert (drifting.a, drifting.b, drifting.extent, drifting.dimension) == (a, b, 2.0, 2)
    dp.TVGPUCB(prior, drift=0.1, width=drifting).prepare(np.arange(1.0, 4))
    least = math.sqrt(2) / 0.2
    good = {"resetting": False, "extent": 2.0, "a": 1.0, "b": least}
    dp.TVGPUCB(prior, drift=0.1, width=widths.Bayesian(2, **good)).prepare(np.arange(1.0, 4))
    for dimension, change, message in (
        (2, {"a": 1.0, "b": 1.0}, r"in B16 \(10\), b must be at least .*Bayesian\.of\(prior\)"),
        (2, {"b": 0.99 * least}, "b must be at least sqrt"),
        (2, {"a": 0.99}, "and a at least 1"),
        (1, {}, "for 2 dimensions of side 2, the domain; got 1 of side 2"),
        (2, {"extent": 1.0}, "for 2 dimensions of side 2, the domain; got 2 of side 1"),
    ):
        policy = dp.TVGPUCB(prior, drift=0.1, width=widths.Bayesian(dimension, **good | change))
        with pytest.raises(dp.DriftpeakError, match=message):
            policy.prepare(np.arange(1.0, 4))
    rough = dp.Prior(GRID, dp.Matern(0.5), 0.1)
    policy = dp.TVGPUCB(rough, drift=0.1, width=widths.Bayesian(2, **good))
    with pytest.raises(dp.DriftpeakError, match="have no derivative"):
        policy.prepare(np.arange(1.0, 4))
