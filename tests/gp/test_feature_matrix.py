"""Features of grids that are not written out, against the matrix that they stand for."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from compiled_beliefs import seen, told
from hypothesis import given, settings, strategies as st

import driftpeak as dp
from driftpeak._core.numerics.precision import double_precision
from driftpeak.gp.feature_matrix import ColumnMajor, Kronecker, RowMajor, Tucker
from driftpeak.gp.features import Features, factored, kronecker, pivoted_cholesky

PLANE = dp.Grid([0, 1], [-1, 2], size=[9, 12])
SPACE = dp.Grid([0, 1], [0, 1], [2, 3], size=[5, 4, 6])
KERNELS = {
    "se": dp.SE(0.4),
    "one lengthscale each": dp.SE([0.3, 0.8]),
    "periodic": dp.Periodic([0.7, 2.0], 1.5),
    "product": 3.0 * dp.SE(0.5) * dp.Periodic(1.3, [0.9, 2.0]),
    "multiple of a multiple": 0.5 * (4.0 * dp.SE(0.6)),
}


def made_up(seed, sizes, rank):
    """Random factors, and `rank` different columns of their product."""
    random = np.random.default_rng(seed)
    factors = tuple(random.normal(size=size) for size in sizes)
    shape = [size[1] for size in sizes]
    chosen = random.permutation(np.prod(shape))[:rank]
    return Kronecker(factors, np.stack(np.unravel_index(chosen, shape), axis=1))


def written_out(loadings):
    """The columns one by one, by NumPy's own Kronecker product."""
    columns = []
    for chosen in loadings.columns:
        column = np.ones(1)
        for factor, index in zip(loadings.factors, chosen, strict=True):
            column = np.kron(column, factor[:, index])
        columns.append(column)
    return np.stack(columns, axis=1)


@jax.jit  # one program instead of one for each operation
def products(loadings, arms, weights, factor, square):
    return (
        loadings.rows(arms),
        loadings.rows(arms[0, 0]),
        loadings.values(weights),
        loadings.values(weights[0, 0]),
        loadings.combined(loadings.values(weights[0, 0])),
        loadings.squares(),
        loadings.squared_sums(factor),
        loadings.quadratic_forms(square),
    )


SIZES = st.lists(st.tuples(st.integers(1, 4), st.integers(1, 3)), min_size=1, max_size=4)


@pytest.mark.slow
@settings(max_examples=8)  # each has shapes of its own to compile for
@given(seed=st.integers(0, 2**31), sizes=SIZES, share=st.floats(0, 1))
@double_precision
def test_products_are_those_of_the_matrix(seed, sizes, share):
    most = int(np.prod([columns for _, columns in sizes]))
    loadings = made_up(seed, sizes, max(1, round(share * most)))
    matrix = written_out(loadings)
    n, r = matrix.shape
    assert loadings.shape == (n, r)
    assert len(loadings) == n
    np.testing.assert_allclose(np.asarray(loadings), matrix, atol=1e-12)
    np.testing.assert_allclose(loadings.matrix, matrix, atol=1e-12)
    random = np.random.default_rng(seed)
    weights, factor = random.normal(size=(2, 3, r)), random.normal(size=(5, r))
    square = factor.T @ factor
    arms = random.integers(0, n, size=(2, 3))
    by_axis = Tucker(matrix, [points for points, _ in sizes])
    for one in (loadings, RowMajor(matrix), ColumnMajor(matrix), by_axis):
        found = products(one, arms, weights, factor, square)
        rows, row, values, of_one, back, squares, sums, forms = found
        np.testing.assert_allclose(rows, matrix[arms], atol=1e-12)
        np.testing.assert_allclose(row, matrix[arms[0, 0]], atol=1e-12)
        np.testing.assert_allclose(values, weights @ matrix.T, atol=1e-11)
        np.testing.assert_allclose(of_one, matrix @ weights[0, 0], atol=1e-11)
        np.testing.assert_allclose(back, matrix.T @ (matrix @ weights[0, 0]), atol=1e-9)
        np.testing.assert_allclose(squares, (matrix**2).sum(axis=1), atol=1e-11)
        np.testing.assert_allclose(one.divided(2.0).matrix, matrix / 2, atol=1e-12)
        np.testing.assert_allclose(sums, ((matrix @ factor.T) ** 2).sum(axis=1), atol=1e-10)
        np.testing.assert_allclose(forms, ((matrix @ square) * matrix).sum(axis=1), atol=1e-9)
        assert one.shape == (n, r)
        np.testing.assert_allclose(one.matrix, matrix, atol=1e-12)
    np.testing.assert_allclose(loadings @ factor.T, matrix @ factor.T, atol=1e-11)
    np.testing.assert_allclose(loadings @ factor[0], matrix @ factor[0], atol=1e-11)
    np.testing.assert_allclose(loadings.squares(), (matrix**2).sum(axis=1), atol=1e-11)
    np.testing.assert_allclose(
        loadings.squares(factor[0] ** 2), (matrix**2) @ factor[0] ** 2, atol=1e-10
    )


