"""Policies behind an optimiser decide as in `simulate`, whatever the order of arrival."""

import jax
import numpy as np
import pytest
from dense import posterior

import driftpeak as dp
from driftpeak.simulation._programs import random_keys

LINE = dp.Grid([0, 1], size=30)
PRIOR = dp.Prior(LINE, dp.SE(0.2), 0.01)
WORLD = dp.MarkovDrift(PRIOR, drift=0.02)
POLICIES = {
    "drift": dp.TVGPUCB(PRIOR, drift=0.02),
    "thompson": dp.TVGPUCB(PRIOR, drift=0.02, acquisition="thompson"),
    "window": dp.SWGPUCB(PRIOR, window=10),
    "restart": dp.RGPUCB(PRIOR, period=12),
    "discount": dp.WGPUCB(PRIOR, discount=0.95),
    "injection": dp.UIGPUCB(PRIOR, exponent=1.0),
    "elimination": dp.RPERP(PRIOR, period=25, horizon=200),
    "exp3": dp.RExp3(PRIOR, horizon=200),
    "random": dp.UniformRandom(PRIOR),
    "auto": dp.Auto(PRIOR),
}


def make(policy, *, maximize=True, seed=0, horizon=200):
    return dp.Optimizer(LINE, maximize=maximize, policy=policy, seed=seed, horizon=horizon)


SLOW = ("auto", "thompson", "discount", "injection")  # each is compiled afresh


@pytest.mark.filterwarnings("ignore:policy .* outside its bound")
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in POLICIES],
)
def test_decisions_of_simulate(name):
    policy = POLICIES[name]
    times = np.cumsum(np.random.default_rng(0).exponential(1.0, 40))
    horizon = 200
    long = np.append(times, times[-1] + np.arange(1.0, horizon - 39))
    # these count steps, or infer how long one is
    regular = name in ("elimination", "exp3", "auto")
    steps = np.arange(1.0, horizon + 1) if regular else long
    run = dp.simulate({name: policy}, WORLD, times=steps, seed=3).sel(policy=name, trial=0)
    sign = 1 if len(name) % 2 else -1  # both directions occur
    optimizer = make(policy, maximize=sign == 1, seed=3, horizon=horizon)
    for step in range(40):
        suggestion = optimizer.ask(float(steps[step]))
        assert suggestion.index == int(run["action"][step])
        optimizer.tell(suggestion, sign * float(run["reward"][step]))


@pytest.mark.slow
def test_a_wrapped_policy_believes_live_what_it_does_alone():
    """Thirty rewards within one period: a belief that restarts needs room for all of them."""
    generator = np.random.default_rng(1)
    numbers, rewards = generator.integers(30, size=30), generator.normal(size=30)
    policy = dp.RGPUCB(PRIOR, period=5)
    beliefs = []
    for one in (policy, dp.RandomStart(policy), dp.Doubling(lambda _: policy, first=256)):
        optimizer = make(one)
        for number, reward in zip(numbers, rewards, strict=True):
            optimizer.ask(1.0)
            setting = {"x1": float(LINE.points[number, 0])}
            optimizer.tell(setting, float(reward), time=1.0)
        beliefs.append(optimizer.belief(time=1.0))
        assert optimizer.diagnostics().held == 30
    mean, variance, _ = posterior(
        PRIOR.gram, 0.01, np.zeros(30), "keep", None, numbers, rewards, np.ones(30), 1.0
    )
    for found, deviation in beliefs:
        np.testing.assert_allclose(found, mean, atol=1e-7)
        np.testing.assert_allclose(deviation, np.sqrt(variance), atol=1e-6)


