r"""Which rewards are not believed: those that nothing near them supports.

A reward may be absurd: a sensor that failed, a unit mixed up. Under the process of
`driftpeak.live.model.gp` with observations' covariance \(\tilde K\), residuals r and
\(\beta = \tilde K^{-1} r\), the i-th observation lies

\[ z_i = |\beta_i| \,/\, \sqrt{(\tilde K^{-1})_{ii}} \]

deviations from what all the others foretell of it (Sundararajan and Keerthi 2001). The observations
farther off than five, and outside the range in which rewards are measured linearly, are left out
one by one, the worst first: \(\tilde K^{-1}\) without the i-th is \(\tilde K^{-1} - q q^\top/q_i\)
with q its i-th column. That is the mode of a contaminated likelihood, in which an observation is
either the process's or anything at all, rather than of a Student likelihood: it is redescending,
and where nothing is wild it is exactly the Gaussian one.

Two rules protect what is wild and true. What is told once is doubted, what is told twice is
believed: two neighbours that agree support each other. And where two are doubted, nothing else is
within five observations: more are a change, not an accident.
"""

from typing import Any

import jax
import jax.numpy as jnp

from driftpeak._core.numerics.compiled import compiled
from driftpeak.live.model.gp import Model, Places, factor, lower_squared

FAR = 5.0  # deviations from what the others foretell
TO_DEVIATION = 0.6745  # the median of |z|, for standard normal z
ROW, ACCIDENTS = 5, 2  # among so many before and after, at most so many are doubted


@compiled
def doubtful(model: Model, places: Places, rewards: Any, wild: Any) -> Any:
    """Which observations, in the order of their times, are not to be believed, shape `(c,)`.

    Arguments:
        rewards: in standard units, shape `(c,)`.
        wild: which of them are so far off that they may be doubted, shape `(c,)`.
    """
    used = places.used
    # how far off the tame ones are, judged by themselves: above 1 while the model is still wrong
    tame = places._replace(worth=jnp.where(wild, 0.0, places.worth))
    usual = jnp.nanmedian(
        jnp.where(tame.used, _distances(*_inverse(model, tame, rewards)), jnp.nan)
    )
    limit = FAR * jnp.fmax(usual / TO_DEVIATION, 1.0)  # fmax: there may be none

    def worst(state: Any) -> tuple[Any, Any]:
        precision, solved, out = state
        before = jnp.pad(jnp.cumsum(out), (ROW + 1, ROW), mode="edge").at[: ROW + 1].set(0)
        near = before[2 * ROW + 1 :] - before[: len(out)]
        distance = _distances(precision, solved)
        possible = wild & used & ~out & (distance > limit) & (near < ACCIDENTS)
        return jnp.argmax(jnp.where(possible, distance, -1.0)), possible.any()

    def leave_out(state: Any) -> Any:
        precision, solved, out = state
        number, _ = worst(state)
        column, pivot = precision[:, number], precision[number, number]
        solved = solved - column * (solved[number] / pivot)
        precision = precision - jnp.outer(column, column / pivot)
        return precision, solved, out.at[number].set(True)

    start = (*_inverse(model, places, rewards), jnp.zeros(len(used), bool))
    return jax.lax.while_loop(lambda state: worst(state)[1], leave_out, start)[2]


def _inverse(model: Model, places: Places, rewards: Any) -> tuple[Any, Any]:
    """Inverse covariance of the observations, and its product with the residuals."""
    root, lower, _ = factor(model, places)
    inverse = jax.scipy.linalg.solve_triangular(lower, jnp.eye(len(root)), lower=True)
    whiten = inverse * root[None, :]
    precision = lower_squared(whiten)
    return precision, precision @ (rewards - model.level)


def _distances(precision: Any, solved: Any) -> Any:
    """The z of every observation; 0 where there is none."""
    diagonal = precision.diagonal()
    known = diagonal > 0
    return jnp.where(known, jnp.abs(solved) / jnp.sqrt(jnp.where(known, diagonal, 1.0)), 0.0)