@double_precision
def test_written_out_features_of_a_grid_are_multiplied_axis_by_axis():
    features = dp.Prior(dp.Grid([0, 1], [0, 1], size=[30, 40]), dp.SE(0.3), 0.01).features
    loadings = features.loadings_of_several
    assert isinstance(loadings, Tucker)
    assert loadings.operations < features.matrix.size / 2
    weights = np.random.default_rng(0).normal(size=(3, features.rank))
    np.testing.assert_allclose(
        loadings.values(jnp.asarray(weights)), weights @ features.matrix.T, rtol=0, atol=2e-9
    )
    np.testing.assert_array_equal(loadings.rows(7), features.matrix[7])


@double_precision
def test_large_matrices_are_factored_by_their_triangle(monkeypatch):
    matrix = dp.Prior(dp.Grid([0, 1], [0, 1], size=[30, 40]), dp.SE(0.3), 0.01).features.matrix
    at_once = Tucker(matrix, [30, 40])
    monkeypatch.setattr("driftpeak.gp.feature_matrix.CHUNK", 1)
    by_triangle = Tucker(matrix, [30, 40])
    assert by_triangle.core.shape == at_once.core.shape
    weights = np.random.default_rng(0).normal(size=(3, matrix.shape[1]))
    found = by_triangle.values(jnp.asarray(weights))
    np.testing.assert_allclose(found, weights @ matrix.T, rtol=0, atol=2e-9)


@pytest.mark.slow
@double_precision
def test_in_pieces_as_at_once():
    """With more than 2^22 / 4 points rows are taken three at a time, of five."""
    loadings = made_up(0, [(1100, 3), (1000, 3)], 6)
    matrix, factor = np.asarray(loadings), np.random.default_rng(1).normal(size=(5, 6))
    found = loadings.squared_sums(jnp.asarray(factor))
    np.testing.assert_allclose(found, ((matrix @ factor.T) ** 2).sum(axis=1), rtol=1e-10)
    square = factor.T @ factor
    found = loadings.quadratic_forms(jnp.asarray(square))
    np.testing.assert_allclose(found, ((matrix @ square) * matrix).sum(axis=1), rtol=1e-9)


@pytest.mark.parametrize("tolerance", [0.3, 1e-3, 1e-6, 1e-10, 1e-13])
@pytest.mark.parametrize("name", KERNELS)
def test_the_stated_error_is_the_error_and_within_tolerance(name, tolerance):
    """As for pivoted Cholesky: what is left out is positive semi-definite."""
    gram = KERNELS[name].rows(PLANE)
    largest = gram.diagonal().max()
    found = kronecker(KERNELS[name], PLANE, tolerance=tolerance)
    matrix = np.asarray(found.matrix)
    rounding = 1e-15 * len(gram) * largest
    measured = np.abs(gram - matrix @ matrix.T).max()
    assert measured <= found.error + rounding
    assert found.error <= tolerance * largest + rounding
    assert abs(measured - found.error) <= rounding
    np.testing.assert_allclose(found.explained, (matrix**2).sum(axis=1), atol=1e-13 * largest)


def test_about_as_many_features_as_pivoted_cholesky():
    for kernel, domain in ((dp.SE(0.3), PLANE), (dp.SE([0.5, 0.9, 0.4]), SPACE)):
        by_axis, other = kronecker(kernel, domain), pivoted_cholesky(kernel, domain)
        assert by_axis.rank <= 1.1 * other.rank
        assert kronecker(kernel, domain, rank=7).rank == 7
        limited = kronecker(kernel, domain, rank=7)
        assert limited.error > by_axis.error
        gram, matrix = kernel.rows(domain), np.asarray(limited.matrix)
        assert np.abs(gram - matrix @ matrix.T).max() == pytest.approx(limited.error, rel=1e-9)


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_are_the_products_that_they_say(name):
    parts = KERNELS[name].separated(2)
    product = 1.0
    for part, axis in zip(parts, PLANE.axes, strict=True):
        product = np.kron(product, part.rows(dp.Arms(axis)))
    np.testing.assert_allclose(product, KERNELS[name].rows(PLANE), rtol=1e-13)


