r"""A periodic prior mean: the expected reward of each arm as a function of the time of day, say."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from driftpeak._core.argument_types import checked
from driftpeak._core.arguments import RecordsArguments
from driftpeak._core.errors import DriftpeakError, finite_array
from driftpeak._core.types import Scalar


class PeriodicMean(RecordsArguments, eqx.Module):
    r"""A periodic offset to the prior mean.

    \(\sum_j a_j \cos(2\pi t / P_j) + b_j \sin(2\pi t / P_j)\)

    Arguments:
        periods: \(P_j\), positive: a period and its harmonics, or several periods with theirs.
        cosines, sines: \(a_j, b_j\) of each arm, shape `(periods, arms)`.

    Raises:
        DriftpeakError: shapes that do not match, numbers that are not finite, or periods that are
            not positive.
    """

    periods: Any
    cosines: Any
    sines: Any

    @checked
    def __init__(self, periods: Any, cosines: Any, sines: Any) -> None:
        self.periods = finite_array("periods", periods, 1)
        self.cosines = finite_array("cosines", cosines, 2)
        self.sines = finite_array("sines", sines, 2)
        same = self.cosines.shape == self.sines.shape and len(self.cosines) == len(self.periods)
        if not same or (self.periods <= 0).any():
            raise DriftpeakError(
                "periods must be positive, and cosines and sines must have one row for each period"
            )

    def __call__(self, time: Scalar) -> Float[Array, " n"]:
        """Return the offset of each arm at `time`."""
        angle = 2 * jnp.pi * time / jnp.asarray(self.periods)
        return jnp.cos(angle) @ self.cosines + jnp.sin(angle) @ self.sines

    def at(self, times: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Return the offsets at several times, shape `(times, arms)`."""
        angle = 2 * np.pi * np.asarray(times, dtype=float)[:, None] / self.periods
        return np.cos(angle) @ self.cosines + np.sin(angle) @ self.sines
