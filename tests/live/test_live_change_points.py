"""Sudden changes of the function: their covariance, their detection, and what users see of them."""

import json
from datetime import UTC, datetime, timedelta

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, strategies as st
from matplotlib.dates import date2num

import driftpeak as dp
from driftpeak._core.errors import DriftpeakError
from driftpeak.live._model import change_points as detection, gp
from driftpeak.live._model.covariance import CHANGES, Model
from driftpeak.live._model.hyperparameters import check_hyperparameters
from driftpeak.live._model.observations import pad, places
from driftpeak.live._search.maximization import Beliefs, rough
from driftpeak.live.plots import reward_figure, track_figure
from driftpeak.policies.widths import Constant

# compiled once, because conditionals would otherwise be compiled at every call
learn, append, mean, posterior = map(jax.jit, (gp.learn, gp.append, gp.mean, gp.posterior))


def changed(*changes):
    return detection.padded_changes(list(changes), 0.0)


def model(changes=(), **others):
    scales = {"variance": 1.3, "noise_variance": 0.05, "timescale": 80.0} | others
    return Model(0.2, np.array([0.3]), gaps=np.zeros(1), changes=changed(*changes), **scales)


def dense(process, rows, times):
    """The covariance of the function in NumPy: Matern 5/2, Markov drift, and the changes."""
    apart = np.sqrt(5) * np.abs(rows[:, None] - rows[None, :]) / 0.3
    whole = process.variance * (1 + apart + apart**2 / 3) * np.exp(-apart)
    whole = whole * np.exp(-np.abs(times[:, None] - times[None, :]) / process.timescale)
    for time, loss in process.changes.T:
        divided = (times[:, None] > time) != (times[None, :] > time)
        whole = whole * np.where(divided, np.exp(-loss), 1.0)
    return whole


def draw(count, seed=0):
    generator = np.random.default_rng(seed)
    times = np.sort(generator.uniform(0, 50, count))
    return generator.random(count), times, generator.normal(size=count)


TWO = ((20.0, 0.7), (35.0, 3.0))


def test_the_posterior_is_that_of_the_stated_covariance():
    rows, times, rewards = draw(24)
    process = model(TWO)
    known = learn(process, places(rows[:, None], times, 32), pad(rewards, 32))
    for now in (10.0, 25.0, 60.0):  # before, between and after the changes
        points = np.linspace(0, 1, 5)
        every, when = np.append(rows, points), np.append(times, np.full(5, now))
        whole = dense(process, every, when)
        observed, cross = whole[:24, :24] + 0.05 * np.eye(24), whole[:24, 24:]
        means = 0.2 + cross.T @ np.linalg.solve(observed, rewards - 0.2)
        variances = 1.3 - (cross * np.linalg.solve(observed, cross)).sum(axis=0)
        found = posterior(process, known, None, points[:, None], now)
        np.testing.assert_allclose(found[0], means, rtol=1e-9)
        np.testing.assert_allclose(found[1], np.sqrt(variances), rtol=1e-9)


def test_appended_observations_have_the_same_covariance():
    rows, times, rewards = draw(24)
    process, padded = model(TWO), pad(rewards, 32)
    at_once = learn(process, places(rows[:, None], times, 32), padded)
    known = learn(process, places(rows[:16, None], times[:16], 32), padded)
    known = append(process, known, 16, places(rows[16:, None], times[16:], 8), 8, padded)
    np.testing.assert_allclose(known.solved, at_once.solved, rtol=1e-8)


def test_without_a_loss_nothing_changes():
    rows, times, rewards = draw(24)
    both = (model(), model(((20.0, 0.0),)))
    found = [learn(each, places(rows[:, None], times, 32), pad(rewards, 32)) for each in both]
    np.testing.assert_array_equal(found[0].solved, found[1].solved)


def test_a_change_is_as_much_markov_drift_as_its_loss():
    rows, times, rewards = draw(24)
    later = np.where(times > 20.0, times + 0.7 * 80.0, times)
    some, others = (
        learn(each, places(rows[:, None], when, 32), pad(rewards, 32))
        for each, when in ((model(((20.0, 0.7),)), times), (model(), later))
    )
    points = np.linspace(0, 1, 7)[:, None]
    found = mean(model(((20.0, 0.7),)), some, points, 55.0), mean(model(), others, points, 111.0)
    np.testing.assert_allclose(*found, rtol=1e-9)


def test_the_rough_search_knows_the_changes():
    rows, times, rewards = draw(24)
    process = model(TWO)
    known = learn(process, places(rows[:, None], times, 32), pad(rewards, 32))
    points = np.linspace(0, 1, 7)[:, None]
    coarse = rough(Beliefs(process, known, None, 60.0, Constant(2.0), 1.0, np.zeros(0), None))
    found = posterior(coarse.model, coarse.known, None, points.astype(np.float32), coarse.time)
    exact = posterior(process, known, None, points, 60.0)
    np.testing.assert_allclose(found[0], exact[0], atol=1e-4)
    np.testing.assert_allclose(found[1], exact[1], rtol=1e-4)