def test_the_axes_of_a_grid():
    first, second, third = SPACE.axes
    lattice = np.stack(np.meshgrid(first, second, third, indexing="ij"), axis=-1).reshape(-1, 3)
    np.testing.assert_array_equal(lattice, SPACE.points)
    for domain in (SPACE, dp.Arms(SPACE.points)):
        np.testing.assert_array_equal(domain.shrunk(3.0).points, SPACE.points / 3.0)
    assert SPACE.shrunk(2.0).ranges[2] == (1.0, 1.5)


NOT_PRODUCTS = [
    (dp.Matern(2.5, 0.3), PLANE),
    (dp.SE(0.3) + dp.SE(0.5), PLANE),
    (dp.SE(0.3) * dp.Matern(0.5, 1.0), PLANE),
    (2.0 * dp.Linear(1.0), PLANE),
    (dp.SE(0.3), dp.Arms(PLANE.points)),
]


@pytest.mark.parametrize(("kernel", "domain"), NOT_PRODUCTS)
def test_other_kernels_and_domains_are_refused(kernel, domain):
    with pytest.raises(dp.DriftpeakError, match=r"require a Grid.*pivoted_cholesky"):
        kronecker(kernel, domain)


def test_what_is_refused():
    with pytest.raises(dp.DriftpeakError, match="tolerance"):
        kronecker(dp.SE(0.3), PLANE, tolerance=0.0)
    with pytest.raises(dp.DriftpeakError, match="rank"):
        kronecker(dp.SE(0.3), PLANE, rank=0)
    with pytest.raises(dp.DriftpeakError, match="must have one lengthscale or 2"):
        kronecker(dp.SE([1.0, 2.0, 3.0]), PLANE)
    factors = (np.ones((3, 2)), np.ones((4, 2)))
    for columns in ([[0, 2]], [[-1, 0]], [[0, 0, 0]], np.zeros((0, 2), int)):
        with pytest.raises(dp.DriftpeakError, match="2 factors with 2, 2 columns"):
            Kronecker(factors, np.asarray(columns))
    with pytest.raises(dp.DriftpeakError, match="distinct"):
        Kronecker(factors, np.array([[0, 1], [0, 1]]))
    for wrong in ((), (np.ones(3), np.ones((4, 2))), (np.ones((3, 0)),)):
        with pytest.raises(dp.DriftpeakError, match="factors must be matrices"):
            Kronecker(wrong, np.array([[0, 0]]))
    loadings = Kronecker(factors, np.array([[0, 1], [1, 0]]))
    for weights in (np.ones(3), np.array(1.0)):
        with pytest.raises(dp.DriftpeakError, match="weights must have 2 rows"):
            loadings @ weights
    with pytest.raises(ValueError, match="copy must not be False"):
        np.array(loadings, copy=False)


# What uses them


def test_large_grids_get_them_small_ones_and_lists_do_not():
    large = dp.Grid([0, 1], [0, 1], size=[101, 100])
    line = dp.Grid([0, 1], size=10_100)
    rough = dp.Matern(2.5, 3.0)
    for method, kernel, domain in (
        ("Kronecker", dp.SE(0.3), large),
        ("pivoted Cholesky", dp.SE(0.3), PLANE),
        ("pivoted Cholesky", dp.SE(0.3), line),
        ("pivoted Cholesky", rough, large),
        ("pivoted Cholesky", dp.SE(0.3), dp.Arms(large.points)),
    ):
        assert factored(kernel, domain, tolerance=1e-4).method == method
        assert factored(kernel, domain, tolerance=1e-4, rank=3).rank == 3
    assert dp.Prior(large, dp.SE(0.3), 0.01).features.method == "Kronecker"


