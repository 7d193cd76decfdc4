"""The smoothness of a kernel, on which the theorems depend."""

import math

from driftpeak._core.errors import DriftpeakError
from driftpeak.gp.kernels import SE, Kernel, Matern, Scaled


def smoothness(kernel: Kernel) -> float:
    """Return nu of a Matern kernel, infinity for SE (its limit); a factor in front is ignored.

    Raises:
        DriftpeakError: another kernel, for which the papers have no theorems.
    """
    while isinstance(kernel, Scaled):
        kernel = kernel.kernel
    if isinstance(kernel, SE):
        return math.inf
    if isinstance(kernel, Matern):
        return kernel.nu
    raise DriftpeakError(
        f"kernel must be SE or Matern, the kernels of the theorems; got {type(kernel).__name__}"
    )
