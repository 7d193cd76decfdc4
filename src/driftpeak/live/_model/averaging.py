r"""Posterior of the function averaged over hyperparameters, for intervals.

Decisions use the most probable hyperparameters of `driftpeak.live._model.hyperparameters`.
Intervals conditional on them are too narrow, mainly for one reason. The prior of the function's
variance is stated in units of the rewards' variance. The rewards of an optimiser vary less than the
function, because most are observed near the peak. Intervals therefore use these priors, and average
over their posterior:

| hyperparameter | prior (median; standard deviation of the natural logarithm) |
| --- | --- |
| variance of the function | 7.4; 2 |
| variance of the noise, in variances of the function | 0.01; 1.58 |
| level | normal around 0, standard deviation 10 times that of the function |
| all others | as in `driftpeak.live._model.hyperparameters`, without the ranges |

The median of the variance is above 1, since the optimiser's rewards vary less than the function.
Its standard deviation is large enough for rewards at random points.

The level is integrated analytically: it adds a constant to the covariance. The other
hyperparameters u, in standard units of their priors, have the density
\(p(u \mid y) \propto p(y \mid u)\,e^{-|u|^2/2}\). It is approximated by adaptive importance
sampling (Cornuet et al. 2012):

1. Newton's method, with derivatives by finite differences, starts from the hyperparameters of the
   decisions and approaches a mode.
2. The first proposal is a multivariate t distribution with this mode and the curvature there. Each
   later proposal has the mean and the covariance of the weighted points so far.
3. 64 points are drawn from each proposal. A point has the weight \(p/q\), where q is the mixture of
   the proposals.
4. Sampling ends after two or more proposals, if the effective number of points,
   \((\sum w)^2 / \sum w^2\), is at least 64, and in any case after twelve.
5. 64 points are kept by systematic resampling in the order of the function's variance, on which
   interval widths depend most.

The points of the proposals are transformed from a low-discrepancy sequence, the multiples of the
square roots of primes modulo 1 (Richtmyer 1951). Independent random points represent the tails less
evenly and give narrower intervals on average. The sequence is fixed: equal observations give equal
intervals.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from driftpeak._core.numerics.compiled import compiled
from driftpeak._core.types import AnyArray, Scalar, Vector
from driftpeak.live._model.covariance import Model
from driftpeak.live._model.gp import (
    PaddedObservations,
    covariance_across,
    covariance_between,
    covariance_over_noise,
)
from driftpeak.live._model.hyperparameters import NOISE, SHARE, TIMESCALE, VARIANCE, Problem, ranges
from driftpeak.live._model.observations import in_blocks

MEDIAN, SPREAD = 2.0, 2.0  # prior mean and deviation of the logarithm of the variance
LEVEL = 10.0  # standard deviation of the level's prior, in those of the function
CHUNK = 8  # points per call of the compiled program
NEWTON, CLOSE = 3, 0.2  # maximum of Newton steps; a shorter step ends the search
DRAWN = KEPT = 64
FIRST = 1  # place of the first point in the sequence
ENOUGH, MOST = 64.0, 12  # sampling ends at this effective number of points, or of proposals
FREEDOM, WIDER = 5.0, 1.2  # degrees of freedom; factor of the scales of the proposals
TINY = 1e-12  # least distance of uniform numbers from 0 and 1
STEP = 0.3  # step of finite differences, in standard deviations of the prior
LENGTHS = np.array([1.0, 0.5, 0.25, 0.1, 0.0, 1.5, 2.0, 0.02])  # step lengths of the line search
LONGEST = 2.0  # longest step, in standard deviations of the prior
FLATTEST = 0.5  # least curvature; the curvature of the prior is 1
EVEN = 3  # least effective number of points per dimension for a covariance
TEMPERED, COLDEST = 0.8, 0.05  # tempering factor of log weights until then, and its least power
NARROWEST = 0.02  # variance added to every coordinate
HALVINGS = 60  # of an interval in which a quantile lies


class Prior(NamedTuple):
    """Map from standard normal coordinates to hyperparameters."""

    centre: AnyArray  # (d + 4,)
    spread: AnyArray  # (d + 4,)

    @staticmethod
    def of(gaps: AnyArray) -> "Prior":
        """Return the prior for columns with these gaps between choices.

        The first d + 3 coordinates are logarithms: of the d lengthscales, of the function's
        variance, of the noise's variance in variances of the function, and of the timescale in
        paces. The last coordinate is the log-odds of the share.
        """
        scales = ranges(np.asarray(gaps))[:-3]
        medians = [float(scale.median) for scale in (*scales, NOISE, TIMESCALE)]
        *lengthscales, noise, timescale = np.log(medians)
        relative = np.hypot(NOISE.deviation, VARIANCE.deviation)
        deviations = [scale.deviation for scale in scales]
        return Prior(
            np.array([*lengthscales, MEDIAN, noise, timescale, 0.0]),
            np.array([*deviations, SPREAD, relative, TIMESCALE.deviation, SHARE]),
        )

    def vector(self, point: Array) -> Array:
        """Return the vector of `hyperparameters.unpack` for a point; its level is 0."""
        vector = jnp.asarray(self.centre + self.spread * point)
        return jnp.append(vector.at[-3].add(vector[-4]), 0.0)

    def point(self, vector: Vector) -> Vector:
        """Return the point of such a vector."""
        point = vector[:-1].copy()
        point[-3] -= point[-4]
        return (point - self.centre) / self.spread


class Average:
    """Posterior of the hyperparameters, as points of equal weight.

    Arguments:
        problem: the observations to learn from.
        start: a vector of `driftpeak.live._model.hyperparameters.pack`, from which the search
            starts.
    """

    def __init__(self, problem: Problem, start: Vector) -> None:
        self.prior = Prior.of(problem.gaps)
        proposals = [self._first(problem, self.prior.point(start))]
        points, costs = np.zeros((0, len(proposals[0].mean))), np.zeros(0)
        while True:
            new = proposals[-1].points(FIRST + len(points))
            points = np.concatenate([points, new])
            costs = np.append(costs, self._costs(problem, new))
            density = np.logaddexp.reduce([proposal.log_density(points) for proposal in proposals])
            logarithms = -costs - density
            weights = np.exp(logarithms - logarithms.max())
            effective = weights.sum() ** 2 / (weights**2).sum()
            if len(proposals) == MOST or (len(proposals) > 1 and effective >= ENOUGH):
                break
            proposals.append(_adapted(points, logarithms - logarithms.max()))
        order = np.argsort(points[:, -4], kind="stable")  # by the function's variance
        points, weights = points[order], weights[order]
        ends = np.cumsum(weights / weights.sum())
        chosen = np.searchsorted(ends, (np.arange(KEPT) + 0.5) / KEPT)
        self.points = points[np.minimum(chosen, len(points) - 1)]

    def moments(
        self, problem: Problem, rows: Vector, time: float, sizes: Sequence[int]
    ) -> tuple[Vector, Vector]:
        """Return mean and standard deviation of the function, for each point and row.

        Arguments:
            problem: the observations that count at `time`.
            rows: shape `(r, d)`.
            sizes: numbers of rows for which a program is compiled, increasing.

        Returns:
            Both of shape `(m, r)`.
        """

        def moments(some: Vector) -> Any:
            return _moments(self.points, self.prior, problem, some, time)

        means, deviations = in_blocks(moments, rows, sizes)
        return means, deviations

    def _costs(self, problem: Problem, points: Vector) -> Vector:
        """Return the costs of any number of points; infinite where they are not finite."""
        costs = in_blocks(lambda some: _costs(some, self.prior, problem), points, (CHUNK,))
        return np.where(np.isfinite(costs), costs, np.inf)

    def _first(self, problem: Problem, here: Vector) -> "Proposal":
        """Return the proposal around a mode, found by Newton's method."""
        for _ in range(NEWTON):
            slope, values, vectors = self._derivatives(problem, here)
            newton = -(vectors / values) @ (vectors.T @ slope)
            longest = max(float(np.abs(newton).max()), 1e-9)
            if longest < CLOSE:
                break
            along = here + LENGTHS[:, None] * newton * min(1.0, LONGEST / longest)
            here = along[int(np.argmin(self._costs(problem, along)))]
        else:
            _, values, vectors = self._derivatives(problem, here)
        # the symmetric root, since signs of eigenvectors depend on rounding
        return Proposal(here, WIDER * (vectors / np.sqrt(values)) @ vectors.T)

    def _derivatives(self, problem: Problem, here: Vector) -> tuple[Vector, Vector, Vector]:
        """Return the slope of the costs, and eigenvalues and eigenvectors of their curvature."""
        size = len(here)
        step, (i, j) = STEP * np.eye(size), np.triu_indices(size, 1)
        offsets = np.concatenate([np.zeros((1, size)), step, -step, step[i] + step[j]])
        costs = self._costs(problem, here + offsets)
        middle, up, down, both = np.split(costs, [1, 1 + size, 1 + 2 * size])
        curvature = np.diag((up + down - 2 * middle) / STEP**2)
        curvature[i, j] = curvature[j, i] = (both - up[i] - up[j] + middle) / STEP**2
        values, vectors = np.linalg.eigh(np.nan_to_num(curvature, posinf=1.0, neginf=1.0))
        slope = np.nan_to_num((up - down) / (2 * STEP), posinf=0.0, neginf=0.0)
        return slope, np.maximum(values, FLATTEST), vectors


