"""A matrix stored with its transpose, for fast products with few columns and their derivatives.

On a CPU, XLA materialises the transpose before each product with it. With eight columns of 512
rows, this costs seven times the product itself. The transpose is therefore stored once.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array

from driftpeak._core.types import AnyArray


class Mirrored(NamedTuple):
    """A constant matrix of shape `(m, n)` and its transpose."""

    matrix: Array
    transpose: Array

    @staticmethod
    def of(matrix: AnyArray) -> "Mirrored":
        """Store a matrix with its transpose."""
        matrix = jnp.asarray(matrix)
        return Mirrored(matrix, matrix.T)

    @property
    def T(self) -> "Mirrored":
        """The transpose, stored with the matrix."""
        return Mirrored(self.transpose, self.matrix)

    def __matmul__(self, columns: Array) -> Array:
        return _product(self, columns)


@jax.custom_vjp
def _product(mirrored: Mirrored, columns: Array) -> Array:
    return mirrored.matrix @ columns


def _forward(mirrored: Mirrored, columns: Array) -> tuple[Array, Array]:
    return mirrored.matrix @ columns, mirrored.transpose


def _backward(transpose: Array, slopes: Array) -> tuple[None, Array]:
    return None, transpose @ slopes  # the matrix is constant


_product.defvjp(_forward, _backward)