@pytest.mark.slow
def test_side_queries_are_those_of_the_policy():
    policy, generator = dp.SparQ(PRIOR, rate=0.5), np.random.default_rng(0)
    optimizer = make(policy, seed=1, horizon=30)
    player = policy.prepare(30)
    state = player.init(random_keys(1, np.arange(1)).policy[0])
    consult = jax.jit(lambda state, time: player.consult(state, time))
    hear = jax.jit(lambda *arguments: player.hear(*arguments))
    ask = jax.jit(lambda state, time: player.ask(state, time))
    tell = jax.jit(lambda *arguments: player.tell(*arguments))
    asked = 0
    for step in range(1, 13):
        state, arms, wanted = consult(state, float(step))
        queries = optimizer.side_queries()
        numbers = [optimizer.coding.number(query) for query in queries]
        assert numbers == list(np.asarray(arms)[np.asarray(wanted)])
        asked += len(queries)
        # the expert knows nothing of every third query
        answers = [None if i % 3 == 2 else float(generator.normal()) for i in range(len(queries))]
        values, answered = np.zeros(len(arms)), np.zeros(len(arms), bool)
        for i, place in enumerate(np.flatnonzero(np.asarray(wanted))):
            answered[place] = answers[i] is not None
            values[place] = answers[i] or 0.0
        state = hear(state, arms, values, answered, float(step))
        optimizer.answer(queries, answers)
        state, query = ask(state, float(step))
        suggestion = optimizer.ask()
        assert suggestion.index == int(query)
        reward = float(generator.normal())
        state = tell(state, query, reward, float(step))
        optimizer.tell(suggestion, reward)
    assert asked > 12