class Proposal(NamedTuple):
    """A multivariate t distribution."""

    mean: Vector  # (k,)
    root: AnyArray  # (k, k): times its transpose the scale matrix

    def points(self, first: int) -> Vector:
        """Return 64 points, from the place `first` of the sequence on, shape `(64, k)`."""
        from scipy.special import chdtri, ndtri

        size = len(self.mean)
        uniform = (0.5 + np.arange(first, first + DRAWN)[:, None] * _roots(size + 1)) % 1
        uniform = np.clip(uniform, TINY, 1 - TINY)
        apart = ndtri(uniform[:, :-1]) * np.sqrt(FREEDOM / chdtri(FREEDOM, uniform[:, -1:]))
        return np.asarray(self.mean + apart @ self.root.T)

    def log_density(self, points: Vector) -> Vector:
        """Return the log density of each point, up to a constant."""
        apart = np.linalg.solve(np.asarray(self.root), (points - self.mean).T)
        power = 0.5 * (FREEDOM + len(self.mean))
        size = np.linalg.slogdet(self.root)[1]
        return -power * np.log1p((apart**2).sum(axis=0) / FREEDOM) - size


def _roots(count: int) -> Vector:
    """Return the square roots of the first primes."""
    primes: list[int] = []
    number = 2
    while len(primes) < count:
        if all(number % prime for prime in primes):
            primes.append(number)
        number += 1
    return np.sqrt(primes)


