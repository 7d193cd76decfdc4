"""Array types by the names that signatures use; `Any` only where JAX leaves no other choice."""

from typing import Any

import numpy as np
from jaxtyping import Array, Float

AnyArray = Array | np.ndarray[Any, np.dtype[Any]]
"""Numbers in a field of a module: NumPy's on the host, JAX's inside a program."""

Scalar = AnyArray | np.number[Any] | int | float
"""A real number; inside JAX an array of one, or what stands for it while a program is traced."""

Vector = np.ndarray[Any, np.dtype[np.float64]]
"""Real numbers on the host, shape `(n,)` unless said otherwise."""

Matrix = np.ndarray[Any, np.dtype[np.float64]]
"""Real numbers on the host, in rows."""

Points = np.ndarray[Any, np.dtype[np.float64]]
"""Coordinates, shape `(n, d)`."""

Integers = np.ndarray[Any, np.dtype[np.int64]]
"""Whole numbers on the host."""

Values = Float[Array, " n"]
"""One number for each point, inside JAX."""
