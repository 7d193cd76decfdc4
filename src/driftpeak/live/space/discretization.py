r"""Which rows of the unit cube stand for a setting that can be suggested, and the nearest to any.

A column is a continuum, takes levels at equal distances, or whole numbers in the logarithm; and it
may count only where another column has one of some values. Where it does not count it stands in the
middle, so that such settings differ in nothing that is not there.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from driftpeak._core.types import AnyArray
from driftpeak.live.space.parameters import Integer, Numeric, Parameter

MIDDLE = 0.5
NEAR = 1e-9  # of rounding


class Lattice(NamedTuple):
    """The rows there are; d columns, of which k count only sometimes."""

    levels: AnyArray  # (d,): 0 where there is a continuum
    whole: AnyArray  # (d,): the least of whole numbers in the logarithm, 0 elsewhere
    ratio: AnyArray  # (d,): the greatest of them by the least, 1 elsewhere
    child: AnyArray  # (k,): columns that count ...
    parent: AnyArray  # (k,): ... if these ...
    allowed: AnyArray  # (k, v): ... have one of these places; filled up with NaN

    def snap(self, rows: AnyArray) -> Any:
        """The nearest rows there are, shape `(m, d)`; of NumPy if `rows` are, else of JAX."""
        np_ = jnp if isinstance(rows, jax.Array) else np
        levels, whole = self.levels[None, :], self.whole[None, :]
        steps = np_.maximum(levels - 1, 1)
        rows = np_.where(levels > 0, np_.round(rows * steps) / steps, rows)
        least = np_.maximum(whole, 1.0)
        logarithm = np_.where(whole > 0, np_.log(self.ratio)[None, :], 1.0)
        numbers = np_.round(least * np_.exp(rows * logarithm))
        rows = np_.where(whole > 0, np_.log(numbers / least) / logarithm, rows)
        return np_.where(self.counting(rows), rows, MIDDLE)

    def counting(self, rows: AnyArray) -> Any:
        """Which columns count, shape `(m, d)`."""
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


def lattice_of(parameters: dict[str, Parameter]) -> Lattice:
    """The rows of a box."""
    each, names = list(parameters.values()), list(parameters)
    conditions = [
        (number, names.index(other), [parameters[other].encode(other, one) for one in values])
        for number, parameter in enumerate(each)
        for other, values in parameter.when
    ]
    most = max((len(places) for _, _, places in conditions), default=0)
    allowed = [places + [np.nan] * (most - len(places)) for _, _, places in conditions]
    whole = [one.low if isinstance(one, Integer) and one.log else 0 for one in each]
    ratio = [one.high / one.low if isinstance(one, Numeric) and one.log else 1 for one in each]
    return Lattice(
        np.array([one.levels for one in each], float),
        np.array(whole, float),
        np.where(np.array(whole) > 0, ratio, 1.0),
        np.array([child for child, _, _ in conditions], int),
        np.array([parent for _, parent, _ in conditions], int),
        np.array(allowed, float).reshape(len(conditions), most),
    )


def free_lattice(dimension: int) -> Lattice:
    """All rows there are."""
    nothing = np.zeros(0, int)
    zeros = np.zeros(dimension)
    return Lattice(zeros, zeros, zeros + 1.0, nothing, nothing, np.zeros((0, 0)))
