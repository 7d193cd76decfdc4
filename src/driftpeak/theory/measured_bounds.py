r"""B16's lower bound for a given kernel, with its events measured on draws of the functions."""

import itertools
import math
from typing import Any

import numpy as np

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import (
    LARGEST_SEED,
    DriftpeakError,
    at_least_integer,
    unit_interval,
)
from driftpeak._core.types import Matrix, Vector
from driftpeak.gp.domains import Arms
from driftpeak.gp.kernels import Kernel
from driftpeak.gp.sample_paths import check_sides
from driftpeak.theory.bound import Bound, Condition, conclude

FREQUENCIES = 200  # cosines in a draw; its covariance is the kernel's on average at any number
LEVELS = 20  # levels L that are tried, as quantiles of the largest second derivative
MOST_POINTS = 5000


@checked
def measured_lower_bound(
    kernel: Kernel,
    extents: Any,
    *,
    drift: float,
    horizon: int,
    count: int = 400,
    size: int = 100,
    seed: int = 0,
) -> Bound:
    r"""Bound the regret of any policy under Markov drift from below, on \(\prod_j [0, r_j]\).

    \((T - 1) \frac{\epsilon}{4 L d} E[1_A \|\nabla g(x)\|^2]\) with the peak x of f and independent
    draws f and g. The event A consists of \(\mathcal A_1\) to \(\mathcal A_4\): all second
    derivatives of f and g are below L, and the step \(\sqrt\epsilon \|\nabla g\| / (2 L d)\) stays
    inside the box, which is (92) and (93) for the point itself.

    The level L is chosen on half of the draws. The value is the mean over the other half minus 2.33
    standard errors, a lower confidence limit at about 99 %. Draws are sums of 200 cosines with
    frequencies from the spectral density. Suprema are taken over `size` points a side, which
    misses them by \(O(\mathrm{spacing}^2)\).

    Arguments:
        kernel: a kernel with a spectral density and twice differentiable paths: SE, rational
            quadratic, Matern with nu above 2, multiples and products of these. Zero prior mean.
        extents: r_j, one per dimension.
        drift: \(\epsilon\).
        horizon: T.
        count: number of pairs of draws, from 20.
        size: points a side, at most 5,000 in all.
        seed: seed of the draws.

    Returns:
        The bound, in units of the reward; no value if no draw of the first half is in A.

    Raises:
        DriftpeakError: a number out of range, or a kernel without a spectral density.

    Source: B16 (90)-(93), (102).
    """
    sides, drift = check_sides(extents), unit_interval("drift", drift)
    horizon, count = at_least_integer("horizon", horizon, 1), at_least_integer("count", count, 20)
    size = at_least_integer("size", size, 3)
    seed = at_least_integer("seed", seed, 0, LARGEST_SEED)
    if size ** len(sides) > MOST_POINTS:
        raise DriftpeakError(
            f"size must give at most {MOST_POINTS:,} points; got {size}, which makes "
            f"{size}^{len(sides)}"
        )
    kernel.check(Arms(np.zeros((2, len(sides)))))
    curvature, gradient, distance = _draws(kernel, sides, count, size, seed)

    def terms(level: float, part: slice) -> Vector:
        """Return the indicator of A times |grad g|^2 / (4 L d)."""
        stride = np.sqrt(drift * gradient[part]) / (2 * level * len(sides))
        inside = (curvature[part] <= level) & (distance[part] > 0) & (stride <= distance[part])
        return np.asarray(inside * gradient[part] / (4 * level * len(sides)), np.float64)

    first, second = slice(0, count // 2), slice(count // 2, count)
    levels = np.quantile(curvature[first], np.linspace(0.05, 1.0, LEVELS))
    best = float(max(levels, key=lambda level: terms(level, first).mean()))
    chosen = terms(best, second)
    error = chosen.std(ddof=1) / math.sqrt(len(chosen))
    likely = terms(best, first).mean() > 0
    return conclude(
        "B16 (102), measured",
        [Condition("the peak can be inside the box", bool(likely), f"{count // 2} draws")],
        lambda: (horizon - 1) * drift * max(float(chosen.mean() - 2.33 * error), 0.0),
    )


def _draws(
    kernel: Kernel, sides: Matrix, count: int, size: int, seed: int
) -> tuple[Vector, Vector, Vector]:
    """Return the largest second derivative, |grad g|^2 at the peak of f, its distance inside."""
    generator, dimension = np.random.default_rng(seed), len(sides)
    axes = np.meshgrid(*(np.linspace(0, side, size) for side in sides), indexing="ij")
    points = np.stack([axis.ravel() for axis in axes], axis=1)
    scale = math.sqrt(float(kernel.diagonal(Arms(points[:2]))[0]) / FREQUENCIES)
    curvature, gradient, distance = np.zeros(count), np.zeros(count), np.zeros(count)
    for pair in range(count):
        peak = 0
        for own in ("f", "g"):
            waves = kernel.frequencies(generator, FREQUENCIES, dimension)
            cosines, sines = scale * generator.standard_normal((2, FREQUENCIES))
            phase = points @ waves.T
            cosine, sine = np.cos(phase), np.sin(phase)
            values = cosine @ cosines + sine @ sines
            for i, j in itertools.combinations_with_replacement(range(dimension), 2):
                factor = waves[:, i] * waves[:, j]
                second = cosine @ (factor * cosines) + sine @ (factor * sines)
                curvature[pair] = max(curvature[pair], np.abs(second).max())
            if own == "f":
                peak = int(values.argmax())
            else:
                slope = (cosine[peak] * sines - sine[peak] * cosines) @ waves
                gradient[pair] = slope @ slope
        distance[pair] = np.minimum(points[peak], sides - points[peak]).min()
    return curvature, gradient, distance
