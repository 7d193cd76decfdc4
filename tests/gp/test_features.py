"""Feature maps against the covariance that they factor, and what they refuse."""

import tracemalloc
from functools import cache

import numpy as np
import pytest
from numpy.polynomial import hermite
from scipy.special import factorial

import driftpeak as dp
from driftpeak.gp.features import (
    Features,
    eigen,
    pivoted_cholesky,
    quadrature_fourier,
    quadrature_fourier_bound,
    random_fourier,
)
from driftpeak.gp.kernels import Table

SQUARE = dp.Grid([0, 1], [0, 1], size=12)
KERNELS = {
    "se": dp.SE(0.3),
    "matern": dp.Matern(2.5, [0.5, 2.0]),
    "general matern": dp.Matern(4.0, 1.0),
    "sum": 3.0 * dp.SE(0.4) * dp.Matern(1.5, 2.0) + dp.Linear(0.3),
    "periodic": dp.Periodic(0.7, 1.0),
    "linear": dp.Linear(0.3),
}


@cache
def covariance(name):
    return KERNELS[name].rows(SQUARE)


def error_of(features, gram):
    return np.abs(gram - features.matrix @ features.matrix.T).max()


# Pivoted Cholesky and eigenvectors


@pytest.mark.parametrize("tolerance", [0.3, 1e-3, 1e-6, 1e-10, 1e-13])
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("method", [pivoted_cholesky, eigen])
def test_the_stated_error_is_the_error_and_within_tolerance(method, name, tolerance):
    """max |K - Phi Phi'| <= error <= tolerance x largest variance, up to rounding.

    The residual is positive semi-definite (Cholesky: a Schur complement; eigenvectors: what was
    left out), so that its largest entry is on its diagonal, where `error` is measured.
    """
    gram = covariance(name)
    largest = gram.diagonal().max()
    features = method(KERNELS[name], SQUARE, tolerance=tolerance)
    rounding = 1e-15 * len(gram) * largest
    measured = error_of(features, gram)
    assert measured <= features.error + rounding
    assert features.error <= tolerance * largest + rounding
    assert abs(measured - features.error) <= rounding
    assert features.matrix.shape == (144, features.rank)


@pytest.mark.parametrize("method", [pivoted_cholesky, eigen])
def test_a_looser_tolerance_needs_fewer_features(method):
    ranks = [method(KERNELS["se"], SQUARE, tolerance=t).rank for t in (1e-2, 1e-4, 1e-8, 1e-12)]
    assert ranks == sorted(set(ranks))


@pytest.mark.parametrize("method", [pivoted_cholesky, eigen])
def test_the_rank_of_a_linear_kernel_is_its_number_of_coefficients(method):
    """An offset and two slopes."""
    assert method(KERNELS["linear"], SQUARE).rank == 3


@pytest.mark.parametrize(("tolerance", "rank"), [(1e-6, 128), (1e-10, 219)])
def test_the_rank_of_the_grid_of_b16(tolerance, rank):
    """SE, l = 0.2, on 50 x 50 points: the ranks that the specification (section 2) counts on."""
    features = pivoted_cholesky(dp.SE(0.2), dp.Grid([0, 1], [0, 1], size=50), tolerance=tolerance)
    assert features.rank == rank
    assert features.error <= tolerance


@pytest.mark.parametrize("rank", [1, 5, 40])
def test_pivoted_cholesky_stops_at_a_rank_and_says_how_far_it_got(rank):
    features = pivoted_cholesky(KERNELS["se"], SQUARE, rank=rank)
    assert features.rank == rank
    np.testing.assert_allclose(error_of(features, covariance("se")), features.error, rtol=1e-9)
    unlimited = pivoted_cholesky(KERNELS["se"], SQUARE)
    np.testing.assert_array_equal(features.matrix, unlimited.matrix[:, :rank])


def test_eigenvectors_are_orthogonal_and_sorted():
    """Phi' Phi is diagonal with K's largest eigenvalues, in falling order."""
    features = eigen(KERNELS["se"], SQUARE, tolerance=1e-6)
    values = np.linalg.eigvalsh(covariance("se"))[::-1][: features.rank]
    inner = features.matrix.T @ features.matrix
    np.testing.assert_allclose(inner, np.diag(values), atol=1e-12 * values[0])
    assert values[-1] > 1e-6


