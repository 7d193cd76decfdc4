"""What the theory asks of a kernel: how smooth it is."""

import math

from driftpeak._core.errors import DriftpeakError
from driftpeak.gp.kernels import SE, Kernel, Matern, Scaled


def smoothness(kernel: Kernel) -> float:
    """The nu of a Matern kernel, infinity for SE (its limit); a factor in front does not matter.

    Raises:
        DriftpeakError: another kernel, for which the papers prove nothing.
    """
    while isinstance(kernel, Scaled):
        kernel = kernel.kernel
    if isinstance(kernel, SE):
        return math.inf
    if isinstance(kernel, Matern):
        return kernel.nu
    raise DriftpeakError(
        f"the papers treat SE and Matern kernels; they say nothing of {type(kernel).__name__}"
    )
