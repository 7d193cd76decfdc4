r"""Lower bounds of the regret of any policy, with their constants.

B16: under Markov drift every regret is \(\Omega(T\epsilon)\). Even if \(f_{t-1}\) is known, its
peak \(x_t\) has moved by step t. B16's proof bounds the distance.

IT25: under a budget of variation, functions that no policy can tell apart change every H steps.
"""

import math
from typing import Any

import numpy as np

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import (
    DriftpeakError,
    at_least,
    at_least_integer,
    finite_array,
    positive,
    unit_interval,
)
from driftpeak.gp.kernels import Kernel
from driftpeak.theory.bound import Bound, Condition, conclude, power
from driftpeak.theory.smoothness import smoothness


@checked
def moved_peak_regret(
    *,
    gradient: float,
    curvature: float,
    drift: float,
    dimension: int,
    distance: float = math.inf,
) -> Bound:
    r"""Bound the regret at the peak of \(f_{t-1}\) from below.

    \(r_t \ge \epsilon \|\nabla g_t(x_t)\|^2 / (4 L d)\)

    Arguments:
        gradient: \(\|\nabla g_t(x_t)\|\), of the innovation at the peak \(x_t\) of \(f_{t-1}\).
        curvature: L, the largest absolute second derivative of \(f_{t-1}\) and of \(g_t\).
        drift: \(\epsilon\).
        dimension: d.
        distance: distance of \(x_t\) from the boundary of the domain; the proof takes a step of
            \(\sqrt\epsilon \|\nabla g\| / (2 L d)\) uphill, which must stay inside.

    Raises:
        DriftpeakError: a number out of range.

    Source: B16 (100).
    """
    gradient, curvature = at_least("gradient", gradient, 0), positive("curvature", curvature)
    drift = unit_interval("drift", drift)
    dimension = at_least_integer("dimension", dimension, 1)
    if not (isinstance(distance, float) and distance == math.inf):
        distance = at_least("distance", distance, 0)
    stride = math.sqrt(drift) * gradient / (2 * curvature * dimension)
    return conclude(
        "B16 (100)",
        [
            Condition(
                "a step of sqrt(epsilon) |grad g| / (2 L d) stays inside the domain",
                distance > 0 and stride <= distance,
                f"a step of {stride:.4g}, the boundary at {distance:.4g}",
            )
        ],
        lambda: drift * gradient**2 / (4 * curvature * dimension),
    )


@checked
def markov_lower_bound(
    *,
    horizon: int,
    drift: float,
    dimension: int,
    curvature: float,
    squared_gradient: float,
    probability: float,
) -> Bound:
    r"""Bound the regret of any policy from below.

    \(E[R_T] \ge (T - 1) \Pr(A)\, \epsilon\, E[\|\nabla g\|^2 | A] / (4 L d)\). A is the event that
    second derivatives stay below L and the step of `moved_peak_regret` stays inside the domain. For
    a given kernel its probability and the mean square gradient can be measured on draws of f and g.
    The first step has no \(f_0\): the factor is T - 1 where B16 has T.

    Arguments:
        curvature: L, any level.
        squared_gradient: \(E[\|\nabla g(x)\|^2 | A]\), x the peak of f, f and g independent.
        probability: \(\Pr(A)\).

    Raises:
        DriftpeakError: a number out of range.

    Source: B16 Theorem 4.1, (102).
    """
    horizon = at_least_integer("horizon", horizon, 1)
    dimension = at_least_integer("dimension", dimension, 1)
    squared_gradient = at_least("squared_gradient", squared_gradient, 0)
    each = unit_interval("probability", probability) * unit_interval("drift", drift)
    each *= squared_gradient / (4 * positive("curvature", curvature) * dimension)
    return conclude("B16 (102)", (), lambda: (horizon - 1) * each)


@checked
def hard_gap(kernel: Kernel, *, steps: int, dimension: int, constant: float = 1.0) -> float:
    r"""Return the gap \(\varepsilon(H)\) of functions that H steps cannot tell apart.

    SE: \(C \sqrt{\log^{d/2} H / H}\). Matern: \(C H^{-\nu/(2\nu+d)}\). For a constant function of
    the set, any policy has an expected regret of at least \(H \varepsilon(H)\) in H steps. Any two
    functions of the set differ by at most \(4 \varepsilon(H)\).

    Arguments:
        kernel: SE or Matern, scaled or not.
        steps: H.
        dimension: d.
        constant: \(C^{(1)}\), which depends on the lengthscale, \(\nu\), the norm bound, the noise
            and d; the paper does not give it.

    Raises:
        DriftpeakError: a number out of range, or another kernel.

    Source: IT25 Lemma 2.
    """
    steps = at_least_integer("steps", steps, 1)
    d = at_least_integer("dimension", dimension, 1)
    constant, nu = positive("constant", constant), smoothness(kernel)
    if math.isinf(nu):
        return constant * math.sqrt(math.log(steps) ** (d / 2) / steps)
    return constant * steps ** (-nu / (2 * nu + d))