@given(st.integers(0, 1000), st.booleans())
def test_gains_are_differences_of_dense_log_likelihoods(seed, earlier):
    """Of all observations, and of all but one, with and without an earlier change."""
    rows, times, rewards = draw(26, seed)
    before = ((30.0, 0.4),) if earlier else ()
    process = model(before)
    known = learn(process, places(rows[:, None], times, 32), pad(rewards, 32))
    newest, residuals = np.arange(14, 26), pad(rewards, 32) - 0.2
    place, rho = np.array([3, 9]), np.array([0.3, 0.9])
    seen = detection.Newest.of(process, known, newest, residuals, np.zeros(26, bool))
    gains, excess = detection._gains(seen, place, rho)
    assert excess == 0
    for row, (first, share) in enumerate(zip(place, rho, strict=True)):
        moment = times[[13 + first, 14 + first]].mean()
        more = model((*before, (float(moment), float(-np.log(share)))))
        densities = []
        for each in (more, process):
            whole = dense(each, rows, times) + 0.05 * np.eye(26)
            densities.append(
                [log_density(whole, rewards - 0.2, left_out) for left_out in (None, *newest)]
            )
        np.testing.assert_allclose(gains[row], np.subtract(*densities), rtol=1e-7, atol=1e-8)


def log_density(covariance, residuals, left_out):
    kept = np.arange(len(residuals)) != left_out
    covariance, residuals = covariance[np.ix_(kept, kept)], residuals[kept]
    fit = residuals @ np.linalg.solve(covariance, residuals)
    return -0.5 * (fit + np.linalg.slogdet(covariance)[1])


def detected(rewards, process=None, times=None, rejected=(), doubted=()):
    """The change that is found in rewards at one setting."""
    count = len(rewards)
    process = process or model()
    times = np.arange(count, dtype=float) if times is None else times
    used = np.setdiff1d(np.arange(count), rejected)
    weights = np.isin(np.arange(count), used).astype(float)
    known = learn(process, places(np.zeros((count, 1)), times, 64, weights), pad(rewards, 64))
    doubted = np.isin(np.arange(count), doubted)
    return detection.find_change(process, known, pad(rewards, 64) - 0.2, used, doubted)


def test_a_step_is_found_where_it_is():
    level = np.where(np.arange(40) < 33, 0.5, -1.5)
    noise = 0.2 * np.random.default_rng(3).normal(size=40)
    moment, loss = detected(level + noise)
    assert moment == 32.5
    assert loss >= -np.log(0.3) - 1e-12
    assert detected(0.5 + noise) is None
    assert detected((level + noise)[:34]) is None  # a single observation after it
    assert detected((level + noise)[17:]) is None  # 23 observations


def test_an_outlier_is_no_change():
    rewards = 0.5 + 0.2 * np.random.default_rng(3).normal(size=40)
    for place in range(28, 40):
        rewards[place], before = rewards[place] + 4.0, rewards[place]
        assert detected(rewards) is None
        assert detected(rewards, rejected=(place,)) is None
        rewards[place] = before


def test_outliers_in_a_row_are_a_change_if_they_agree():
    """Rejected rewards take part in the test; it is a change unless they are rather outliers."""
    rewards = 0.5 + 0.2 * np.random.default_rng(3).normal(size=40)
    for last, change in (([-2.6, -2.5], True), ([-2.6, 3.5], False), ([0.4, -2.5], False)):
        rewards[38:] = last
        found = detected(rewards, doubted=(38, 39) if last[0] != 0.4 else (39,))
        assert (found is not None) == change
        assert found is None or found[0] == 37.5


def test_the_evidence_for_outliers_is_dense():
    rows, times, rewards = draw(26, 1)
    rewards[[20, 23]] = 9.0, -9.0
    known = learn(model(), places(rows[:, None], times, 32), pad(rewards, 32))
    newest, residuals = np.arange(14, 26), pad(rewards, 32) - 0.2
    rejected = np.isin(np.arange(26), (20, 23))
    seen = detection.Newest.of(model(), known, newest, residuals, rejected)
    found = detection._gains(seen, np.array([3]), np.array([0.3]))[1]
    whole = dense(model(), rows, times) + 0.05 * np.eye(26)
    kept = np.setdiff1d(np.arange(26), (20, 23))
    fewer = log_density(whole[np.ix_(kept, kept)], rewards[kept] - 0.2, None)
    excess = fewer - 2 * detection.OUTLIER - log_density(whole, rewards - 0.2, None)
    np.testing.assert_allclose(found, excess, rtol=1e-9)


def test_simultaneous_observations_are_not_divided():
    times = np.append(np.arange(28.0), np.full(12, 28.0))
    rewards = np.where(np.arange(40) < 34, 0.5, -1.5) + 0.0
    found = detected(rewards, times=times)
    assert found is None or found[0] == 27.5


