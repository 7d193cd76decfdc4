"""Many p-values at once (Holm 1979)."""

from collections.abc import Sequence

import numpy as np

from driftpeak._core.types import Vector


def holm(p_values: Sequence[float]) -> Vector:
    """Adjusted p-values: to reject those of at most alpha errs anywhere with probability alpha.

    Holm 1979, A Simple Sequentially Rejective Multiple Test Procedure; whatever the dependence.

    Arguments:
        p_values: in [0, 1], any number of them.

    Returns:
        Shape `(len(p_values),)`, in the order given.
    """
    values = np.asarray(p_values, dtype=float)
    order = np.argsort(values, kind="stable")
    steps = np.arange(len(values), 0, -1) * values[order]
    adjusted = np.empty(len(values))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted
