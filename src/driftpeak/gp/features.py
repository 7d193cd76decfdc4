r"""Finite-rank factors \(\Phi \Phi^\top \approx K\) of a covariance over a finite domain.

With r features, a posterior is a vector of r means and an r x r covariance, whatever the number of
observations. Pivoted Cholesky is the default: it stops as soon as the stated tolerance is reached,
and its error is known. Eigenvectors have the smallest rank for a given total error. Quadrature and
random Fourier features are those that the theory papers analyse.
"""

import math
from bisect import bisect_left
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import (
    LARGEST_SEED,
    DriftpeakError,
    at_least_integer,
    finite,
    finite_array,
    positive,
)
from driftpeak._core.types import Matrix, Vector
from driftpeak.gp.domains import Arms, Domain, Grid
from driftpeak.gp.feature_matrix import ColumnMajor, FeatureMatrix, Kronecker, RowMajor, Tucker
from driftpeak.gp.kernels import SE, Kernel

TOLERANCE = 1e-10
MANY = 10_000
"""Number of points above which no array of size n^2 is made by default, and, where the domain and
the kernel allow it, no array of size n r either."""
PIECE = 16
"""Number of features for which memory is allocated at a time."""


@checked
@dataclass(frozen=True, eq=False)
class Features:
    r"""A feature matrix, shape `(n, r)`, and a bound on its error.

    The matrix is written out or a `Kronecker` product, which `numpy.asarray` writes out.

    `error` bounds the largest entry of \(|K - \Phi\Phi^\top|\), in units of the covariance, up to
    rounding (about 1e-16 r of the largest prior variance); it is None where only a probabilistic
    bound exists (random features). `sizes` are the numbers of points along each axis of a grid.
    """

    matrix: Matrix | Kronecker = field(repr=False)
    error: float | None
    method: str
    sizes: tuple[int, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.matrix, Kronecker):
            finite_array("matrix", self.matrix, 2)
        if self.error is not None:
            finite("error", self.error)
        points = math.prod(at_least_integer("sizes", size, 1) for size in self.sizes)
        if self.sizes and points != len(self.matrix):
            raise DriftpeakError(
                f"sizes must have the product {len(self.matrix)}, the number of points of the "
                f"matrix; got {points}. Omit sizes if the points are not a grid"
            )

    @property
    def rank(self) -> int:
        """The number of features, r."""
        return self.matrix.shape[1]

    @property
    def explained(self) -> Vector:
        """The variance explained by the features at each point, shape `(n,)`."""
        matrix = self.matrix
        return matrix.squares() if isinstance(matrix, Kronecker) else (matrix**2).sum(axis=1)

    @property
    def loadings(self) -> FeatureMatrix:
        """Feature matrix for compiled programs, fast with one vector of weights at a time."""
        return self.matrix if isinstance(self.matrix, Kronecker) else RowMajor(self.matrix)

    @cached_property
    def loadings_of_several(self) -> FeatureMatrix:
        """Feature matrix for compiled programs, fast with several vectors of weights at a time."""
        if isinstance(self.matrix, Kronecker):
            return self.matrix
        if len(self.sizes) > 1 and 2 * self.rank <= len(self.matrix):
            by_axis = Tucker(self.matrix, self.sizes)
            if 2 * by_axis.operations <= self.matrix.size:
                return by_axis
        return ColumnMajor(self.matrix)

    def check(self, points: int) -> None:
        """Raise DriftpeakError unless the features are for `points` points."""
        if len(self.matrix) != points:
            raise DriftpeakError(
                f"features must be for the {points} points of the prior; got features for "
                f"{len(self.matrix)}. Compute them with "
                "features.pivoted_cholesky(prior.kernel, prior.domain), or omit the argument"
            )


@checked
def factored(
    kernel: Kernel, domain: Domain, *, tolerance: float = TOLERANCE, rank: int | None = None
) -> Features:
    """Factor the covariance by the fastest suitable method; priors use this function.

    The method is `kronecker` for grids of more than `MANY` points in several dimensions if the
    kernel is a product of one-dimensional kernels, and `pivoted_cholesky` otherwise.

    Arguments and errors are those of the two functions.
    """
    if by_axis(kernel, domain):
        return kronecker(kernel, domain, tolerance=tolerance, rank=rank)
    return pivoted_cholesky(kernel, domain, tolerance=tolerance, rank=rank)


