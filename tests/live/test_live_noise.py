"""Rewards whose noise is known: one by one, beside others of which it is learned."""

import json

import jax
import numpy as np
import pytest

import driftpeak as dp
from driftpeak.live._model import gp
from driftpeak.live._model.covariance import Model
from driftpeak.live._model.hyperparameters import Kind, Problem, _evaluate, cost, pack
from driftpeak.live._model.observations import pad, places
from driftpeak.live._study import events

CATEGORICAL = np.zeros(2, bool)
MODEL = Model(0.3, np.array([0.3, 0.6]), 1.4, 0.05, 30.0, CATEGORICAL)
BOX = dp.Box(x=dp.Float(0, 1), y=dp.Float(0, 1))
learn, append, posterior = jax.jit(gp.learn), jax.jit(gp.append), jax.jit(gp.posterior)


def data():
    generator = np.random.default_rng(0)
    rows, times = generator.uniform(size=(20, 2)), np.sort(generator.uniform(0, 40, 20))
    noise = np.where(np.arange(20) % 2, 0.0, generator.uniform(0.001, 2, 20))
    return rows, times, generator.normal(size=20), noise


def covariance(rows, times):
    """Matern 5/2 with Markov drift, written plainly."""
    z = np.sqrt(5 * (((rows[:, None] - rows) / MODEL.lengthscale) ** 2).sum(axis=-1))
    faded = np.exp(-np.abs(times[:, None] - times) / MODEL.timescale)
    return MODEL.variance * (1 + z + z**2 / 3) * np.exp(-z) * faded


def test_the_posterior_is_that_of_two_linear_solves():
    rows, times, rewards, noise = data()
    every = np.concatenate([rows, [[0.4, 0.4]]])
    among = covariance(every, np.append(times, 41.0))
    observed = among[:20, :20] + np.diag(np.where(noise > 0, noise, 0.05))
    cross = among[:20, 20]
    mean = 0.3 + cross @ np.linalg.solve(observed, rewards - 0.3)
    variance = MODEL.variance - cross @ np.linalg.solve(observed, cross)
    known = learn(MODEL, places(rows[:15], times[:15], 32, None, noise[:15]), pad(rewards[:15], 32))
    block = places(rows[15:], times[15:], 8, None, noise[15:])
    known = append(MODEL, known, 15, block, 5, pad(rewards, 32))
    at_once = learn(MODEL, places(rows, times, 32, None, noise), pad(rewards, 32))
    scaled = among[:20, :20] / np.sqrt(np.outer(observed.diagonal(), observed.diagonal()))
    for one in (known, at_once):
        found = posterior(MODEL, one, None, every[20:], 41.0)
        np.testing.assert_allclose(found[0][0], mean, rtol=1e-8)
        np.testing.assert_allclose(found[1][0] ** 2, variance, rtol=1e-8)
    inverse = 1 / np.sqrt(np.where(noise > 0, noise, 0.05))
    whole = np.eye(20) + inverse[:, None] * among[:20, :20] * inverse
    assert scaled.shape == whole.shape
    np.testing.assert_allclose(at_once.information, 0.5 * np.linalg.slogdet(whole)[1], rtol=1e-9)
    np.testing.assert_allclose(known.information, at_once.information, rtol=1e-9)


def test_what_is_learned_takes_it_into_account():
    """The cost falls and rises as the likelihood does, and its slope is that of differences."""
    rows, times, rewards, noise = data()
    problem = Problem(
        places(rows, times, 32, None, noise), pad(rewards, 32), CATEGORICAL, 2.0, Kind()
    )
    observed = covariance(rows, times) + np.diag(np.where(noise > 0, noise, 0.05))
    rest = rewards - 0.3
    plain = 0.5 * (rest @ np.linalg.solve(observed, rest) + np.linalg.slogdet(observed)[1])
    vector = pack(MODEL, 2.0)
    louder = vector + np.eye(1, 7, 3)[0]
    model = MODEL._replace(noise_variance=0.05 * np.e)
    observed = covariance(rows, times) + np.diag(np.where(noise > 0, noise, model.noise_variance))
    other = 0.5 * (rest @ np.linalg.solve(observed, rest) + np.linalg.slogdet(observed)[1])
    prior = ((np.log(5.0) + 1) ** 2 - np.log(5.0) ** 2) / (2 * 1.5**2)  # median 0.01
    gained = float(cost(louder, problem) - cost(vector, problem))
    np.testing.assert_allclose(gained, other - plain + prior, rtol=1e-8)
    slope, step = _evaluate(problem, vector)[1], 1e-6
    for place in range(7):
        ahead, behind = vector + step * np.eye(7)[place], vector - step * np.eye(7)[place]
        difference = (_evaluate(problem, ahead)[0] - _evaluate(problem, behind)[0]) / (2 * step)
        np.testing.assert_allclose(slope[place], difference, rtol=1e-4, atol=1e-6)


def test_a_reward_counts_as_much_as_its_noise_lets_it():
    """And events, snapshots and what was foretold carry it."""
    log, optimizer = [], dp.Optimizer(BOX, maximize=True, policy=dp.DriftingGP(learn=False))
    optimizer.on_event = log.append
    for step in range(8):
        x = step / 7
        optimizer.tell({"x": x, "y": 0.5}, np.sin(6 * x), 0)
    at = {"x": 0.5, "y": 0.0}
    before = optimizer.belief([at])[0][0]
    found = []
    for noise in (0.001, 0.3, 30.0):
        one = dp.Optimizer(BOX, maximize=True, policy=dp.DriftingGP(learn=False))
        one.replay(log)
        one.tell(at, before + 1.0, 0, noise=noise)
        found.append(one.belief([at])[0][0] - before)
        expected = one.history()[-1].expected
        variance = one.belief([at])[1][0] ** 2
        assert expected[1] > noise
        assert variance < expected[1] ** 2
        assert one.history()[-1].noise == noise
        again = dp.Optimizer(BOX, maximize=True, policy=dp.DriftingGP(learn=False))
        again.restore(one.snapshot())
        np.testing.assert_array_equal(again.belief([at]), one.belief([at]))
        assert again.history() == one.history()
    assert 1 > found[0] > 0.8
    assert found[0] > found[1] + 0.05
    assert abs(found[2]) < 0.15 * found[0]  # the scale of the rewards is another, too
    optimizer.tell(at, 1.0, noise=0.25)
    written = json.loads(json.dumps([events.to_dict(event) for event in log]))
    told = [one for one in written if one["event"] == "Told"]
    assert told[-1]["noise"] == 0.25
    assert "noise" not in told[0]
    assert events.from_dict(told[-1]).noise == 0.25


@pytest.mark.usefixtures("without_type_checks")
def test_impossible_noise_is_refused():
    optimizer = dp.Optimizer(BOX, maximize=True)
    for wrong in (0, -1, float("nan"), "small", True):
        with pytest.raises(dp.DriftpeakError, match="noise must be a finite number above 0"):
            optimizer.tell({"x": 0, "y": 0}, 1.0, noise=wrong)
    assert optimizer.history() == []
    prior = dp.Prior(dp.Grid([0, 1], size=5), dp.SE(0.3), 0.01)
    stated = dp.Optimizer(prior.domain, maximize=True, policy=dp.TVGPUCB(prior, drift=0.1))
    with pytest.raises(dp.DriftpeakError, match="noise must be None"):
        stated.tell({"x1": 0}, 1.0, noise=0.1)
    assert stated.history() == []
