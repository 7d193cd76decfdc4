r"""Bounds of derivatives of the sample paths of a kernel: \(\partial f / \partial x_j\) as a GP.

The covariance of the derivative is \(-\partial^2 k / \partial h_j^2\) at the lag h of a stationary
kernel. B16 (10), the condition of its regret bounds, requires constants a and b with
\(\Pr(\sup_x |\partial f / \partial x_j| > L) \le a e^{-(L/b)^2}\) for every L and j.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from driftpeak._core.errors import DriftpeakError, at_least_integer, finite_array
from driftpeak._core.types import Matrix
from driftpeak.gp.kernels import (
    SE,
    Kernel,
    Linear,
    Matern,
    Periodic,
    Product,
    RationalQuadratic,
    Scaled,
    Stationary,
    Sum,
    bessel_correlation,
)

LEVELS = 40  # levels of ever smaller cells: the last has 1e-12 of the side of the domain


class Tail(NamedTuple):
    r"""The constants of \(\Pr(\sup |\partial f/\partial x_j| > L) \le a e^{-(L/b)^2}\)."""

    a: float
    b: float


def derivative_covariance(kernel: Kernel, lags: Any) -> Matrix:
    r"""Return \(\mathrm{Cov}(\partial_j f(x + h), \partial_j f(x))\) for each lag h, direction j.

    Arguments:
        kernel: SE, Matern with nu above 1, rational quadratic, periodic or linear; sums and
            multiples of these, and products (without linear).
        lags: shape `(m, d)`.

    Raises:
        DriftpeakError: a kernel whose sample paths have no derivative, or an unsupported kernel.
    """
    lags = finite_array("lags", lags, 2)
    if isinstance(kernel, Scaled):
        return float(kernel.variance) * derivative_covariance(kernel.kernel, lags)
    if isinstance(kernel, Sum):
        return derivative_covariance(kernel.left, lags) + derivative_covariance(kernel.right, lags)
    if isinstance(kernel, Linear):
        return np.broadcast_to(1 / np.asarray(kernel.lengthscale) ** 2, lags.shape)
    return -_jet(kernel, lags).second


def derivative_tail(kernel: Kernel, extents: Any) -> Tail:
    r"""Return proven constants a and b of B16 (10) on \(\prod_j [0, r_j]\).

    s is the largest standard deviation of a derivative and m a bound of
    \(E \sup_x |\partial_j f(x)|\). The inequality of Borell and TIS,
    \(\Pr(\sup > m + u) \le e^{-u^2/(2s^2)}\), and \((L - m)^2 \ge \frac12 L^2 - m^2\) give
    \(a = e^{m^2/(2s^2)}\), \(b = 2s\). The bound m is a chain over cells that are halved in every
    dimension: N centres have \(E \max \le s\sqrt{2 \log 2N}\), and each halving adds
    \(q \sqrt{2 \log 2N}\), with q the standard deviation of the difference between the centres of a
    cell and of its half. The chain starts at 1, 2, 4, ... cells a side; the smallest bound is used.

    Arguments:
        kernel: as for `derivative_covariance`.
        extents: r_j, one per dimension.

    Raises:
        DriftpeakError: a kernel without derivatives, a kernel too rough for the sum to converge (a
            Matern kernel with nu barely above 1), or extents that are not positive.

    Source: B16 (10).
    """
    sides = check_sides(extents)
    return supremum_tail(kernel, lambda lags: derivative_covariance(kernel, lags), sides)


def supremum_tail(kernel: Kernel, covariance: Callable[[Matrix], Matrix], sides: Matrix) -> Tail:
    """Return constants for the largest of several stationary processes, as in `derivative_tail`.

    Arguments:
        kernel: kernel that the processes belong to, for error messages.
        covariance: function of the lags, shape `(m, d)`, to the covariance of each process at two
            points of that lag, shape `(m, processes)`.
        sides: r_j.
    """
    deviation = np.sqrt(covariance(np.zeros((1, len(sides))))[0])
    largest = _expected_largest(kernel, covariance, sides, deviation)
    ratio = np.divide(largest, deviation, out=np.zeros_like(largest), where=deviation > 0)
    return Tail(float(np.exp(ratio**2 / 2).max()), float(2 * deviation.max()))


def check_tail(tail: Tail, kernel: Kernel, dimension: int) -> None:
    r"""Raise DriftpeakError if constants of B16 (10) contradict `kernel`.

    A single \(\partial_j f(x)\) is normal with standard deviation s. If \(b < \sqrt 2 s\), its tail
    alone exceeds \(a e^{-(L/b)^2}\) at large L, for any a. At L = 0 it is 1, so a must be at least
    1. Constants that pass need not hold for the supremum; the result of `derivative_tail` does.

    Raises:
        DriftpeakError: contradicted constants, or a kernel whose paths have no derivative.
    """
    deviation = math.sqrt(derivative_covariance(kernel, np.zeros((1, dimension))).max())
    if tail.b < math.sqrt(2) * deviation * (1 - 1e-9) or tail.a < 1:
        raise DriftpeakError(
            f"in B16 (10), b must be at least sqrt(2) times the standard deviation "
            f"{deviation:.4g} of a derivative, {math.sqrt(2) * deviation:.4g}, and a at least 1; "
            f"got a = {tail.a:.4g}, b = {tail.b:.4g}. Use widths.Bayesian.of(prior)"
        )


def largest_derivatives(
    kernel: Kernel, extents: Any, *, count: int, size: int = 100, seed: int = 0
) -> Matrix:
    r"""Draw \(\sup_x |\partial_j f(x)|\), shape `(count, d)`: the largest value on a grid.

    The supremum over the grid of `size` points a side is below the supremum over the box, by
    \(O(\mathrm{spacing}^2)\) for smooth kernels. The directions are drawn independently.

    Raises:
        DriftpeakError: as for `derivative_tail`; count or size too small, or more than 5,000
            points.
    """
    sides = check_sides(extents)
    count, size = at_least_integer("count", count, 1), at_least_integer("size", size, 2)
    if size ** len(sides) > 5000:
        raise DriftpeakError(
            f"size must give at most 5,000 points; got {size}, which makes {size}^{len(sides)}"
        )
    axes = np.meshgrid(*(np.linspace(0, side, size) for side in sides), indexing="ij")
    points = np.stack([axis.ravel() for axis in axes], axis=1)
    lags = (points[:, None] - points[None]).reshape(-1, len(sides))
    covariance = derivative_covariance(kernel, lags).reshape(len(points), len(points), -1)
    generator = np.random.default_rng(seed)
    largest = np.empty((count, len(sides)))
    for j in range(len(sides)):
        values, vectors = np.linalg.eigh(covariance[:, :, j])
        factor = vectors * np.sqrt(np.maximum(values, 0.0))  # below 0 by rounding only
        draws = generator.standard_normal((count, len(points))) @ factor.T
        largest[:, j] = np.abs(draws).max(axis=1)
    return largest


def _expected_largest(
    kernel: Kernel, covariance: Callable[[Matrix], Matrix], sides: Matrix, deviation: Matrix
) -> Matrix:
    """Return a bound of the expected supremum of each process, shape (processes,)."""
    dimension = len(sides)
    halvings = np.arange(1, LEVELS + 1)
    lags = 0.5 * sides * 0.5 ** halvings[:, None]  # between the centres of a cell and of its half
    steps = np.sqrt(
        np.maximum(2 * (deviation**2 - covariance(lags)), 0.0)
    )  # below 0 by rounding only
    logarithms = math.log(2) * (1 + dimension * np.arange(LEVELS + 1))  # log 2N of every level
    terms = steps * np.sqrt(2 * logarithms[1:, None])
    if (terms[-1] > 1e-3 * deviation).any():
        raise DriftpeakError(
            f"{type(kernel).__name__} is too rough for a bound of the supremum: increments over "
            "1e-12 of the domain are not negligible. Use a smoother kernel"
        )
    rest = np.append(terms[::-1].cumsum(axis=0)[::-1], np.zeros((1, len(deviation))), axis=0)
    return (deviation * np.sqrt(2 * logarithms[:, None]) + rest).min(axis=0)


class _Jet(NamedTuple):
    """A stationary kernel of the lag, (m,), and its first and second derivatives, (m, d)."""

    value: Matrix
    first: Matrix
    second: Matrix


def _jet(kernel: Kernel, lags: Matrix) -> _Jet:
    if isinstance(kernel, Scaled):
        variance = float(kernel.variance)
        return _Jet(*(variance * part for part in _jet(kernel.kernel, lags)))
    if isinstance(kernel, Sum):
        left, right = _jet(kernel.left, lags), _jet(kernel.right, lags)
        return _Jet(*(first + second for first, second in zip(left, right, strict=True)))
    if isinstance(kernel, Product):
        left, right = _jet(kernel.left, lags), _jet(kernel.right, lags)
        value, other = left.value[:, None], right.value[:, None]
        first = left.first * other + value * right.first
        second = left.second * other + 2 * left.first * right.first + value * right.second
        return _Jet(left.value * right.value, first, second)
    if isinstance(kernel, Periodic):
        rate = 2 * np.pi / np.asarray(kernel.period)
        size = (rate / np.asarray(kernel.lengthscale)) ** 2
        value = np.exp(-(size / rate**2 * (1 - np.cos(rate * lags))).sum(axis=1))
        slope = -size / rate * np.sin(rate * lags)
        bend = slope**2 - size * np.cos(rate * lags)
        return _Jet(value, value[:, None] * slope, value[:, None] * bend)
    if isinstance(kernel, SE | Matern | RationalQuadratic):
        return _radial(kernel, lags)
    raise DriftpeakError(
        f"{type(kernel).__name__} has no derivative process in driftpeak. Use SE, Matern with nu "
        "above 1, RationalQuadratic, Periodic or Linear, or widths.FiniteDomain on finitely many "
        "points"
    )


def _radial(kernel: Stationary, lags: Matrix) -> _Jet:
    """Return psi(q), q = sum h_j^2/l_j^2: k' = 2 psi' h/l^2, k'' = 2 psi'/l^2 + 4 psi'' h^2/l^4."""
    if isinstance(kernel, Matern) and kernel.nu <= 1:
        raise DriftpeakError(
            f"nu must be above 1: the sample paths of a Matern kernel with nu = {kernel.nu:g} have "
            "no derivative, so B16 (10) holds for no a and b. Use widths.FiniteDomain on finitely "
            "many points"
        )
    square = np.asarray(kernel.lengthscale) ** 2
    q = (lags**2 / square).sum(axis=1)
    value, slope, bend = (radial_derivative(kernel, q, order) for order in range(3))
    scaled = lags / square
    return _Jet(
        value,
        2 * slope[:, None] * scaled,
        2 * slope[:, None] / square + 4 * bend[:, None] * scaled**2,
    )


