r"""How much of the space a look tells of: less at the faces of the box, least in its corners.

The deviation of a Gaussian process is largest there, because nothing beyond is ever observed, so
that an upper confidence bound spends many of its looks on corners, all the more the more parameters
there are (Siivola et al. 2018, Correcting boundary over-exploration deficiencies in Bayesian
optimization with virtual derivative sign observations). But a look at x moves what is expected at
u by as much as \(k(x, u)\) says, and round a corner there is little space:

\[ \prod_j \frac{\int_0^1 k_j(x_j, u)\,du}{\int_0^1 k_j(\frac12, u)\,du} \]

with \(k_j\) the Matern 5/2 correlation at the lengthscale of column j. That is 1 in the middle; of
a lengthscale that is short beside the box 1/2 on a face, \(2^{-d}\) in a corner; and nearly 1
everywhere of one that is long. The bonus for exploring times this is driftpeak's own.

A function whose peak is at an end of a column belies it there: the column's factor is taken to the
power \(\min(1, z/0.15)\), for a distance z from the nearest end to the row that is believed to be
the best of those observed.
"""

import jax.numpy as jnp
from jaxtyping import Array

from driftpeak._core.types import AnyArray
from driftpeak.live.model.gp import Model

MIDDLE = 0.5
NEAR = 0.15  # an end of a column, of length 1


def scope(model: Model, rows: AnyArray, powers: AnyArray) -> Array:
    """Of a look at some rows, shape `(m, d)`, of the unit cube: in (0, 1], shape `(m,)`.

    A column without an order counts 1: all its values are equally far apart. The model's columns
    beyond the rows' are those of a context, which nobody chooses.

    Arguments:
        powers: to which the columns' factors are taken, shape `(d,)`.
    """
    columns = rows.shape[1]
    unit = jnp.asarray(model.lengthscale)[None, :columns]
    told = _within(rows, unit) + _within(1 - rows, unit)
    shares = jnp.where(
        jnp.asarray(model.categorical)[None, :columns], 1.0, told / (2 * _within(MIDDLE, unit))
    )
    return jnp.prod(shares ** jnp.asarray(powers)[None, :], axis=1)


def powers_around(best: AnyArray) -> Array:
    """Of the columns, where the best row observed is `best`: both of shape `(d,)`."""
    return jnp.clip(jnp.minimum(best, 1 - best) / NEAR, 0.0, 1.0)


def _within(distance: AnyArray | float, unit: Array) -> Array:
    r"""The integral of the Matern 5/2 correlation over \([0, distance]\), in unit / sqrt(5)."""
    steps = 5**0.5 * jnp.asarray(distance) / unit
    return 8 / 3 - (8 / 3 + 5 / 3 * steps + steps**2 / 3) * jnp.exp(-steps)