def test_eigenvectors_beat_pivoted_cholesky_at_equal_rank():
    """In Frobenius norm nothing beats them (Eckart and Young)."""
    best = eigen(KERNELS["se"], SQUARE, tolerance=1e-4)
    other = pivoted_cholesky(KERNELS["se"], SQUARE, rank=best.rank)
    gram = covariance("se")
    loss = [np.linalg.norm(gram - f.matrix @ f.matrix.T) for f in (best, other)]
    assert loss[0] < loss[1]


@pytest.mark.parametrize("method", [pivoted_cholesky, eigen])
def test_a_table_has_features_too(method):
    """A covariance of rank 2 over arms without coordinates; and one that is zero."""
    factor = np.random.default_rng(0).normal(size=(8, 2))
    found = method(Table(factor @ factor.T), dp.Arms(8))
    assert found.rank == 2
    np.testing.assert_allclose(found.matrix @ found.matrix.T, factor @ factor.T, atol=1e-13)
    nothing = method(Table(np.zeros((8, 8))), dp.Arms(8))
    np.testing.assert_array_equal(nothing.matrix, np.zeros((8, 1)))
    assert nothing.error == 0


# Quadrature Fourier features


@pytest.mark.parametrize(
    ("domain", "lengthscale", "degrees"),
    [
        (dp.Grid([0, 1], size=101), 0.2, (5, 10, 15, 20, 25, 30)),
        (dp.Grid([1e9, 1e9 + 1], size=101), 0.2, (5, 10, 15, 20, 25, 30)),
        (dp.Grid([0, 1], [0, 1], size=12), 0.5, (2, 4, 6, 8, 10, 12)),
        (dp.Grid([0, 1], [0, 2], size=12), [0.5, 1.0], (2, 4, 6, 8, 10, 12)),
    ],
    ids=["line", "line far away", "square", "rectangle"],
)
def test_quadrature_converges_to_the_se_kernel(domain, lengthscale, degrees):
    """The error falls with the degree to below 1e-6, and is measured over the whole domain."""
    gram = dp.SE(lengthscale).rows(domain)
    errors = []
    for degree in degrees:
        features = quadrature_fourier(lengthscale, domain, degree=degree)
        assert features.rank == 2 * degree ** domain.points.shape[1]
        np.testing.assert_allclose(features.error, error_of(features, gram), rtol=1e-6, atol=1e-14)
        errors.append(features.error)
    assert (np.diff(errors) < 0).all()
    assert errors[0] > 0.1
    assert errors[-1] < 1e-6


@pytest.mark.parametrize("degree", [1, 2, 7, 30])
def test_quadrature_weights_are_the_normalised_gauss_hermite_ones(degree):
    """At the centre of the domain the cosines are the weights' roots and the sines vanish.

    The weights are 2^(m-1) m! / (m^2 H_(m-1)(rho)^2) at the roots rho of H_m; D22 prints m for
    m^2. They sum to one, so that k(x, x) = 1 at every point.

    Source: D22 section 5.
    """
    domain = dp.Grid([-1, 1], size=5)
    features = quadrature_fourier(0.4, domain, degree=degree)
    roots = hermite.hermroots([0] * degree + [1])
    at_roots = hermite.hermval(roots, [0] * (degree - 1) + [1])
    weights = 2.0 ** (degree - 1) * factorial(degree) / (degree**2 * at_roots**2)
    np.testing.assert_allclose(weights.sum(), 1, rtol=1e-9)
    cosines, sines = np.split(features.matrix[2], 2)
    np.testing.assert_allclose(np.sort(cosines**2), np.sort(weights), atol=1e-9)
    np.testing.assert_array_equal(sines, 0)
    np.testing.assert_allclose((features.matrix**2).sum(axis=1), 1, rtol=1e-12)