@checked
def budget_lower_bound(
    kernel: Kernel,
    *,
    variation: float,
    horizon: int,
    dimension: int,
    constant: float = 1.0,
) -> Bound:
    r"""Bound the regret of any policy under a budget of variation from below (IT25 Theorem 1).

    The function changes every H steps within the set of Lemma 2. With m = floor(T/H) complete
    intervals, the variation is at most \(4 \varepsilon(H) (m - 1)\) and the expected regret of any
    policy, for the worst order of the functions, at least \(m H \varepsilon(H)\), with `hard_gap`
    \(\varepsilon\). The interval is that of the proof: \(H = \lceil (4 C T \log^{d/4} T /
    V_T)^{2/3} \rceil\) for SE and \(H = \lceil (4 C T / V_T)^{(2\nu+d)/(3\nu+d)} \rceil\) for
    Matern.

    The paper's (12) also counts the last, incomplete interval; its lower bound \(T \varepsilon(H)\)
    may exceed this one by the share of that interval. The closed forms follow from
    \(H \le 2 H'\), H' the value before rounding. For Matern it is (32). For SE, the constant in
    (22) and (23) is \(2^{-7/6}\), since \(4^{-1/3} 2^{-1/2} = 2^{-7/6}\); the paper prints
    \(2^{-5/6}\). The condition \(V_T \le \bar C T^{\bar c}\) serves that closed form only, where it
    bounds log H by log T.

    Arguments:
        kernel: SE or Matern, scaled or not.
        variation: \(V_T\), in the supremum norm.
        horizon: T, from 2.
        dimension: d.
        constant: \(C^{(1)}\) of `hard_gap`. The theorem holds for "sufficiently large T".

    Raises:
        DriftpeakError: a number out of range, or another kernel.

    Source: IT25 Theorem 1, (12)-(32), corrected.
    """
    horizon, d = (
        at_least_integer("horizon", horizon, 2),
        at_least_integer("dimension", dimension, 1),
    )
    constant, variation = positive("constant", constant), at_least("variation", variation, 0)
    nu = smoothness(kernel)
    exponent, logarithms = (2 / 3, d / 4) if math.isinf(nu) else ((2 * nu + d) / (3 * nu + d), 0.0)
    scale = 4 * constant * math.log(horizon) ** logarithms
    wanted = math.inf if variation == 0 else power(scale * horizon / variation, exponent)
    least = scale * horizon ** (1 - 1 / exponent)
    most = scale * horizon * (1.0 if math.isinf(nu) else 2 ** (1 / exponent))
    value = f"V_T = {variation:.4g}"
    interval = math.ceil(min(wanted, horizon))
    return conclude(
        "IT25 Theorem 1",
        [
            Condition(f"V_T >= {least:.4g}", wanted <= horizon, value),
            Condition(f"V_T <= {most:.4g}", variation <= most, value),
        ],
        lambda: (
            (horizon // interval)
            * interval
            * hard_gap(kernel, steps=interval, dimension=d, constant=constant)
        ),
    )


@checked
def price_of_change(kernel: Kernel, *, dimension: int) -> float:
    r"""Return the extra power of T in the lower bound due to change (IT25 section 3).

    At constant \(V_T\), the lower bound of Theorem 1 divided by the lower bound of a constant
    function (Scarlett et al. 2017) grows as \(T^{1/6}\) for SE and
    \(T^{\nu^2/((3\nu+d)(2\nu+d))}\) for Matern.

    Raises:
        DriftpeakError: dimension below 1, or another kernel.

    Source: IT25 section 3.
    """
    d, nu = at_least_integer("dimension", dimension, 1), smoothness(kernel)
    return 1 / 6 if math.isinf(nu) else nu**2 / ((3 * nu + d) * (2 * nu + d))


@checked
def identification_error(divergences: Any) -> float:
    r"""Bound the probability of a wrong choice among M hypotheses from below (M25 (37), Fano).

    \(P_{err} \ge 1 - \frac{M^{-2} \sum_{i \ne j} \mathrm{KL}(P_i \| P_j) + \log 2}{\log M}\), at
    least 0, for hypotheses of equal probability.

    Arguments:
        divergences: KL(P_i || P_j) in nats, shape `(M, M)` with M >= 2; infinite values are not
            accepted, and the diagonal is not used.

    Raises:
        DriftpeakError: not a square table of two rows or more, or a negative divergence.

    Source: M25 (37).
    """
    table = finite_array("divergences", divergences, 2)
    count = len(table)
    if count < 2 or table.shape != (count, count) or (table < 0).any():
        raise DriftpeakError(
            "divergences must be a square table of at least 2 rows without negative numbers; got "
            f"shape {table.shape}, smallest {table.min(initial=0.0):g}"
        )
    mean = (table.sum() - np.trace(table)) / count**2
    return max(1 - (mean + math.log(2)) / math.log(count), 0.0)
