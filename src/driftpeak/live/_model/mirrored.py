"""A matrix stored in strips with its transpose, for fast products with few columns.

On a CPU, XLA materialises the transpose, or a part of a matrix, before each product with it. With
eight columns of 512 rows, this costs seven times the product itself. Both are therefore stored
once. The strips of a triangle leave out most of its zeros.
"""

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from driftpeak._core.types import AnyArray

LEAST_ROWS = 128  # of a strip: with few columns, products with shorter strips are slower


def strips(size: int, count: int) -> list[tuple[int, int]]:
    """Divide rows into strips: return the first row of each, and the first row after it."""
    return list(pairwise(size * part // count for part in range(count + 1)))


@partial(
    jax.tree_util.register_dataclass, data_fields=["rows", "columns"], meta_fields=["is_lower"]
)
@dataclass(frozen=True)
class Mirrored:
    """A constant matrix.

    Attributes:
        rows: strips of the matrix.
        columns: strips of its transpose.
        is_lower: whether a strip of the matrix leaves out its last columns. Otherwise, it leaves
            out its first columns. A strip of the transpose leaves out the others.
    """

    rows: tuple[Any, ...]
    columns: tuple[Any, ...]
    is_lower: bool

    @staticmethod
    def of(matrix: AnyArray) -> "Mirrored":
        """Store a matrix with its transpose."""
        matrix = jnp.asarray(matrix)
        return Mirrored((matrix,), (matrix.T,), is_lower=True)

    @staticmethod
    def of_lower(lower: AnyArray) -> "Mirrored":
        """Store a lower triangle with its transpose."""
        lower, ends = jnp.asarray(lower), strips(len(lower), max(len(lower) // LEAST_ROWS, 1))
        columns = tuple(lower[a:, a:b].T for a, b in ends)
        return Mirrored(tuple(lower[a:b, :b] for a, b in ends), columns, is_lower=True)

    @property
    def T(self) -> "Mirrored":
        """The transpose."""
        return Mirrored(self.columns, self.rows, not self.is_lower)

    def __matmul__(self, columns: Array) -> Array:
        return _product(self, columns)


@jax.custom_vjp
def _product(mirrored: Mirrored, columns: Array) -> Array:
    parts = [
        strip @ (columns[: strip.shape[1]] if mirrored.is_lower else columns[-strip.shape[1] :])
        for strip in mirrored.rows
    ]
    return jnp.concatenate(parts)


def _forward(mirrored: Mirrored, columns: Array) -> tuple[Array, Mirrored]:
    return _product(mirrored, columns), mirrored.T


def _backward(transpose: Mirrored, slopes: Array) -> tuple[None, Array]:
    return None, _product(transpose, slopes)  # the matrix is constant


_product.defvjp(_forward, _backward)
