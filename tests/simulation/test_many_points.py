"""More than 10,000 points in two to four dimensions: what policies decide, what they hold."""

import jax
import numpy as np
import pytest
from benchmarks._playing import POLICIES, measured

import driftpeak as dp
from driftpeak.gp.feature_matrix import Kronecker
from driftpeak.gp.features import Features, kronecker

STEPS = 12
SPACES = {
    "space": (dp.Grid([0, 1], [0, 1], [2, 3], size=[24, 21, 22]), dp.SE([0.5, 0.7, 0.9])),
    "four dimensions": (dp.Grid(*[[0, 1]] * 4, size=[10, 11, 10, 12]), dp.SE([0.8, 1.0, 1.2, 1.5])),
}
FAMILY = {
    "TV-GP-UCB": lambda prior, **options: dp.TVGPUCB(prior, drift=0.02, **options),
    "SW-GP-UCB": lambda prior, **options: dp.SWGPUCB(prior, window=5, **options),
    "WGP-UCB": lambda prior, **options: dp.WGPUCB(prior, discount=0.9, **options),
    "UI-GP-UCB": lambda prior, **options: dp.UIGPUCB(prior, exponent=1.0, **options),
    "R-GP-UCB": lambda prior, **options: dp.RGPUCB(prior, period=5, **options),
    "ET-GP-UCB": dp.ETGPUCB,
    "auto": lambda prior, **options: dp.Auto(prior, lengthscales=(1.0,), **options),
}
QUICK = {("TV-GP-UCB", "space"), ("TV-GP-UCB", "four dimensions"), ("WGP-UCB", "space")}


def priors_mean(domain):
    """An irregular one: no two points are alike by symmetry."""
    return 0.1 * np.random.default_rng(0).normal(size=len(domain))


@jax.jit
def played(player, values):
    """The points that are sampled, of a function that does not move."""

    def step(state, time):
        state, arm = player.ask(state, time)
        return player.tell(state, arm, values[arm], time), arm

    return jax.lax.scan(step, player.init(jax.random.key(1)), np.arange(1.0, STEPS + 1))[1]


@pytest.mark.parametrize(
    ("name", "space"),
    [
        pytest.param(name, space, marks=[] if (name, space) in QUICK else [pytest.mark.slow])
        for name in FAMILY
        for space in SPACES
    ],
)
def test_decisions_are_those_of_features_written_out(name, space):
    domain, kernel = SPACES[space]
    prior = dp.Prior(domain, kernel, 0.01, mean=priors_mean(domain))
    product = kronecker(kernel, domain, tolerance=1e-5)
    matrix = np.asarray(product.matrix)
    values = np.cos(domain.points @ np.arange(1.0, 1 + domain.points.shape[1]))
    found = [
        played(FAMILY[name](prior, features=features).prepare(STEPS), values)
        for features in (product, Features(matrix, product.error, "written out"))
    ]
    np.testing.assert_array_equal(*found)
    assert len(set(found[0].tolist())) > 3