def test_one_quadrature_frequency_is_zero():
    """Degree 1 has its only root at 0: a constant function, k = 1."""
    features = quadrature_fourier(0.4, SQUARE, degree=1)
    np.testing.assert_allclose(features.matrix @ features.matrix.T, 1, atol=1e-15)


# Random Fourier features


RANDOM = {
    "se": dp.SE([0.3, 0.9]),
    "matern-1/2": dp.Matern(0.5, 0.5),
    "matern-5/2": dp.Matern(2.5, [0.3, 0.9]),
    "general matern": dp.Matern(0.9, 0.6),
    "rational quadratic": dp.RationalQuadratic(0.6, [0.3, 0.9]),
    "product": dp.SE(0.8) * dp.Matern(1.5, 0.5),
    "scaled": 4.0 * dp.SE(0.8) * dp.RationalQuadratic(2.0, 0.7),
}


@pytest.mark.parametrize("name", RANDOM)
def test_random_features_have_the_stated_error(name):
    """Unbiased, and of the exact standard deviation, at most k(x, x) / sqrt(count).

    An entry is the mean of `count` cosines v cos(w'(x - y)), of mean k(x - y) and variance
    v^2 (1 + k(2(x - y))/v)/2 - k(x - y)^2, where k(2(x - y)) is the kernel at twice the
    coordinates. Over 200 seeds, the mean error of each of the 10 pairs of points is within 5
    standard errors (false alarm 6e-6 a kernel) and its variance within 50 %, which is 5 standard
    deviations of a chi-squared of 200 degrees (false alarm 5e-5). The seeds are fixed.
    """
    kernel, count, seeds = RANDOM[name], 400, 200
    domain = dp.Arms(np.random.default_rng(1).uniform(0, 1, (5, 2)))
    upper = np.triu_indices(5, k=1)
    gram, twice = kernel.rows(domain), kernel.rows(dp.Arms(2 * domain.points))
    variance = gram[0, 0]
    exact = (variance * (variance + twice) / 2 - gram**2)[upper] / count
    assert (exact <= variance**2 / count).all()
    draws = [random_fourier(kernel, domain, count=count, seed=seed) for seed in range(seeds)]
    errors = np.array([(f.matrix @ f.matrix.T - gram)[upper] for f in draws])
    assert (np.abs(errors.mean(axis=0)) < 5 * np.sqrt(exact / seeds)).all()
    np.testing.assert_allclose((errors**2).mean(axis=0), exact, rtol=0.5)
    assert draws[0].error is None
    assert draws[0].matrix.shape == (5, 2 * count)
    for features in draws[:3]:
        np.testing.assert_allclose((features.matrix**2).sum(axis=1), variance, rtol=1e-12)


def test_random_features_repeat_with_their_seed():
    draw = [random_fourier(dp.SE(0.3), SQUARE, count=5, seed=seed).matrix for seed in (4, 4, 5)]
    np.testing.assert_array_equal(draw[0], draw[1])
    assert np.abs(draw[0] - draw[2]).max() > 0.1


# Refusals

