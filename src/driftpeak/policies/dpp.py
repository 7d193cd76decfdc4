r"""Determinantal point processes of fixed size (k-DPP): random diverse subsets.

\(\Pr(Z) \propto \det K_Z\) over the subsets Z of k points (M25 definition 3.1; Kulesza and Taskar
2011): a subset of similar points is rare. A point that stands for m equal points counts m times:
\(\Pr(Z) \propto \det K_Z \prod_{z \in Z} m_z\).

`draw` and `sample` run a Markov chain of swaps from the greedy subset (Anari, Oveis Gharan, Rezaei
2016, as in Burt, Rasmussen, van der Wilk 2020). A swap removes a random point of Z and inserts a
point, possibly the removed one. The new point is drawn in proportion to its variance given the
others, which is the ratio of the determinants. The published chain proposes a random point and
accepts it with probability min(1, ratio). Both chains leave the k-DPP invariant, but this chain is
within a total variation of e after

\(k\,\log\bigl(\log(1/\Pr(Z_0)) / 2e^2\bigr)\)

swaps (Cryan, Guo, Mousa 2021, Theorem 1), whereas random proposals need about n times as many
(Anari et al.). A swap costs O(k n) in both. `sample_exactly` is the reference: an eigenvalue
decomposition.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from driftpeak._core.errors import (
    LARGEST_SEED,
    DriftpeakError,
    at_least_integer,
    finite_array,
    unit_interval,
)
from driftpeak._core.numerics.precision import double_precision

Subsets = np.ndarray[Any, np.dtype[np.int64]]
JITTER = 1e-10  # of the largest variance: makes sets with equal points unlikely, not singular


def mixing_steps(points: int, size: int, *, distance: float = 0.05) -> int:
    r"""Return the number of swaps until the chain is within `distance` (total variation) of k-DPP.

    It is the bound of Cryan, Guo and Mousa for the greedy start \(Z_0\). The determinant of
    \(Z_0\) is at least the largest divided by \((k!)^2\) (Civril and Magdon-Ismail 2009), so that
    \(1 / \Pr(Z_0) \le \binom{n}{k} (k!)^2\). For 7 of 400 points: 65.

    Raises:
        DriftpeakError: size not in 1..points, or distance outside (0, 1).
    """
    points = at_least_integer("points", points, 1)
    size = _checked_size(size, points)
    distance = unit_interval("distance", distance, low_open=True, high_open=True)
    subsets = math.lgamma(points + 1) - math.lgamma(points - size + 1) - math.lgamma(size + 1)
    surprise = subsets + 2 * math.lgamma(size + 1)
    return math.ceil(size * math.log(max(surprise / (2 * distance**2), 1.0)))


class Swaps(NamedTuple):
    r"""A subset of the n points, in k places, and the variance of the others given it.

    \(V = M^{-\top} K_{Z\cdot}\) are the coordinates of all points in an orthonormal basis of the
    span of the subset; M holds the coordinates of the subset. In an empty place the covariances are
    zero, and a unit vector of the basis replaces the point.
    """

    items: Int[Array, " k"]
    taken: Bool[Array, " n"]
    covariances: Float[Array, "k n"]  # K_Z
    inverse: Float[Array, "k k"]  # of M
    left: Float[Array, " n"]  # variance given the subset


def draw(
    key: PRNGKeyArray,
    row: Callable[[Any], Float[Array, " n"]],
    variance: Float[Array, " n"],
    multiplicity: Bool[Array, " n"] | Int[Array, " n"],
    size: Int[Array, ""],
    *,
    capacity: int,
    steps: int,
) -> tuple[Int[Array, " capacity"], Bool[Array, " capacity"]]:
    """Draw a random subset of the points, for use inside compiled programs.

    Arguments:
        key: random key.
        row: function from the index of a point to its covariances with all points.
        variance: variances of the points, shape `(n,)`.
        multiplicity: shape `(n,)`; multiplicity of each point, 0 if it may not be drawn.
        size: k, at most `capacity`; if fewer points may be drawn, all of them are taken.
        capacity: number of places for the subset, a constant.
        steps: swaps after the greedy start, a constant; see `mixing_steps`.

    Returns:
        Indices of points, and a mask of those that count, both of shape `(capacity,)`.
    """
    size = jnp.minimum(size, (multiplicity > 0).sum())
    largest = variance.max()
    jitter = JITTER * jnp.where(largest > 0, largest, 1.0)
    uniform = jax.random.uniform(key, (capacity + steps, 2), dtype=float)
    place = jnp.floor(uniform[:, 0] * size).astype(int)

    numbers, slots = jnp.arange(len(variance)), jnp.arange(capacity)

    def swap(number: Any, state: Swaps) -> Swaps:
        greedy = number < size  # first each place is filled with the point of largest variance
        slot = jnp.where(greedy, number, place[number])
        normal = state.inverse[slot] / jnp.linalg.norm(state.inverse[slot])
        along = (state.inverse @ normal) @ state.covariances  # spanned by this place's point only
        left = state.left + along**2
        stayed = state.taken & (numbers != state.items[slot])
        weights = jnp.where(stayed, 0.0, multiplicity * jnp.maximum(left, 0.0))
        largest = jnp.where(weights >= weights.max(), 1.0, 0.0)
        point = _pick(jnp.where(greedy, largest, weights), 1 - uniform[number, 1])
        root = jnp.sqrt(jnp.maximum(left[point], jitter))
        covariance = row(point) + jnp.where(numbers == point, jitter, 0.0)
        own = state.covariances[:, point] @ state.inverse
        residual = covariance - (state.inverse @ own) @ state.covariances
        new = (residual + along[point] * along) / root
        pivot = state.inverse @ (own + normal * (root - along[point]))
        reached = state.inverse[slot] / pivot[slot]
        eliminated = state.inverse - jnp.outer(pivot, reached)
        here = (slots == slot)[:, None]
        return Swaps(
            items=jnp.where(slots == slot, point, state.items),
            taken=stayed | (numbers == point),
            covariances=jnp.where(here, covariance[None, :], state.covariances),
            inverse=jnp.where(here, reached[None, :], eliminated),
            left=left - new**2,
        )

    points = len(variance)
    start = Swaps(
        # an empty place holds the number n, out of range, so removing it frees no point
        items=jnp.full(capacity, points),
        taken=jnp.zeros(points, bool),
        covariances=jnp.zeros((capacity, points)),
        inverse=jnp.eye(capacity),
        left=variance + jitter,
    )
    end = jax.lax.fori_loop(0, capacity + steps, swap, start)
    return jnp.minimum(end.items, points - 1), jnp.arange(capacity) < size


def _pick(weights: Float[Array, " n"], uniform: Float[Array, ""]) -> Int[Array, ""]:
    """Draw a number in proportion to the weights, from a uniform draw in (0, 1].

    The draw has two steps, first a block and then a number in it: a running sum over all weights
    would cost more than the rest of a swap.
    """
    width = math.ceil(math.sqrt(len(weights)))
    blocks = jnp.pad(weights, (0, width**2 - len(weights))).reshape(width, width)
    below = jnp.tril(jnp.ones((width, width)))
    totals = blocks.sum(axis=1)
    sums = below @ totals
    target = uniform * sums[-1]
    block = _first(totals, sums, target)
    before = jnp.where(block > 0, sums[block - 1], 0.0)
    return block * width + _first(blocks[block], below @ blocks[block], target - before)


def _first(
    weights: Float[Array, " m"], sums: Float[Array, " m"], target: Float[Array, ""]
) -> Int[Array, ""]:
    """Return where running sums reach the target; never at a weight of 0, despite rounding."""
    reached = jnp.minimum(target, jnp.where(weights > 0, sums, 0.0).max())
    return jnp.argmax((weights > 0) & (sums >= reached))


@double_precision
def sample(
    gram: Any, size: int, *, samples: int = 1, steps: int | None = None, seed: int = 0
) -> Subsets:
    """Draw independent subsets of `size` points by the Markov chain.

    Arguments:
        gram: covariance of the n points, shape `(n, n)`. It may be singular: if no subset of this
            size has a positive determinant, points that the others determine are drawn uniformly.
        size: k.
        samples: number of subsets.
        steps: swaps after the greedy start; by default `mixing_steps(n, size)`.
        seed: seed of the random numbers.

    Returns:
        Indices of points in no particular order, shape `(samples, size)`.

    Raises:
        DriftpeakError: a gram matrix that is not square or not finite, or numbers out of range.

    Source: M25 Definition 3.1.
    """
    matrix = _checked_gram(gram)
    size = _checked_size(size, len(matrix))
    samples = at_least_integer("samples", samples, 1)
    steps = (
        mixing_steps(len(matrix), size) if steps is None else at_least_integer("steps", steps, 0)
    )
    keys = jax.random.split(
        jax.random.key(at_least_integer("seed", seed, 0, LARGEST_SEED)), samples
    )
    return np.asarray(_draws(keys, jnp.asarray(matrix), size, steps))


@partial(jax.jit, static_argnames=("size", "steps"))
def _draws(keys: Any, gram: Any, size: int, steps: int) -> Any:
    def sample_once(key: Any) -> Any:
        allowed = jnp.ones(len(gram), bool)
        some = (key, gram.__getitem__, gram.diagonal(), allowed, jnp.asarray(size))
        return draw(*some, capacity=size, steps=steps)[0]

    return jax.vmap(sample_once)(keys)


def sample_exactly(gram: Any, size: int, *, samples: int = 1, seed: int = 0) -> Subsets:
    """Draw subsets exactly, by eigenvalues (Kulesza and Taskar 2011, Algorithm 1): O(n^3).

    Arguments and result are those of `sample`.

    Raises:
        DriftpeakError: as for `sample`, and a covariance of rank below `size`: no subset of this
            size has a positive determinant.

    Source: M25 Definition 3.1; Kulesza and Taskar 2011, Algorithm 1.
    """
    matrix = _checked_gram(gram)
    size = _checked_size(size, len(matrix))
    generator = np.random.default_rng(at_least_integer("seed", seed, 0, LARGEST_SEED))
    values, vectors = np.linalg.eigh(matrix)
    values = np.where(values > len(values) * np.finfo(float).eps * values.max(), values, 0.0)
    if (values > 0).sum() < size:
        raise DriftpeakError(
            f"size must be at most {(values > 0).sum()}, the rank of gram: larger subsets have "
            f"determinant 0; got {size}"
        )
    scaled = values / values.max()  # the process does not change, and polynomials do not overflow
    polynomials = _elementary_symmetric(scaled, size)
    count = at_least_integer("samples", samples, 1)
    return np.array(
        [_one_exactly(scaled, vectors, polynomials, size, generator) for _ in range(count)]
    )


def _elementary_symmetric(values: Any, size: int) -> Any:
    """Return a table: entry (l, m) is the l-th elementary symmetric polynomial of m values."""
    table = np.zeros((size + 1, len(values) + 1))
    table[0] = 1.0
    for order in range(1, size + 1):
        for m, value in enumerate(values, start=1):
            table[order, m] = table[order, m - 1] + value * table[order - 1, m - 1]
    return table


def _one_exactly(values: Any, vectors: Any, table: Any, size: int, generator: Any) -> list[int]:
    chosen, left = [], size
    for m in range(len(values), 0, -1):
        if left and generator.uniform() < values[m - 1] * table[left - 1, m - 1] / table[left, m]:
            chosen.append(m - 1)
            left -= 1
    basis, items = vectors[:, chosen], []
    for _ in range(size):
        weights = np.sum(basis**2, axis=1)
        item = int(generator.choice(len(weights), p=weights / weights.sum()))
        items.append(item)
        # the part of the span that vanishes at the item, orthonormalised again
        pivot = int(np.argmax(np.abs(basis[item])))
        basis = basis - np.outer(basis[:, pivot] / basis[item, pivot], basis[item])
        basis = np.linalg.qr(np.delete(basis, pivot, axis=1))[0]
    return items


def _checked_gram(gram: Any) -> Any:
    matrix = finite_array("gram", gram, 2)
    if matrix.shape[0] != matrix.shape[1] or not len(matrix):
        raise DriftpeakError(f"gram must be square; got shape {matrix.shape}")
    return matrix


def _checked_size(size: int, points: int) -> int:
    size = at_least_integer("size", size, 1)
    if size > points:
        raise DriftpeakError(f"size must lie in 1..{points}, the number of points; got {size}")
    return size
