"""Names of array types for signatures; `Any` only where JAX requires it."""

from typing import Any

import numpy as np
from jaxtyping import Array, Float

AnyArray = Array | np.ndarray[Any, np.dtype[Any]]
"""An array field of a module: NumPy on the host, JAX inside a compiled program."""

Scalar = AnyArray | np.number[Any] | int | float
"""A real number; inside JAX, an array of one number or its tracer."""

Vector = np.ndarray[Any, np.dtype[np.float64]]
"""Real numbers on the host, shape `(n,)` unless stated otherwise."""

Matrix = np.ndarray[Any, np.dtype[np.float64]]
"""Real numbers on the host, in rows."""

Points = np.ndarray[Any, np.dtype[np.float64]]
"""Coordinates, shape `(n, d)`."""

Integers = np.ndarray[Any, np.dtype[np.int64]]
"""Integers on the host."""

Values = Float[Array, " n"]
"""A number for each point, inside JAX."""