def test_late_rewards_give_the_state_of_ordered_ones():
    generator = np.random.default_rng(0)
    settings = [{"x1": float(LINE.points[i, 0])} for i in generator.integers(30, size=80)]
    rewards, times = generator.normal(size=80), np.arange(80.0)
    order = np.argsort(np.arange(80) + generator.uniform(0, 25, size=80))
    ordered, late = make(POLICIES["drift"]), make(POLICIES["drift"])
    for i in range(80):
        ordered.tell(settings[i], rewards[i], float(times[i]))
    for i in order:
        late.tell(settings[i], rewards[i], float(times[i]))
    assert (order != np.arange(80)).sum() > 40
    for one, other in zip(ordered.belief(time=90.0), late.belief(time=90.0), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.slow
def test_what_is_too_late_is_kept_in_the_history_only():
    optimizer = make(POLICIES["drift"], horizon=1000)
    for step in range(400):
        optimizer.tell({"x1": 0.0}, 0.1, float(step))
    before = optimizer.belief(time=400.0)
    with pytest.warns(dp.DriftpeakWarning, match="too late"):
        optimizer.tell({"x1": 1.0}, 5.0, 3.0)
    np.testing.assert_array_equal(before[0], optimizer.belief(time=400.0)[0])
    assert optimizer.history()[-1].reward == 5.0


def test_refreshing_changes_no_decision(monkeypatch):
    plain, refreshed = make(POLICIES["window"]), make(POLICIES["window"])
    generator = np.random.default_rng(0)
    for step in range(60):
        reward = float(generator.normal())
        first = plain.ask()
        plain.tell(first, reward)
        with monkeypatch.context() as patch:
            patch.setattr("driftpeak.live._engines.policy_engine.REFRESH", 7)
            second = refreshed.ask()
            refreshed.tell(second, reward)
        assert dict(first) == dict(second), step
    whats = [step.what for step in refreshed._engine.steps]
    assert whats.count("refresh") >= 10


def test_several_workers_are_sent_to_different_points():
    optimizer = make(POLICIES["drift"])
    batch = optimizer.ask(count=6)
    assert len({one.index for one in batch}) == 6
    assert {one.time for one in batch} == {1}
    alone = make(POLICIES["drift"])
    assert alone.ask().index == batch[0].index
    for one in batch:
        optimizer.tell(one, float(one.index == 3))
    assert optimizer.pending() == []


def test_belief_and_peak_are_the_posterior():
    optimizer = make(POLICIES["drift"], maximize=False)
    for step in range(10):
        suggestion = optimizer.ask()
        optimizer.tell(suggestion, (suggestion["x1"] - 0.4) ** 2 + 0.01 * step)
    mean, deviation = optimizer.belief(time=14)
    history = optimizer.history()
    arms = np.array([optimizer.coding.number(one.parameters) for one in history])
    times = np.array([one.number for one in history])
    rewards = np.array([one.reward for one in history])
    expected = posterior(PRIOR.gram, 0.01, np.zeros(30), "drift", 0.02, arms, rewards, times, 14.0)
    np.testing.assert_allclose(mean, expected[0], atol=1e-6)
    np.testing.assert_allclose(deviation, np.sqrt(expected[1]), atol=1e-4)
    best = optimizer.best(14)
    assert best.index == int(np.argmin(mean))
    assert (best.mean, best.deviation) == (mean[best.index], deviation[best.index])
    with pytest.raises(dp.DriftpeakError, match="must not be before the latest"):
        optimizer.best(3)


@pytest.mark.slow
def test_auto_says_what_it_thinks():
    """Predictions are the moments of its mixture; its readings are in the diagnostics."""
    auto = dp.Auto(PRIOR)
    optimizer = make(auto, seed=2)
    player = auto.prepare(np.arange(1.0, 201))
    state = player.init(random_keys(2, np.arange(1)).policy[0])
    predictive = jax.jit(lambda *arguments: player.predictive(*arguments))
    ask = jax.jit(lambda state, time: player.ask(state, time))
    tell = jax.jit(lambda *arguments: player.tell(*arguments))
    for step in range(1, 8):
        suggestion, reward = optimizer.ask(), float(np.sin(step))
        mixture = predictive(state, jax.numpy.array(suggestion.index), float(step))
        weights, means, variances = map(np.asarray, mixture)
        expected = weights @ means
        spread = weights @ (variances + (means - expected) ** 2)
        optimizer.tell(suggestion, reward)
        foretold = optimizer.history()[-1].expected
        np.testing.assert_allclose(foretold, (expected, np.sqrt(spread)), rtol=1e-9)
        state = ask(state, float(step))[0]
        state = tell(state, jax.numpy.array(suggestion.index), reward, float(step))
    thoughts, said = player.read(state), optimizer.diagnostics()
    assert said.drift == pytest.approx(float(thoughts["believed_drift"]))
    assert said.memory == pytest.approx(float(thoughts["memory"]))
    assert said.noise == pytest.approx(float(thoughts["believed_noise"]))
    assert set(said.readings) == {*auto.readings, "time_step"}
    assert sum(said.readings["member_weight"].values()) == pytest.approx(1)
    assert list(said.readings["member_weight"]) == list(auto.labels)


def test_forgetting_starts_from_the_prior_and_keeps_what_is_new():
    optimizer, fresh = make(POLICIES["drift"]), make(POLICIES["drift"])
    for step in range(1, 9):
        optimizer.tell({"x1": 0.0}, 1.0, float(step))
        if step >= 6:
            fresh.tell({"x1": 0.0}, 1.0, float(step))
    optimizer.forget(before=6)
    np.testing.assert_array_equal(optimizer.belief()[0], fresh.belief()[0])
    optimizer.forget()
    np.testing.assert_array_equal(optimizer.belief()[0], np.zeros(30))
    assert len(optimizer.history()) == 8


def test_what_does_not_fit_is_refused(without_type_checks):
    with pytest.raises(dp.DriftpeakError, match="as many points as the space, 20; got 30"):
        dp.Optimizer(dp.Grid([0, 1], size=20), maximize=True, policy=POLICIES["drift"])
    with pytest.raises(dp.DriftpeakError, match="finitely many points"):
        dp.Optimizer(dp.Box(x=dp.Float(0, 1)), maximize=True, policy=POLICIES["drift"])
    with pytest.raises(dp.DriftpeakError, match="true function"):
        make(dp.Clairvoyant(PRIOR))
    with pytest.raises(dp.DriftpeakError, match="DriftingGP or a policy"):
        make("ucb")
    optimizer = make(POLICIES["random"], horizon=3)
    for _ in range(3):
        optimizer.tell(optimizer.ask(), 0.0)
    with pytest.raises(dp.DriftpeakError, match="larger horizon"):
        optimizer.ask()
    with pytest.raises(dp.DriftpeakError, match="makes no predictions"):
        optimizer.best()
    with pytest.raises(dp.DriftpeakError, match="makes no side queries"):
        optimizer.side_queries()
    with pytest.raises(dp.DriftpeakError, match="makes no side queries"):
        optimizer.answer([], [])
