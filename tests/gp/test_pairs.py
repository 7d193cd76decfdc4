"""Covariances from a table of lags, or evaluated as they are asked for, against the Gram matrix."""

import jax
import numpy as np
import pytest
from compiled_beliefs import seen, told

import driftpeak as dp
from driftpeak._core.numerics.precision import double_precision
from driftpeak.gp import priors
from driftpeak.gp.gram import Gram, LazyGram, ToeplitzGram

GRIDS = {
    "line": dp.Grid([-3, 2], size=11),
    "plane": dp.Grid([0, 1], [5, 7], size=[6, 9]),
    "space": dp.Grid([0, 1], [0, 2], [-1, 0], size=[4, 2, 5]),
}
KERNELS = {
    "se": dp.SE(0.7),
    "matern": dp.Matern(0.5, 1.3),
    "general matern": dp.Matern(4.0, 1.0),
    "periodic": dp.Periodic(0.9, 1.2),
    "rational quadratic": dp.kernels.RationalQuadratic(0.8, 0.5),
    "sum of products": 2.0 * dp.Matern(1.5, 0.4) * dp.Periodic(0.6, 1.0) + dp.SE(3.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("kernel", KERNELS)
@double_precision
def test_rows_are_those_of_the_gram_matrix(kernel, grid):
    domain, arms = GRIDS[grid], np.array([[0, 3, 7], [3, 1, 9]])
    gram = KERNELS[kernel].rows(domain)
    ways = [ToeplitzGram(KERNELS[kernel], domain), Gram(gram)]
    if KERNELS[kernel].pointwise:
        ways.append(LazyGram(KERNELS[kernel], domain))
    for pairs in ways:
        np.testing.assert_allclose(pairs.rows(arms), gram[arms], rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(pairs.rows(7), gram[7], rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(pairs.diagonal, gram.diagonal(), rtol=1e-14)
    assert len(ways) == (2 if kernel == "general matern" else 3)


def test_what_lags_refuse():
    for kernel in (dp.Linear(1.0), dp.SE(1.0) + dp.Linear(1.0), 2.0 * dp.Linear(1.0) * dp.SE(1.0)):
        assert not kernel.stationary
        with pytest.raises(dp.DriftpeakError, match="kernel must be stationary"):
            ToeplitzGram(kernel, GRIDS["plane"])
    with pytest.raises(dp.DriftpeakError, match="must have one lengthscale or 3"):
        ToeplitzGram(dp.SE([1.0, 2.0]), GRIDS["space"])
    with pytest.raises(dp.DriftpeakError, match="form='feature-space'"):
        _ = ToeplitzGram(dp.SE(1.0), GRIDS["plane"]).matrix


def test_what_is_computed_as_it_is_asked_for_needs_a_closed_form():
    two = dp.Arms(2)
    for kernel in (
        dp.kernels.Table(np.eye(2)),
        2.0 * dp.kernels.Table(np.eye(2)),
        dp.kernels.Table(np.eye(2)) + dp.kernels.Table(np.eye(2)),
    ):
        with pytest.raises(dp.DriftpeakError, match="a closed form, such as SE"):
            LazyGram(kernel, two)
    with pytest.raises(dp.DriftpeakError, match="form='feature-space'"):
        _ = LazyGram(dp.SE(1.0), GRIDS["plane"]).matrix


POLICIES = {
    "GP-UCB": dp.GPUCB,
    "R-GP-UCB": lambda prior, **o: dp.RGPUCB(prior, period=11, **o),
    "SW-GP-UCB": lambda prior, **o: dp.SWGPUCB(prior, window=7, **o),
    "TV-GP-UCB": lambda prior, **o: dp.TVGPUCB(prior, drift=0.02, **o),
    "WGP-UCB": lambda prior, **o: dp.WGPUCB(prior, discount=0.9, **o),
}


@pytest.mark.parametrize(
    ("name", "domain", "way"),
    [*((name, GRIDS["plane"], ToeplitzGram) for name in POLICIES),
     ("TV-GP-UCB", dp.Arms(GRIDS["plane"].points), LazyGram),
     ("SW-GP-UCB", dp.Arms(GRIDS["plane"].points), LazyGram)],
)  # fmt: skip
@double_precision
def test_posteriors_are_those_of_the_gram_matrix(name, domain, way, monkeypatch):
    kernel = dp.Matern(0.5, [0.5, 1.0])
    arms = np.random.default_rng(0).integers(0, len(domain), 25)
    found = []
    for many in (20, 10_000):
        monkeypatch.setattr(priors, "MANY", many)
        prior = dp.Prior(domain, kernel, 0.01)
        belief = POLICIES[name](prior, form="function-space").prepare(30).belief
        assert isinstance(belief.prior.gram, way if many == 20 else Gram)
        state = belief.init()
        for time, arm in enumerate(arms):
            state = told(belief, state, arm, np.sin(0.3 * time), float(time))
        found.append(seen(belief, state, 25.0))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-10), *found)


def test_rough_kernels_on_large_grids_take_function_space():
    """40,000 points, whose Gram matrix would take 12 GiB; 300 features would not be enough."""
    grid = dp.Grid([0, 1], [0, 1], size=200)
    rough = dp.Prior(grid, dp.Matern(0.5, 0.1), 0.01)
    policy = dp.TVGPUCB(rough, drift=0.01)
    assert isinstance(policy.prepare(10).belief.prior.gram, ToeplitzGram)
    assert "gram" not in rough._cache
    smooth = dp.Prior(grid, dp.Matern(2.5, 2.0), 0.5)
    coarse = dp.SWGPUCB(smooth, window=20, features=dp.features.pivoted_cholesky(
        smooth.kernel, grid, rank=5))  # fmt: skip
    assert coarse.prepare(10).belief.prior.features.shape == (40_000, 5)


CHOICES = {
    "few features": (200, 2, 0.2, 10, "Kronecker"),
    "many features, few steps": (22, 3, 0.2, 10, "ToeplitzGram"),
    "many features, many steps": (22, 3, 0.2, 1_000, "Kronecker"),
    "very many features, more steps": (11, 4, 0.2, 1_000, "ToeplitzGram"),
    "listed, few features": (10_500, 1, 0.2, 10, "ColumnMajor"),
    "listed, many features, few steps": (10_500, 1, 0.0005, 10, "LazyGram"),
}


@pytest.mark.parametrize("case", CHOICES)
def test_the_form_on_many_points_is_that_which_holds_less(case):
    """In feature space r^2 numbers, in function space one for every point and step."""
    size, dimension, lengthscale, steps, expected = CHOICES[case]
    domain = dp.Grid(*[[0, 1]] * dimension, size=size)
    if case.startswith("listed"):
        domain = dp.Arms(domain.points)
    prior = dp.Prior(domain, dp.SE(lengthscale), 0.01)
    given = dp.TVGPUCB(prior, drift=0.01).prepare(steps).belief.prior
    held = given.features if hasattr(given, "features") else given.gram
    assert type(held).__name__ == expected
    if expected in ("ToeplitzGram", "Kronecker"):
        small = prior.features.rank <= 256 or prior.features.rank**2 <= 1.4 * steps * len(domain)
        assert small == (expected == "Kronecker")


def test_draws_of_whole_functions_on_many_points_are_made_in_feature_space():
    """2,048 features or more would be dearer than ten steps in function space."""
    prior = dp.Prior(dp.Grid(*[[0, 1]] * 3, size=22), dp.SE(0.2), 0.01)
    assert isinstance(dp.GPUCB(prior).prepare(10).belief.prior.gram, ToeplitzGram)
    belief = dp.GPUCB(prior, acquisition="thompson").prepare(10).belief
    assert belief.prior.features.shape == (len(prior), prior.features.rank)


def test_many_arms_with_a_table_of_their_own_have_features():
    """Of rank one: nothing about them can be had from some of them."""
    count = 10_500
    table = object.__new__(dp.kernels.Table)
    object.__setattr__(table, "matrix", np.broadcast_to(np.float64(2.0), (count, count)))
    prior = dp.Prior(dp.Arms(np.arange(count) / count), table, 0.1)
    assert not prior.by_row
    assert prior.features_within(5).rank == 1


@double_precision
def test_a_rough_function_on_a_large_grid_is_followed():
    """14,400 points, 60 steps; the last look is within 0.15 of the peak, as 7 % of the points."""
    grid = dp.Grid([0, 1], [0, 1], size=120)
    prior = dp.Prior(grid, dp.Matern(0.5, 0.5), 0.01)
    policy = dp.GPUCB(prior, width=dp.widths.Constant(1.0)).prepare(60)
    assert isinstance(policy.belief.prior.gram, ToeplitzGram)
    state = policy.init(jax.random.key(0))
    ask = jax.jit(lambda policy, *given: policy.ask(*given))
    tell = jax.jit(lambda policy, *given: policy.tell(*given))
    for time in range(60):
        state, arm = ask(policy, state, float(time))
        away = np.linalg.norm(grid.points[int(arm)] - [0.4, 0.6])
        state = tell(policy, state, arm, -2 * away, float(time))
    assert away < 0.15
