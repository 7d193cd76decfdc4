r"""Features, refused where making them would take longer than minutes.

Under a rough kernel there are nearly as many features as points, and pivoted Cholesky takes
\(n r^2\) operations: on a large grid it would not come back. From some of the points it is seen in
seconds: about as many features as they need are needed by all.
"""

import math

import numpy as np

from driftpeak._core.errors import DriftpeakError
from driftpeak.gp.domains import Arms, Domain
from driftpeak.gp.features import Features, by_axis, factored
from driftpeak.gp.kernels import Kernel

MOST_MADE = 5_000
"""Features that are written out at most; of no more points all are, a minute's work."""
MOST_WORK = 4e11
"""Operations, n r^2, that writing them out may take: three minutes on two cores."""
TRIED = 6_000
"""Points whose features are counted first, at most."""


def affordable(kernel: Kernel, domain: Domain, *, tolerance: float) -> Features:
    """`features.factored`, within `MOST_MADE` features and `MOST_WORK` operations.

    Products along the axes of a grid cost little however many there are, and have no limit here.

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
        f"the kernel ({type(kernel).__name__}) needs some {needed:,} features or more on "
        f"{count:,} points, to {tolerance:.1g} of the prior variance, and at most {most:,} of so "
        f"many points are made: these would take {16 * count * needed / 2**30:,.1f} GiB and "
        f"{count * needed**2:.0e} operations. Take a longer lengthscale, a smoother kernel, fewer "
        "points, or a policy that computes in function space, such as TVGPUCB"
    )


def _needed_by_some(kernel: Kernel, domain: Domain, target: float, size: int) -> int:
    """The features of so many points, to `target`; 0 if the kernel cannot tell of some alone."""
    if not (kernel.pointwise or kernel.stationary):
        return 0
    from scipy.linalg import lapack

    few = np.random.default_rng(0).choice(len(domain), size, replace=False)
    gram = kernel.rows(Arms(domain.points[few]))
    rank: int = lapack.dpstrf(gram, tol=target)[2]  # pivoted Cholesky too, block by block
    return rank
