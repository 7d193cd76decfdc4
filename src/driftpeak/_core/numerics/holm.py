"""Holm's correction of p-values for multiple tests (Holm 1979)."""

from collections.abc import Sequence

import numpy as np

from driftpeak._core.types import Vector


def holm(p_values: Sequence[float]) -> Vector:
    """Return Holm's adjusted p-values.

    Rejecting the hypotheses whose adjusted p-value is at most alpha keeps the family-wise error
    rate at or below alpha, for any dependence between the tests. Source: Holm 1979, A Simple
    Sequentially Rejective Multiple Test Procedure.

    Arguments:
        p_values: any number of p-values in [0, 1].

    Returns:
        Shape `(len(p_values),)`, in the order given.
    """
    values = np.asarray(p_values, dtype=float)
    order = np.argsort(values, kind="stable")
    steps = np.arange(len(values), 0, -1) * values[order]
    adjusted = np.empty(len(values))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted
