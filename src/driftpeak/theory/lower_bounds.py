r"""B16's lower bound with its constant: under Markov drift every regret is \(\Omega(T\epsilon)\).

Even if \(f_{t-1}\) is known, its peak \(x_t\) has moved by step t. B16's proof bounds the distance.
"""

import math

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import at_least, at_least_integer, positive, unit_interval
from driftpeak.theory.bound import Bound, Condition, conclude


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