NO_DENSITY = "{} has no spectral density to draw from"
REFUSED = {
    "tolerance 0": (
        lambda: pivoted_cholesky(dp.SE(0.3), SQUARE, tolerance=0.0),
        "tolerance must be a finite number above 0; got 0",
    ),
    "tolerance nan": (
        lambda: eigen(dp.SE(0.3), SQUARE, tolerance=np.nan),
        "tolerance must be a finite number above 0; got nan",
    ),
    "tolerance < 0": (
        lambda: eigen(dp.SE(0.3), SQUARE, tolerance=-1e-6),
        "tolerance must be a finite number above 0; got -1e-06",
    ),
    "rank 0": (
        lambda: pivoted_cholesky(dp.SE(0.3), SQUARE, rank=0),
        "rank must be an integer of at least 1; got 0",
    ),
    "degree 0": (
        lambda: quadrature_fourier(0.3, SQUARE, degree=0),
        "degree must be an integer of at least 1; got 0",
    ),
    "a million features": (
        lambda: quadrature_fourier(0.3, SQUARE, degree=708),
        "at most 1,000,000 features; got 708, which makes 2 x 708\\^2 in 2 dimensions",
    ),
    "quadrature of arms": (
        lambda: quadrature_fourier(0.3, dp.Arms(4), degree=3),
        "SE requires arms with coordinates",
    ),
    "quadrature lengthscales": (
        lambda: quadrature_fourier([1, 2, 3], SQUARE, degree=3),
        "SE must have one lengthscale or 2, one for each dimension of the domain; got 3",
    ),
    "quadrature lengthscale": (
        lambda: quadrature_fourier(-0.3, SQUARE, degree=3),
        "lengthscale must be a finite number above 0.*; got -0.3",
    ),
    "count 0": (
        lambda: random_fourier(dp.SE(0.3), SQUARE, count=0),
        "count must be an integer of at least 1; got 0",
    ),
    "random of arms": (
        lambda: random_fourier(dp.SE(0.3), dp.Arms(4), count=3),
        "SE requires arms with coordinates",
    ),
    "linear": (
        lambda: random_fourier(dp.Linear(), SQUARE, count=3),
        NO_DENSITY.format("Linear"),
    ),
    "periodic": (
        lambda: random_fourier(dp.Periodic() * dp.SE(1.0), SQUARE, count=3),
        NO_DENSITY.format("Periodic"),
    ),
    "sum": (
        lambda: random_fourier(dp.SE(0.3) + dp.SE(1.0), SQUARE, count=3),
        NO_DENSITY.format("Sum"),
    ),
    "table": (
        lambda: random_fourier(Table(np.eye(4)), dp.Arms(4), count=3),
        NO_DENSITY.format("Table"),
    ),
    "another domain": (
        lambda: dp.make_belief(
            dp.Prior(SQUARE, dp.SE(0.3), 0.1),
            dp.forgetting.Keep(),
            5,
            features=eigen(dp.SE(0.3), dp.Grid([0, 1], [0, 1], size=3)),
        ),
        "features must be for the 144 points of the prior; got features for 9",
    ),
    "sizes of another grid": (
        lambda: Features(np.ones((6, 2)), 0.0, "own", (2, 2)),
        "sizes must have the product 6, the number of points of the matrix; got 4",
    ),
    "sizes that are no numbers": (
        lambda: Features(np.ones((6, 2)), 0.0, "own", (np.nan,)),
        "sizes must be an integer of at least 1; got nan",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_name_the_culprit_and_what_is_accepted(case):
    make, message = REFUSED[case]
    with pytest.raises(dp.DriftpeakError, match=message):
        make()


GIVEN = {
    "auto": dp.Auto,
    "TV-GP-UCB": lambda prior, **o: dp.TVGPUCB(prior, drift=0.01, **o).prepare(5),
    "PE": lambda prior, **o: dp.PE(prior, horizon=5, **o),
    "adaptive R-PERP": lambda prior, **o: dp.AdaptiveRPERP(prior, horizon=5, **o),
    "OPKB": lambda prior, **o: dp.OPKB(prior, horizon=5, **o),
}


@pytest.mark.parametrize("name", GIVEN)
@pytest.mark.usefixtures("without_type_checks")
def test_policies_refuse_what_are_no_features_of_their_points(name):
    prior = dp.Prior(dp.Grid([0, 1], size=12), dp.SE(0.3), 0.1)
    for wrong in (np.eye(12), 3, "eigen"):
        with pytest.raises(dp.DriftpeakError, match=r"features must be .*pivoted_cholesky"):
            GIVEN[name](prior, features=wrong)
    others = eigen(dp.SE(0.3), dp.Grid([0, 1], size=5))
    message = r"must be for the 12 points of the prior; got features for 5.* or omit the argument"
    with pytest.raises(dp.DriftpeakError, match=message):
        GIVEN[name](prior, features=others)
    GIVEN[name](prior, features=eigen(prior.kernel, prior.domain))


@pytest.mark.parametrize("lengthscale", [0.15, 0.3, 1.0, 3.0, 30.0])
@pytest.mark.parametrize("extents", [[1.0], [2.5], [1.0, 0.4]])
def test_quadrature_error_is_bounded(lengthscale, extents):
    """D22 Lemma 14, corrected, at every degree until rounding; tight where the kernel is flat.

    Source: D22 Lemma 14.
    """
    domain = dp.Grid(*([0, side] for side in extents), size=15)
    for degree in (1, 2, 3, 5, 8, 13, 20, 32):
        bound = quadrature_fourier_bound(lengthscale, extents, degree=degree)
        error = quadrature_fourier(lengthscale, domain, degree=degree).error
        assert error <= bound + 1e-13
        if lengthscale == 30.0 and bound > 1e-9:
            assert error > 0.99 * bound


def test_the_printed_lemma_14_fails_where_the_kernel_is_flat():
    """d = 1, m = 1: the error is 1 - exp(-1/(2 l^2)), the printed bound e / (4 sqrt(2) l^2).

    Source: D22 Lemma 14.
    """
    for lengthscale in (3.0, 30.0):
        error = quadrature_fourier(lengthscale, dp.Grid([0, 1], size=2), degree=1).error
        assert error == pytest.approx(1 - np.exp(-1 / (2 * lengthscale**2)))
        printed = np.e / (4 * np.sqrt(2) * lengthscale**2)
        assert printed < error <= quadrature_fourier_bound(lengthscale, [1.0], degree=1)


def test_what_the_quadrature_bound_refuses():
    assert quadrature_fourier_bound(1e-9, [1.0], degree=3) == 2.0
    by_dimension = quadrature_fourier_bound([0.5, 2.0], [1.0, 1.0], degree=4)
    alone = [quadrature_fourier_bound(scale, [1.0], degree=4) for scale in (0.5, 2.0)]
    assert by_dimension == pytest.approx(sum(alone))
    for extents, message in (
        ([], "above 0"),
        ([0.0], "above 0"),
        ([1.0] * 3, "lengthscale must be one number or 3, .*; got 2"),
    ):
        with pytest.raises(dp.DriftpeakError, match=message):
            quadrature_fourier_bound([1.0, 2.0], extents, degree=2)


# Many points


def peak_in_matrices(side, tolerance):
    """Of pivoted Cholesky on a square grid: peak memory of NumPy, in feature matrices."""
    domain = dp.Grid([0, 1], [0, 1], size=side)
    pivoted_cholesky(dp.SE(0.2), dp.Grid([0, 1], [0, 1], size=3))  # imports and compiles
    tracemalloc.start()
    found = pivoted_cholesky(dp.SE(0.2), domain, tolerance=tolerance)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    matrix, random = found.matrix, np.random.default_rng(0)
    arms = random.integers(0, len(domain), 50)
    missed = dp.SE(0.2).rows(domain, arms)[:, arms] - matrix[arms] @ matrix[arms].T
    assert np.abs(missed).max() <= found.error + 1e-12 <= tolerance + 2e-12
    return peak / matrix.nbytes


def test_memory_is_linear_in_points_times_rank():
    """99,856 points: the Gram matrix would take 74 GiB, the factor takes 23 MiB at rank 31."""
    assert peak_in_matrices(316, 0.05) < 5


@pytest.mark.long
def test_a_million_points():
    """In memory for little more than two factors, of 1.0 GB each."""
    assert peak_in_matrices(1000, 1e-6) < 2.5


def test_all_pairs_of_too_many_points_are_refused():
    prior = dp.Prior(dp.Grid([0, 1], size=50_001), dp.SE(0.2), 0.1)
    with pytest.raises(dp.DriftpeakError, match=r"19 GiB.*feature space"):
        _ = prior.gram


def test_many_points_stay_in_feature_space():
    """Three steps would be cheaper in function space, which keeps the covariance of all pairs."""
    prior = dp.Prior(dp.Grid([0, 1], size=20_000), dp.SE(0.2), 0.1)
    for rule in (dp.forgetting.Drift(0.1), dp.forgetting.Window(2)):
        assert dp.make_belief(prior, rule, 3).prior.features.shape == (20_000, prior.features.rank)
    assert "gram" not in prior._cache
