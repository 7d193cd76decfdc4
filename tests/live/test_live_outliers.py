"""Absurd rewards: what is rejected, against dense algebra, and what they cost."""

import itertools
import sys

import numpy as np
import pytest

import driftpeak as dp
from driftpeak.live._engines import gp_engine
from driftpeak.live._model.covariance import Model
from driftpeak.live._model.observations import pad, places
from driftpeak.live._model.outliers import FAR, outliers_of
from driftpeak.live._model.scaling import RobustScaler

LARGEST = sys.float_info.max
MODEL = Model(0.1, np.array([0.4]), 1.3, 0.02, 200.0, np.array([False]))


def world(count=30, seed=0):
    """A draw of the process, so that no reward is far from what the others foretell."""
    generator = np.random.default_rng(seed)
    rows = generator.uniform(size=(count, 1))
    times = np.sort(generator.uniform(0, 60, count))
    covariance = MODEL.covariance(rows, times[:, None], rows, times[None, :])
    covariance = np.asarray(covariance) + MODEL.noise_variance * np.eye(count)
    rewards = MODEL.level + np.linalg.cholesky(covariance) @ generator.normal(size=count)
    return rows, times, rewards, covariance


def found(rows, times, rewards, wild):
    size = 32
    known = places(rows, times, size)
    one = outliers_of(MODEL, known, pad(rewards, size), np.pad(wild, (0, size - len(wild))))
    assert not np.asarray(one)[len(rewards) :].any()
    return np.flatnonzero(np.asarray(one))


def by_leaving_out(covariance, rewards, wild):
    """The same, predicting each reward from all others by linear solves, anew every time."""
    kept = list(range(len(rewards)))
    usual = [distance(covariance, rewards, i, np.flatnonzero(~wild)) for i in np.flatnonzero(~wild)]
    limit = FAR * max(1.0, np.median(usual) / 0.6745)
    while True:
        gone = np.setdiff1d(np.arange(len(rewards)), kept)
        able = [i for i in kept if wild[i] and (np.abs(gone - i) <= 5).sum() < 2]
        far = {i: distance(covariance, rewards, i, kept) for i in able}
        far = {i: one for i, one in far.items() if one > limit}
        if not far:
            return gone
        kept.remove(max(far, key=far.get))


def distance(covariance, rewards, number, among):
    others = [i for i in among if i != number]
    weights = np.linalg.solve(covariance[np.ix_(others, others)], covariance[others, number])
    mean = MODEL.level + weights @ (rewards[others] - MODEL.level)
    variance = covariance[number, number] - weights @ covariance[others, number]
    return abs(rewards[number] - mean) / np.sqrt(variance)


@pytest.mark.parametrize("seed", range(4))
def test_doubts_are_those_of_leaving_out_one_by_one(seed):
    rows, times, rewards, covariance = world(seed=seed)
    assert len(found(rows, times, rewards, np.ones(30, bool))) == 0
    generator = np.random.default_rng(seed)
    wrong = generator.choice(30, size=1 + seed, replace=False)
    rewards[wrong] += generator.choice([-1, 1], len(wrong)) * generator.uniform(8, 30, len(wrong))
    wild = np.abs(rewards) > 3
    assert (
        found(rows, times, rewards, wild).tolist()
        == by_leaving_out(covariance, rewards, wild).tolist()
    )
    assert wrong[0] in found(rows, times, rewards, wild)
    assert len(found(rows, times, rewards, np.zeros(30, bool))) == 0


def test_what_is_told_twice_and_what_changes_for_good_are_believed():
    rows, times, rewards, _ = world()
    rows, times = np.append(rows, [[2.0], [2.0]], axis=0)[:32], np.append(times, [60.0, 60.5])
    rewards = np.append(rewards, [-20.0, -20.1])
    assert len(found(rows, times, rewards, np.abs(rewards) > 3)) == 0
    assert found(rows[:31], times[:31], rewards[:31], np.abs(rewards[:31]) > 3).tolist() == [30]
    rows, times, rewards, _ = world()
    rewards[24:] += 15.0
    assert len(found(rows, times, rewards, np.abs(rewards) > 3)) <= 4


@pytest.mark.parametrize(
    "rewards",
    [
        [LARGEST, -LARGEST, 1.0, 2.0, 3.0],
        [1e200] * 5,
        [LARGEST, LARGEST, -LARGEST, -LARGEST],
        [5e-324, 0.0],
        [-1e12, 0.3, 0.5, 0.2],
    ],
)
def test_rewards_of_any_size_come_back(rewards):
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        standard = RobustScaler.of(np.array(rewards))
        units = standard.into(rewards)
        assert np.isfinite(units).all()
        assert np.abs(units).max() < 800
        back, deviations = standard.back(units, np.ones(len(rewards)))
        np.testing.assert_allclose(back, rewards, rtol=1e-9, atol=1e-300 + 1e-9 * standard.scale)
        assert np.isfinite(deviations).all()


