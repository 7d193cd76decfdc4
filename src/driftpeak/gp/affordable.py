r"""Features, refused where computing them would take longer than minutes.

Under a rough kernel, nearly as many features as points are needed. Pivoted Cholesky takes
\(n r^2\) operations, which would not finish on a large grid. The rank is therefore estimated first
on a random subset of the points, which takes seconds: all points need at least as many features
as the subset.
"""

import math

import numpy as np

from driftpeak._core.errors import DriftpeakError
from driftpeak.gp.domains import Arms, Domain
from driftpeak.gp.features import Features, by_axis, factored
from driftpeak.gp.kernels import Kernel

MOST_MADE = 5_000
"""Largest number of features that are written out. On at most as many points, which takes a minute,
the rank is not estimated first."""
MOST_WORK = 4e11
"""Largest number of operations, n r^2, to compute features: three minutes on two cores."""
TRIED = 6_000
"""Largest number of points in the subset on which the rank is estimated."""


def affordable(kernel: Kernel, domain: Domain, *, tolerance: float) -> Features:
    """Return `features.factored`, within `MOST_MADE` features and `MOST_WORK` operations.

    Kronecker products along the axes of a grid cost little at any rank and have no limit here.

    Raises:
        DriftpeakError: more features would be needed.
    """
    count = len(domain)
    most = min(MOST_MADE, math.isqrt(int(MOST_WORK / count)))
    if count <= most or by_axis(kernel, domain):
        return factored(kernel, domain, tolerance=tolerance)
    target = tolerance * float(kernel.diagonal(domain).max())
    needed = _needed_by_some(kernel, domain, target, min(2 * most, TRIED, count))
    if needed <= most:
        features = factored(kernel, domain, tolerance=tolerance, rank=most)
        assert features.error is not None
        if features.error <= target:
            return features
        needed = most + 1
    raise DriftpeakError(
        f"at most {most:,} features can be computed on {count:,} points, and the kernel "
        f"({type(kernel).__name__}) needs {needed:,} or more to reduce the error to "
        f"{tolerance:.1g} of the prior variance: these would take "
        f"{16 * count * needed / 2**30:,.1f} GiB and {count * needed**2:.0e} operations. Use a "
        "longer lengthscale, a smoother kernel, fewer points, or a policy that computes in "
        "function space, such as TVGPUCB"
    )


def _needed_by_some(kernel: Kernel, domain: Domain, target: float, size: int) -> int:
    """Return the rank that a random subset of `size` points needs to reach the error `target`.

    0 if the kernel cannot be evaluated on a subset of the points.
    """
    if not (kernel.pointwise or kernel.stationary):
        return 0
    from scipy.linalg import lapack

    few = np.random.default_rng(0).choice(len(domain), size, replace=False)
    gram = kernel.rows(Arms(domain.points[few]))
    rank: int = lapack.dpstrf(gram, tol=target)[2]  # pivoted Cholesky too, block by block
    return rank
