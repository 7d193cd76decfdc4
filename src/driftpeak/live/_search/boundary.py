r"""A factor that down-weights the exploration bonus near the boundary of the box.

The posterior deviation is largest at the boundary, because there are no observations beyond. An
upper confidence bound therefore spends many evaluations on faces and corners, and more of them in
higher dimensions (Siivola et al. 2018, Correcting boundary over-exploration deficiencies in
Bayesian optimization with virtual derivative sign observations). An observation at x changes the
mean at u in proportion to \(k(x, u)\), and few points u are near a corner. The factor is

\[ \prod_j \frac{\int_0^1 k_j(x_j, u)\,du}{\int_0^1 k_j(\frac12, u)\,du} \]

where \(k_j\) is the Matern 5/2 correlation with the lengthscale of column j. It is 1 in the middle.
For short lengthscales it is 1/2 on a face and \(2^{-d}\) in a corner. For long lengthscales it is
nearly 1 everywhere. This weighting of the exploration bonus is driftpeak's own.

The peak may also be at the boundary. Let z be the distance of the best observed row (by its mean)
from the nearest end of a column. The factor of this column is raised to the power
\(\min(1, z/0.15)\).
"""

import jax.numpy as jnp
from jaxtyping import Array

from driftpeak._core.types import AnyArray
from driftpeak.live._model.covariance import Model

MIDDLE = 0.5
NEAR = 0.15  # distance from the end of a column below which the factor is weakened


def boundary_weight(model: Model, rows: AnyArray, powers: AnyArray) -> Array:
    """Compute the boundary factor at rows of the unit cube, in (0, 1], shape `(m,)`.

    An unordered column has the factor 1, because its values have equal distances. Columns of the
    context are ignored, because they are not chosen.

    Arguments:
        model: the process, whose last columns may be those of a context.
        rows: shape `(m, d)`.
        powers: exponents of the columns' factors, shape `(d,)`.
    """
    columns = rows.shape[1]
    unit = jnp.asarray(model.lengthscale)[None, :columns]
    integral = _within(rows, unit) + _within(1 - rows, unit)
    shares = jnp.where(
        jnp.asarray(model.gaps)[None, :columns] == 1, 1.0, integral / (2 * _within(MIDDLE, unit))
    )
    return jnp.prod(shares ** jnp.asarray(powers)[None, :], axis=1)


def powers_around(best: AnyArray) -> Array:
    """Compute the exponents from the best observed row; both have shape `(d,)`."""
    return jnp.clip(jnp.minimum(best, 1 - best) / NEAR, 0.0, 1.0)


def _within(distance: AnyArray | float, unit: Array) -> Array:
    r"""Integrate the Matern 5/2 correlation over \([0, distance]\), in units of unit / sqrt(5)."""
    steps = 5**0.5 * jnp.asarray(distance) / unit
    return 8 / 3 - (8 / 3 + 5 / 3 * steps + steps**2 / 3) * jnp.exp(-steps)
