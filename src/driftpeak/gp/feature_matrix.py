r"""Feature matrices \(\Phi\) of n points and r weights, and products with them.

`RowMajor` and `ColumnMajor` hold the matrix, row by row or column by column. `Kronecker` holds a
small factor for each dimension of a grid.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from driftpeak._core.errors import DriftpeakError
from driftpeak._core.former_names import NEW_CLASS_NAMES, check_renamed
from driftpeak._core.numerics.threads import single_threaded_lapack
from driftpeak._core.types import AnyArray, Integers, Matrix, Values

CHUNK = 2**22
"""Approximate size of a temporary array, in numbers."""
NEGLIGIBLE = 1e-11
"""Singular values that `Tucker` omits, as a share of the largest."""


def __getattr__(name: str) -> Any:
    check_renamed(__name__, name, NEW_CLASS_NAMES)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class FeatureMatrix(eqx.Module):
    r"""A feature matrix \(\Phi\) and the products with it inside compiled programs."""

    @property
    @abstractmethod
    def matrix(self) -> Any:
        """The matrix written out, shape `(n, r)`."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """The shape of the matrix, `(n, r)`."""

    @abstractmethod
    def rows(self, arms: Any) -> Float[Array, "*arms r"]:
        """Return the features of the points `arms`."""

    @abstractmethod
    def values(self, weights: Float[Array, "*some r"]) -> Float[Array, "*some n"]:
        r"""Return \(\Phi w\) for each vector of weights w, along the last axis."""

    @abstractmethod
    def combined(self, values: Values) -> Float[Array, " r"]:
        r"""Return \(\Phi^\top v\) for a value v of every point."""

    @abstractmethod
    def squares(self, weights: AnyArray | None = None) -> Any:
        """Return the sum of squares of each row, weighted if weights are given."""

    @abstractmethod
    def divided(self, by: float) -> "FeatureMatrix":
        """Divide all features by a number, on the host."""

    @abstractmethod
    def squared_sums(self, factor: Float[Array, "k r"]) -> Values:
        r"""Return the squared length of `factor` times \(\phi\), for each row \(\phi\)."""

    @abstractmethod
    def quadratic_forms(self, matrix: Float[Array, "r r"]) -> Values:
        r"""Return \(\phi^\top M \phi\) for each row \(\phi\)."""


class InMemory(FeatureMatrix):
    """A feature matrix that is written out. Base class."""

    @property
    def shape(self) -> tuple[int, int]:
        n, r = self.matrix.shape
        return n, r

    def combined(self, values: Values) -> Float[Array, " r"]:
        return jnp.asarray(self.matrix).T @ values

    def squares(self, weights: AnyArray | None = None) -> Any:
        squares = self.matrix**2
        return squares.sum(axis=1) if weights is None else squares @ weights

    def squared_sums(self, factor: Float[Array, "k r"]) -> Values:
        return squared_sums(jnp.asarray(self.matrix), factor)

    def quadratic_forms(self, matrix: Float[Array, "r r"]) -> Values:
        return quadratic_forms(jnp.asarray(self.matrix), matrix)


class RowMajor(InMemory):
    """A feature matrix stored with a row for each point: fast for one vector of weights at a time.

    Arguments:
        by_point: the features, shape `(n, r)`.
    """

    by_point: AnyArray

    @property
    def matrix(self) -> Any:
        return self.by_point

    def rows(self, arms: Any) -> Float[Array, "*arms r"]:
        return jnp.asarray(self.by_point)[arms]

    def values(self, weights: Float[Array, "*some r"]) -> Float[Array, "*some n"]:
        matrix = jnp.asarray(self.by_point)
        return matrix @ weights if weights.ndim == 1 else weights @ matrix.T

    def divided(self, by: float) -> "RowMajor":
        return RowMajor(self.by_point / by)


class ColumnMajor(InMemory):
    """A feature matrix stored by column: fast for several vectors of weights at a time.

    Stored by row, the matrix would be transposed at every product with several vectors.

    Arguments:
        matrix: the features, shape `(n, r)`.
    """

    by_feature: AnyArray  # (r, n)

    def __init__(self, matrix: Matrix) -> None:
        self.by_feature = np.ascontiguousarray(matrix.T)

    @property
    def matrix(self) -> Any:
        return self.by_feature.T

    def rows(self, arms: Any) -> Float[Array, "*arms r"]:
        return jnp.moveaxis(jnp.asarray(self.by_feature)[:, arms], 0, -1)

    def values(self, weights: Float[Array, "*some r"]) -> Float[Array, "*some n"]:
        return weights @ jnp.asarray(self.by_feature)

    def divided(self, by: float) -> "ColumnMajor":
        return ColumnMajor(self.matrix / by)


class Tucker(ColumnMajor):
    r"""A feature matrix of a grid, stored by column, whose products take fewer operations.

    They use \(\Phi \approx (A_1 \otimes \ldots \otimes A_d)\,C\) with orthonormal columns in each
    \(A_a\), one for each singular value along dimension a above `NEGLIGIBLE` of the largest
    (Tucker 1966).

    Arguments:
        matrix: the features, shape `(n, r)`.
        sizes: number of points of each dimension; the last dimension varies fastest.
    """

    factors: tuple[AnyArray, ...]  # (m_a, r_a)
    core: AnyArray  # (r, r_1, ..., r_d)

    def __init__(self, matrix: Matrix, sizes: Sequence[int]) -> None:
        super().__init__(matrix)
        core: Any = self.by_feature.reshape(-1, *sizes)
        factors: list[Matrix] = []
        with single_threaded_lapack():  # for the same bits in all processes
            for axis, size in enumerate(sizes, 1):
                along = np.moveaxis(core, axis, 0).reshape(size, -1)
                if along.size > CHUNK:  # the triangle's vectors are the same, and found sooner
                    along = np.asarray(np.linalg.qr(along.T, mode="r")).T
                vectors, lengths, _ = np.linalg.svd(along, full_matrices=False)
                factors.append(vectors[:, lengths >= NEGLIGIBLE * lengths[0]])
                core = np.moveaxis(np.tensordot(core, factors[-1], (axis, 0)), -1, axis)
        self.factors, self.core = tuple(factors), np.ascontiguousarray(core)

    @property
    def operations(self) -> int:
        """The number of multiplications of a product with one vector of weights."""
        count, (_, *shape) = self.core.size, self.core.shape
        for axis, factor in enumerate(self.factors):
            shape[axis] = len(factor)
            count += math.prod(shape) * factor.shape[1]
        return count

    def values(self, weights: Float[Array, "*some r"]) -> Float[Array, "*some n"]:
        values = jnp.tensordot(weights.reshape(-1, weights.shape[-1]), jnp.asarray(self.core), 1)
        return _along_axes(jnp, self.factors, values).reshape(*weights.shape[:-1], self.shape[0])


class Kronecker(FeatureMatrix):
    r"""Chosen columns of a Kronecker product \(A_1 \otimes \ldots \otimes A_d\): a grid's features.

    A product with weights processes the dimensions one after another, in \(O(n r_d)\) instead of
    \(O(n r)\) operations, and no array of size n r is held. `numpy.asarray` writes the matrix out,
    and `@` multiplies it with an array of weights on the host.

    Arguments:
        factors: \(A_a\) of each dimension, shapes \((m_a, r_a)\); the last dimension varies
            fastest.
        columns: the r columns of the product, shape `(r, d)`: one column of each factor. They must
            be distinct.

    Raises:
        DriftpeakError: no factors, or columns that are out of range or not distinct.
    """

    factors: tuple[AnyArray, ...]
    columns: AnyArray  # (r, d)
    places: AnyArray  # (r_1, ..., r_d): index of a column's weight; r where a column is not chosen

    def __init__(self, factors: Sequence[Matrix], columns: Integers) -> None:
        sizes = tuple(factor.shape[1] for factor in factors if factor.ndim == 2)
        if not factors or len(sizes) < len(factors) or 0 in sizes:
            raise DriftpeakError("factors must be matrices, one for each dimension")
        inside = columns.ndim == 2 and columns.shape[1] == len(sizes) and len(columns) > 0
        if not inside or (columns < 0).any() or (columns >= sizes).any():
            raise DriftpeakError(
                "columns must be indices of columns, one for each of the "
                f"{len(sizes)} factors with {', '.join(map(str, sizes))} columns"
            )
        places = np.full(sizes, len(columns))
        places[tuple(columns.T)] = np.arange(len(columns))
        if (places < len(columns)).sum() < len(columns):
            raise DriftpeakError("columns must be distinct")
        self.factors, self.columns, self.places = tuple(factors), columns, places

    @property
    def shape(self) -> tuple[int, int]:
        return math.prod(len(factor) for factor in self.factors), len(self.columns)

    @property
    def matrix(self) -> Any:
        return self.rows(jnp.arange(len(self)))

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Matrix:
        if copy is False:
            raise ValueError(
                "copy must not be False: a Kronecker product is written out to a new array"
            )
        matrix = np.ones((1, len(self.columns)))
        for factor, column in zip(self.factors, self.columns.T, strict=True):
            matrix = (matrix[:, None, :] * factor[None, :, column]).reshape(-1, matrix.shape[1])
        return matrix.astype(dtype or np.float64, copy=False)

    def __matmul__(self, weights: Matrix) -> Matrix:
        """Multiply by weights of shape `(r,)` or `(r, k)`, on the host."""
        weights = np.asarray(weights)
        if weights.ndim == 0 or len(weights) != len(self.columns):
            raise DriftpeakError(
                f"weights must have {len(self.columns)} rows, one for each column; got shape "
                f"{weights.shape}"
            )
        return _combined(np, self.factors, self.places, weights.T).T

    def squares(self, weights: AnyArray | None = None) -> Any:
        xp: Any = np if all(isinstance(factor, np.ndarray) for factor in self.factors) else jnp
        weights = xp.ones(len(self.columns)) if weights is None else xp.asarray(weights, float)
        return _combined(xp, [factor**2 for factor in self.factors], self.places, weights)

    def rows(self, arms: Any) -> Float[Array, "*arms r"]:
        at = jnp.unravel_index(jnp.asarray(arms), tuple(len(factor) for factor in self.factors))
        features: Any = 1.0
        for factor, index, column in zip(
            self.factors, at, jnp.asarray(self.columns).T, strict=True
        ):
            features = features * jnp.asarray(factor)[index][..., column]
        return features

    def values(self, weights: Float[Array, "*some r"]) -> Float[Array, "*some n"]:
        factors = [jnp.asarray(factor) for factor in self.factors]
        return _combined(jnp, factors, jnp.asarray(self.places), weights)

    def combined(self, values: Values) -> Float[Array, " r"]:
        products = values.reshape([len(factor) for factor in self.factors])
        for factor in self.factors:  # each puts its columns last
            products = jnp.tensordot(products, jnp.asarray(factor), axes=([0], [0]))
        return products[tuple(jnp.asarray(self.columns).T)]

    def divided(self, by: float) -> "Kronecker":
        first, *others = map(np.asarray, self.factors)
        return Kronecker((first / by, *others), np.asarray(self.columns))

    def squared_sums(self, factor: Float[Array, "k r"]) -> Values:
        return _in_pieces(
            self.shape[0], (factor,), lambda piece: jnp.sum(self.values(piece) ** 2, axis=0)
        )

    def quadratic_forms(self, matrix: Float[Array, "r r"]) -> Values:
        return _in_pieces(
            self.shape[0],
            (matrix, jnp.eye(len(matrix))),
            lambda piece, unit: jnp.sum(self.values(piece) * self.values(unit), axis=0),
        )


def _combined(xp: Any, factors: Any, places: Any, weights: Any) -> Any:
    """Return the features times weights `(*some, r)`, by NumPy or JAX: shape `(*some, n)`."""
    some = weights.shape[:-1]
    flat = weights.reshape(-1, weights.shape[-1])
    flat = xp.concatenate([flat, xp.zeros((len(flat), 1))], axis=1)  # of columns not chosen
    values = _along_axes(xp, factors, flat[:, places])
    return values.reshape(*some, math.prod(len(factor) for factor in factors))


def _along_axes(xp: Any, factors: Any, values: Any) -> Any:
    """Return the product of a factor for each dimension with `(some, r_1, ..., r_d)`."""
    for factor in factors:  # each moves its points to the end, so the last dimension varies fastest
        values = xp.tensordot(values, xp.asarray(factor), axes=([1], [1]))
    return values


def squared_sums(features: Float[Array, "n r"], factor: Float[Array, "k r"]) -> Values:
    r"""Return the squared length of `factor` times \(\phi\), for each row \(\phi\) of features."""
    return _in_pieces(
        len(features), (factor,), lambda piece: jnp.sum((features @ piece.T) ** 2, axis=1)
    )


def quadratic_forms(features: Float[Array, "n r"], matrix: Float[Array, "r r"]) -> Values:
    r"""Return \(\phi^\top M \phi\) for each row \(\phi\) of the features."""
    return _in_pieces(
        len(features),
        (matrix, features.T),
        lambda part, same: jnp.sum((features @ part.T) * same.T, axis=1),
    )


def _in_pieces(
    n: int, factors: tuple[Float[Array, "k _"], ...], term: Callable[..., Values]
) -> Values:
    """Return the sum of `term`, a vector of n numbers, over pieces of the rows of the factors.

    For few points there is one piece. For many points, the product of the features with all rows
    at once may not fit into memory.
    """
    k = len(factors[0])
    rows = max(1, CHUNK // n)
    if k <= rows:
        return term(*factors)
    count = k // rows

    def add(total: Any, number: Any) -> tuple[Any, None]:
        at = number * rows
        parts = [jax.lax.dynamic_slice_in_dim(factor, at, rows) for factor in factors]
        return total + term(*parts), None

    total = jax.lax.scan(add, jnp.zeros(n), jnp.arange(count))[0]
    return total + term(*(factor[count * rows :] for factor in factors))