def _adapted(points: Vector, log_weights: Vector) -> Proposal:
    """Return a proposal with mean and covariance of weighted points.

    Weights are flattened until the effective number of points is enough for a covariance.
    """
    size, power = points.shape[1], 1.0
    weights = np.exp(log_weights)
    while weights.sum() ** 2 < EVEN * size * (weights**2).sum() and power > COLDEST:
        power *= TEMPERED
        weights = np.exp(power * log_weights)
    weights /= weights.sum()
    mean = weights @ points
    apart = points - mean
    covariance = (weights[:, None] * apart).T @ apart + NARROWEST * np.eye(size)
    return Proposal(mean, WIDER * np.linalg.cholesky(covariance))


def _factor(model: Model, places: PaddedObservations) -> tuple[Array, Array]:
    """Return 1 / noise deviation of every place, and the factor of I + K / noise.

    K includes the level.
    """
    root = places.roots(model)
    among = covariance_between(model, places, places) + LEVEL**2 * model.variance
    return root, jnp.linalg.cholesky(covariance_over_noise(among, root))


@compiled
def _costs(points: AnyArray, prior: Prior, problem: Problem) -> Array:
    """Compute minus the log posterior density of each point, up to a constant, shape `(m,)`."""

    def cost(point: Array) -> Array:
        model = problem.model(prior.vector(point))
        root, lower = _factor(model, problem.places)
        white = jax.scipy.linalg.solve_triangular(lower, root * problem.rewards, lower=True)
        noise = jnp.where(problem.places.used, jnp.log(problem.places.variances(model)), 0.0)
        determinant = jnp.log(lower.diagonal()).sum() + 0.5 * noise.sum()
        return 0.5 * (white @ white + point @ point) + determinant

    return jax.lax.map(cost, points)


@compiled
def _moments(
    points: AnyArray, prior: Prior, problem: Problem, rows: AnyArray, time: Scalar
) -> tuple[Array, Array]:
    """Compute mean and standard deviation for each point, both of shape `(m, r)`."""

    def moments(point: Array) -> tuple[Array, Array]:
        model = problem.model(prior.vector(point))
        root, lower = _factor(model, problem.places)
        level = LEVEL**2 * model.variance
        across = root[:, None] * (covariance_across(model, problem.places, rows, time) + level)
        both = jnp.concatenate([across, (root * problem.rewards)[:, None]], axis=1)
        white = jax.scipy.linalg.solve_triangular(lower, both, lower=True)
        white, rewards = white[:, :-1], white[:, -1]
        variance = level + model.variance - (white**2).sum(axis=0)
        return rewards @ white, jnp.sqrt(jnp.maximum(variance, 1e-12 * model.variance))

    return jax.lax.map(moments, points)


def quantiles(means: Vector, deviations: Vector, tail: float) -> tuple[Vector, Vector]:
    """Return the quantiles `tail` and 1 - `tail` of mixtures of normal distributions.

    Arguments:
        means, deviations: of the components, which have equal weights, shape `(m, r)`.
        tail: in (0, 0.5].
    """
    return _quantile(means, deviations, tail), -_quantile(-means, deviations, tail)


def _quantile(means: Vector, deviations: Vector, tail: float) -> Vector:
    from scipy.special import ndtr, ndtri

    each = means + float(ndtri(tail)) * deviations
    low, high = each.min(axis=0), each.max(axis=0)
    for _ in range(HALVINGS):
        middle = low / 2 + high / 2
        below = ndtr((middle - means) / deviations).mean(axis=0) < tail
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return low / 2 + high / 2
