r"""Optimal designs: how to distribute observations over the points of a domain.

Both optimisation problems of H23 (Hong, Li, Tewari 2023, section 4) have the form

\[\max_P\; \log\det S(P, s) - \sum_x P(x)\,c(x), \qquad
S(P, s) = \sum_x P(x)\,\phi(x)\phi(x)^\top + s I,\]

over the distributions P on some of the points. The objective is concave, with the gradient
\(h(x) - c(x)\), \(h(x) = \phi(x)^\top S^{-1} \phi(x)\). Mass moves between pairs of points: from
the point with the largest exact gain to the point with the largest gradient, by the optimal step of
that pair, in closed form. (Frank-Wolfe with pairwise steps; Lacoste-Julien and Jaggi 2015, and
second-order pair selection, Fan, Chen, Lin 2005.) An iteration costs O(n p + p^2).
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DriftpeakError, finite_array, indices, positive
from driftpeak._core.numerics.precision import double_precision
from driftpeak._core.types import Scalar
from driftpeak.gp.feature_matrix import FeatureMatrix, RowMajor
from driftpeak.gp.features import Features
from driftpeak.gp.ridge import information, leverages

STEPS = 64  # pairwise steps between two factorisations
ROUNDS = 2000  # largest number of factorisations


class Design(NamedTuple):
    """A distribution over the points, its objective, and a bound on the distance to the optimum."""

    weights: Float[Array, " n"]
    objective: Float[Array, ""]
    """log det S(P, s) - P c, in nats."""
    gap: Float[Array, ""]
    """Duality gap max(h - c) - P (h - c): the maximum exceeds `objective` by no more (nats)."""


class _Iterate(NamedTuple):
    weights: Array
    inverse: Array  # S^-1
    leverage: Array  # h


class _Search(NamedTuple):
    iterate: _Iterate
    gap: Array
    round: Array
    stalled: Array


def maximise(
    features: FeatureMatrix,
    regulariser: Scalar,
    cost: Float[Array, " n"],
    allowed: Bool[Array, " n"],
    start: Float[Array, " n"],
    tolerance: Scalar,
) -> Design:
    """Return the best distribution on the `allowed` points, to a duality gap of `tolerance` nats.

    The function is pure, for use inside compiled programs; `optimal_design` and `balance` check
    their input. `start` is a distribution on allowed points; a sparse one is fastest.
    """

    def factorise(weights: Any) -> _Iterate:
        inverse = jnp.linalg.inv(_information_matrix(features, regulariser, weights))
        return _Iterate(weights, inverse, leverages(features, inverse))

    def gap_of(iterate: _Iterate) -> Array:
        gradient = iterate.leverage - cost
        best = jnp.where(allowed, gradient, -jnp.inf).max()
        return best - iterate.weights @ gradient

    def unfinished(search: _Search) -> Array:
        return (search.gap > tolerance) & (search.round < ROUNDS) & ~search.stalled

    def improve(search: _Search) -> _Search:
        def more(inner: Any) -> Any:
            iterate, count, stalled = inner
            return (count < STEPS) & (gap_of(iterate) > tolerance / 2) & ~stalled

        def step(inner: Any) -> Any:
            iterate, count, _ = inner
            iterate, gain = _move(features, cost, allowed, iterate)
            return iterate, count + 1, ~(gain > 0)

        begin = (search.iterate, jnp.zeros((), int), jnp.zeros((), bool))
        moved, _, stalled = jax.lax.while_loop(more, step, begin)
        after = factorise(moved.weights / moved.weights.sum())
        return _Search(after, gap_of(after), search.round + 1, stalled)

    first = factorise(start)
    zero = jnp.zeros((), int)
    begin = _Search(first, gap_of(first), zero, jnp.zeros((), bool))
    search = jax.lax.while_loop(unfinished, improve, begin)
    weights = search.iterate.weights
    determinant = jnp.linalg.slogdet(_information_matrix(features, regulariser, weights))[1]
    return Design(weights, determinant - weights @ cost, search.gap)


def greedy_start(
    features: FeatureMatrix, regulariser: Scalar, allowed: Bool[Array, " n"]
) -> Float[Array, " n"]:
    """Return equal weights on as many points as features, a sparse start near the optimal design.

    Each point is the allowed point of largest leverage, given the points before it.
    """
    points, rank = features.shape

    def pick(_: Any, state: Any) -> Any:
        counts, inverse, leverage = state
        point = jnp.argmax(jnp.where(allowed, leverage, -jnp.inf))
        direction = inverse @ features.rows(point)
        scale = 1 / (rank + leverage[point])  # each pick weighs 1 / rank
        inverse = inverse - scale * jnp.outer(direction, direction)
        leverage = leverage - scale * features.values(direction) ** 2
        return counts.at[point].add(1.0), inverse, leverage

    zeros = jnp.zeros(points)
    begin = (zeros, jnp.eye(rank) / regulariser, features.squares() / regulariser)
    return jax.lax.fori_loop(0, rank, pick, begin)[0] / rank


def _information_matrix(features: FeatureMatrix, regulariser: Scalar, weights: Array) -> Array:
    return information(features, weights) + regulariser * jnp.eye(features.shape[1])


def _move(
    features: FeatureMatrix, cost: Array, allowed: Array, iterate: _Iterate
) -> tuple[_Iterate, Array]:
    r"""Move mass between the best pair of points; also returns the gain in the objective.

    Moving \(\eta\) from a to b changes the objective by
    \(\log(1 + \eta (h_b - h_a) - \eta^2 D) - \eta (c_b - c_a)\), \(D = h_a h_b - (\phi_a^\top
    S^{-1} \phi_b)^2\), which is concave in \(\eta\).
    """
    weights, inverse, leverage = iterate
    gradient = leverage - cost
    to = jnp.argmax(jnp.where(allowed, gradient, -jnp.inf))
    inward = inverse @ features.rows(to)
    cross = features.values(inward)
    rise = leverage[to] - leverage
    price = cost[to] - cost
    area = jnp.maximum(leverage[to] * leverage - cross**2, 0.0)
    slope = rise - price
    middle = 2 * area + price * rise
    root = jnp.sqrt(jnp.maximum(middle**2 - 4 * price * area * slope, 0.0))
    free = middle + root
    best = jnp.where(free > 0, 2 * slope / jnp.where(free > 0, free, 1.0), jnp.inf)
    eta = jnp.where((weights > 0) & (slope > 0), jnp.minimum(best, weights), 0.0)
    gains = jnp.log1p(eta * rise - eta**2 * area) - eta * price
    source = jnp.argmax(gains)
    amount = eta[source]

    # the inverse after adding `amount` at `to`, then after taking it from `source`
    added = amount / (1 + amount * leverage[to])
    outward = inverse @ features.rows(source) - added * cross[source] * inward
    left = leverage[source] - added * cross[source] ** 2
    taken = amount / (1 - amount * left)
    inverse = inverse - added * jnp.outer(inward, inward) + taken * jnp.outer(outward, outward)
    leverage = leverage - added * cross**2 + taken * features.values(outward) ** 2
    remaining = jnp.where(amount >= weights[source], 0.0, weights[source] - amount)
    weights = weights.at[source].set(remaining).at[to].add(amount)
    return _Iterate(weights, inverse, leverage), gains[source]


@checked
@double_precision
def optimal_design(
    features: Features | FeatureMatrix | Any,
    regulariser: float,
    *,
    arms: Any = None,
    tolerance: float = 1e-6,
) -> Design:
    r"""Compute H23's optimal design \(\pi(A) = \arg\max_P \log\det S(P, s)\) on the points A.

    At the optimum \(\phi(x)^\top S^{-1} \phi(x) \le \operatorname{tr}(I - s S^{-1}) \le \log\det
    S(\pi(A), s)/s^p\) for all x in A (H23 Lemma 4.3; Kiefer and Wolfowitz 1960).

    Arguments:
        features: `prior.features`, a matrix of shape `(n, p)`, or `FeatureMatrix`.
        regulariser: s, H23's sigma / T. Positive.
        arms: A, indices of points; all by default.
        tolerance: largest duality gap, in nats.

    Returns:
        Weights (shape `(n,)`, zero outside A), objective and gap, as NumPy arrays.

    Raises:
        DriftpeakError: a number out of range, no arms, or a gap that stays above `tolerance`
            because of rounding.

    Source: H23 optimal design, Lemma 4.3.
    """
    loadings, regulariser, tolerance = _checked(features, regulariser, tolerance)
    points = loadings.shape[0]
    allowed = _mask(arms, points)
    return _certified(
        _solve(loadings, regulariser, np.zeros(points), allowed, tolerance), tolerance
    )


@checked
@double_precision
def balance(
    features: Features | FeatureMatrix | Any,
    regulariser: float,
    gaps: Any,
    beta: float,
    *,
    tolerance: float = 1e-6,
) -> Design:
    r"""Solve H23's OP before mixing: \(\min_P P \hat\Delta - \frac2\beta \log\det S(P, s)\).

    The equivalent maximum of \(\log\det S - \frac\beta2 P\hat\Delta\) is returned, so the objective
    and the gap are in nats.

    Arguments:
        features, regulariser, tolerance: as for `optimal_design`.
        gaps: estimated regret of every point, shape `(n,)`, at least 0.
        beta: weight of the regret. Positive.

    Raises:
        DriftpeakError: as for `optimal_design`, or negative gaps.

    Source: H23 OP.
    """
    loadings, regulariser, tolerance = _checked(features, regulariser, tolerance)
    points = loadings.shape[0]
    regrets = finite_array("gaps", gaps, 1)
    if len(regrets) != points or (regrets < 0).any():
        raise DriftpeakError(f"gaps must be {points} numbers of at least 0, one for each point")
    cost = regrets * (positive("beta", beta) / 2)
    return _certified(
        _solve(loadings, regulariser, cost, _mask(None, points), tolerance), tolerance
    )


@jax.jit
def _solve(
    features: FeatureMatrix, regulariser: Scalar, cost: Any, allowed: Any, tolerance: Any
) -> Design:
    start = greedy_start(features, regulariser, allowed)
    return maximise(features, regulariser, cost, allowed, start, tolerance)


def _checked(
    features: Any, regulariser: float, tolerance: float
) -> tuple[FeatureMatrix, float, float]:
    if isinstance(features, Features):
        features = features.loadings
    return (
        features
        if isinstance(features, FeatureMatrix)
        else RowMajor(finite_array("features", features, 2)),
        positive("regulariser", regulariser),
        positive("tolerance", tolerance),
    )


def _mask(arms: Any, points: int) -> Any:
    if arms is None:
        return np.ones(points, bool)
    chosen = indices("arms", arms, points)
    if len(chosen) == 0:
        raise DriftpeakError("arms must be a non-empty list of indices of points; got none")
    return np.isin(np.arange(points), chosen)


def _certified(design: Design, tolerance: float) -> Design:
    result = jax.tree.map(np.asarray, design)
    if not result.gap <= tolerance:
        raise DriftpeakError(
            f"the duality gap stays at {float(result.gap):.1e} nats, above "
            f"tolerance={tolerance:g}. Use a larger tolerance or a larger regulariser"
        )
    return Design(*result)
