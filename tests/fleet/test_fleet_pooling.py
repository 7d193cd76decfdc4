"""Members share a prior that is estimated from all of them; their own data outweigh it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import multivariate_normal

import driftpeak as dp
from driftpeak.fleet import _likelihood as likelihood, _log
from driftpeak.fleet._likelihood import Observations, Parameters
from driftpeak.fleet._population import fit

PLACES = np.array([0.0, 0.2, 0.5, 1.0])
PRIOR = dp.Prior(dp.Arms(PLACES), dp.SE(0.3), noise_variance=0.1)
AUTO = dp.Auto(PRIOR, drifts=(0.0, 0.1), rates=(0.05,))
NOISE, DRIFT = 0.09, 0.05
MEAN = np.array([3.0, 4.5, 2.0, 1.0])
ROOT = np.linalg.cholesky(0.3 * PRIOR.gram + 0.05 * np.eye(4))
FEATURES = np.linalg.cholesky(PRIOR.gram)


def draw(generator, members, steps, drift=DRIFT):
    """The functions of members with Markov drift around a mean, shape `(steps, members, 4)`."""
    functions = np.zeros((steps, members, 4))
    functions[0] = generator.normal(size=(members, 4)) @ ROOT.T
    for step in range(1, steps):
        moved = generator.normal(size=(members, 4)) @ ROOT.T
        functions[step] = np.sqrt(1 - drift) * functions[step - 1] + np.sqrt(drift) * moved
    return MEAN + functions


def observed(generator, cycle=None):
    """Sixteen observations of each of 256 members, of random arms."""
    functions = draw(generator, 256, 16)
    arms = generator.integers(4, size=(256, 16))
    times = 3.0 * np.arange(16) + np.zeros((256, 1))
    rewards = np.take_along_axis(functions.swapaxes(0, 1), arms[..., None], 2)[..., 0]
    rewards += np.sqrt(NOISE) * generator.normal(size=rewards.shape)
    if cycle is not None:
        rewards += np.cos(2 * np.pi * times / cycle) * PLACES[arms]
    return Observations(arms, times, rewards, np.ones(arms.shape, bool))


@pytest.mark.slow
@pytest.mark.parametrize("frequency", [0.0, 0.15])
def test_the_likelihood_is_the_dense_one(frequency):
    """All observations are one Gaussian vector; its covariance is written out entry by entry."""
    generator = np.random.default_rng(0)
    features, root = generator.normal(size=(5, 3)), np.tril(generator.normal(size=(3, 3)))
    noise, rate, tau, shape = 0.2, 0.07, 0.4, (4, 6)
    arms, times = generator.integers(5, size=shape), generator.uniform(0, 30, size=shape)
    rewards, present = generator.normal(size=shape), generator.random(shape) < 0.7
    with jax.enable_x64(True):
        parameters = Parameters(*map(jnp.asarray, (root, np.log(noise), np.log(rate), np.log(tau))))
        seen = Observations(*map(jnp.asarray, (arms, times, rewards, present)))
        given = jnp.asarray(features), seen, jnp.asarray(frequency)
        found = likelihood.log_likelihood(likelihood.sums(parameters, *given))
    rows = [(i, j) for i in range(4) for j in range(6) if present[i, j]]
    covariance = np.zeros((len(rows), len(rows)))
    for a, (i, j) in enumerate(rows):
        for b, (k, o) in enumerate(rows):
            common, s, t = features[arms[i, j]] @ features[arms[k, o]], times[i, j], times[k, o]
            covariance[a, b] = 100 + tau**2 * common
            if frequency:
                for harmonic in (1, 2):
                    covariance[a, b] += common * np.cos(2 * np.pi * frequency * harmonic * (s - t))
            if i == k:
                own = features[arms[i, j]] @ root @ root.T @ features[arms[k, o]]
                covariance[a, b] += own * np.exp(-rate * abs(s - t)) + noise * (j == o)
    expected = multivariate_normal.logpdf(rewards[present], np.zeros(len(rows)), covariance)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_known_populations_are_recovered(seed):
    """4,096 observations. The tolerances are about four standard errors."""
    found = fit(FEATURES, observed(np.random.default_rng(seed)))
    covariance = ROOT @ ROOT.T
    np.testing.assert_allclose(found.mean, MEAN, atol=4 * np.sqrt(covariance[0, 0] / 256))
    np.testing.assert_allclose(found.covariance, covariance, atol=0.08)
    np.testing.assert_allclose(found.noise_variance, NOISE, rtol=0.15)
    # the drift of one step of 3 time units
    assert 0.6 * DRIFT < 1 - (1 - found.drift) ** 3 < 1.5 * DRIFT
    assert found.period is None


@pytest.mark.slow
def test_parameters_without_the_variance_of_the_mean_are_accepted():
    """Fleets of earlier versions stored one parameter less."""
    seen = observed(np.random.default_rng(0))
    found = fit(FEATURES, seen, periodic=False)
    again = fit(FEATURES, seen, periodic=False, start=found.parameters[:-1])
    np.testing.assert_allclose(again.mean, found.mean, atol=0.01)
    np.testing.assert_allclose(again.covariance, found.covariance, atol=0.02)


def test_a_common_period_is_found():
    found = fit(FEATURES, observed(np.random.default_rng(2), cycle=21.0))
    np.testing.assert_allclose(found.period, 21.0, rtol=0.02)
    np.testing.assert_allclose(found.cosines[0], PLACES, atol=0.25)
    np.testing.assert_allclose(found.sines[0], 0.0, atol=0.25)


def play(fleet, generator, steps, first=1):
    functions = draw(np.random.default_rng(7), len(fleet), 40)
    for step in range(first, first + steps):
        asked = fleet.ask(time=float(step))
        rewards = functions[step][np.arange(len(fleet)), asked.choices]
        fleet.tell(asked.ids, rewards + np.sqrt(NOISE) * generator.normal(size=len(fleet)))


@pytest.mark.slow
def test_members_have_the_posterior_under_the_population_prior():
    """A member is a player with this prior that has seen its observations; a new one is at it."""
    fleet = dp.Fleet(PRIOR.domain, 40, policy=AUTO, share="all", late=8)
    seen, generator = [], np.random.default_rng(0)
    for step in range(1, 5):
        asked = fleet.ask(time=float(step))
        if step == 1:  # the first choices are divided among the arms
            assert np.bincount(asked.choices, minlength=4).min() >= 8
        rewards = MEAN[asked.choices] + 0.3 * generator.normal(size=40)
        fleet.tell(asked.ids, rewards)
        seen.append((asked.choices, rewards))
    population = fleet.population()
    assert population.observations == 160
    player = fleet._pool.player(population)
    fleet.add([40])
    mean, variance, noise = fleet.predict(time=5.0)
    with jax.enable_x64(True):
        state = first = player.init(jax.random.key(0))
        tell = jax.jit(lambda *given: player.tell(*given))
        predict = jax.jit(lambda *given: player.predict(*given))
        for step, (arms, rewards) in enumerate(seen, 1):
            state = tell(state, arms[3], rewards[3], float(step))
        for row, one in ((3, state), (40, first)):
            expected = predict(one, 5.0)
            np.testing.assert_allclose(mean[row], expected.mean, atol=1e-9)
            np.testing.assert_allclose(variance[row], expected.variance, atol=1e-9)
    np.testing.assert_allclose(mean[40], population.mean, atol=1e-9)
    assert np.ptp(noise) >= 0
    assert np.abs(mean[40] - MEAN).max() < 0.5


@pytest.mark.slow
def test_own_data_outweigh_the_prior():
    """A member whose arms are ordered the other way has more and more of its own data."""
    fleet = dp.Fleet(PRIOR.domain, 41, policy=AUTO, share="all")
    generator = np.random.default_rng(0)
    regret = []
    for step in range(1, 31):
        asked = fleet.ask(time=float(step))
        means = np.tile(MEAN, (41, 1))
        means[40] = MEAN[::-1] + 1
        rewards = means[np.arange(41), asked.choices] + 0.3 * generator.normal(size=41)
        fleet.tell(asked.ids, rewards)
        regret.append(means.max(axis=1) - means[np.arange(41), asked.choices])
    late = np.array(regret[-8:])
    assert late[:, :40].mean() < 0.3
    assert late[:, 40].mean() < 0.6  # 3 at the arm that is best for the others
    mean = fleet.predict(time=31.0)[0]
    assert mean[40].argmax() == 2
    assert (mean[:40].argmax(axis=1) == 1).mean() > 0.9


@pytest.mark.slow
def test_groups_have_their_own_priors(tmp_path):
    table = {"member": [f"m{i}" for i in range(60)], "region": ["north", "south"] * 30}
    fleet = dp.Fleet(PRIOR.domain, table, policy=AUTO, share="region", storage=tmp_path / "fleet")
    assert fleet.population("north") is None
    south = np.arange(60) % 2 == 1
    for step in range(1, 4):
        asked = fleet.ask(time=float(step))
        means = np.where(south, MEAN[::-1][asked.choices], MEAN[asked.choices])
        fleet.tell(asked.ids, means)
    np.testing.assert_allclose(fleet.population("north").mean, MEAN, atol=0.5)
    np.testing.assert_allclose(fleet.population("south").mean, MEAN[::-1], atol=0.5)
    fleet.add({"member": ["new", "west"], "region": ["south", "west"]})
    again = dp.Fleet.load(tmp_path / "fleet")
    assert again.ask(["new"]).choices.tolist() == [2]
    assert again.population("west") is None


@pytest.mark.slow
@pytest.mark.parametrize("every", [10**9, 150])
def test_a_stored_pooled_fleet_resumes_as_it_was(tmp_path, monkeypatch, every):
    monkeypatch.setattr(_log, "EVERY", every)
    fleets = [
        dp.Fleet(PRIOR.domain, 40, policy=AUTO, share="all", late=4, storage=storage)
        for storage in (None, tmp_path / "fleet")
    ]
    for fleet in fleets:
        play(fleet, np.random.default_rng(1), 5)
    fleets[1] = dp.Fleet.load(tmp_path / "fleet")
    for fleet in fleets:
        fleet.reset([3])
        play(fleet, np.random.default_rng(2), 5, first=6)
    fleets[1] = dp.Fleet.load(tmp_path / "fleet")
    whole, resumed = (fleet.predict(time=20.0) for fleet in fleets)
    for x, y in zip(whole, resumed, strict=True):
        np.testing.assert_array_equal(x, y)
    assert fleets[1].population().to_dict() == fleets[0].population().to_dict()
    assert len(set(fleets[0]._engine.whose)) > 1 or fleets[0].late > 4


@pytest.mark.slow
def test_one_wild_reward_does_not_spoil_the_prior():
    fleet = dp.Fleet(PRIOR.domain, 40, policy=AUTO, share="all")
    asked = fleet.ask()
    fleet.tell(asked.ids, np.where(np.arange(40) == 5, 1e12, MEAN[asked.choices]))
    assert np.abs(fleet.population().mean - MEAN).max() < 2


TABLE = {"member": [1, 2], "region": ["a", "b"]}
CASES = {
    "policy": (TABLE, {"share": "all", "policy": dp.TVGPUCB(PRIOR, drift=0.1)}, "need Auto"),
    "scales": (
        TABLE,
        {"share": "all", "policy": dp.Auto(PRIOR, lengthscales=(0.5, 1.0))},
        "need Auto with one lengthscale",
    ),
    "no table": ([1, 2], {"share": "region"}, "a table with the columns 'member' and 'region'"),
    "no column": ({"member": [1]}, {"share": "region"}, "must have a column 'region'"),
    "short": (TABLE | {"region": ["a"]}, {"share": "region"}, "one string or integer for each"),
    "missing": (TABLE | {"region": ["a", None]}, {"share": "region"}, "one string or integer"),
    "many": (
        {"member": range(101), "region": range(101)},
        {"share": "region"},
        "at most 100 values in all; got 101",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_invalid_groups_are_refused(case):
    members, options, message = CASES[case]
    with pytest.raises(dp.DriftpeakError, match=message):
        dp.Fleet(PRIOR.domain, members, **{"policy": AUTO} | options)


def test_populations_need_groups():
    with pytest.raises(dp.DriftpeakError, match="share must be 'all' or a column"):
        dp.Fleet(PRIOR.domain, 2, policy=AUTO).population()
    with pytest.raises(dp.DriftpeakError, match="group must be one of"):
        dp.Fleet(PRIOR.domain, TABLE, policy=AUTO, share="region").population("c")