def radial_derivative(kernel: Stationary, q: Matrix, order: int) -> Matrix:
    r"""Return a derivative of the covariance psi(q) as a function of \(q = \sum_j h_j^2 / l_j^2\).

    For a Matern kernel, psi = c z^nu K_nu(z) with z^2 = 2 nu q, and the derivative of order k is
    (-nu)^k c z^m K_m(z) with m = nu - k.

    Arguments:
        kernel: SE, Matern or rational quadratic.
    """
    if isinstance(kernel, SE):
        return (-0.5) ** order * np.exp(-q / 2)
    if isinstance(kernel, RationalQuadratic):
        mixture = float(kernel.mixture)
        factor = math.prod(-(mixture + k) / (2 * mixture) for k in range(order))
        return factor * (1 + q / (2 * mixture)) ** (-mixture - order)
    assert isinstance(kernel, Matern)
    nu, z = kernel.nu, np.sqrt(2 * kernel.nu * q)
    if nu > order:
        ratio = math.prod(nu / (2 * (nu - k)) for k in range(1, order + 1))
        return (-1) ** order * ratio * bessel_correlation(nu - order, z)
    from scipy.special import gammaln, kv

    # infinite at 0, where the powers of the lag that multiply it make up for it
    away = np.maximum(z, 1e-30)
    constant = math.exp(order * math.log(nu) + (1 - nu) * math.log(2) - gammaln(nu))
    return (-1) ** order * constant * away ** (nu - order) * kv(order - nu, away)


def check_sides(extents: Any) -> Matrix:
    """Return the sides of a box as an array.

    Raises:
        DriftpeakError: not one or more numbers above 0.
    """
    sides = finite_array("extents", extents, 1)
    if len(sides) == 0 or not (sides > 0).all():
        raise DriftpeakError(f"extents must be numbers above 0; got {sides.tolist()}")
    return sides
