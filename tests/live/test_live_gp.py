"""The drifting process of live use, against dense NumPy."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import brentq, check_grad

import driftpeak as dp
from driftpeak.live._engines import gp_engine
from driftpeak.live._model import gp
from driftpeak.live._model.covariance import ALONE, MARKOV, MOMENTUM, ROUND, SLOWER, STILL, Model
from driftpeak.live._model.hyperparameters import (
    Kind,
    Problem,
    _evaluate,
    cost,
    default_model,
    effect_of_choices,
    kind_of,
    most_probable,
    pace_of,
    pack,
    ranges,
    unpack,
)
from driftpeak.live._model.mirrored import Mirrored
from driftpeak.live._model.observations import pad, places
from driftpeak.live._model.scaling import RobustScaler
from driftpeak.live._search.maximization import (
    SOBOL,
    Beliefs,
    Reachable,
    Searcher,
    bound,
    highest,
    highest_of,
    mirrored,
    rough,
    with_best_observed,
)
from driftpeak.live._space.encoding import make_coding
from driftpeak.policies.widths import Constant, ScaledLog

learn, append, imagine = jax.jit(gp.learn), jax.jit(gp.append), jax.jit(gp.add_fantasies)
no_fantasies = gp.no_fantasies
posterior, worths = jax.jit(gp.posterior), jax.jit(gp.variance_reductions)
CATEGORICAL = np.array([False, False, True])
MODEL = Model(0.4, np.array([0.3, 0.7, 1.1]), 1.7, 0.05, 12.0, CATEGORICAL)
TWO_SPEEDS, RHYTHM = Kind(MARKOV, SLOWER), Kind(MARKOV, ROUND, 7.0)
KINDS = {"still": Kind(STILL), "markov": Kind(MARKOV), "momentum": Kind(MOMENTUM),
         "two speeds": TWO_SPEEDS, "rhythm": RHYTHM,
         "still, effect": Kind(STILL, effect=0.3), "effect": Kind(MARKOV, effect=0.3),
         "two speeds, effect": TWO_SPEEDS._replace(effect=0.3)}  # fmt: skip
MOTIONS = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())


def moving(kind):
    """`MODEL`, moving in this way; of two parts the second has 0.4 of the variance."""
    share = 0.0 if kind.beside == ALONE else 0.4
    return MODEL._replace(**kind._asdict(), share=share)


def data(count, seed=0):
    generator = np.random.default_rng(seed)
    rows = generator.uniform(size=(count, 3))
    rows[:, 2] = generator.integers(3, size=count) / 2
    return rows, np.sort(generator.uniform(0, 40, count)), generator.normal(size=count)


def covariance(model, x, y):
    """Matern 5/2, written plainly."""
    gap = np.where(CATEGORICAL, x[:, None] != y[None, :], x[:, None] - y[None, :])
    r = np.sqrt((gap**2 / model.lengthscale**2).sum(axis=-1))
    z = np.sqrt(5) * r
    return model.variance * (1 + z + z**2 / 3) * np.exp(-z)


def faded(model, a, b):
    """Correlations in time: of Markov drift, of Matern 3/2 with the same half-life, or 1.

    Beside the first, a hundredth of the drift, or what comes round and wanders within ten periods.
    """
    gap, drift = np.abs(a - b), 1 - np.exp(-2 / model.timescale)
    if model.beside == SLOWER:
        return 0.6 * (1 - drift) ** (gap / 2) + 0.4 * (1 - drift) ** (gap / 200)
    if model.beside == ROUND:
        turned = np.exp(np.cos(2 * np.pi * gap / model.period) - 1)
        return 0.6 * (1 - drift) ** (gap / 2) + 0.4 * turned * np.exp(-gap / 10 / model.period)
    if model.motion == MARKOV:
        return (1 - drift) ** (gap / 2)
    rate = brentq(lambda x: (1 + x) * np.exp(-x) - 0.5, 1, 2) / (model.timescale * np.log(2))
    return (1 + rate * gap) * np.exp(-rate * gap) if model.motion == MOMENTUM else 1.0 + 0 * gap


def between(model, x, times, y, others):
    """The covariance of values at rows and times, written plainly, with an effect of choices."""
    whole = covariance(model, x, y) * faded(model, times, others)
    if model.effect is None:
        return whole
    lasts = 1.0 if model.motion == STILL else np.exp(-abs(times - others) / 20 / model.timescale)
    equal = x[:, None, 2] == y[None, :, 2]
    return (1 - model.effect) * whole + model.effect * model.variance * equal * lasts


def dense(model, rows, times, rewards, at, now, worth=1.0):
    """Mean and deviation by two linear solves."""
    among = between(model, rows, times[:, None], rows, times[None, :])
    cross = between(model, rows, times[:, None], at, now)
    inverse = np.linalg.inv(among + model.noise_variance / worth * np.eye(len(rows)))
    variance = model.variance - np.einsum("ij,ik,kj->j", cross, inverse, cross)
    return model.level + cross.T @ inverse @ (rewards - model.level), np.sqrt(variance)


@MOTIONS
@pytest.mark.parametrize("now", [40.0, 55.0, 20.0])
def test_posterior_is_that_of_two_linear_solves(now, kind):
    model = moving(kind)
    rows, times, rewards = data(20)
    at = data(7, seed=1)[0]
    known = learn(model, places(rows, times, 32), pad(rewards, 32))
    found = posterior(model, known, None, at, now)
    expected = dense(model, rows, times, rewards, at, now)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-9)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-9)
    np.testing.assert_allclose(gp.mean(model, known, at, now), expected[0], rtol=1e-9)
    among = between(model, rows, times[:, None], rows, times[None, :])
    whole = np.eye(20) + among / model.noise_variance
    np.testing.assert_allclose(known.information, 0.5 * np.linalg.slogdet(whole)[1], rtol=1e-9)


def test_worth_divides_the_variance_of_the_noise():
    rows, times, rewards = data(20)
    at, worth = data(7, seed=1)[0], np.random.default_rng(3).uniform(0.05, 1, 20)
    for model in (MODEL, MODEL._replace(motion=STILL)):
        known = learn(model, places(rows, times, 32, worth), pad(rewards, 32))
        expected = dense(model, rows, times, rewards, at, 41.0, worth)
        for one, other in zip(posterior(model, known, None, at, 41.0), expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9)


def test_appending_is_factoring_afresh():
    rows, times, rewards = data(20)
    worth, noise = np.ones(20), np.zeros(20)
    worth[[3, 16]], worth[17], noise[[2, 18]] = 0.0, 0.3, 0.4
    residuals = pad(rewards, 32)

    def block(start, end, size):
        some = slice(start, end)
        return places(rows[some], times[some], size, worth[some], noise[some])

    whole = learn(MODEL, block(0, 20, 32), residuals)
    known = learn(MODEL, block(0, 15, 32), pad(rewards[:15], 32))
    at_once = append(MODEL, known, 15, block(15, 20, 8), 5, residuals)
    # what was in these places does not matter, be it more than what comes there
    of_others = places(data(8, seed=5)[0], times[5:13], 8)
    again = append(
        MODEL, append(MODEL, known, 13, of_others, 8, residuals), 13, of_others, 2, residuals
    )
    again = append(MODEL, again, 13, block(13, 16, 8), 3, residuals)
    for number in range(16, 20):
        again = append(MODEL, again, number, block(number, number + 1, 8), 1, residuals)
    for one, other in zip(jax.tree.leaves(at_once), jax.tree.leaves(whole), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-10)
    one_by_one = append(MODEL, known, 13, block(13, 14, 8), 1, residuals)
    for number in range(14, 20):
        one_by_one = append(MODEL, one_by_one, number, block(number, number + 1, 8), 1, residuals)
    for one, other in zip(again, one_by_one, strict=True):
        for some, others in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
            np.testing.assert_array_equal(np.atleast_1d(some)[:20], np.atleast_1d(others)[:20])


def test_what_is_out_counts_as_if_it_had_brought_what_was_expected():
    rows, times, rewards = data(18)
    out, at = data(3, seed=2)[0], data(6, seed=1)[0]
    then = np.array([41.0, 42.0, 42.0])
    known = learn(MODEL, places(rows, times, 32), pad(rewards, 32))
    nothing = no_fantasies(known, 32)
    # in two blocks, the first of which is not full: its free places count for nothing
    imagined = imagine(MODEL, known, nothing, 0, places(out[:2], then[:2], 8))
    imagined = imagine(MODEL, known, imagined, 8, places(out[2:], then[2:], 8))
    believed = np.concatenate(
        [[dense(MODEL, rows, times, rewards, out[i : i + 1], then[i])[0][0]] for i in range(3)]
    )
    expected = dense(
        MODEL,
        np.concatenate([rows, out]),
        np.concatenate([times, then]),
        np.concatenate([rewards, believed]),
        at,
        43.0,
    )
    found = posterior(MODEL, known, imagined, at, 43.0)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-9)
    # each alone expects its mean; together they are consistent, so the mean stays
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-6, atol=1e-8)


@MOTIONS
def test_influence_is_a_covariance_with_later(kind):
    """By dense algebra: given the data and what is pending, the mean of |Cov| over the horizons."""
    model = moving(kind)
    rows, times, rewards = data(12)
    at, out, then = data(5, seed=1)[0], *data(3, seed=2)[:2]
    ahead = np.array([3.0, 10.0, 20.0])
    known = learn(model, places(rows, times, 32), pad(rewards, 32))
    imagined = imagine(model, known, no_fantasies(known, 32), 0, places(out, then, 32))
    found = jax.jit(gp.influence)(model, known, imagined, at, 43.0, ahead)
    seen, when = np.concatenate([rows, out]), np.concatenate([times, then])
    among = between(model, seen, when[:, None], seen, when[None, :])
    inverse = np.linalg.inv(among + 0.05 * np.eye(15))
    now = between(model, seen, when[:, None], at, 43.0)
    each = [between(model, seen, when[:, None], at, 43.0 + h) for h in ahead]
    own = [between(model, at, 43.0, at, 43.0 + h).diagonal() for h in ahead]
    moved = [c - np.einsum("ij,ik,kj->j", now, inverse, k) for c, k in zip(own, each, strict=True)]
    variance = model.variance - np.einsum("ij,ik,kj->j", now, inverse, now)
    bonus = np.abs(moved).mean(axis=0) / np.sqrt(variance + 0.05)
    np.testing.assert_allclose(found, bonus, rtol=1e-7)


def test_worth_is_what_is_lost_by_leaving_out():
    rows, times, rewards = data(12)
    rows[5], times[5] = rows[6], times[6]  # one of two twins is worth little
    known = learn(MODEL, places(rows, times, 32), pad(rewards, 32))
    worth = np.asarray(worths(MODEL, known, 41.0))
    for i in range(12):
        rest = np.arange(12) != i
        at = rows[i : i + 1]
        with_all = dense(MODEL, rows, times, rewards, at, 41.0)[1] ** 2
        without = dense(MODEL, rows[rest], times[rest], rewards[rest], at, 41.0)[1] ** 2
        np.testing.assert_allclose(worth[i], (without - with_all)[0], rtol=1e-6, atol=1e-12)
    assert np.isinf(worth[12:]).all()


@MOTIONS
def test_cost_is_minus_the_log_posterior_density(kind):
    rows, times, rewards = data(20)
    model = moving(kind)
    vector = pack(model, 2.0)
    problem = Problem(places(rows, times, 32), pad(rewards, 32), CATEGORICAL, 2.0, kind_of(model))
    found = cost(vector, problem)
    among = between(model, rows, times[:, None], rows, times[None, :])
    whole = among + 0.05 * np.eye(20)
    rest = rewards - MODEL.level
    likelihood = -0.5 * (rest @ np.linalg.solve(whole, rest) + np.linalg.slogdet(whole)[1])
    priors = ranges(CATEGORICAL)
    prior = -sum(
        (v - np.log(p.median)) ** 2 / (2 * p.deviation**2)
        for v, p in zip(vector[:-2], priors, strict=True)
    )
    prior -= MODEL.level**2 / 2 + (vector[-2] / 1.5) ** 2 / 2
    np.testing.assert_allclose(found, -(likelihood + prior), rtol=1e-10)


@MOTIONS
def test_slope_of_the_cost_by_finite_differences(kind):
    rows, times, rewards = data(20)
    worth = np.random.default_rng(3).uniform(0.05, 1, 20)
    among = places(rows, times, 32, worth)
    problem = Problem(among, pad(rewards, 32), CATEGORICAL, 2.0, kind)
    for seed in range(3):
        start = pack(moving(kind), 2.0) + 0.3 * np.random.default_rng(seed).normal(size=8)
        np.testing.assert_allclose(_evaluate(problem, start)[0], cost(start, problem), rtol=1e-12)
        error = check_grad(
            lambda v: _evaluate(problem, v)[0], lambda v: _evaluate(problem, v)[1], start
        )
        assert error < 1e-5 * np.linalg.norm(_evaluate(problem, start)[1]) + 1e-5


@pytest.mark.parametrize("dimension", [8, 9, 20])
def test_covariance_and_slope_of_many_columns(dimension):
    """Up to 8 columns distances are a sum, and beyond a product of matrices."""
    generator = np.random.default_rng(dimension)
    rows, gaps = generator.uniform(size=(15, dimension)), np.zeros(dimension)
    rows[:, -1], gaps[-1] = generator.integers(3, size=15) / 2, 1.0
    model = MODEL._replace(lengthscale=generator.uniform(1, 3, dimension), gaps=gaps)
    apart = rows[:, None] - rows
    apart[:, :, -1] = apart[:, :, -1] != 0
    z = np.sqrt(5 * (apart**2 / model.lengthscale**2).sum(axis=-1))
    expected = model.variance * (1 + z + z**2 / 3) * np.exp(-z)
    np.testing.assert_allclose(model.covariance(rows, 3.0, rows, 3.0), expected, rtol=1e-12)
    times, rewards = np.arange(15.0), generator.normal(size=15)
    problem = Problem(places(rows, times, 32), pad(rewards, 32), gaps, 1.0, kind_of(model))
    start = pack(model, 1.0)
    slope = _evaluate(problem, start)[1]
    assert check_grad(lambda v: cost(v, problem), lambda _: slope, start) < 1e-5


@pytest.mark.parametrize("numbers", [2, 7])
def test_an_effect_is_equal_where_the_choices_are(numbers):
    """Beyond 8 columns it is computed otherwise; ordered choices differ in part."""
    generator = np.random.default_rng(numbers)
    gaps = np.append(np.zeros(numbers), [1.0, 0.25])
    rows = generator.uniform(size=(15, numbers + 2))
    rows[:, -2:] = generator.integers(5, size=(15, 2)) / 4
    times = np.sort(generator.uniform(0, 40, 15))
    model = MODEL._replace(lengthscale=np.full(numbers + 2, 0.7), gaps=gaps, effect=0.3)
    unordered = rows[:, None, -2] == rows[None, :, -2]
    equal = (unordered + 1 - abs(rows[:, None, -1] - rows[None, :, -1])) / 2
    args = rows, times[:, None], rows, times[None, :]
    slowly = np.exp(-abs(times[:, None] - times) / (20 * model.timescale))
    expected = 0.7 * np.asarray(model._replace(effect=None).covariance(*args))
    expected += 0.3 * model.variance * equal * slowly
    np.testing.assert_allclose(model.covariance(*args), expected, rtol=1e-12)


def test_an_effect_needs_choices_and_numbers():
    assert effect_of_choices(np.array([0.0, 1.0]), 0.1) == 0.1
    assert effect_of_choices(np.array([0.5, 0.0]), 0.1) == 0.1
    assert effect_of_choices(np.array([0.5, 0.0]), None) is None
    assert effect_of_choices(np.zeros(2), 0.1) is None
    assert effect_of_choices(np.ones(1), 0.1) is None


def test_covariance_of_many_columns_in_single_precision():
    """The search compares candidates in it; neighbours of an observation are the hardest."""
    generator = np.random.default_rng(0)
    rows = generator.uniform(size=(20, 30))
    rows[10:] = rows[:10] + 0.003 * generator.normal(size=(10, 30))
    model = MODEL._replace(lengthscale=np.full(30, 0.3), gaps=np.zeros(30))
    single = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float32), model)
    quick = single.similarity(jnp.asarray(rows, jnp.float32), jnp.asarray(rows, jnp.float32))
    assert quick.dtype == jnp.float32
    np.testing.assert_allclose(quick, model.similarity(*2 * [jnp.asarray(rows)]), atol=2e-5)


@pytest.mark.slow
def test_numbers_are_learned_back():
    """A draw from a known process: each learned number within a factor of its truth.

    The factors are some three posterior deviations at 250 observations; the draw is fixed.
    """
    generator = np.random.default_rng(5)
    truth = Model(0.0, np.array([0.2, 2.0]), 1.0, 0.05, 60.0, np.zeros(2, bool))
    rows, times = generator.uniform(size=(250, 2)), np.arange(250.0)
    among = np.asarray(truth.covariance(rows, times[:, None], rows, times[None, :]))
    rewards = np.linalg.cholesky(among + 0.05 * np.eye(250)) @ generator.normal(size=250)
    found, kind = default_model(truth.gaps, 1.0, Kind(MARKOV)), Kind(MARKOV)
    problem = Problem(places(rows, times, 256), pad(rewards, 256), truth.gaps, 1.0, kind)
    for _ in range(2):  # each call goes on from where the last one stopped
        found, _ = most_probable(found, problem)
    ratio = np.exp(np.abs(pack(found, 1.0) - pack(truth, 1.0)))[:-2]
    assert abs(found.level) < 0.8
    assert (ratio < [1.6, 2.5, 2.0, 2.0, 2.5]).all(), ratio


def test_the_memory_cannot_collapse():
    """Pure noise could be explained by a function that is new each time; ten paces are kept."""
    generator = np.random.default_rng(0)
    rows = np.tile([[0.5, 0.5, 0.0]], (60, 1))
    times = np.cumsum(generator.exponential(3.0, 60))
    pace = pace_of(times)
    rewards = np.where(np.arange(60) % 2, 1.0, -1.0) * 1.0
    start = default_model(CATEGORICAL, pace, Kind())
    problem = Problem(places(rows, times, 128), pad(rewards, 128), CATEGORICAL, pace, Kind())
    found, _ = most_probable(start, problem)
    assert found.timescale >= 10 * pace * (1 - 1e-9)


def test_pace():
    assert pace_of(np.arange(30.0) * 2) == 2.0
    assert pace_of(np.array([5.0])) == pace_of(np.array([5.0, 5.0])) == 1.0
    twins = np.repeat(np.arange(30.0), 2)
    assert pace_of(twins) == 0.5
    silence = np.concatenate([np.arange(30.0), 10_000 + np.arange(30.0)])
    assert pace_of(silence) == 1.0


def test_vectors_come_back():
    again = unpack(pack(MODEL, 3.0), CATEGORICAL, 3.0, Kind())
    assert again.effect is None
    for one, other in zip(again[:-1], MODEL[:-1], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_standard_units():
    generator = np.random.default_rng(0)
    rewards = 5 + 2 * generator.normal(size=401)
    far = rewards.copy()
    far[:12] = 1e9
    plain, robust = RobustScaler.of(rewards), RobustScaler.of(far)
    assert abs(plain.centre - 5) < 0.3
    assert abs(plain.scale - 2) < 0.3
    assert abs(robust.centre - plain.centre) < 0.3
    assert abs(robust.scale - plain.scale) < 0.3
    assert robust.into(1e9) < 30
    values = np.linspace(-50, 60, 301)
    units = plain.into(values)
    assert (np.diff(units) > 0).all()
    np.testing.assert_allclose(plain.back(units, np.ones(301))[0], values, rtol=1e-9, atol=1e-9)
    slope = np.gradient(values, units)[1:-1]  # the deviation is multiplied by the derivative
    np.testing.assert_allclose(plain.back(units, np.ones(301))[1][1:-1], slope, rtol=0.05)
    assert RobustScaler.of(np.array([3.0])) == RobustScaler(3.0, 3.0)
    assert RobustScaler.of(np.zeros(4)) == RobustScaler(0.0, 1.0)
    assert RobustScaler.of(np.eye(1, 20)[0]).scale == 1.0  # of those that are not at the centre


@pytest.mark.slow
def test_search_finds_the_highest_bound():
    rows, times, rewards = data(25)
    box = dp.Box(a=dp.Float(0, 1), b=dp.Integer(0, 6), c=dp.Categorical("u", "v", "w"))
    coding = make_coding(box)
    rows = coding.snap(rows)
    known = learn(MODEL, places(rows, times, 32), pad(rewards, 32))
    a, b, c = np.meshgrid(np.linspace(0, 1, 201), np.arange(7) / 6, np.arange(3) / 2)
    discretization = np.stack([a.ravel(), b.ravel(), c.ravel()], axis=1)
    mean, deviation = posterior(MODEL, known, None, discretization, 41.0)
    top = np.asarray(mean + 2 * deviation)
    width, searcher = Constant(2.0), Searcher(coding, 0)
    beliefs = Beliefs(MODEL, known, None, 41.0, width, 1.0)
    beliefs = with_best_observed(beliefs, boundary_weighting=False)
    for number in range(3):
        row = highest(beliefs, searcher.trials(number), coding.discretization, None)
        np.testing.assert_array_equal(coding.snap(np.asarray(row)), row)
        found = posterior(MODEL, known, None, row[None], 41.0)
        assert found[0][0] + 2 * found[1][0] >= top.max() - 1e-3
    assert int(highest_of(beliefs, discretization, None)) == int(top.argmax())
    # without exploring, the highest mean
    row = highest(beliefs._replace(explore=0.0), searcher.trials(0), coding.discretization, None)
    assert gp.mean(MODEL, known, row[None], 41.0)[0] >= mean.max() - 1e-3


def test_search_stays_in_reach_and_pays_its_way():
    rows, times, rewards = data(25)
    box = dp.Box(a=dp.Float(0, 1), b=dp.Integer(0, 6), c=dp.Categorical("u", "v", "w"))
    coding = make_coding(box)
    rows = coding.snap(rows)
    known = learn(MODEL, places(rows, times, 32), pad(rewards, 32))
    a, b, c = np.meshgrid(np.linspace(0.3, 0.5, 101), np.arange(2, 5) / 6, np.arange(3) / 2)
    discretization = np.stack([a.ravel(), b.ravel(), c.ravel()], axis=1)
    mean, deviation = dense(MODEL, rows, times, rewards, discretization, 41.0)
    here, searcher = np.array([0.4, 0.5, 0.0]), Searcher(coding, 0)
    beliefs = Beliefs(MODEL, known, None, 41.0, Constant(2.0), 1.0)
    beliefs = with_best_observed(beliefs, boundary_weighting=False)
    lower, upper = np.array([0.3, 2 / 6, 0.0]), np.array([0.5, 4 / 6, 1.0])
    # all bounds are within the linear range, so that a cost is one of standard units
    assert (mean + 2 * deviation).max() < 3
    for price in ([0.0, 0.0, 0.0], [3.0, 1.0, 0.1], [0.5, 0.5, 9.0], [99.0, 99.0, 99.0]):
        gap = np.abs(discretization - here)
        costs_of_moves = np.where(CATEGORICAL, gap > 0, gap) @ np.array(price)
        top = (mean + 2 * deviation - costs_of_moves).max()
        reachable = Reachable(here, here, lower, upper, np.array(price))
        row = np.asarray(highest(beliefs, searcher.trials(1), coding.discretization, reachable))
        assert ((row >= lower) & (row <= upper)).all()
        np.testing.assert_allclose(coding.snap(row), row, atol=1e-12)
        value = dense(MODEL, rows, times, rewards, row[None], 41.0)
        gap = np.abs(row - here)
        paid = np.where(CATEGORICAL, gap > 1e-9, gap) @ np.array(price)
        assert value[0][0] + 2 * value[1][0] - paid >= top - 2e-3
    np.testing.assert_array_equal(row, here)  # the last was too dear


def test_candidates_depend_on_seed_and_number_alone():
    coding = make_coding(dp.Box(x=dp.Float(0, 1), n=dp.Integer(1, 3)))
    one, again, other = Searcher(coding, 0), Searcher(coding, 0), Searcher(coding, 1)
    np.testing.assert_array_equal(one.trials(7).everywhere, again.trials(7).everywhere)
    assert not np.array_equal(one.trials(7).everywhere, one.trials(8).everywhere)
    assert not np.array_equal(one.first(1, None), other.first(1, None))
    firsts = np.array([one.first(number, None) for number in range(1, 65)])
    assert np.histogram(firsts[:, 0], bins=8, range=(0, 1))[0].tolist() == [8] * 8
    assert len(one.trials(0).everywhere) == SOBOL


@pytest.mark.parametrize("size", [5, 127, 300, 512])
@pytest.mark.parametrize("is_lower", [False, True])
def test_a_mirrored_matrix_is_a_matrix(size, is_lower):
    """Compare products with the matrix and its transpose, and their gradients, with NumPy."""
    generator = np.random.default_rng(0)
    matrix = generator.normal(size=(size if is_lower else 5, size))
    matrix = np.tril(matrix) if is_lower else matrix
    stored = Mirrored.of_lower(matrix) if is_lower else Mirrored.of(matrix)
    columns = jnp.asarray(generator.normal(size=(size, 3)))
    weights = jnp.asarray(generator.normal(size=(len(matrix), 3)))
    close = partial(np.testing.assert_allclose, rtol=1e-12, atol=1e-12)
    close(stored @ columns, matrix @ columns)
    close(stored.T @ weights, matrix.T @ weights)
    close(stored.T.T @ columns, matrix @ columns)
    slope = jax.grad(lambda some: (weights * (stored @ some)).sum())(columns)
    close(slope, matrix.T @ weights)
    back = jax.grad(lambda some: (columns * (stored.T @ some)).sum())(weights)
    close(back, matrix @ columns)


@pytest.mark.slow
def test_a_climb_sees_the_dense_posterior_with_many_out():
    """Bounds and their slopes in the single precision of a climb, against plain double ones."""
    rows, times, rewards = data(20)
    known = learn(MODEL, places(rows, times, 32), pad(rewards, 32))
    out, then = data(30, seed=1)[0], np.full(30, 41.0)
    imagined = imagine(MODEL, known, no_fantasies(known, 32), 0, places(out, then, 32))
    beliefs = Beliefs(MODEL, known, imagined, 42.0, ScaledLog(0.6, 2.0), 1.0)
    at = data(8, seed=2)[0]

    @jax.jit
    def both(beliefs, at):
        return bound(beliefs, at, None), jax.grad(lambda x: bound(beliefs, x, None).sum())(at)

    plain, slopes = both(beliefs, at)
    quick, quick_slopes = both(mirrored(rough(beliefs)), at.astype(np.float32))
    assert quick.dtype == np.float32
    np.testing.assert_allclose(quick, plain, atol=1e-4)
    np.testing.assert_allclose(quick_slopes, slopes, atol=1e-2)


def test_rewards_out_of_order_are_put_in_their_place(monkeypatch):
    """Without factoring everything for each, and to the last digit as from the events alone."""
    space, factored = dp.Box(x=dp.Float(0, 1), y=dp.Float(0, 1)), []

    def watched(self, *some, old=gp_engine.GPEngine._all_at_once):
        factored.append(self.base)
        return old(self, *some)

    monkeypatch.setattr(gp_engine.GPEngine, "_all_at_once", watched)
    optimizer = dp.Optimizer(space, maximize=True, policy=dp.DriftingGP(learn=False))
    for step in range(60):
        optimizer.tell({"x": step % 7 / 7, "y": step % 5 / 5}, np.sin(step), time=step)
    factored.clear()
    hyperparameters = optimizer._fits
    for step in np.random.default_rng(0).permutation(24):
        optimizer.tell({"x": step / 24, "y": 0.5}, np.cos(step), time=50 + step)
        optimizer.belief([{"x": 0.3, "y": 0.3}])
    # for a lesson, and for the first that comes before what was factored then
    assert len(factored) <= 2 * (optimizer._fits - hyperparameters) + 2 < 12
    settings = [{"x": x, "y": 0.4} for x in np.linspace(0, 1, 9)]
    found = optimizer.belief(settings)
    again = dp.Optimizer(space, maximize=True, policy=dp.DriftingGP(learn=False))
    again.restore(optimizer.snapshot())
    np.testing.assert_array_equal(again.belief(settings), found)
    again._engine._refactor()
    np.testing.assert_allclose(again.belief(settings), found, rtol=1e-9, atol=1e-12)