def test_false_alarms_are_rare_when_the_model_is_right():
    """At most two of 360 tests on rewards of the process itself may raise one."""
    alarms = tested = 0
    for seed in range(60):
        generator = np.random.default_rng(seed)
        times = np.arange(50.0)
        whole = dense(model(), np.zeros(50), times) + 0.05 * np.eye(50)
        rewards = 0.2 + np.linalg.cholesky(whole) @ generator.normal(size=50)
        for end in range(25, 51, 5):
            alarms += detected(rewards[:end]) is not None
            tested += 1
    assert tested == 360
    assert alarms <= 2


def play(optimizer, steps, jump=None, seed=0, time=int):
    """The last suggestions; the peak is elsewhere from the jump on."""
    generator, chosen = np.random.default_rng(seed), []
    for step in steps:
        suggestion = optimizer.ask(time(step))
        chosen.append(suggestion["x"])
        peak = 0.2 if jump is None or step < jump else 0.8
        reward = np.exp(-((suggestion["x"] - peak) ** 2) / 0.02) + 0.02 * generator.normal()
        optimizer.tell(suggestion, float(reward))
    return chosen


@pytest.fixture(scope="module")
def jumped(tmp_path_factory):
    address = tmp_path_factory.mktemp("change") / "study.jsonl"
    space = dp.Box(x=dp.Float(0, 1))
    optimizer = dp.Optimizer(space, maximize=True, seed=0, storage=address)
    play(optimizer, range(40), jump=30)
    return address, optimizer


@pytest.mark.slow
def test_a_study_reports_the_change(jumped):
    _, optimizer = jumped
    (moment,) = optimizer.diagnostics().change_points
    assert 29 <= moment < 36


@pytest.mark.slow
def test_replay_and_snapshot_know_the_change(jumped):
    address, optimizer = jumped
    restored = dp.Optimizer(dp.Box(x=dp.Float(0, 1)), maximize=True, seed=0)
    restored.restore(optimizer.snapshot())
    for other in (dp.Optimizer.load(address), restored):
        assert other.diagnostics() == optimizer.diagnostics()
        assert other.best(40) == optimizer.best(40)


@pytest.mark.slow
def test_times_are_of_the_users_type(jumped):
    """Dates for dates; a figure has a line at each change."""
    begin = datetime(2026, 3, 1, tzinfo=UTC)
    optimizer = dp.Optimizer(dp.Box(x=dp.Float(0, 1)), maximize=True, seed=0)
    play(optimizer, range(40), jump=30, time=lambda step: begin + timedelta(minutes=step))
    (moment,) = optimizer.diagnostics().change_points
    assert moment - begin == timedelta(minutes=jumped[1].diagnostics().change_points[0])
    for figure in (track_figure(optimizer), reward_figure(optimizer)):
        lines = [line for line in figure.axes[0].lines if line.get_linestyle() == "--"]
        (place,) = {date2num(line.get_xdata()[0]) for line in lines}
        assert place == date2num(moment)
        assert "sudden change" in [text.get_text() for text in figure.legends[0].get_texts()]


@pytest.mark.slow
def test_the_effective_memory_counts_less_after_a_change(jumped):
    engine = jumped[1]._engine
    within = [abs(39 - time) for time in engine.memory.times]
    (change,) = engine.changes
    squared = np.exp(-2 * np.array(within) / engine.model.timescale)
    squared = np.where(engine.memory.times < change[0], np.exp(-2 * change[1]), 1.0) * squared
    assert engine.motion == "markov"
    kept = np.where(engine.memory.rejected, 0.0, squared).sum()
    np.testing.assert_allclose(jumped[1].diagnostics().memory, kept, rtol=1e-9)


@pytest.mark.slow
def test_detection_can_be_switched_off():
    for policy in (dp.DriftingGP(change_points=False), dp.DriftingGP(forgetting="markov")):
        optimizer = dp.Optimizer(dp.Box(x=dp.Float(0, 1)), maximize=True, seed=0, policy=policy)
        play(optimizer, range(40), jump=30)
        assert optimizer.diagnostics().change_points is None


@pytest.mark.parametrize("change", [[1.0], [1.0, 0.0], [1.0, -2.0], ["a", 1.0], [1.0, None], 3])
def test_invalid_stored_changes_are_refused(change):
    values = {"scale": 1.0, "pace": 1.0, "centre": 0.0, "motions": {}, "changes": [change]}
    check_hyperparameters(values | {"changes": [[3.5, 0.7]]}, (), 1)
    with pytest.raises(DriftpeakError, match=r"hyperparameters must be valid|loss of a change"):
        check_hyperparameters(json.loads(json.dumps(values)), (), 1)


def test_more_changes_than_places_keep_the_newest():
    many = [(float(time), 1.0) for time in range(CHANGES + 3)]
    padded = detection.padded_changes(many, 1.0)
    assert padded.shape == (2, CHANGES)
    np.testing.assert_array_equal(padded[0], np.arange(3, CHANGES + 3) - 1.0)
    assert jnp.all(detection.padded_changes([], 5.0) == 0)
