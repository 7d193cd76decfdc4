r"""Linear regret with a bounded number of side queries (M25 section 5.1).

The proof takes M bumps of one shape in M cells, as `driftpeak.environments.MovingBump`. Under fast
change (\(\alpha > 1\)) all observations together have a bounded information, so at each step the
cell of the bump remains unknown with a positive probability.
"""

import math

import numpy as np
from scipy import special

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import at_least, at_least_integer, positive
from driftpeak.environments.adversarial import half_height_radius, quadrature
from driftpeak.theory.bound import Bound, Condition, conclude

LARGEST_DIMENSION = 20


@checked
def hard_functions(
    *, gap: float, lengthscale: float, dimension: int, norm_bound: float = 1.0
) -> Bound:
    r"""Return the number M of bumps of height \(2\gamma\) and RKHS norm at most B on a unit cube.

    \(M = \lfloor (c/\zeta)^d \rfloor\) with
    \(c = \frac{1}{\pi l} \sqrt{\log\frac{B (2\pi l^2)^{d/4} h(0)}{2\gamma}}\), for the SE kernel of
    variance 1. The bump is \(2\gamma\, h(c x)/h(0)\). Here h is the inverse Fourier transform in
    cycles, \(h(x) = \int H(\xi) e^{2\pi i x \xi} d\xi\), of \(H(\xi) = \exp(-1/(1 - |\xi|^2))\)
    on the unit ball, and \(\zeta\) is the radius at which h falls to h(0)/2. With this convention
    the SE kernel has the spectral density \((2\pi l^2)^{d/2} e^{-2\pi^2 l^2 |\xi|^2}\), so the
    squared norm is at most \((2\gamma/h(0))^2 c^{-d} (2\pi l^2)^{-d/2} e^{2\pi^2 l^2 c^2}\). It is
    at most \(B^2\) if \(c \ge 1\).

    The cells have side \(\zeta/c\), in which a bump falls to half its height at this distance from
    its centre. If no two bumps may exceed \(\gamma\) at the same point, the cells need twice this
    side, so there are about \(2^{-d} M\) functions.

    Arguments:
        gap: \(\gamma\), half the height.
        lengthscale: l, relative to the side of the cube.
        dimension: d, at most 20.
        norm_bound: B.

    Raises:
        DriftpeakError: a number out of range.

    Source: M25 (36), Figure 5.
    """
    gap, length = positive("gap", gap), positive("lengthscale", lengthscale)
    d = at_least_integer("dimension", dimension, 1, LARGEST_DIMENSION)
    bound = positive("norm_bound", norm_bound)
    log_ratio = math.log(bound) - math.log(2 * gap) + math.log(bump_integral(d))
    log_ratio += d / 4 * math.log(2 * math.pi) + d / 2 * math.log(length)
    scale = math.sqrt(max(log_ratio, 0.0)) / (math.pi * length)
    return conclude(
        "M25 (36)",
        [Condition("c >= 1", scale >= 1, f"c = {scale:.4g}")],
        lambda: _whole_power(scale / half_height_radius(d), d),
    )


def _whole_power(base: float, exponent: int) -> float:
    logarithm = exponent * math.log(base)
    return math.inf if logarithm > 700 else float(math.floor(base**exponent))


def bump_integral(dimension: int) -> float:
    r"""Return \(h(0) = \int_{|\xi| < 1} e^{-1/(1 - |\xi|^2)} d\xi\)."""
    radii, weights, log_spectrum = quadrature()
    surface = 2 * math.pi ** (dimension / 2) / special.gamma(dimension / 2)
    radial = weights * np.exp(log_spectrum) * radii ** (dimension - 1)
    return float(surface * radial.sum())


@checked
def fresh_information(*, exponent: float, queries: float, noise_variance: float) -> Bound:
    r"""Bound the information \(\sum_t \sigma_t^{-2}\) of all observations about the present.

    \(\frac{1}{\sigma^2} (\sum_{a \ge 0} \frac{1}{1 + a^\alpha} + C)\): the policy's own
    observations at all ages a, and C side queries without age. It is finite for \(\alpha > 1\), and
    does not depend on T. The sum over ages is \(C_2 \sigma^2\) of (39).

    Arguments:
        exponent: \(\alpha\).
        queries: C, the largest number of side queries in all steps.
        noise_variance: \(\sigma^2\).

    Raises:
        DriftpeakError: a number out of range.

    Source: M25 (39).
    """
    alpha, noise = at_least("exponent", exponent, 0), positive("noise_variance", noise_variance)
    count = at_least("queries", queries, 0)
    return conclude("M25 (39)", [_fast(alpha)], lambda: (weight_of_ages(alpha) + count) / noise)


def _fast(alpha: float) -> Condition:
    return Condition("alpha > 1", alpha > 1, f"alpha = {alpha:g}")


def weight_of_ages(alpha: float) -> float:
    r"""Return \(\sum_{a \ge 0} 1/(1 + a^\alpha)\) for \(\alpha > 1\).

    The first 10,000 terms are added. The others are the series
    \(\sum_k (-1)^k \sum_a a^{-(k+1)\alpha}\), of which four Hurwitz zeta functions are used.
    """
    last = 10_000
    with np.errstate(over="ignore"):
        first = (1 / (1 + np.arange(float(last)) ** alpha)).sum()
    rest = sum((-1) ** k * special.zeta((k + 1) * alpha, last) for k in range(4))
    return float(first + rest)


@checked
def bounded_queries_regret(
    horizon: int,
    *,
    exponent: float,
    queries: float,
    gap: float,
    lengthscale: float,
    dimension: int,
    noise_variance: float,
    norm_bound: float = 1.0,
    constant: float = 1.0,
) -> Bound:
    r"""Bound the regret of any policy with at most C side queries from below: linear in T.

    \(E[R_T] \ge T \gamma\, p\) with \(p = 1 - \frac{C_1 \gamma^2 S/M + \log 2}{\log M}\) by Fano's
    inequality (37), S of `fresh_information` and M of `hard_functions`. The bound is 0 where p is
    negative. As \(\gamma \to 0\), p tends to 1.

    Arguments:
        horizon: T.
        exponent: \(\alpha\), above 1.
        queries: C, the largest number of side queries in all steps.
        gap: \(\gamma\), free; the bound may be maximised over it.
        lengthscale: l of the SE kernel, relative to the side of the domain.
        dimension: d, at most 20.
        noise_variance: \(\sigma^2\).
        norm_bound: B.
        constant: \(C_1\) of (38), a bound of \(\sum_i \max_{x \in R_j} f_i(x)^2 / \gamma^2\) over
            all cells j; the paper does not give it.

    Raises:
        DriftpeakError: a number out of range.

    Source: M25 Proposition 5.1, (37)-(38).
    """
    steps, gap = at_least_integer("horizon", horizon, 1), positive("gap", gap)
    factor = positive("constant", constant)
    alpha = at_least("exponent", exponent, 0)
    functions = hard_functions(
        gap=gap, lengthscale=lengthscale, dimension=dimension, norm_bound=norm_bound
    )
    information = fresh_information(exponent=alpha, queries=queries, noise_variance=noise_variance)
    count = functions.value or 0.0
    several = Condition("M >= 2", count >= 2, f"M = {count:g}")

    def regret() -> float:
        if math.isinf(count):
            return steps * gap
        divergence = factor * gap**2 * information.number / count
        return steps * gap * max(1 - (divergence + math.log(2)) / math.log(count), 0.0)

    conditions = (*information.conditions, *functions.conditions, several)
    return conclude("M25 Proposition 5.1", conditions, regret)
