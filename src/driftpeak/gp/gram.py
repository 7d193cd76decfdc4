r"""Covariances of all pairs of n points: a matrix, a table of grid lags, or rows on request."""

import math
from abc import abstractmethod
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from driftpeak._core.errors import DriftpeakError
from driftpeak._core.types import AnyArray
from driftpeak.gp.domains import Domain, Grid
from driftpeak.gp.kernels import Kernel


class Pairs(eqx.Module):
    """Rows of the Gram matrix of a domain, for use inside compiled programs."""

    @abstractmethod
    def rows(self, arms: Any) -> Float[Array, "*arms n"]:
        """Return the covariances of the points `arms` with all points."""

    @property
    def matrix(self) -> Any:
        """All covariances, shape `(n, n)`.

        Raises:
            DriftpeakError: the matrix is not in memory.
        """
        raise DriftpeakError(
            "draws of a whole function on many points require feature space: set "
            "form='feature-space' or give features"
        )

    @property
    @abstractmethod
    def diagonal(self) -> Any:
        """The variances of the points, shape `(n,)`."""


class Gram(Pairs):
    """The Gram matrix in memory.

    Arguments:
        listed: covariances, shape `(n, n)`.
    """

    listed: AnyArray

    @property
    def matrix(self) -> Any:
        return self.listed

    @property
    def diagonal(self) -> Any:
        return jnp.asarray(self.listed).diagonal()

    def rows(self, arms: Any) -> Float[Array, "*arms n"]:
        return jnp.asarray(self.listed)[arms]


class ToeplitzGram(Pairs):
    r"""The Gram matrix of a grid under a stationary kernel, block Toeplitz with Toeplitz blocks.

    \(k(x, y)\) depends on \(|x_a - y_a|\) alone, and a grid of \(m_1 \times \ldots \times m_d\)
    points has only \(\prod_a (2 m_a - 1)\) differences. A row is a slice of the table of their
    covariances and costs only reading it. The matrix of 100,000 points would take 75 GiB; the table
    of a square grid takes 3 MiB.

    Arguments:
        kernel: a stationary kernel.
        grid: the points.

    Raises:
        DriftpeakError: a kernel that is not known to be stationary.
    """

    table: AnyArray  # (2 m_1 - 1, ..., 2 m_d - 1)

    def __init__(self, kernel: Kernel, grid: Grid) -> None:
        kernel.check(grid)
        if not kernel.stationary:
            raise DriftpeakError(
                f"kernel must be stationary, such as SE or Matern; got {type(kernel).__name__}"
            )
        lags = Grid(*([0.0, high - low] for low, high in grid.ranges), size=grid.shape)
        ahead = kernel.rows(lags, [0])[0].reshape(grid.shape)
        self.table = np.pad(ahead, [(count - 1, 0) for count in grid.shape], mode="reflect")

    @property
    def diagonal(self) -> Any:
        return jnp.full(math.prod(self._shape), jnp.asarray(self.table).max())

    def rows(self, arms: Any) -> Float[Array, "*arms n"]:
        arms = jnp.asarray(arms)
        rows = jax.vmap(self._row)(arms.reshape(-1))
        return rows.reshape(*arms.shape, -1)

    @property
    def _shape(self) -> tuple[int, ...]:
        """The shape of the grid."""
        return tuple((count + 1) // 2 for count in self.table.shape)

    def _row(self, arm: Any) -> Float[Array, " n"]:
        shape = self._shape
        at = jnp.unravel_index(arm, shape)
        begin = [count - 1 - index for count, index in zip(shape, at, strict=True)]
        return jax.lax.dynamic_slice(jnp.asarray(self.table), begin, shape).reshape(-1)


class LazyGram(Pairs):
    """Rows that are evaluated on request: only coordinates are held.

    Arguments:
        kernel: a kernel that compiled programs can evaluate (`pointwise`).
        domain: the points.

    Raises:
        DriftpeakError: a table of covariances, or another kernel without a closed form.
    """

    kernel: Kernel
    points: AnyArray  # (n, d)
    variance: AnyArray  # (n,)

    def __init__(self, kernel: Kernel, domain: Domain) -> None:
        kernel.check(domain)
        if not kernel.pointwise:
            raise DriftpeakError(
                "kernel must have a closed form, such as SE, or Matern with nu = 0.5, 1.5 or 2.5; "
                f"got {type(kernel).__name__}"
            )
        self.kernel, self.points, self.variance = kernel, domain.points, kernel.diagonal(domain)

    @property
    def diagonal(self) -> Any:
        return jnp.asarray(self.variance)

    def rows(self, arms: Any) -> Float[Array, "*arms n"]:
        points, arms = jnp.asarray(self.points), jnp.asarray(arms)
        return self.kernel(points[arms.reshape(-1)], points).reshape(*arms.shape, -1)
