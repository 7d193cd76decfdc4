r"""Tails of the sample paths of a kernel and of their second derivatives, over a box.

B16 (9) and (11) require constants with \(\Pr(\sup_x |f(x)| > L) \le a_0 e^{-(L/b_0)^2}\) and
\(\Pr(\sup_x |\partial^2 f / \partial x_i \partial x_j| > L) \le a_2 e^{-(L/b_2)^2}\) for every L, i
and j. `driftpeak.gp.sample_paths.derivative_tail` has those of the first derivatives, (10).
"""

from typing import Any

import numpy as np

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DriftpeakError, finite_array
from driftpeak._core.types import Matrix
from driftpeak.gp.domains import Arms
from driftpeak.gp.kernels import (
    SE,
    Kernel,
    Linear,
    Matern,
    RationalQuadratic,
    Scaled,
    Sum,
)
from driftpeak.gp.sample_paths import Tail, check_sides, radial_derivative, supremum_tail


@checked
def function_tail(kernel: Kernel, extents: Any) -> Tail:
    r"""Return proven constants \(a_0\) and \(b_0\) of B16 (9) on \(\prod_j [0, r_j]\).

    The inequality of Borell and TIS and a chain over cells, as in
    `driftpeak.gp.sample_paths.derivative_tail`, for the process itself: \(b_0 = 2s\) with the
    standard deviation s of the kernel, in units of the reward. No derivative is needed, so rough
    kernels such as Matern with nu = 1/2 have a tail too. On a finite domain of n points with
    variance at most 1, \(a_0 = n\) and \(b_0 = \sqrt 2\) also hold.

    Arguments:
        kernel: a stationary kernel.
        extents: r_j, one per dimension.

    Raises:
        DriftpeakError: a kernel that is not stationary, a kernel too rough for the sum to converge,
            or extents that are not positive.

    Source: B16 (9).
    """
    sides = check_sides(extents)
    if not kernel.stationary:
        raise DriftpeakError(
            f"kernel must be stationary; got {type(kernel).__name__}. For a finite domain of n "
            "points with variance at most 1, use a0 = n and b0 = sqrt(2)"
        )
    kernel.check(Arms(np.zeros((2, len(sides)))))

    def covariance(lags: Matrix) -> Matrix:
        points = np.concatenate([np.zeros((1, len(sides))), lags])
        return np.asarray(kernel.rows(Arms(points), [0]))[0, 1:, None]

    return supremum_tail(kernel, covariance, sides)


@checked
def curvature_tail(kernel: Kernel, extents: Any) -> Tail:
    r"""Return proven constants \(a_2\) and \(b_2\) of B16 (11) on \(\prod_j [0, r_j]\).

    As `driftpeak.gp.sample_paths.derivative_tail`, for the second derivatives in all pairs of
    directions; L has units of the reward divided by squared units of the coordinates. B16 states
    (11) for SE and Matern kernels with nu above 4. Sample paths have continuous second derivatives
    for nu above 2, and the constants hold there.

    Arguments:
        kernel: SE, Matern with nu above 2, rational quadratic or linear; sums and multiples of
            these.
        extents: r_j, one per dimension.

    Raises:
        DriftpeakError: a kernel without second derivatives, an unsupported kernel, a kernel too
            rough for the sum to converge, or extents that are not positive.

    Source: B16 (11).
    """
    sides = check_sides(extents)
    return supremum_tail(kernel, lambda lags: curvature_covariance(kernel, lags), sides)


@checked
def curvature_covariance(kernel: Kernel, lags: Any) -> Matrix:
    r"""Return \(\mathrm{Cov}(\partial_i\partial_j f(x + h), \partial_i\partial_j f(x))\).

    This is the derivative \(\partial^4 k / \partial h_i^2 \partial h_j^2\) of a stationary kernel.

    Arguments:
        kernel: as for `curvature_tail`.
        lags: h, shape `(m, d)`.

    Returns:
        Shape `(m, d (d + 1) / 2)`: the pairs i <= j in the order (1, 1), (1, 2), ..., (d, d).

    Raises:
        DriftpeakError: a kernel without second derivatives, or an unsupported kernel.
    """
    lags = finite_array("lags", lags, 2)
    if isinstance(kernel, Scaled):
        return float(kernel.variance) * curvature_covariance(kernel.kernel, lags)
    if isinstance(kernel, Sum):
        return curvature_covariance(kernel.left, lags) + curvature_covariance(kernel.right, lags)
    first, second = np.triu_indices(lags.shape[1])
    if isinstance(kernel, Linear):  # linear functions have no curvature
        return np.zeros((len(lags), len(first)))
    if not isinstance(kernel, SE | Matern | RationalQuadratic):
        raise DriftpeakError(
            f"kernel must be SE, Matern with nu above 2, RationalQuadratic or Linear, or a sum or "
            f"multiple of these; got {type(kernel).__name__}"
        )
    if isinstance(kernel, Matern) and kernel.nu <= 2:
        raise DriftpeakError(
            f"nu must be above 2: the sample paths of a Matern kernel with nu = {kernel.nu:g} have "
            "no second derivatives, so B16 (11) holds for no a and b"
        )
    square = np.broadcast_to(np.asarray(kernel.lengthscale) ** 2, lags.shape[1:])
    q = (lags**2 / square).sum(axis=1)
    two, three, four = (radial_derivative(kernel, q, order)[:, None] for order in (2, 3, 4))
    u, slope = 1 / square, (lags / square) ** 2
    a, b, ua, ub = slope[:, first], slope[:, second], u[first], u[second]
    mixed = 4 * ua * ub * two + 8 * (ua * b + ub * a) * three + 16 * a * b * four
    alike = 12 * ua**2 * two + 48 * ua * a * three + 16 * a**2 * four
    return np.where(first == second, alike, mixed)