def by_axis(kernel: Kernel, domain: Domain) -> bool:
    """Return whether `factored` uses a Kronecker product, which is not written out."""
    several = len(domain) > MANY and domain.points.shape[1] > 1
    return several and separated(kernel, domain) is not None


@checked
def pivoted_cholesky(
    kernel: Kernel,
    domain: Domain,
    *,
    tolerance: float = TOLERANCE,
    rank: int | None = None,
) -> Features:
    """Factor the covariance by pivoted Cholesky; each pivot has the largest residual variance.

    With n points and rank r, this takes n r^2 operations, memory for 2 n r numbers, and r rows of
    the covariance, one at a time.

    Arguments:
        tolerance: stop once every residual variance is at most `tolerance` times the largest prior
            variance. No entry of the covariance is then off by more (Cauchy-Schwarz).
        rank: stop at this rank even if the tolerance is not reached; `error` is the error reached.

    Raises:
        DriftpeakError: tolerance or rank not positive.
    """
    tolerance = positive("tolerance", tolerance)
    most = len(domain) if rank is None else min(at_least_integer("rank", rank, 1), len(domain))
    residual = kernel.diagonal(domain)
    target = tolerance * residual.max()
    # rows of the factor, in pieces allocated when they are needed: only the result takes memory
    pieces: list[Matrix] = []
    count = 0
    while count < most and residual.max() > target:
        if count == PIECE * len(pieces):
            pieces.append(np.zeros((PIECE, len(domain))))
        pivot = int(residual.argmax())
        row = kernel.rows(domain, [pivot])[0]
        row = row - sum(piece[:, pivot] @ piece for piece in pieces)
        row /= np.sqrt(residual[pivot])
        pieces[-1][count % PIECE] = row
        residual = np.maximum(residual - row**2, 0.0)
        residual[pivot] = 0.0
        count += 1
    # a covariance of zero still gets one (zero) feature: arrays of rank 0 break later code
    matrix = np.zeros((len(domain), max(count, 1)))
    for start in range(0, count, PIECE):
        matrix[:, start : start + PIECE] = pieces.pop(0)[: count - start].T
    sizes = tuple(map(len, domain.axes)) if isinstance(domain, Grid) else ()
    return Features(matrix, float(residual.max()), "pivoted Cholesky", sizes)


@checked
def eigen(kernel: Kernel, domain: Domain, *, tolerance: float = TOLERANCE) -> Features:
    """Factor the covariance by scaled eigenvectors, largest eigenvalue first.

    No factor of equal rank approximates the covariance better, in any unitarily invariant norm.
    Eigenvalues above `tolerance` times the largest prior variance are kept.

    Raises:
        DriftpeakError: tolerance not positive.
    """
    tolerance = positive("tolerance", tolerance)
    gram = kernel.rows(domain)
    values, vectors = np.linalg.eigh(gram)
    keep = np.flatnonzero(values > tolerance * gram.diagonal().max())[::-1]
    keep = keep if len(keep) else np.array([len(values) - 1])
    matrix = vectors[:, keep] * np.sqrt(np.maximum(values[keep], 0.0))
    error = np.abs(gram.diagonal() - (matrix**2).sum(axis=1)).max()
    return Features(matrix, float(error), "eigen")


def separated(kernel: Kernel, domain: Domain) -> list[tuple[Kernel, Arms]] | None:
    """Return a kernel and the points of each dimension of a grid; the covariance is their product.

    Return None for other domains, and for a kernel that is not known to be a product.

    Raises:
        DriftpeakError: the kernel cannot be evaluated on the domain.
    """
    kernel.check(domain)
    parts = kernel.separated(domain.points.shape[1])
    if parts is None or not isinstance(domain, Grid):
        return None
    return list(zip(parts, map(Arms, domain.axes), strict=True))


