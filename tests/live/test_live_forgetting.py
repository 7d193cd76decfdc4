"""Kinds of drift and forgetting rules of the default policy, against dense NumPy."""

import numpy as np
import pytest

import driftpeak as dp
from driftpeak.gp.forgetting import Discount, Drift, Injection, Keep, Restart, Weights, Window
from driftpeak.live._model.covariance import MARKOV, MOMENTUM, RATE
from driftpeak.live._model.drift_models import prior_of
from driftpeak.live._model.hyperparameters import Kind, Problem, default_model, most_probable
from driftpeak.live._model.observations import pad, places
from driftpeak.live._study import events

LINE = dp.Box(x=dp.Float(0, 1))
RULES = {
    "window": Window(7),
    "restart": Restart(6.0),
    "discount": Discount(0.8),
    "discount to now": Discount(0.8, reference="now"),
    "injection": Injection(1.5, slope=0.3),
    "keep": Keep(),
}


def make(forgetting, *, learn=False, **options):
    policy = dp.DriftingGP(forgetting=forgetting, learn=learn, **options)
    return dp.Optimizer(LINE, maximize=True, policy=policy)


def written_out(name, times, now):
    """The papers' factor h on the variance of the noise; infinite for what is forgotten."""
    newest = times[times <= now].max()
    with np.errstate(invalid="ignore"):
        factors = {
            "window": np.where(times > np.sort(times[times <= now])[-8], 1.0, np.inf),
            "restart": np.where(times >= 1 + 6 * ((now - 1) // 6), 1.0, np.inf),
            "discount": 0.8 ** -(newest - times),
            "discount to now": 0.8 ** -(now - times),
            "injection": 1 + 0.3 * np.maximum(newest - times, 0) ** 1.5,
            "keep": np.ones(len(times)),
        }[name]
    return np.where(times <= now, factors, np.inf)


def dense(engine, x, rewards, factors, at):
    """Mean and deviation by linear solves, Matern 5/2."""
    model, standard = engine.model, engine.standard

    def covariance(a, b):
        z = np.sqrt(5) * np.abs(a[:, None] - b[None]) / model.lengthscale[0]
        return model.variance * (1 + z + z**2 / 3) * np.exp(-z)

    used = np.isfinite(factors)
    x, factors = x[used], factors[used]
    rest = (rewards[used] - standard.centre) / standard.scale - model.level
    inverse = np.linalg.inv(covariance(x, x) + model.noise_variance * np.diag(factors))
    cross = covariance(x, at)
    mean = model.level + cross.T @ inverse @ rest
    variance = model.variance - np.einsum("ij,ik,kj->j", cross, inverse, cross)
    beyond = np.maximum(np.abs(mean) - 3, 0.0)  # where the scale of rewards is logarithmic
    mean = np.sign(mean) * (np.minimum(np.abs(mean), 3) + np.expm1(beyond))
    scale = standard.scale * np.exp(beyond)
    return standard.centre + standard.scale * mean, scale * np.sqrt(variance)


@pytest.mark.parametrize("name", RULES)
def test_rules_are_those_of_the_papers_in_whatever_order_rewards_come(name):
    generator, optimizer = np.random.default_rng(1), make(RULES[name])
    times = np.cumsum(generator.exponential(1.0, 30))
    x, rewards = generator.uniform(size=30), generator.uniform(-1, 1, 30)
    for i in generator.permutation(30):
        optimizer.tell({"x": float(x[i])}, float(rewards[i]), float(times[i]))
    at = np.linspace(0, 1, 9)
    for now in (times[-1], times[-1] + 4.0, times[19]):
        factors = written_out(name, times, now)
        expected = dense(optimizer._engine, x, rewards, factors, at)
        found = optimizer.belief([{"x": float(one)} for one in at], float(now))
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-10)
        memory = optimizer.diagnostics(float(now)).memory
        np.testing.assert_allclose(memory, (1 / factors).sum(), rtol=1e-12)
    best = optimizer.best()
    assert best.mean >= optimizer.belief([{"x": float(one)} for one in at])[0].max() - 1e-6
    assert optimizer.diagnostics().motion is optimizer.diagnostics().drift is None


@pytest.mark.slow
@pytest.mark.parametrize("name", RULES)
def test_full_memory_and_learning_under_a_rule(name):
    """The oldest fall out; numbers are learned from what still counts; a snapshot holds all."""
    optimizer = make(RULES[name], learn=True, capacity=32)
    generator = np.random.default_rng(0)
    for step in range(60):
        x = float(generator.uniform())
        optimizer.tell({"x": x}, -((x - 0.4) ** 2), float(step))
    engine = optimizer._engine
    assert engine.memory.times[-1] == 59
    assert len(engine.memory) <= 32
    assert (np.diff(engine.memory.times) == 1).all(), "none but the oldest fell out"
    assert abs(optimizer.best()["x"] - 0.4) < 0.1
    again = make(RULES[name], learn=True, capacity=32)
    again.restore(optimizer.snapshot())
    assert dict(again.ask(60.0)) == dict(optimizer.ask(60.0))


@pytest.mark.slow
@pytest.mark.parametrize("motion", [MARKOV, MOMENTUM])
def test_the_kind_of_drift_is_recognised(motion):
    """Of four fixed draws of each kind, the true one is more probable, together by e^5 or more."""
    gains = []
    for seed in range(4):
        generator = np.random.default_rng(seed)
        x, times = generator.uniform(size=120), np.arange(120.0)
        z = np.sqrt(5) * np.abs(x[:, None] - x) / 0.4
        ages = np.abs(times[:, None] - times) / 30
        faded = np.exp(-ages) if motion == MARKOV else (1 + RATE * ages) * np.exp(-RATE * ages)
        among = (1 + z + z**2 / 3) * np.exp(-z) * faded + 0.001 * np.eye(120)
        rewards = pad(np.linalg.cholesky(among) @ generator.normal(size=120), 128)
        seen = places(x[:, None], times, 128)
        categorical = np.zeros(1, bool)
        densities = [
            most_probable(
                default_model(categorical, 1.0, Kind(kind)),
                Problem(seen, rewards, categorical, 1.0, Kind(kind)),
            )[1]
            for kind in (motion, MARKOV + MOMENTUM - motion)
        ]
        gains.append(densities[0] - densities[1])
    assert sum(gains) > 5, gains


@pytest.mark.slow
@pytest.mark.usefixtures("without_type_checks")
def test_what_is_far_from_believed_learns_seldom():
    """And is judged by what it last learned, each time: by the dense density, computed here."""
    hyperparameters, seen = [], []

    def watch(event):
        if isinstance(event, events.Learned):
            hyperparameters.append(event.values)
            seen.append(len(optimizer._engine.memory))

    optimizer = make("auto", learn=True, capacity=256)
    optimizer.on_event = watch
    generator = np.random.default_rng(2)
    for step in range(1, 240):  # a tide, steady and smooth: momentum is believed, soon by far
        x = float(generator.uniform())
        optimizer.tell({"x": x}, float(np.sin(step / 8) - (x - 0.5) ** 2), float(step))
    held, rested = optimizer._engine.memory, 0
    for before, after, count in zip(hyperparameters, hyperparameters[1:], seen[1:], strict=False):
        best = max(one["log_density"] + np.log(prior_of(n)) for n, one in after["motions"].items())
        for name, one in after["motions"].items():
            if one["lessons_ago"] == 0:
                continue
            assert count > 64, "from few rewards all learn every time"
            rested += 1
            last = before["motions"][name]
            assert one["lessons_ago"] == last["lessons_ago"] + 1 < 4
            numbers = ("level", "lengthscale", "variance", "noise_variance", "timescale", "share")
            assert [one.get(key) for key in numbers] == [last.get(key) for key in numbers]
            assert one["log_density"] + np.log(prior_of(name)) < best - 5
            assert not after["doubted"]
            expected = log_density(name, one, after, held, count)
            np.testing.assert_allclose(one["log_density"], expected, rtol=1e-9)
    assert rested > 10
    assert {
        name for name, one in hyperparameters[-1]["motions"].items() if not one["lessons_ago"]
    } >= {"momentum"}


def log_density(name, numbers, refit, held, count):
    """The log posterior density of the numbers, but for a constant, by NumPy alone."""
    x, times = held.rows[:count, 0], held.times[:count]
    rewards = (held.rewards[:count] - refit["centre"]) / refit["scale"]
    beyond = np.maximum(np.abs(rewards) - 3, 0)
    rewards = np.sign(rewards) * (np.minimum(np.abs(rewards), 3) + np.log1p(beyond))
    ages = np.abs(times[:, None] - times) / numbers["timescale"]
    faded = (1 + RATE * ages) * np.exp(-RATE * ages) if name == "momentum" else np.exp(-ages)
    share = numbers.get("share", 0.0)
    faded = (1 - share) * faded + share * np.exp(-ages / 100)
    z = np.sqrt(5) * np.abs(x[:, None] - x) / numbers["lengthscale"][0]
    spatial = numbers["variance"] * (1 + z + z**2 / 3) * np.exp(-z)
    among = spatial * faded + numbers["noise_variance"] * np.eye(count)
    residuals = rewards - numbers["level"]
    fit = residuals @ np.linalg.solve(among, residuals) + np.linalg.slogdet(among)[1]
    given = [*numbers["lengthscale"], numbers["variance"], numbers["noise_variance"]]
    logs = np.log([*given, numbers["timescale"] / refit["pace"]])
    medians, deviations = np.log([0.12, 1.0, 0.01, 100.0]), np.array([0.7, 0.5, 1.5, 1.5])
    prior = (((logs - medians) / deviations) ** 2).sum() + numbers["level"] ** 2
    found = -0.5 * (fit + prior)
    if name != "two speeds":
        return found
    odds = np.log(share / (1 - share))
    return found - 0.5 * (odds / 1.5) ** 2 - 0.5 * np.log(count)


@pytest.mark.slow
def test_what_is_believed_of_the_motion_is_reported():
    optimizer, box = make("auto", learn=True), {"x": 0.5}
    assert optimizer.diagnostics().motion is None, "nothing is held yet"
    optimizer.tell(box, 0.0)
    generator = np.random.default_rng(2)
    for step in range(2, 60):  # a tide, steady and smooth
        x = float(generator.uniform())
        optimizer.tell({"x": x}, float(np.sin(step / 8) - (x - 0.5) ** 2), float(step))
    engine, thought = optimizer._engine, optimizer.diagnostics()
    chances = {"markov": 0.9, "momentum": 0.05, "two speeds": 0.03}
    found = engine.hyperparameters["motions"]
    assert set(found) == set(chances)
    assert thought.motion == "momentum"
    best = found["momentum"]["log_density"]
    odds = {name: chances[name] * np.exp(one["log_density"] - best) for name, one in found.items()}
    expected = 0.05 / sum(odds.values())
    np.testing.assert_allclose(thought.motion_probability, expected, rtol=1e-12)
    ages = 59 - engine.memory.times
    correlation = np.asarray(engine.model.correlation(ages))
    np.testing.assert_allclose(thought.memory, (correlation**2).sum(), rtol=1e-12)
    half = np.asarray(engine.model.correlation(thought.half_life)) ** 2
    np.testing.assert_allclose(half, 0.5, rtol=1e-9)
    only = make("momentum")
    only.tell(box, 0.0)
    assert only.diagnostics().motion == "momentum"
    assert only.diagnostics().motion_probability == 1.0


@pytest.mark.usefixtures("without_type_checks")
def test_what_cannot_be_forgotten_by_is_refused():
    for bad, words in [
        ("momentun", "Did you mean 'momentum'"),
        (0.9, "forgetting must be one of auto, markov, momentum"),
        (Drift(0.1), "forgetting must be 'auto'"),
        (Weights([1.0, 2.0]), "forgetting must be 'auto'"),
        (Window(300), "capacity must be at least twice the window, here 600; got 512"),
    ]:
        with pytest.raises(dp.DriftpeakError, match=words):
            dp.DriftingGP(forgetting=bad)
