"""The noise of rewards."""

import equinox as eqx
import jax.numpy as jnp
from jax.scipy.special import ndtr, ndtri

from driftpeak._core.types import Scalar


class Noise(eqx.Module):
    r"""Gaussian noise; with a `limit`, truncated symmetrically so that rewards lie within it.

    The noise on a value v then has the density of \(N(0, \sigma^2)\) restricted to
    \(\pm(\text{limit} - |v|)\) (H23, section 6). The mean stays v; the variance decreases.
    """

    variance: Scalar
    limit: Scalar | None = None

    def __call__(self, value: Scalar, normal: Scalar) -> Scalar:
        """Return the noise on `value` from a standard normal number, with which it increases."""
        deviation = jnp.sqrt(self.variance)
        if self.limit is None:
            return deviation * normal
        room = self.limit - jnp.abs(value)
        below = ndtr(-room / deviation)
        # by the smaller tail, whose probability is accurate
        tail = below + ndtr(-jnp.abs(normal)) * (1 - 2 * below)
        noise = -jnp.sign(normal) * deviation * ndtri(tail)
        return jnp.clip(noise, -room, room)