@checked
def kronecker(
    kernel: Kernel,
    domain: Domain,
    *,
    tolerance: float = TOLERANCE,
    rank: int | None = None,
) -> Features:
    r"""Factor by products of the eigenvectors of each dimension, for grids and product kernels.

    If \(k(x, y) = \prod_a k_a(x_a, y_a)\), the covariance of a grid is the Kronecker product of
    the covariances of its axes, and its eigenvectors are the products of theirs. Each axis of m
    points is factored by pivoted Cholesky and rotated to its eigenvectors, \(O(m r_a^2)\). The
    largest products are kept, as few as the tolerance allows. No array of size n r is made.

    Arguments:
        tolerance: no entry of the covariance is off by more than `tolerance` times the largest
            prior variance: the remainder is positive semi-definite.
        rank: stop at this rank even if the tolerance is not reached; `error` is the error reached.

    Raises:
        DriftpeakError: a domain that is not a grid, a kernel that is not known to be a product over
            its dimensions, or a tolerance or rank that is not positive.
    """
    tolerance = positive("tolerance", tolerance)
    axes = separated(kernel, domain)
    if axes is None:
        raise DriftpeakError(
            "Kronecker features require a Grid and a kernel that is a product of one-dimensional "
            "kernels, such as SE, Periodic, and products and multiples of them. Use "
            "pivoted_cholesky instead"
        )
    most = len(domain) if rank is None else min(at_least_integer("rank", rank, 1), len(domain))
    # errors of the axes add up; below 1e-16 there is only rounding
    fine = max(tolerance / (4 * len(axes)), 1e-16)
    factors = tuple(
        _eigenvectors(pivoted_cholesky(part, points, tolerance=fine)) for part, points in axes
    )
    largest = np.array([1.0])
    for factor in factors:
        largest = np.multiply.outer(largest, (factor**2).max(axis=0)).ravel()
    order = np.argsort(-largest, kind="stable")
    sizes = tuple(factor.shape[1] for factor in factors)
    columns = np.stack(np.unravel_index(order, sizes), axis=1)
    whole, variance = Kronecker(factors, columns), kernel.diagonal(domain)
    beyond = (variance - whole.squares()).clip(min=0.0)  # residual of the factors of the axes

    def error(count: int) -> float:
        """Return the error of the first `count` columns."""
        return float((beyond + whole.squares(np.arange(len(columns)) >= count)).max())

    counts, target = range(1, min(most, len(columns)) + 1), tolerance * float(variance.max())
    enough = bisect_left(counts, -target, key=lambda count: -error(count))
    count = counts[min(enough, len(counts) - 1)]
    return Features(Kronecker(factors, columns[:count]), error(count), "Kronecker")


def _eigenvectors(features: Features) -> Matrix:
    """Return eigenvectors of the features' covariance times roots of eigenvalues, largest first."""
    vectors, roots, _ = np.linalg.svd(np.asarray(features.matrix), full_matrices=False)
    return vectors * roots


@checked
def quadrature_fourier(lengthscale: Any, domain: Domain, *, degree: int) -> Features:
    r"""Compute quadrature Fourier features of the SE kernel.

    With the roots \(\rho_i\) of the Hermite polynomial \(H_m\), m = `degree`, the features are
    cosines and sines of frequency \(\sqrt 2 \rho / l\). Their squared amplitudes are the normalised
    Gauss-Hermite weights \(\prod_j 2^{m-1} m! / (m^2 H_{m-1}(\rho_j)^2)\), which sum to one; D22
    prints m in place of m^2. There are \(2 m^d\) features. The error falls superexponentially once
    m exceeds about (diameter / l)^2. `error` is measured on the domain and is never above
    `quadrature_fourier_bound`. D22 names a modified Matern kernel too, but its roots and weights
    are those of the SE kernel, and it gives no others.

    Raises:
        DriftpeakError: degree below 1, more than a million features, or a domain without
            coordinates.

    Source: D22 section 5; Mutny and Krause 2018.
    """
    kernel = SE(lengthscale)
    kernel.check(domain)
    degree = at_least_integer("degree", degree, 1)
    dimension = domain.points.shape[1]
    if 2 * degree**dimension > 1_000_000:
        raise DriftpeakError(
            f"degree must give at most 1,000,000 features; got {degree}, which makes "
            f"2 x {degree}^{dimension} in {dimension} dimensions"
        )
    from scipy import special

    roots, weights = special.roots_hermite(degree)
    weights = weights / weights.sum()
    frequencies = np.sqrt(2) * np.array(list(product(roots, repeat=dimension)))
    amplitude = np.sqrt(np.prod(list(product(weights, repeat=dimension)), axis=1))
    # centred: the phases of large coordinates (Unix seconds) would lose digits
    centred = domain.points - (domain.points.max(axis=0) + domain.points.min(axis=0)) / 2
    matrix = _cosines_and_sines(centred, frequencies / np.asarray(kernel.lengthscale), amplitude)
    error = np.abs(kernel.rows(domain) - matrix @ matrix.T).max()
    return Features(matrix, float(error), "quadrature Fourier")


