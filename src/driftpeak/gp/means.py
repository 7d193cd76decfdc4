r"""A mean that comes round: what every arm is expected to bring at each time of the day, say."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from driftpeak._core.argument_types import checked
from driftpeak._core.arguments import Recorded
from driftpeak._core.errors import DriftpeakError, finite_array
from driftpeak._core.types import Scalar


class Profile(Recorded, eqx.Module):
    r"""\(\sum_j a_j \cos(2\pi t / P_j) + b_j \sin(2\pi t / P_j)\), an offset to the prior mean.

    Arguments:
        periods: \(P_j\), positive: a period and its harmonics, or several such rows.
        cosines, sines: \(a_j, b_j\) of every arm, shape `(periods, arms)`.

    Raises:
        DriftpeakError: shapes that do not fit, numbers that are not finite, periods not positive.
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
                "a profile needs positive periods, and a cosine and a sine of each"
            )

    def __call__(self, time: Scalar) -> Float[Array, " n"]:
        """The offset of every arm."""
        angle = 2 * jnp.pi * time / jnp.asarray(self.periods)
        return jnp.cos(angle) @ self.cosines + jnp.sin(angle) @ self.sines

    def at(self, times: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The offsets at several times, shape `(times, arms)`."""
        angle = 2 * np.pi * np.asarray(times, dtype=float)[:, None] / self.periods
        return np.cos(angle) @ self.cosines + np.sin(angle) @ self.sines
