r"""Covariances of all pairs of n points: a matrix, or one table of lags for a whole grid."""

from abc import abstractmethod
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from driftpeak._types import AnyArray
from driftpeak.domains import Grid
from driftpeak.errors import DriftpeakError
from driftpeak.kernels import Kernel


class Pairs(eqx.Module):
    """Rows of the Gram matrix of a domain, inside compiled programs."""

    @abstractmethod
    def rows(self, arms: Any) -> Float[Array, "*arms n"]:
        """The covariances of these points with all."""

    @property
    @abstractmethod
    def matrix(self) -> Any:
        """All of them, shape `(n, n)`."""


class Gram(Pairs):
    """The matrix.

    Arguments:
        listed: covariances, shape `(n, n)`.
    """

    listed: AnyArray

    @property
    def matrix(self) -> Any:
        return self.listed

    def rows(self, arms: Any) -> Float[Array, "*arms n"]:
        return jnp.asarray(self.listed)[arms]


class Lags(Pairs):
    r"""The Gram matrix of a grid under a stationary kernel, block Toeplitz with Toeplitz blocks.

    \(k(x, y)\) depends on \(|x_a - y_a|\) alone, and a grid of \(m_1 \times \ldots \times m_d\)
    points has only \(\prod_a (2 m_a - 1)\) differences: a row is a piece cut out of their table,
    at no cost but reading it. The matrix of 100,000 points would take 75 GiB, the table of a square
    3 MiB.

    Arguments:
        kernel: a stationary one.
        grid: the points.

    Raises:
        DriftpeakError: a kernel that is not known to be stationary.
    """

    table: AnyArray  # (2 m_1 - 1, ..., 2 m_d - 1)

    def __init__(self, kernel: Kernel, grid: Grid) -> None:
        kernel.check(grid)
        if not kernel.stationary:
            raise DriftpeakError(
                "a table of lags needs a kernel of differences alone, such as SE or Matern"
            )
        lags = Grid(*([0.0, high - low] for low, high in grid.ranges), size=grid.shape)
        ahead = kernel.rows(lags, [0])[0].reshape(grid.shape)
        self.table = np.pad(ahead, [(count - 1, 0) for count in grid.shape], mode="reflect")

    @property
    def matrix(self) -> Any:
        raise DriftpeakError(
            "draws of a whole function on a large grid need feature space: give "
            "form='feature-space', or features"
        )

    def rows(self, arms: Any) -> Float[Array, "*arms n"]:
        arms = jnp.asarray(arms)
        found = jax.vmap(self._row)(arms.reshape(-1))
        return found.reshape(*arms.shape, -1)

    def _row(self, arm: Any) -> Float[Array, " n"]:
        shape = tuple((count + 1) // 2 for count in self.table.shape)
        at = jnp.unravel_index(arm, shape)
        begin = [count - 1 - index for count, index in zip(shape, at, strict=True)]
        return jax.lax.dynamic_slice(jnp.asarray(self.table), begin, shape).reshape(-1)