@checked
def quadrature_fourier_bound(lengthscale: Any, extents: Any, *, degree: int) -> float:
    r"""Bound the error of quadrature Fourier features on a box.

    The bound is \(\varepsilon_m \le \sum_j \frac{m!}{(2m)!} (r_j/l_j)^{2m}\) on
    \(\prod_j [0, r_j]\), and at most 2. The terms are the remainders of Gauss-Hermite quadrature in
    each dimension; since no factor of the product exceeds 1, the errors add. D22 prints
    \(d 2^{d-1} \frac{1}{\sqrt 2 m^m} (\frac{e}{4 l^2})^m\) on \([0, 1]^d\). For d = 1, Stirling's
    formula turns one into the other except for a factor \(e^{1/(24m)}\), without which the bound
    fails at large l (m = 1, l = 3: error 0.05404, printed 0.05339).

    Arguments:
        lengthscale: l, one number or one per dimension.
        extents: the side of the domain in each dimension.
        degree: m.

    Raises:
        DriftpeakError: degree below 1, an extent or lengthscale that is not positive, or a number
            of lengthscales that is neither 1 nor the number of dimensions.

    Source: D22 Lemma 14, corrected.
    """
    sides = finite_array("extents", extents, 1)
    scales = np.asarray(SE(lengthscale).lengthscale)
    degree = at_least_integer("degree", degree, 1)
    if len(sides) == 0 or not (sides > 0).all():
        raise DriftpeakError(f"extents must be numbers above 0; got {sides.tolist()}")
    if scales.ndim == 1 and len(scales) not in (1, len(sides)):
        raise DriftpeakError(
            f"lengthscale must be one number or {len(sides)}, one for each extent; got "
            f"{len(scales)}"
        )
    from scipy import special

    remainder = special.gammaln(degree + 1) - special.gammaln(2 * degree + 1)
    logarithms = remainder + 2 * degree * np.log(sides / scales)
    return float(min(np.exp(np.minimum(logarithms, 1.0)).sum(), 2.0))


@checked
def random_fourier(kernel: Kernel, domain: Domain, *, count: int, seed: int = 0) -> Features:
    """Draw random Fourier features (Rahimi and Recht 2007): `count` cosines and `count` sines.

    Arguments:
        kernel: SE, Matern, rational quadratic, or a product of these: it must be stationary.
        count: number of random frequencies; the error of an entry has standard deviation at most
            k(x, x) / sqrt(count).
        seed: seed of the random numbers.

    Raises:
        DriftpeakError: count below 1, or a kernel without a spectral density to draw from.
    """
    kernel.check(domain)
    count = at_least_integer("count", count, 1)
    generator = np.random.default_rng(at_least_integer("seed", seed, 0, LARGEST_SEED))
    frequencies = kernel.frequencies(generator, count, domain.points.shape[1])
    amplitude = np.full(count, np.sqrt(kernel.diagonal(domain)[0] / count))
    return Features(
        _cosines_and_sines(domain.points, frequencies, amplitude), None, "random Fourier"
    )


def _cosines_and_sines(points: Matrix, frequencies: Matrix, amplitude: Matrix) -> Matrix:
    phase = points @ frequencies.T
    return np.concatenate([amplitude * np.cos(phase), amplitude * np.sin(phase)], axis=1)
