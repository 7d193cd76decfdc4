r"""Discrete and conditional columns of the unit cube, and rounding to the nearest valid row.

A column is continuous, has equally spaced levels, or holds integers on a log scale. A column may
be active only where another column has one of several values. An inactive column is set to the
middle, so that inactive parameters never distinguish two settings.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from driftpeak._core.types import AnyArray
from driftpeak.live._space.parameters import Integer, Numeric, Parameter

MIDDLE = 0.5
NEAR = 1e-9  # tolerance for rounding errors


class Discretization(NamedTuple):
    """The valid rows of a unit cube with d columns and k conditions."""

    levels: AnyArray  # (d,): number of levels, 0 for continuous columns
    whole: AnyArray  # (d,): the lowest value of log-scaled integers, 0 elsewhere
    ratio: AnyArray  # (d,): the highest value of log-scaled integers over the lowest, 1 elsewhere
    child: AnyArray  # (k,): columns that are active ...
    parent: AnyArray  # (k,): ... if these columns ...
    allowed: AnyArray  # (k, v): ... have one of these values; padded with NaN

    def snap(self, rows: AnyArray) -> Any:
        """Return the nearest valid rows, shape `(m, d)`, as a NumPy or JAX array like `rows`."""
        np_ = jnp if isinstance(rows, jax.Array) else np
        levels, whole = self.levels[None, :], self.whole[None, :]
        steps = np_.maximum(levels - 1, 1)
        rows = np_.where(levels > 0, np_.round(rows * steps) / steps, rows)
        least = np_.maximum(whole, 1.0)
        logarithm = np_.where(whole > 0, np_.log(self.ratio)[None, :], 1.0)
        numbers = np_.round(least * np_.exp(rows * logarithm))
        rows = np_.where(whole > 0, np_.log(numbers / least) / logarithm, rows)
        return np_.where(self.counting(rows), rows, MIDDLE)

    def within(self, rows: AnyArray, lower: AnyArray | float, upper: AnyArray | float) -> Any:
        """Return the nearest valid rows between two rows, shape `(m, d)`."""
        np_ = jnp if isinstance(rows, jax.Array) else np
        # clip again: the current setting may lie between two levels with none within reach
        rows = np_.clip(self.snap(np_.clip(rows, lower, upper)), lower, upper)
        return np_.where(self.counting(rows), rows, MIDDLE)

    def counting(self, rows: AnyArray) -> Any:
        """Return whether each column is active, shape `(m, d)`."""
        np_ = jnp if isinstance(rows, jax.Array) else np
        counts = np_.ones(rows.shape, bool)
        columns = np_.arange(len(self.levels))
        for number in range(len(self.child)):  # parents come before their children
            child, parent = self.child[number], self.parent[number]
            place = rows[:, parent, None]
            met = (np_.abs(place - self.allowed[number][None, :]) < NEAR).any(axis=1)
            met = met & counts[:, parent]
            counts = counts & (met[:, None] | (columns != child)[None, :])
        return counts


def discretization_of(parameters: dict[str, Parameter]) -> Discretization:
    """Return the discretization of a box's parameters."""
    each, names = list(parameters.values()), list(parameters)
    conditions = [
        (number, names.index(other), [parameters[other].encode(other, value) for value in values])
        for number, parameter in enumerate(each)
        for other, values in parameter.when
    ]
    most = max((len(places) for _, _, places in conditions), default=0)
    allowed = [places + [np.nan] * (most - len(places)) for _, _, places in conditions]
    whole = [p.low if isinstance(p, Integer) and p.log else 0 for p in each]
    ratio = [p.high / p.low if isinstance(p, Numeric) and p.log else 1 for p in each]
    return Discretization(
        np.array([parameter.levels for parameter in each], float),
        np.array(whole, float),
        np.where(np.array(whole) > 0, ratio, 1.0),
        np.array([child for child, _, _ in conditions], int),
        np.array([parent for _, parent, _ in conditions], int),
        np.array(allowed, float).reshape(len(conditions), most),
    )


def free_discretization(dimension: int) -> Discretization:
    """Return a discretization in which every row is valid."""
    nothing = np.zeros(0, int)
    zeros = np.zeros(dimension)
    return Discretization(zeros, zeros, zeros + 1.0, nothing, nothing, np.zeros((0, 0)))
