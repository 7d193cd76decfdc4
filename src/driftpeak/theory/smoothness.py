"""The smoothness of a kernel, on which the theorems depend."""

import math
from typing import Literal

from driftpeak._core.errors import DriftpeakError
from driftpeak.gp.kernels import SE, Kernel, Linear, Matern, Scaled

Family = Literal["SE", "Matern", "linear"]


def family(kernel: Kernel) -> Family:
    """Return the family of a kernel for which the papers have rates; a factor is ignored.

    Raises:
        DriftpeakError: another kernel.
    """
    while isinstance(kernel, Scaled):
        kernel = kernel.kernel
    if isinstance(kernel, SE):
        return "SE"
    if isinstance(kernel, Matern):
        return "Matern"
    if isinstance(kernel, Linear):
        return "linear"
    raise DriftpeakError(
        "kernel must be SE, Matern or Linear, the kernels of the rates; got "
        f"{type(kernel).__name__}"
    )


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
