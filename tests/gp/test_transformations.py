"""Rewards as logarithms or roots: when they are taken so, and what comes back."""

import jax
import numpy as np
import pytest

import driftpeak as dp
from driftpeak._core.numerics.precision import double_precision
from driftpeak.environments import RecordedRewards
from driftpeak.gp.transforms import TRANSFORMS, transformed
from driftpeak.offline.history._transform import find_transformation


def wandering(steps=300, arms=4, seed=0):
    """Independent arms that fade within ten steps, of mean 0 and deviation 1."""
    generator, kept = np.random.default_rng(seed), np.exp(-0.1)
    rows = [generator.normal(size=arms)]
    for _ in range(steps - 1):
        rows.append(kept * rows[-1] + np.sqrt(1 - kept**2) * generator.normal(size=arms))
    return np.array(rows)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_what_is_normal_is_found_in_any_unit(seed, unit):
    normal = wandering(seed=seed)
    assert find_transformation(unit * np.exp(normal)) == "log"
    assert find_transformation(unit * (4 + normal).clip(0.05) ** 2) == "root"
    assert find_transformation(unit * (30 + normal)) == "none"


def test_nothing_is_transformed_without_need():
    """At a level of 0.1 %, two transformations tried: an alarm in 40 has a chance of 8 %."""
    plain = [find_transformation(8 + wandering(seed=seed)) for seed in range(40)]
    assert plain.count("none") >= 39
    zero = np.exp(wandering())
    zero[3, 1] = 0.0
    assert find_transformation(zero) == "none"
    assert find_transformation(np.exp(wandering(steps=10))) == "none"
    dead = np.exp(wandering())
    dead[:, 2] = 7.0  # an arm that shows one value for ever says nothing
    assert find_transformation(dead) == "log"
    assert find_transformation(np.ones((50, 3))) == "none"


@pytest.mark.parametrize("name", ["root", "log"])
def test_the_density_and_the_moments_are_those_of_draws(name):
    """4,000,000 draws: the slope by differences, mean and variance within four standard errors."""
    change = TRANSFORMS[name]
    y, small = np.array([0.3, 2.0, 50.0]), 1e-6
    slope = (transformed(y * (1 + small), name) - transformed(y, name)) / (y * small)
    np.testing.assert_allclose(change.log_slope(y), np.log(slope), atol=1e-4)
    mean, variance = 1.3, 0.09
    normal = np.random.default_rng(0).normal(mean, np.sqrt(variance), 4_000_000)
    back = normal**2 if name == "root" else np.exp(normal)
    np.testing.assert_allclose(float(change.mean(mean, variance)), back.mean(), rtol=2e-3)
    np.testing.assert_allclose(float(change.variance(mean, variance)), back.var(), rtol=5e-3)


@pytest.mark.slow
@double_precision
def test_it_acts_on_what_it_is_told_and_foretells_rewards():
    prior = dp.Prior(dp.Grid([0, 1], size=8), dp.SE(0.3), 0.05)
    own = dp.TVGPUCB(prior, drift=0.1)
    inner = own.prepare(5)
    outer = dp.Transformed(own, "log", least=0.1).prepare(5)
    key = jax.random.key(0)
    one, other = inner.init(key), outer.init(key)
    for time, reward in enumerate([1.0, 3.0, 0.02], 1):
        one, query = inner.ask(one, time)
        other, same = outer.ask(other, time)
        assert int(query) == int(same)
        one = inner.tell(one, query, np.log(max(reward, 0.1)), time)
        other = outer.tell(other, same, reward, time)
    plain, back = inner.predict(one, 4.0), outer.predict(other, 4.0)
    whole = plain.variance + plain.noise_variance
    np.testing.assert_allclose(back.mean, np.exp(plain.mean + plain.variance / 2))
    noise = (np.exp(whole) - 1) * np.exp(2 * plain.mean + whole) - back.variance
    np.testing.assert_allclose(back.noise_variance, noise.mean())
    with pytest.raises(dp.DriftpeakError, match="finite"):
        outer.tell(other, query, -np.inf, 4.0)


@pytest.mark.slow
def test_a_history_of_prices_is_learned_as_logarithms():
    """Prices that vary by e: `auto` plays on, believing in logarithms."""
    rows = 100 * np.exp(wandering(400, 6))
    learned = dp.fit_history(rows[:300])
    assert learned.transformation == "log"
    assert "logarithms of the rewards" in learned.report()
    policy = learned.policy()
    assert isinstance(policy, dp.Transformed)
    np.testing.assert_allclose(policy.least, rows[:300].min() ** 2 / rows[:300].max())
    learned.figure()
    policies = {"auto": policy, "random": dp.UniformRandom(learned.prior)}
    runs = dp.simulate(policies, RecordedRewards(rows[300:]), steps=100)
    regret = runs["regret"].mean(["trial", "step"])
    assert float(regret.sel(policy="auto")) < 0.7 * float(regret.sel(policy="random"))
    plain = dp.fit_history(rows[:300], transformation="none")
    assert isinstance(plain.policy(), dp.Auto)


def test_bad_arguments():
    prior = dp.Prior(dp.Arms(3), dp.kernels.Table(np.eye(3)), 0.1)
    auto = dp.Auto(prior)
    for wrong, message in (
        (lambda: dp.Transformed(auto, "square", least=1), "transformation must be one of root"),
        (lambda: dp.Transformed(auto, "none", least=1), "transformation must be one of root"),
        (lambda: dp.Transformed(auto, "log", least=0), "least must be"),
        (lambda: dp.Transformed(dp.Clairvoyant(prior), "log", least=1), "see the true function"),
        (lambda: dp.Transformed(dp.RExp3(prior, horizon=9, variation=1.0), "log", least=1),
         "must have no bound of the rewards"),
        (lambda: dp.fit_history(wandering(), transformation="log"),
         "logarithms need rewards above 0"),
        (lambda: dp.fit_history(wandering(), transformation="cube"), "must be auto or one of none"),
    ):  # fmt: skip
        with pytest.raises(dp.DriftpeakError, match=message):
            wrong()