def test_one_absurd_reward_moves_no_scale():
    rewards = np.array([0.3, 0.5, 0.2, 0.4, 0.6])
    for absurd in (-1e3, -LARGEST, LARGEST):
        wrong = RobustScaler.of(np.append(rewards, absurd))
        assert 0.3 <= wrong.centre <= 0.5
        assert 0.03 < wrong.scale < 0.3


FUNCTIONS = {
    "parabola": (1, lambda x, p, d: -8 * d, 0.1),
    "bump": (2, lambda x, p, d: np.exp(-d / 0.08), 0.05),
    "cone": (2, lambda x, p, d: 100 - 30 * np.sqrt(d), 1.0),
}


def distances(name, seed, absurd, warm, after):
    """Mean squared distance to the peak over `after` steps behind each absurd reward."""
    dimension, function, noise = FUNCTIONS[name]
    errors = noise * np.random.default_rng(seed).normal(size=warm + after)
    names = "ab"[:dimension]
    space = dp.Box({one: dp.Float(0, 1) for one in names})
    optimizer = dp.Optimizer(space, maximize=True, seed=seed)

    def play(steps, first=None):
        squared = []
        for step in steps:
            setting = optimizer.ask()
            x = np.array(list(setting.values()))
            peak = 0.5 + 0.3 * np.array([np.sin(step / 40), np.cos(step / 55)])[:dimension]
            squared.append(float(((x - peak) ** 2).sum()))
            reward = function(x, peak, squared[-1]) + errors[step]
            optimizer.tell(setting, reward if first is None else first)
            first = None
        return squared

    play(range(warm))
    start, means = optimizer.snapshot(), []
    for one in (None, *absurd):
        optimizer.restore(start)
        means.append(np.mean(play(range(warm, warm + after), one)[1:]))
        assert np.isfinite(optimizer.best().mean)
        assert optimizer.diagnostics().rejected <= 2
    return np.array(means)


@pytest.mark.parametrize("changes", [True, False])
def test_extreme_rewards_that_were_expected_are_no_outliers(changes, monkeypatch):
    """A deep edge in an almost constant function: all its rewards are extreme, but known."""
    generator = np.random.default_rng(0)
    policy = dp.DriftingGP(change_points=changes)
    optimizer = dp.Optimizer(dp.Box(x=dp.Float(0, 1)), maximize=True, policy=policy)

    def function(x):
        return 0.01 * np.sin(9 * x) - 5 * x**8 + 0.01 * generator.normal()

    for x in generator.random(36):
        optimizer.tell({"x": x}, function(x))
    tests, exact = [], gp_engine.outliers_of
    monkeypatch.setattr(gp_engine, "outliers_of", lambda *of: tests.append(of) or exact(*of))
    optimizer.tell({"x": 0.97}, function(0.97))
    assert not tests
    optimizer.tell({"x": 0.97}, 20.0)
    assert len(tests) == 1
    assert optimizer.diagnostics().rejected == 1
    # the same reward as an older one is no outlier, but it was not expected either
    optimizer.tell({"x": 0.97}, 20.0)
    assert len(tests) == 2


@pytest.mark.slow
def test_an_absurd_reward_is_not_believed():
    """One play says little: what is one suggestion later has other noise. So sums of several."""
    means = sum(distances("parabola", seed, (-1e6,), 25, 15) for seed in range(5))
    assert means[1] <= 2 * means[0]


@pytest.mark.long
def test_an_absurd_reward_costs_no_more_than_another_exploration():
    """At most 1.5 times the squared distance without it; more: `benchmarks absurd_rewards`."""
    absurd = (-1e3, -1e12, -LARGEST, LARGEST)
    plays = itertools.product(("parabola", "bump"), range(3))
    total = sum(distances(name, seed, absurd, warm=60, after=100) for name, seed in plays)
    assert (total[1:] <= 1.5 * total[0]).all(), total


def test_constant_rewards_of_any_size_have_a_best():
    optimizer = dp.Optimizer(dp.Box(x=dp.Float(0, 1)), maximize=True)
    for _ in range(4):
        optimizer.tell(optimizer.ask(), 1e200)
    assert optimizer.best().mean == pytest.approx(1e200)


def test_a_policy_with_stated_noise_says_that_it_believes():
    prior = dp.Prior(dp.Grid([0, 1], size=9), dp.SE(lengthscale=0.2), noise_variance=0.01)
    policy = dp.TVGPUCB(prior, drift=0.02)
    optimizer = dp.Optimizer(prior.domain, maximize=True, policy=policy)
    before = optimizer.snapshot()
    with pytest.raises(dp.DriftpeakError, match="reward must lie in"):
        optimizer.tell(optimizer.pending() or {"x1": 0.5}, 1e101)
    assert optimizer.snapshot() == before
    with pytest.warns(dp.DriftpeakWarning, match="does not reject outliers"):
        optimizer.tell({"x1": 0.5}, -1e12)
    assert np.isfinite(optimizer.belief()[0]).all()
    with pytest.warns(dp.DriftpeakWarning, match="does not reject outliers"):
        optimizer.tell({"x1": 0.5}, 1e100)
    assert np.isfinite(optimizer.belief()[0]).all()
