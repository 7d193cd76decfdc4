r"""Rejection of outliers: extreme rewards that no nearby observation supports.

Outliers are caused by failed sensors or wrong units, for example. Under the process of
`driftpeak.live._model.gp`, let \(\tilde K\) be the covariance of the observations, r their
residuals and \(\beta = \tilde K^{-1} r\). The distance of observation i from its leave-one-out
prediction, in standard deviations, is

\[ z_i = |\beta_i| \,/\, \sqrt{(\tilde K^{-1})_{ii}} \]

(Sundararajan and Keerthi 2001). An observation is an outlier if its distance exceeds five and its
reward is outside the linear range of the standardisation. Outliers are removed one by one, the
worst first. Without observation i, \(\tilde K^{-1}\) becomes \(\tilde K^{-1} - q q^\top/q_i\);
q is its i-th column. This finds a mode of a contaminated likelihood, in which an observation comes
either from the process or from an arbitrary distribution. Unlike a Student likelihood it is
redescending, and without outliers it equals the Gaussian likelihood.

Two rules protect extreme rewards that are real. A single outlier is rejected, but two neighbours
that agree support each other and are kept. An observation is rejected only if fewer than two others
within five places of it are rejected, because more extreme rewards indicate a change.
"""

from typing import Any

import jax
import jax.numpy as jnp

from driftpeak._core.numerics.compiled import compiled
from driftpeak.live._model.covariance import Model
from driftpeak.live._model.gp import PaddedObservations, lower_squared, whitening

FAR = 5.0  # standard deviations from the leave-one-out prediction
TO_DEVIATION = 0.6745  # the median of |z|, for standard normal z
ROW, ACCIDENTS = 5, 2  # observations before and after; maximum of outliers among them


@compiled
def outliers_of(model: Model, places: PaddedObservations, rewards: Any, far: Any) -> Any:
    """Return whether each observation is an outlier, shape `(c,)`.

    Arguments:
        model: the process.
        places: the observations, sorted by time.
        rewards: rewards in standard units, shape `(c,)`.
        far: whether each reward is extreme enough to be rejected, shape `(c,)`.
    """
    used = places.used
    others = jnp.where(far, 0.0, places.weights)  # weights without the extreme rewards
    # both at once, because a second factorisation would take a second to compile
    inverses, solutions = jax.vmap(
        lambda weights: _inverse(model, places._replace(weights=weights), rewards)
    )(jnp.stack([others, jnp.asarray(places.weights)]))
    # usual distance of the other observations: above 1 while the hyperparameters do not fit yet
    distances = jnp.where(others > 0, _distances(inverses[0], solutions[0]), jnp.nan)
    usual = jnp.nanmedian(distances)
    limit = FAR * jnp.fmax(usual / TO_DEVIATION, 1.0)  # fmax, because `usual` may be NaN

    def worst(state: Any) -> tuple[Any, Any]:
        precision, solved, out = state
        before = jnp.pad(jnp.cumsum(out), (ROW + 1, ROW), mode="edge").at[: ROW + 1].set(0)
        near = before[2 * ROW + 1 :] - before[: len(out)]
        distance = _distances(precision, solved)
        possible = far & used & ~out & (distance > limit) & (near < ACCIDENTS)
        return jnp.argmax(jnp.where(possible, distance, -1.0)), possible.any()

    def leave_out(state: Any) -> Any:
        precision, solved, out = state
        number, _ = worst(state)
        column, pivot = precision[:, number], precision[number, number]
        solved = solved - column * (solved[number] / pivot)
        precision = precision - jnp.outer(column, column / pivot)
        return precision, solved, out.at[number].set(True)

    start = inverses[1], solutions[1], jnp.zeros(len(used), bool)
    return jax.lax.while_loop(lambda state: worst(state)[1], leave_out, start)[2]


def _inverse(model: Model, places: PaddedObservations, rewards: Any) -> tuple[Any, Any]:
    """Return the inverse covariance of the observations, and its product with the residuals."""
    precision = lower_squared(whitening(model, places)[0])
    return precision, precision @ (rewards - model.level)


def _distances(precision: Any, solved: Any) -> Any:
    """Return the distance z of each observation; 0 in unused places."""
    diagonal = precision.diagonal()
    known = diagonal > 0
    return jnp.where(known, jnp.abs(solved) / jnp.sqrt(jnp.where(known, diagonal, 1.0)), 0.0)