@pytest.mark.slow
@pytest.mark.parametrize("space", SPACES)
def test_batches_and_their_elimination_are_those_of_dense_numpy(space):
    """A batch of nine from half of the points, who is left after it, and a band of its rewards."""
    domain, kernel = SPACES[space]
    prior = dp.Prior(domain, kernel, 0.01, mean=priors_mean(domain))
    policy = dp.AdaptiveRPERP(prior, horizon=100, norm_bound=0.05)
    features = policy.prior.features
    assert isinstance(features, Kronecker)
    random = np.random.default_rng(1)
    allowed = random.random(len(domain)) < 0.5
    picked, rows = [], np.zeros((0, len(domain)))
    for _ in range(9):
        solved = np.linalg.solve(rows[:, picked] + 0.01 * np.eye(len(picked)), rows)
        variance = 1 - (rows * solved).sum(axis=0)
        picked.append(int(np.argmax(np.where(allowed, variance, -1))))
        rows = np.concatenate([rows, kernel.rows(domain, [picked[-1]])])
    select = jax.jit(lambda policy, sets, ends: policy.select(sets, ends))
    plan = select(policy, allowed[None, :], np.array([9]))
    np.testing.assert_array_equal(plan[:9], picked)

    rewards = random.normal(size=9)
    counts, sums = np.zeros(len(domain)), np.zeros(len(domain))
    np.add.at(counts, picked, 1.0)
    np.add.at(sums, picked, rewards)
    weights = np.linalg.solve(rows[:, picked] + 0.01 * np.eye(9), rows)
    mean = prior.mean + rewards @ weights
    deviation = np.sqrt(np.maximum(1 - (rows * weights).sum(axis=0), 0))
    upper, lower = mean + policy.width * deviation, mean - policy.width * deviation
    expected = allowed & (upper >= lower[allowed].max())
    left = jax.jit(lambda policy, *given: policy.eliminate(*given))(policy, allowed, counts, sums)
    differ = np.asarray(left) != expected
    assert np.abs(upper - lower[allowed].max())[differ].max(initial=0) < 1e-5
    assert 0 < expected.sum() < allowed.sum()

    low, high = jax.jit(lambda policy, *given: policy.band(*given))(policy, counts, sums)
    among = rows[:, picked]
    bracket = 1 - 2 * (weights * rows).sum(axis=0) + (weights * (among @ weights)).sum(axis=0)
    weight = np.sqrt((weights**2).sum(axis=0))
    bias = np.sqrt(np.maximum(bracket, 0)) + policy.missed * (1 + 3 * weight)
    half = 0.05 * bias + policy.noise_scale * np.sqrt(2 * policy.logarithm) * weight
    np.testing.assert_allclose((low + high) / 2, mean, atol=1e-5)
    np.testing.assert_allclose((high - low) / 2, half, atol=1e-4)


@pytest.mark.slow
def test_designs_on_large_grids_take_products():
    """Of 11,088 points, those that OPKB may draw from: a distribution, near the best by duality."""
    domain, kernel = SPACES["space"]
    policy = dp.OPKB(dp.Prior(domain, kernel, 0.01), horizon=50)
    assert isinstance(policy.features, Kronecker)
    matrix, s = np.asarray(policy.features), float(policy.regulariser)
    information = (matrix.T * policy.design) @ matrix + s * np.eye(matrix.shape[1])
    leverage = ((matrix @ np.linalg.inv(information)) * matrix).sum(axis=1)
    assert policy.design.sum() == pytest.approx(1, abs=1e-9)
    assert leverage.max() - policy.design @ leverage < 2e-3 * float(policy.gain) / 0.5


@pytest.mark.slow
@pytest.mark.parametrize("name", POLICIES)
def test_memory_on_100_000_points_is_linear_in_points_times_rank(name):
    """Beside 0.4 GiB for programs, at most twice what the feature matrix would take, 0.16 GiB.

    The covariance of all pairs would take 74 GiB.
    """
    found = measured(name, (316, 316), steps=8)
    assert "failed" not in found, found
    assert found["memory"] < 0.4 + 2 * 8 * found["points"] * 220 / 2**30


@pytest.mark.slow
@pytest.mark.parametrize("name", ["TV-GP-UCB", "SW-GP-UCB", "WGP-UCB", "UI-GP-UCB", "SparQ"])
def test_memory_in_four_dimensions_is_linear_in_points_times_observations(name):
    """Beside 0.4 GiB, ten vectors of the 104,976 points for each of eight steps, where the 19,346
    features would have a covariance of 2.8 GiB."""
    found = measured(name, (18, 18, 18, 18), steps=8)
    assert "failed" not in found, found
    assert found["memory"] < 0.4 + 10 * 8 * 8 * found["points"] / 2**30
