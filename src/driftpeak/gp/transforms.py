"""Transformations of rewards (logarithm, root) and moments of rewards that are normal in them."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, get_args

import jax.numpy as jnp
import numpy as np

from driftpeak._core.numerics.precision import double_precision

Transformation = Literal["none", "root", "log"]
TRANSFORMATIONS: tuple[Transformation, ...] = get_args(Transformation)


class OutputTransform(NamedTuple):
    r"""An increasing function g of the reward y.

    Attributes:
        forward: g.
        log_slope: \(\log g'\), for the density of the rewards.
        mean, variance: moments of y if g(y) is normal with the given mean and variance.
    """

    forward: Callable[[Any], Any]
    log_slope: Callable[[Any], Any]
    mean: Callable[[Any, Any], Any]
    variance: Callable[[Any, Any], Any]


TRANSFORMS: dict[Transformation, OutputTransform] = {
    "none": OutputTransform(lambda y: y, np.zeros_like, lambda m, v: m, lambda m, v: v),
    "root": OutputTransform(
        jnp.sqrt,
        lambda y: -0.5 * np.log(4 * y),
        lambda m, v: m**2 + v,
        lambda m, v: 2 * v**2 + 4 * m**2 * v,
    ),
    "log": OutputTransform(
        jnp.log,
        lambda y: -np.log(y),
        lambda m, v: jnp.exp(m + v / 2),
        lambda m, v: jnp.expm1(v) * jnp.exp(2 * m + v),
    ),
}


@double_precision
def transformed(
    rewards: Any, transformation: Transformation
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Transform the rewards, on the host."""
    return np.asarray(TRANSFORMS[transformation].forward(rewards))