POLICIES = {
    "GP-UCB": dp.GPUCB,
    "R-GP-UCB": lambda prior, **o: dp.RGPUCB(prior, period=11, **o),
    "SW-GP-UCB": lambda prior, **o: dp.SWGPUCB(prior, window=17, **o),
    "TV-GP-UCB": lambda prior, **o: dp.TVGPUCB(prior, drift=0.02, **o),
    "WGP-UCB": lambda prior, **o: dp.WGPUCB(prior, discount=0.95, **o),
    "Thompson": lambda prior, **o: dp.TVGPUCB(prior, drift=0.02, acquisition="thompson", **o),
    "auto": dp.Auto,
    "R-PERP": lambda prior, **o: dp.RPERP(prior, horizon=40, period=20, norm_bound=9.0, **o),
}


@pytest.mark.parametrize(
    "name",
    [n if n == "TV-GP-UCB" else pytest.param(n, marks=pytest.mark.slow) for n in POLICIES],
)
def test_decisions_are_those_of_the_matrix_written_out(name):
    """The same features, written out or not: all rewards alike to rounding."""
    prior = dp.Prior(PLANE, dp.SE([0.3, 0.9]), 0.01)
    by_axis = kronecker(prior.kernel, PLANE, tolerance=1e-8)
    listed = Features(np.asarray(by_axis.matrix), by_axis.error, by_axis.method)
    world = dp.MarkovDrift(prior, drift=0.02)
    played = [
        dp.simulate(
            {name: POLICIES[name](prior, features=one)}, world, steps=40, trials=3, seed=4,
            progress=False,
        )["reward"]
        for one in (by_axis, listed)
    ]  # fmt: skip
    np.testing.assert_allclose(*played, atol=1e-9)


@pytest.mark.slow
def test_designs_are_as_good_as_those_of_the_matrix_written_out():
    """OPKB's draws are not the same: rounding decides between designs within the tolerance."""
    prior, tolerance = dp.Prior(PLANE, dp.SE([0.3, 0.9]), 0.01), 1e-3
    by_axis = kronecker(prior.kernel, PLANE, tolerance=1e-4)
    listed = Features(np.asarray(by_axis.matrix), by_axis.error, by_axis.method)
    found = [dp.optimal_design(one, 0.01, tolerance=tolerance) for one in (by_axis, listed)]
    assert abs(found[0].objective - found[1].objective) <= tolerance
    for one in found:
        assert one.weights.sum() == pytest.approx(1)
        assert one.weights.min() >= 0


@pytest.mark.parametrize("name", ["TV-GP-UCB", "SW-GP-UCB", "WGP-UCB"])
@double_precision
def test_beliefs_are_those_of_pivoted_cholesky(name):
    """To what both features leave out."""
    prior = dp.Prior(PLANE, dp.SE([0.3, 0.9]), 0.01)
    random = np.random.default_rng(5)
    arms, rewards = random.integers(0, len(PLANE), 30), random.normal(size=30)
    found = []
    for features_ in (kronecker(prior.kernel, PLANE), pivoted_cholesky(prior.kernel, PLANE)):
        belief = POLICIES[name](prior, features=features_).prepare(40).belief
        state = belief.init()
        for time, (arm, reward) in enumerate(zip(arms, rewards, strict=True)):
            state = told(belief, state, arm, reward, float(time))
        found.append(seen(belief, state, 30.0))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-6), *found)


@pytest.mark.slow
def test_a_world_drawn_along_the_axes_has_the_covariance_of_its_prior():
    """Over 4,000 draws; the standard error of a covariance is 0.022."""
    prior = dp.Prior(dp.Grid([0, 1], [0, 1], size=5), dp.SE(0.5), 0.01)
    by_axis = kronecker(prior.kernel, prior.domain)
    world = dp.MarkovDrift(prior, drift=0.0, features=by_axis)
    with jax.enable_x64(True):
        keys = jax.random.split(jax.random.key(3), 4000)
        draws = jax.vmap(lambda key: world.step(world.init(key), 1.0)[1])(keys)
    np.testing.assert_allclose(np.cov(np.asarray(draws).T), prior.gram, atol=0.12)


@pytest.mark.slow
def test_a_million_points_in_four_dimensions():
    """A matrix written out would take 3.9 GB."""
    domain = dp.Grid([0, 1], [0, 1], [0, 1], [0, 1], size=32)
    found = kronecker(dp.SE(0.5), domain, tolerance=1e-4)
    assert found.rank < 500
    random = np.random.default_rng(0)
    arms = random.integers(0, len(domain), 20)
    with jax.enable_x64(True):
        rows = np.asarray(found.loadings.rows(arms))
    missed = dp.SE(0.5).rows(domain, arms)[:, arms] - rows @ rows.T
    assert np.abs(missed).max() <= found.error <= 1e-4
